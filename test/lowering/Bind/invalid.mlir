// Imports, calls and shapes that do not fit.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-bind-parameters

// expected-error-re @below {{expected a file to import, but '{{.*}}nowhere.mlir' does not exist}}
mono.import "Inputs/nowhere.mlir"

// -----

mono.schedule @no_routine target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a routine, but '@nobody' is not declared in this file or its imports}}
    mono.call @nobody() : () -> ()
  }
}

// -----

// expected-note @below {{routine '@r' is here}}
mono.routine @r(%x : tensor<?xf32>) {
}
mono.schedule @argument_count target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 1 arguments for '@r', but got 0}}
    mono.call @r() : () -> ()
  }
}

// -----

// expected-note @below {{routine '@r' is here}}
mono.routine @r(%x : tensor<?xf32>) {
}
mono.schedule @result_count target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [4] : tensor<4xf32>
    // expected-error @below {{expected 0 results of '@r', but got 1}}
    %y = mono.call @r(%x) : (tensor<4xf32>) -> tensor<4xf32>
  }
}

// -----

// expected-note @below {{routine '@r' is here}}
mono.routine @r(%x : tensor<?x8xf32>) {
}
mono.schedule @argument_type target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [2, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [2, 4] : tensor<2x4xf32>
    // expected-error @below {{expected argument 0 of '@r' of type 'tensor<?x8xf32>', but got 'tensor<2x4xf32>'}}
    mono.call @r(%x) : (tensor<2x4xf32>) -> ()
  }
}

// -----

// expected-note @below {{routine '@r' is here}}
mono.routine @r(%x : tensor<?xf32>) -> tensor<?xf32> {
  mono.yield %x : tensor<?xf32>
}
mono.schedule @result_type target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [4] : tensor<4xf32>
    // expected-error @below {{expected result 0 of '@r' of type 'tensor<?xf32>', but got 'tensor<4xbf16>'}}
    %y = mono.call @r(%x) : (tensor<4xf32>) -> tensor<4xbf16>
  }
}

// -----

mono.routine @r() {
  // expected-error @below {{expected calls at most 64 deep, but '@r' calls itself, directly or through others}}
  mono.call @r() : () -> ()
}
mono.schedule @recursion target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    mono.call @r() : () -> ()
  }
}

// -----

mono.schedule @shapes target("gfx950") grid(1 x 64) {
  %A = mono.param "A" in [1 to 8] default 2
  %B = mono.param "B" in [1 to 8] default 3
  %a = mono.operand "a" read [%A, 4] : f32
  %b = mono.operand "b" read [%B, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [%A, 4] : tensor<?x4xf32>
    %y = mono.load %b[0, 0] [%B, 4] : tensor<?x4xf32>
    // expected-error @below {{expected operands of one shape, but got 'tensor<2x4xf32>' and 'tensor<3x4xf32>'}}
    %z = arith.addf %x, %y : tensor<?x4xf32>
  }
}

// -----

mono.schedule @written_shape target("gfx950") grid(1 x 64) {
  %A = mono.param "A" in [1 to 8] default 2
  %a = mono.operand "a" read [%A, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'tensor<2x4xf32>' with these parameters, but got 'tensor<4x4xf32>'}}
    %x = mono.load %a[0, 0] [%A, 4] : tensor<4x4xf32>
  }
}

// -----

mono.schedule @open_size target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{expected sizes that parameters decide}}
    %x = tensor.splat %zero[%t] : tensor<?xf32>
  }
}

// -----

mono.schedule @empty_size target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %none = arith.constant 0 : index
    // expected-error @below {{expected a positive size on axis 0 of 'tensor<?xf32>', but got 0 [monoc --explain=static]}}
    %x = tensor.empty(%none) : tensor<?xf32>
  }
}

// -----

// Heads that are fewer than ranks.
// expected-note @below {{with parameters HEADS = 4, TP = 8}}
mono.schedule @no_head_is_left target("gfx950") grid(1 x 64) {
  %heads = mono.param "HEADS" in [1 to 64] default 4
  %TP = mono.param "TP" in [1, 2, 4, 8] default 8
  %share = arith.divui %heads, %TP : index
  mono.stage "s" (%t) tasks [1] base [0] {
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{expected a positive size on axis 1 of 'tensor<2x?xf32>', but got 0 [monoc --explain=static]}}
    %x = tensor.splat %zero[%share] : tensor<2x?xf32>
  }
}

// -----

