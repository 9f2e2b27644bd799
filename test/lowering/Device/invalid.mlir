// What a stage body can't do yet is refused with the reason.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-place-memory --mono-lower-to-device

mono.schedule @constant target("gfx950") grid(1 x 64) {
  %b = mono.operand "b" write [2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a constant tensor with one value for all elements}}
    %x = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    mono.store %x, %b[0] : tensor<2xf32>
  }
}

// -----

mono.schedule @two_inputs target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero : tensor<4xf32>
    // expected-error @below {{expected a reduction of one tensor, but got 2}}
    %y:2 = linalg.reduce ins(%x, %x : tensor<4x64xf32>, tensor<4x64xf32>) outs(%init, %init : tensor<4xf32>, tensor<4xf32>) dimensions = [1]
      (%p: f32, %q: f32, %r: f32, %s: f32) {
        linalg.yield %p, %q : f32, f32
      }
  }
}

// -----

mono.schedule @first_axis target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero : tensor<64xf32>
    // expected-error @below {{expected a reduction of the last axis, 1, but got [0]; linalg.transpose brings another one there, and mono.receive ... sum adds over the first of a mailbox}}
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x64xf32>) outs(%init : tensor<64xf32>) dimensions = [0]
  }
}

// -----

mono.schedule @no_initial_value target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %init = tensor.empty() : tensor<4xf32>
    // expected-error @below {{expected one initial value for all elements of a reduction: a tensor.splat or a constant dense<...>}}
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  }
}

// -----

mono.schedule @half target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xbf16>
    %zero = arith.constant 0.0 : bf16
    %init = tensor.splat %zero : tensor<4xbf16>
    // expected-error @below {{expected a reduction of f32 or i32, but got 'bf16'}}
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x64xbf16>) outs(%init : tensor<4xbf16>) dimensions = [1]
  }
}

// -----

mono.schedule @unsupported target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %one = arith.constant 1 : index
    // expected-error @below {{'scf.for' is not supported in a stage}}
    scf.for %i = %one to %one step %one {
    }
  }
}

// -----

mono.schedule @odd_rows_of_codes target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [3] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [3] : tensor<3xf32>
    // expected-error @below {{expected f32 by f32 to f8E4M3FN with rows of an even length, but got 'tensor<3xf32>' by 'tensor<3xf32>' to 'tensor<3xf8E4M3FN>'}}
    %c = arith.scaling_truncf %x, %x : tensor<3xf32>, tensor<3xf32> to tensor<3xf8E4M3FN>
  }
}

// -----

mono.schedule @a_scale_for_each target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [4] : tensor<4xf32>
    // expected-error @below {{expected scales that linalg.broadcast repeats along the last axis}}
    %c = arith.scaling_truncf %x, %x : tensor<4xf32>, tensor<4xf32> to tensor<4xf8E4M3FN>
  }
}

// -----

mono.schedule @one_axis target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    %init = arith.constant dense<0.0> : tensor<f32>
    // expected-error @below {{expected a reduction of at least 2 axes, but got 'tensor<64xf32>'; tensor.expand_shape makes one row of it}}
    %y = linalg.reduce { arith.addf } ins(%x : tensor<64xf32>) outs(%init : tensor<f32>) dimensions = [0]
  }
}

// -----

mono.schedule @function_of_the_device_library target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{'math.cbrt' has no code on gfx950; math has absf, absi, copysign, ctlz, cttz, ctpop, erf, erfc, exp, fma, isfinite, isnan, log, round, roundeven, rsqrt, sqrt, tanh and trunc there}}
    %y = math.cbrt %x : tensor<64xf32>
  }
}

// -----

mono.schedule @rounding_downward target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected rounding to nearest even, as kernels round, but got 'downward'}}
    %y = arith.truncf %x downward : tensor<64xf32> to tensor<64xbf16>
  }
}

// -----

mono.schedule @truncation_to_codes target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{'arith.truncf' has no code for 'f8E4M3FN'; arith.scaling_truncf makes f8E4M3FN, and mono.contract takes codes as they are}}
    %y = arith.truncf %x : tensor<64xf32> to tensor<64xf8E4M3FN>
  }
}

// -----

mono.schedule @function_of_bf16 target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xbf16>
    // expected-error @below {{'math.exp' has code for f32, but got 'bf16'; extend to f32 and truncate the result}}
    %y = math.exp %x : tensor<64xbf16>
  }
}

// -----

mono.schedule @function_in_a_body target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %g = tensor.generate {
    ^bb0(%i : index):
      %c = arith.constant 1.0 : f32
      // expected-error @below {{'math.sin' has no code on gfx950; math has absf, absi, copysign, ctlz, cttz, ctpop, erf, erfc, exp, fma, isfinite, isnan, log, round, roundeven, rsqrt, sqrt, tanh and trunc there; angles come as a table of the caller (@rope_angles)}}
      %s = math.sin %c : f32
      tensor.yield %s : f32
    } : tensor<64xf32>
  }
}

