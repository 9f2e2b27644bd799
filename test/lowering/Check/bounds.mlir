// Boxes outside their memory, by task and by rank, or off the grid of words and tiles.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @last_task_outside target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [6, 64]}}
  %a = mono.operand "a" read [6, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but task 3 of stage 's' covers 6 to 8 of 6 on axis 0}}
    %v = mono.load %a[%t * 2, 0] [2, 64] : tensor<2x64xf32>
  }
}

// -----

mono.schedule @rank_outside target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-note @below {{declared here with shape [3, 64]}}
  %a = mono.operand "a" read [3, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but task 0 of stage 's' covers 3 to 4 of 3 on axis 0 on rank 3}}
    %v = mono.load %a[%rank, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @first_task_before_the_start target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [4, 64]}}
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but task 0 of stage 's' covers -1 to 0 of 4 on axis 0}}
    %v = mono.load %a[%t - 1, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// The left neighbour of rank 0, without the mod.
mono.schedule @left_neighbour_of_rank_zero target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [4]
  // expected-note @below {{declared here with shape [4, 64]}}
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside mailbox 'm', but task 0 of stage 's' covers -1 to 0 of 4 on axis 0 on rank 0}}
    %v = mono.receive %m[%rank - 1, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @post_past_the_mailbox target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  // expected-note @below {{declared here with shape [4, 64]}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 64] : f32
  mono.stage "s" (%t) tasks [5] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected a box inside mailbox 'm', but task 4 of stage 's' covers 4 to 5 of 4 on axis 0}}
    mono.post %v to %m[%t, 0] : tensor<64xf32>
  }
}

// -----

mono.schedule @store_past_the_output target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [200]}}
  %y = mono.operand "y" write [200] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error @below {{expected a box inside operand 'y', but task 3 of stage 's' covers 192 to 256 of 200 on axis 0}}
    mono.store %v, %y[%t * 64] : tensor<64xf32>
  }
}

// -----

mono.schedule @store_past_the_region target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [2, 64]}}
  %r = mono.region "r" [2, 64] : f32
  mono.stage "s" (%t) tasks [3] base [0] {
    %v = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error @below {{expected a box inside region 'r', but task 2 of stage 's' covers 2 to 3 of 2 on axis 0}}
    mono.store %v, %r[%t, 0] : tensor<64xf32>
  }
}

// -----

// 40 rows of weights are not a multiple of what 3 tasks of 16 rows fetch.
mono.schedule @weight_rows_past_the_end target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [32, 64]}}
  %w = mono.operand "w" read weight [32, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [3] base [0] {
    // expected-error @below {{expected a box inside operand 'w', but task 2 of stage 's' covers 32 to 48 of 32 on axis 0}}
    %rows = mono.stream %w[%t * 16, 0] [16, 64] split_k(1)
  }
}

// -----

mono.schedule @activations_past_the_end target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here with shape [4, 128]}}
  %x = mono.operand "x" read [4, 128] : bf16
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [3] base [0] {
    %rows = mono.stream %w[0, 0] [16, 64] split_k(1)
    // expected-error @below {{expected a box inside operand 'x', but task 2 of stage 's' covers 128 to 192 of 128 on axis 1}}
    %v = mono.contract %x[0, %t * 64] [4, 64], %rows : tensor<4x16xf32>
  }
}

// -----

mono.schedule @division_by_zero target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-error @below {{expected offsets with a value (division by zero?)}}
    %v = mono.load %a[1 floordiv symbol(%t), 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @computed_offset target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-note @below {{made here}}
    %two = arith.addi %t, %t : index
    // expected-error @below {{expected offsets made of the task, the rank and parameters, but one is a result of 'arith.addi'; write its expression between the brackets}}
    %v = mono.load %a[%two, 0] [1, 64] : tensor<1x64xf32>
  }
}

// -----

// Task 1 would start in the middle of a word that task 0 also writes.
mono.schedule @half_a_tagged_word target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [2] : bf16
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8] : bf16
  mono.stage "s" (%t) tasks [2] base [0] {
    %v = mono.load %a[0] [2] : tensor<2xbf16>
    // expected-error @below {{expected offsets on axis 0 that are multiples of 2 (so many share a tagged word), but task 1 of stage 's' is at 3}}
    mono.post %v to %m[symbol(%t) * 3] : tensor<2xbf16>
  }
}

// -----

mono.schedule @half_a_tagged_word_received target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8] : bf16
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-error @below {{expected offsets on axis 0 that are multiples of 2 (so many share a tagged word), but task 1 of stage 's' is at 1}}
    %v = mono.receive %m[symbol(%t)] [2] : tensor<2xbf16>
  }
}

// -----