mono.schedule @unsupported target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 8] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 8] : tensor<4x8xf32>
    // expected-error @below {{'tensor.pad' is not supported in a stage; tensors come from elementwise arith and math ops, linalg.reduce, .broadcast and .transpose, tensor.splat, .empty, .generate, .extract_slice, .insert_slice, .collapse_shape and .expand_shape, arith.constant and mono ops}}
    %y = tensor.pad %x low[0, 0] high[0, 8] {
    ^bb0(%i: index, %j: index):
      %zero = arith.constant 0.0 : f32
      tensor.yield %zero : f32
    } : tensor<4x8xf32> to tensor<4x16xf32>
  }
}

// -----

mono.schedule @k_of_the_task target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 64] : tensor<1x64xf32>
    // expected-error @below {{expected a k that parameters decide}}
    %i = mono.select top [%t + 1] of %v : tensor<1x64xf32> -> tensor<1x?xi32>
  }
}

// -----

mono.schedule @slice_of_the_task target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 8] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %x = mono.load %a[0, 0] [4, 8] : tensor<4x8xf32>
    // expected-error @below {{expected sizes that parameters decide}}
    %y = tensor.extract_slice %x[0, 0] [%t, 8] [1, 1] : tensor<4x8xf32> to tensor<?x8xf32>
  }
}

// -----

mono.schedule @expanded_size_of_the_task target("gfx950") grid(4 x 64) {
  %L = mono.param "L" in [1 to 64] default 64
  %a = mono.operand "a" read [%L] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %x = mono.load %a[0] [%L] : tensor<?xf32>
    // expected-error @below {{expected sizes that parameters decide}}
    %y = tensor.expand_shape %x [[0, 1]] output_shape [%t, 8] : tensor<?xf32> into tensor<?x8xf32>
  }
}

// -----

mono.schedule @expanded_to_less target("gfx950") grid(1 x 64) {
  %N = mono.param "N" in [1 to 16] default 7
  %L = mono.param "L" in [1 to 64] default 64
  %a = mono.operand "a" read [%L] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [%L] : tensor<?xf32>
    // expected-error @below {{expected as many elements as 'tensor<64xf32>' has, but got 'tensor<7x8xf32>'}}
    %y = tensor.expand_shape %x [[0, 1]] output_shape [%N, 8] : tensor<?xf32> into tensor<?x8xf32>
  }
}

// -----

mono.schedule @generated_size_of_the_task target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{expected sizes that parameters decide}}
    %y = tensor.generate %t {
    ^bb0(%i: index):
      %c = arith.constant 0 : i32
      tensor.yield %c : i32
    } : tensor<?xi32>
  }
}

// -----

// A stage without tasks is gone with what only it uses; one that is left needs its operands.
mono.schedule @empty target("gfx950") grid(1 x 64) {
  %ON = mono.param "ON" in [0 to 1] default 0
  // expected-note @below {{declared here; a stage that uses it needs 0 tasks then}}
  %x = mono.operand "x" read [%ON, 4] : f32
  %y = mono.operand "y" write [1, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{uses operand 'x', which has no elements with these parameters}}
    %v = mono.load %x[0, 0] [1, 4] : tensor<1x4xf32>
    mono.store %v, %y[0, 0] : tensor<1x4xf32>
  }
}

// -----

// 2^63 - 1 times itself is 1 in 64 bits that wrap.
mono.schedule @product_past_64_bits target("gfx950") grid(1 x 64) {
  %n = mono.param "N" in [1 to 9223372036854775807] default 9223372036854775807
  // expected-error @below {{expected arithmetic on parameters that 64 signed bits hold, but 'arith.muli' leaves them with 9223372036854775807 and 9223372036854775807}}
  %m = arith.muli %n, %n : index
  %a = mono.operand "a" read [%m] : f32
}

// -----

mono.schedule @negative_size_as_unsigned target("gfx950") grid(1 x 64) {
  %n = mono.param "N" in [1 to 8] default 1
  %two = arith.constant 2 : index
  %rest = arith.subi %n, %two : index
  // expected-error @below {{expected arithmetic on parameters that 64 signed bits hold, but 'arith.divui' leaves them with -1 and 2}}
  %half = arith.divui %rest, %two : index
  %a = mono.operand "a" read [%half] : f32
}

// -----

mono.routine @share(%n : index, %parts : index) -> index {
  %none = arith.constant 0 : index
  %rest = arith.remui %n, %parts : index
  %whole = arith.cmpi eq, %rest, %none : index
  // expected-error @below {{expected the number of parts to divide the rows}}
  mono.require %whole, "expected the number of parts to divide the rows"
  %share = arith.divui %n, %parts : index
  mono.yield %share : index
}
mono.schedule @parts_that_do_not_divide target("gfx950") grid(1 x 64) {
  %S = mono.param "S" in [1 to 8] default 7
  %two = arith.constant 2 : index
  %half = mono.call @share(%S, %two) : (index, index) -> index
}

