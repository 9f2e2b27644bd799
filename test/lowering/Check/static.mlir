// What binding leaves open, sizes no chip has, and ops in the wrong place.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// expected-error @below {{expected a mono.schedule in the file}}
module {
}

// -----

// expected-error @below {{expected at least one stage}}
mono.schedule @nothing target("gfx950") grid(4 x 64) {
}

// -----

mono.schedule @shape_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected sizes that parameters decide}}
  %a = mono.operand "a" read [%rank, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
  }
}

// -----

mono.schedule @tasks_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected sizes that parameters decide}}
  mono.stage "s" (%t) tasks [%rank + 1] base [0] {
  }
}

// -----

mono.schedule @base_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected a base that parameters decide}}
  mono.stage "s" (%t) tasks [2] base [%rank] {
  }
}

// -----

mono.schedule @ranks_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-error @below {{expected a number of ranks that parameters decide}}
  %other = mono.ranks [%rank + 1]
  mono.stage "s" (%t) tasks [2] base [0] {
  }
}

// -----

mono.schedule @two_numbers_of_ranks target("gfx950") grid(4 x 64) {
  // expected-note @below {{the first is here}}
  %rank = mono.ranks [4]
  // expected-error @below {{expected one mono.ranks in a schedule}}
  %other = mono.ranks [2]
  mono.stage "s" (%t) tasks [2] base [0] {
  }
}

// -----

// Every workgroup would post it, and no check of a stage would see it.
mono.schedule @post_outside_a_stage target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  %v = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @below {{expected 'mono.post' inside a stage}}
  mono.post %v to %m[0] : tensor<64xf32>
  mono.stage "s" (%t) tasks [1] base [0] {
    %w = mono.receive %m[0] [64] : tensor<64xf32>
  }
}

// -----

// A wait that only some tasks reach.
mono.schedule @wait_under_a_condition target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %two = arith.constant 2 : index
    %some = arith.cmpi ult, %t, %two : index
    // expected-error @below {{expected a stage without control flow, but got 'scf.if'}}
    scf.if %some {
      %w = mono.receive %m[0] [64] : tensor<64xf32>
    }
  }
}

// -----

mono.schedule @region_larger_than_the_lds target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 163840 bytes of LDS (gfx950, one workgroup), but region 'r' needs 196608}}
  %r = mono.region "r" [8, 6144] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// The row fits to the byte; its padding does not.
mono.schedule @padding_past_the_lds target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 163840 bytes of LDS (gfx950, one workgroup), but region 'r' needs 163856}}
  %r = mono.region "r" [81920] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

mono.schedule @operand_past_32_bits target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 2147483647 bytes (32-bit offsets), but operand 'a' needs 2147483648}}
  %a = mono.operand "a" read [32768, 16384] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

mono.schedule @operand_past_64_bits target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 2147483647 bytes (32-bit offsets), but operand 'a' needs more than 2^60}}
  %a = mono.operand "a" read [4294967296, 4294967296] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// 8 bytes for each f32, and 4 slots of them.
mono.schedule @mailbox_past_32_bits target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 2147483647 bytes (32-bit offsets), but mailbox 'm' needs 4294967296}}
  %m = mono.mailbox "m" tagged scope(device) slots(4) [16384, 8192] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// Two codes a byte.
mono.schedule @codes_past_32_bits target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected at most 2147483647 bytes (32-bit offsets), but operand 'w' needs 2147483648}}
  %w = mono.operand "w" read weight [65536, 65536] : f4E2M1FN, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// Matrices of packed weights lie further apart than 32 bits reach; each alone does not.
mono.schedule @matrix_past_32_bits target("gfx950") grid(4 x 64) {
  %fits = mono.operand "fits" read weight [256, 65536, 32768] : f4E2M1FN, #mono.mfma_rows<16>
  // expected-error @below {{expected at most 2147483647 bytes a matrix (32-bit offsets), but operand 'w' needs 2147483648}}
  %w = mono.operand "w" read weight [2, 65536, 65536] : f4E2M1FN, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// The size of the box differs from task to task.
mono.schedule @box_by_task target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected sizes that parameters decide}}
    %v = mono.load %x[0] [%t + 64] : tensor<?xf32>
    mono.store %v, %y[0] : tensor<?xf32>
  }
}

// -----

mono.schedule @region_by_task target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  %r = mono.region "r" [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected sizes that parameters decide}}
    mono.receive %m[0] [%t + 64] into %r
  }
}

// -----

