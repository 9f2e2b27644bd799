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
    // expected-error @below {{expected a positive size, but got 0}}
    %x = tensor.empty(%none) : tensor<?xf32>
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