// -----

mono.schedule @condition_of_the_task target("gfx950") grid(1 x 64) {
  %two = arith.constant 2 : index
  mono.stage "s" (%t) tasks [2] base [0] {
    %few = arith.cmpi ult, %t, %two : index
    // expected-error @below {{expected a condition that parameters decide}}
    mono.require %few, "expected a small task"
  }
}

// -----

mono.routine @exchange(%v : tensor<?xf32>) {
  // expected-note @below {{it is here}}
  %box = mono.mailbox "box" tagged scope(device) slots(1) [64] : f32
  mono.post %v to %box[0] : tensor<?xf32>
}
mono.schedule @mailbox_by_a_call_in_a_stage target("gfx950") grid(2 x 128) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %a = arith.constant dense<1.0> : tensor<64xf32>
    // expected-error @below {{expected a call of '@exchange' outside the stages, as it has a 'mono.mailbox'}}
    mono.call @exchange(%a) : (tensor<64xf32>) -> ()
  }
}

// -----

mono.routine @work(%v : tensor<?xf32>) {
  // expected-note @below {{it is here}}
  mono.stage "inner" (%t) tasks [1] base [0] {
  }
}
mono.schedule @stage_by_a_call_in_a_stage target("gfx950") grid(2 x 128) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %a = arith.constant dense<1.0> : tensor<64xf32>
    // expected-error @below {{expected a call of '@work' outside the stages, as it has a 'mono.stage'}}
    mono.call @work(%a) : (tensor<64xf32>) -> ()
  }
}

// -----

// A thousand, a thousand times, is more than any schedule needs.
mono.routine @one(%n : index) {
  %a = arith.addi %n, %n : index
  %b = arith.addi %n, %n : index
}
mono.routine @ten(%n : index) {
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  // expected-error @below {{expected at most 65536 ops in all calls of a schedule together, but they are more with '@one'; call it less often}}
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
  mono.call @one(%n) : (index) -> ()
}
mono.routine @hundred(%n : index) {
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
  mono.call @ten(%n) : (index) -> ()
}
mono.routine @thousand(%n : index) {
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
  mono.call @hundred(%n) : (index) -> ()
}
mono.routine @much(%n : index) {
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
  mono.call @thousand(%n) : (index) -> ()
}
mono.schedule @too_many_calls target("gfx950") grid(1 x 64) {
  %n = arith.constant 1 : index
  mono.call @much(%n) : (index) -> ()
}

// -----

// Sizes of what routines are given are known once they are inlined.
mono.routine @expect_columns(%x : !mono.buffer, %columns : index) {
  %size = mono.size %x axis 1 : !mono.buffer
  %same = arith.cmpi eq, %size, %columns : index
  // expected-error @below {{expected as many columns as x has}}
  mono.require %same, "expected as many columns as x has"
}
mono.schedule @sizes_of_arguments target("gfx950") grid(4 x 64) {
  %n = mono.param "N" in [1 to 8] default 3
  %x = mono.operand "x" read [4, %n * 16] : f32
  %right = arith.constant 48 : index
  %wrong = arith.constant 64 : index
  mono.call @expect_columns(%x, %right) : (!mono.buffer, index) -> ()
  mono.call @expect_columns(%x, %wrong) : (!mono.buffer, index) -> ()
}

// -----

mono.schedule @size_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [%rank + 1] : f32
  // expected-error @below {{expected an operand, mailbox or region with a size that parameters decide}}
  %n = mono.size %x axis 0 : !mono.buffer
}

// -----

mono.schedule @sum_in_brackets_past_64_bits target("gfx950") grid(1 x 64) {
  %n = mono.param "N" in [1 to 9223372036854775807] default 9223372036854775807
  // expected-error @below {{expected expressions of parameters that 64 signed bits hold, but d0 + 1 leaves them}}
  %a = mono.operand "a" read [(%n + 1) mod 64] : f32
}

// -----

mono.schedule @product_in_brackets_past_64_bits target("gfx950") grid(1 x 64) {
  %n = mono.param "N" in [1 to 9223372036854775807] default 9223372036854775807
  mono.stage "s" (%t) tasks [1] base [0] {
    %c = arith.constant 0 : index
  }
  // expected-error @below {{expected expressions of parameters that 64 signed bits hold, but s0 * s0 leaves them}}
  mono.stage "t" (%t) tasks [symbol(%n) * symbol(%n)] base [0] {
  }
}