// A tensor without a task to belong to: whose LDS it lies in nothing says.
mono.schedule @broadcast_outside_a_stage target("gfx950") grid(4 x 64) {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  // expected-error @below {{expected 'tensor.empty' inside a stage}}
  %e = tensor.empty() : tensor<16x8xf32>
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

// A body runs once per element, and no check looks into it.
mono.schedule @loop_in_a_body target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %g = tensor.generate {
    ^bb0(%i : index):
      %true = arith.constant true
      // expected-error @below {{expected arith, math and index ops on scalars in the body of 'tensor.generate', but got 'scf.while'}}
      scf.while : () -> () {
        scf.condition(%true)
      } do {
        scf.yield
      }
      %c = arith.constant 1.0 : f32
      tensor.yield %c : f32
    } : tensor<64xf32>
    mono.store %g, %y[0] : tensor<64xf32>
  }
}

// -----

mono.schedule @store_in_a_body target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [64] : f32
  %z = mono.operand "z" update [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = arith.constant dense<1.0> : tensor<64xf32>
    %g = tensor.generate {
    ^bb0(%i : index):
      %c = arith.constant 1.0 : f32
      // expected-error @below {{expected arith, math and index ops on scalars in the body of 'tensor.generate', but got 'mono.store'}}
      mono.store %v, %z[0] : tensor<64xf32>
      tensor.yield %c : f32
    } : tensor<64xf32>
    mono.store %g, %y[0] : tensor<64xf32>
  }
}

// -----

mono.schedule @tensor_in_a_combiner target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [2, 64] : f32
  %y = mono.operand "y" write [2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [2, 64] : tensor<2x64xf32>
    %z = arith.constant dense<0.0> : tensor<2xf32>
    %s = linalg.reduce ins(%v : tensor<2x64xf32>) outs(%z : tensor<2xf32>) dimensions = [1]
      (%in : f32, %sum : f32) {
        // expected-error @below {{expected arith, math and index ops on scalars in the body of 'linalg.reduce', but got 'arith.addf'}}
        %other = arith.addf %z, %z : tensor<2xf32>
        %next = arith.addf %in, %sum : f32
        linalg.yield %next : f32
      }
    mono.store %s, %y[0] : tensor<2xf32>
  }
}

// -----

mono.schedule @no_axis target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected tensors of at least 1 axis and 1 element, without an encoding (tensor.expand_shape adds an axis), but got 'tensor<f32>'}}
    %v = arith.constant dense<1.0> : tensor<f32>
  }
}

// -----

mono.schedule @no_element target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected tensors of at least 1 axis and 1 element, without an encoding (tensor.expand_shape adds an axis), but got 'tensor<0x64xf32>'}}
    %v = tensor.empty() : tensor<0x64xf32>
  }
}

// -----

mono.schedule @no_rank target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = arith.constant dense<1.0> : tensor<64xf32>
    // expected-error @below {{expected tensors with a rank, but got 'tensor<*xf32>'}}
    %u = tensor.cast %v : tensor<64xf32> to tensor<*xf32>
  }
}

// -----

mono.schedule @tensor_of_handles target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected tensors of numbers, but got 'tensor<2x!mono.buffer>'}}
    %v = tensor.from_elements %x, %x : tensor<2x!mono.buffer>
  }
}

// -----

mono.schedule @wide_float target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected i1, i8, i16, i32, i64, index, f16, bf16, f32, f64, f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN, but got 'f80'}}
    %v = arith.constant dense<1.0> : tensor<64xf80>
  }
}

// -----

mono.schedule @wide_scalar_in_a_body target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    %g = tensor.generate {
    ^bb0(%i : index):
      // expected-error @below {{or f4E2M1FN, but got 'i128'}}
      %wide = arith.constant 1 : i128
      %c = arith.constant 1.0 : f32
      tensor.yield %c : f32
    } : tensor<64xf32>
  }
}

// -----

mono.schedule @more_than_the_registers target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [65536] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected tensors of at most 512 registers per thread (gfx950), but 'tensor<65536xf32>' takes 1024 with 64 threads; use smaller tiles}}
    %v = mono.load %x[0] [65536] : tensor<65536xf32>
  }
}

// -----

mono.schedule @handle_by_task target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" read [64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %none = arith.constant 0 : index
    %first = arith.cmpi eq, %t, %none : index
    // expected-error @below {{expected a handle that parameters choose, but 'arith.select' chooses it at run time}}
    %z = arith.select %first, %x, %y : !mono.buffer
    %v = mono.load %z[0] [64] : tensor<64xf32>
  }
}

// -----

mono.schedule @lane_of_a_stage target("gfx950") grid(4 x 64) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected arith, math, index, tensor, linalg and mono ops in a stage, but got 'gpu.thread_id'}}
    %lane = gpu.thread_id x
  }
}