// -----

mono.schedule @scalar_function target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = arith.constant 2.0 : f32
    // expected-error @below {{'math.exp2' has no code on gfx950}}
    %y = math.exp2 %x : f32
  }
}

// -----

mono.schedule @remainder target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{'arith.remf' has no code on gfx950; x - trunc(x / y) * y has}}
    %y = arith.remf %x, %x : tensor<64xf32>
  }
}

// -----

// The combiner also combines partial results: of those it would take the square again.
mono.schedule @square_in_the_combiner target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %init = arith.constant dense<0.0> : tensor<4xf32>
    %y = linalg.reduce ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
      (%in: f32, %sum: f32) {
        // expected-error @below {{expected a combiner of one op on its two arguments, of arith addf, mulf, addi, muli, min..., max..., andi, ori and xori, since it also combines partial results, but got 'arith.mulf'; do what one element needs, a square say, on the whole tensor first, then reduce}}
        %square = arith.mulf %in, %in : f32
        %s = arith.addf %square, %sum : f32
        linalg.yield %s : f32
      }
  }
}

// -----

mono.schedule @bounded_sum target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %most = arith.constant 2.0 : f32
    %init = arith.constant dense<0.0> : tensor<4xf32>
    %y = linalg.reduce ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
      (%in: f32, %sum: f32) {
        %s = arith.addf %in, %sum : f32
        // expected-error @below {{since it also combines partial results, but got 'arith.minimumf'}}
        %bounded = arith.minimumf %s, %most : f32
        linalg.yield %bounded : f32
      }
  }
}

// -----

mono.schedule @difference target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %init = arith.constant dense<0.0> : tensor<4xf32>
    // expected-error @below {{since it also combines partial results, but got 'arith.subf'}}
    %y = linalg.reduce { arith.subf } ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  }
}

// -----

mono.schedule @last_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %init = arith.constant dense<0.0> : tensor<4xf32>
    %y = linalg.reduce ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
      (%in: f32, %sum: f32) {
        // expected-error @below {{since it also combines partial results, but got 'linalg.yield'}}
        linalg.yield %in : f32
      }
  }
}

// -----

mono.schedule @one_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    %zero = arith.constant 0 : index
    // expected-error @below {{'tensor.extract' is not supported in a stage}}
    %e = tensor.extract %x[%zero] : tensor<64xf32>
  }
}

// -----

mono.schedule @size_of_an_axis target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    %zero = arith.constant 0 : index
    // expected-error @below {{'tensor.dim' is not supported in a stage}}
    %n = tensor.dim %x, %zero : tensor<64xf32>
  }
}

// -----

mono.schedule @from_scalars target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %one = arith.constant 1.0 : f32
    // expected-error @below {{'tensor.from_elements' is not supported in a stage}}
    %x = tensor.from_elements %one, %one : tensor<2xf32>
  }
}

// -----

mono.schedule @fill target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %one = arith.constant 1.0 : f32
    %e = tensor.empty() : tensor<2xf32>
    // expected-error @below {{'linalg.fill' is not supported in a stage}}
    %x = linalg.fill ins(%one : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  }
}

// -----

mono.schedule @elements_in_a_body target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [64] : tensor<64xf32>
    %y = tensor.generate {
    ^bb0(%i : index):
      // expected-error @below {{expected scalar arithmetic in a tensor.generate, but got 'tensor.extract'; elements of a tensor at computed places are what mono.gather reads from an operand or a region}}
      %e = tensor.extract %x[%i] : tensor<64xf32>
      tensor.yield %e : f32
    } : tensor<64xf32>
  }
}

// -----

mono.schedule @moved_at_schedule_level target("gfx950") grid(1 x 64) {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  // expected-error @below {{expected 'linalg.broadcast' inside a stage: it needs LDS, which only stages have}}
  %b = linalg.broadcast ins(%c : tensor<8xf32>) outs(%e : tensor<16x8xf32>) dimensions = [0]
}

// -----

mono.schedule @sum_of_codes target("gfx950") grid(1 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = arith.constant dense<1.0> : tensor<64xf8E4M3FN>
    // expected-error @below {{'arith.addf' has no code for 'f8E4M3FN'; arith.scaling_truncf makes f8E4M3FN, and mono.contract takes codes as they are}}
    %y = arith.addf %x, %x : tensor<64xf8E4M3FN>
  }
}

// -----

mono.schedule @zeros_of_an_index target("gfx950") grid(1 x 64) {
  %y = mono.operand "y" write [64] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{'math.ctlz' has code for i8 to i64, but got index; arith.index_cast makes i32}}
    %z = math.ctlz %t : index
    %w = arith.index_cast %z : index to i32
    %s = tensor.splat %w : tensor<64xi32>
    mono.store %s, %y[0] : tensor<64xi32>
  }
}