mono.schedule @half_a_weight_tile target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read weight [64, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-error @below {{expected offsets on axis 0 that are multiples of 16 (the tile of #mono.mfma_rows<16>), but task 1 of stage 's' is at 8}}
    %rows = mono.stream %w[symbol(%t) * 8, 0] [16, 64] split_k(1)
  }
}

// -----

mono.schedule @activations_off_their_16_bytes target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [4, 128] : bf16
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [2] base [0] {
    %rows = mono.stream %w[0, 0] [16, 64] split_k(1)
    // expected-error @below {{expected offsets on axis 1 that are multiples of 8 (16-byte loads), but task 1 of stage 's' is at 4}}
    %v = mono.contract %x[0, symbol(%t) * 4] [4, 64], %rows : tensor<4x16xf32>
  }
}

// -----

// Rows are known at run time only, columns are not.
mono.schedule @scattered_past_the_row target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  // expected-note @below {{declared here with shape [3, 8, 96]}}
  %cache = mono.operand "cache" update [3, 8, 96] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    %v = arith.constant dense<1.0> : tensor<2x32xf32>
    // expected-error @below {{expected a box inside operand 'cache', but task 3 of stage 's' covers 96 to 128 of 96 on axis 2}}
    mono.scatter %v, %cache[%t * 32] at %i : tensor<2x32xf32>, tensor<2xi32>
  }
}

// -----

// Each task has a row of its own, in 64 bits; the kernel computes %t * 2000000000 in 32.
mono.schedule @step_past_32_bits target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    // expected-error @below {{expected offsets whose every step is within 2147483647, as a kernel computes them in 32 bits, but task 2 of stage 's' on workgroup 2 has none for d0 * 2000000000}}
    mono.store %v, %y[(%t * 2000000000) floordiv 1999999999, 0] : tensor<1x64xf32>
  }
}

// -----

// As large as it may be.
mono.schedule @step_of_32_bits target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [2, 64] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %v = arith.constant dense<1.0> : tensor<1x64xf32>
    mono.store %v, %y[(%t * 2147483647) floordiv 2147483646, 0] : tensor<1x64xf32>
  }
}

// -----

// Binding would compute 5000000, the kernel 705032.
mono.schedule @wide_constant target("gfx950") grid(1 x 64) {
  %y = mono.operand "y" write [64] : i32
  %many = arith.constant 5000000000 : index
  %some = arith.constant 1000 : index
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{kernels compute index values in 32 bits, but 'arith.addi' takes 5000000000; take i64}}
    %sum = arith.addi %many, %t : index
    %quotient = arith.divui %sum, %some : index
    %word = arith.index_cast %quotient : index to i32
    %v = tensor.splat %word : tensor<64xi32>
    mono.store %v, %y[0] : tensor<64xi32>
  }
}

// -----

mono.schedule @wide_product target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [4, 64] : i32
  %million = arith.constant 1000000 : index
  %thousand = arith.constant 1000 : index
  mono.stage "s" (%t) tasks [4] base [0] {
    %g = tensor.generate {
    ^bb0(%i : index):
      %sum = arith.addi %i, %t : index
      %wide = arith.muli %million, %thousand : index
      // expected-error @below {{kernels compute index values in 32 bits, but 'arith.muli' makes 0 to 66000000000; take i64}}
      %p = arith.muli %sum, %wide : index
      tensor.yield %p : index
    } : tensor<64xindex>
    %v = arith.index_cast %g : tensor<64xindex> to tensor<64xi32>
    %row = tensor.expand_shape %v [[0, 1]] output_shape [1, 64] : tensor<64xi32> into tensor<1x64xi32>
    mono.store %row, %y[%t, 0] : tensor<1x64xi32>
  }
}

// -----

// 32 bits have 0 for this divisor.
mono.schedule @wide_beside_stages target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %y = mono.operand "y" write [64] : i32
  %many = arith.constant 4294967296 : index
  // expected-error @below {{kernels compute index values in 32 bits, but 'arith.divui' takes 4294967296; take i64}}
  %quotient = arith.divui %rank, %many : index
  mono.stage "s" (%t) tasks [1] base [0] {
    %word = arith.index_cast %quotient : index to i32
    %v = tensor.splat %word : tensor<64xi32>
    mono.store %v, %y[0] : tensor<64xi32>
  }
}

// -----

mono.schedule @wide_tensor target("gfx950") grid(1 x 64) {
  %y = mono.operand "y" write [64] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{kernels compute index values in 32 bits, but 'arith.constant' makes 5000000000; take i64}}
    %many = arith.constant dense<5000000000> : tensor<64xindex>
    %v = arith.index_cast %many : tensor<64xindex> to tensor<64xi32>
    mono.store %v, %y[0] : tensor<64xi32>
  }
}
