// Each case breaks one rule of weights with scales: their operands, mono.stream, mono.contract.
// RUN: mono-opt %s -split-input-file -verify-diagnostics

mono.schedule @codes_row_major target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected layout #mono.mfma_rows<16> for element type 'f4E2M1FN'}}
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN
}

// -----

mono.schedule @scales_row_major target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected layout #mono.mfma_rows<16> for element type 'f8E8M0FNU'}}
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.row_major
}

// -----

mono.schedule @one_axis target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected matrices of bf16, f4E2M1FN, f8E4M3FN or f8E8M0FNU for layout #mono.mfma_rows<16>, but got 1 axes of 'f4E2M1FN'}}
  %w = mono.operand "w" read weight [128] : f4E2M1FN, #mono.mfma_rows<16>
}

// -----

mono.schedule @code_tiles target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 128 columns for layout #mono.mfma_rows<16>, but got 192}}
  %w = mono.operand "w" read weight [16, 192] : f4E2M1FN, #mono.mfma_rows<16>
}

// -----

mono.schedule @scale_tiles target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 2 columns for layout #mono.mfma_rows<16>, but got 5}}
  %ws = mono.operand "ws" read weight [16, 5] : f8E8M0FNU, #mono.mfma_rows<16>
}

// -----

mono.schedule @no_scales target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'scaled' and the operand of the scales for weights of 'f4E2M1FN'}}
    %e = mono.stream %w[0, 0] [16, 128] split_k(1)
  }
}

// -----

mono.schedule @scales_of_other_rows target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [32, 128] : f4E2M1FN, #mono.mfma_rows<16>
  // expected-note @below {{declared here}}
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected scales of type f8E8M0FNU in layout #mono.mfma_rows<16>, one for each 32 columns of operand 'w', but operand 'ws' is something else}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @scales_of_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 1024] : f4E2M1FN, #mono.mfma_rows<16>
  // expected-note @below {{declared here}}
  %ws = mono.operand "ws" read weight [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{but operand 'ws' is something else}}
    %e = mono.stream %w[0, 0] [16, 1024] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @streamed_scales target("gfx950") grid(1 x 64) {
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected weights of bf16, f4E2M1FN or f8E4M3FN, but operand 'ws' has 'f8E8M0FNU'}}
    %e = mono.stream %ws[0, 0] [16, 4] split_k(1)
  }
}

// -----

mono.schedule @scaled_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : bf16, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'scaled' and 'groups' with weights of f4E2M1FN or f8E4M3FN only, but operand 'w' has 'bf16'; bf16 has no scales}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @groups_of_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : bf16, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{but operand 'w' has 'bf16'; of bf16, stream every matrix on its own and weigh with 0 what nobody chose}}
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] groups(%list : tensor<2xi32>) split_k(1)
  }
}

// -----

mono.schedule @groups_of_a_matrix target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    // expected-error @below {{expected operand 'w' to have 3 axes with 'groups', but got 2}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws groups(%list : tensor<2xi32>) split_k(1)
  }
}

// -----

mono.schedule @matrices_without_groups target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected operand 'w' to have 2 axes without 'groups', but got 3}}
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @list_axes target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [1, 2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0, 0] [1, 2] : tensor<1x2xi32>
    // expected-error @below {{expected a list of groups of 1 axis}}
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws groups(%list : tensor<1x2xi32>) split_k(1)
  }
}

// -----

// Two wavefronts share the depth, so that two share the rows.
mono.schedule @few_rows target("gfx950") grid(1 x 256) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a multiple of 32 rows (16 for each of 2 wavefronts that share them), but got 16}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(2)
  }
}

// -----

mono.schedule @depth_of_an_mxfp8_tile target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 8] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 64, the tile of 'f8E4M3FN' weights, but got 96}}
    %e = mono.stream %w[0, 0] [16, 96] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @codes_without_layout target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected layout #mono.mfma_rows<16> for element type 'f8E4M3FN'}}
  %w = mono.operand "w" read weight [16, 64] : f8E4M3FN
}

// -----

mono.schedule @scaled_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 128] : bf16
  %s = mono.region "scales" [4, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected a region with a matrix of f8E4M3FN for 'scaled', but region 'r' has 2 axes of 'bf16'}}
    %y = mono.contract %r[0, 0] [4, 128] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @codes_without_scales target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 128] : f8E4M3FN
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected a bf16 matrix of activations, but region 'r' has 2 axes of 'f8E4M3FN'}}
    %y = mono.contract %r[0, 0] [4, 128], %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @few_scales target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 128] : f8E4M3FN
  // expected-note @below {{declared here}}
  %s = mono.region "scales" [4, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected a region of f32 with a scale for each 32 columns of region 'r', but region 'scales' is something else}}
    %y = mono.contract %r[0, 0] [4, 128] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @depth_of_codes target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 192] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 6] : f8E8M0FNU, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 192] : f8E4M3FN
  %s = mono.region "scales" [4, 6] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 192] scaled %ws split_k(1)
    // expected-error @below {{expected a depth that is a multiple of 128 (MFMA 16x16x128) for scaled activations, but got 192}}
    %y = mono.contract %r[0, 0] [4, 192] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @codes_times_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : bf16, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 128] : f8E4M3FN
  %s = mono.region "scales" [4, 4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] split_k(1)
    // expected-error @below {{expected weights of f4E2M1FN or f8E4M3FN for scaled activations, but operand 'w' has 'bf16'}}
    %y = mono.contract %r[0, 0] [4, 128] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @offset_in_a_block target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %r = mono.region "r" [4, 256] : f8E4M3FN
  %s = mono.region "scales" [4, 8] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected a depth offset that is a multiple of 32 elements (a scale), but got 16}}
    %y = mono.contract %r[0, 16] [4, 128] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @words_of_codes target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a last axis that is a multiple of 4 in a 'f8E4M3FN' mailbox (4 values share a tagged word), but got 6}}
  %m = mono.mailbox "m" tagged scope(device) slots(1) [6] : f8E4M3FN
}

// -----

mono.schedule @codes_as_a_tensor target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [8] : f8E4M3FN
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'into' a region for a mailbox of 'f8E4M3FN'}}
    %v = mono.receive %m[0] [8] : tensor<8xf8E4M3FN>
  }
}

// -----

mono.schedule @element_of_a_region target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected element type bf16, f32, i32 or f8E4M3FN, but got 'f64'}}
  %r = mono.region "r" [6] : f64
}

// -----

mono.schedule @unknown_format target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a number or one of the formats bf16 and mxfp8, but got 'int8'}}
  %f = mono.param "F" in [bf16, int8]
}

// -----

mono.schedule @depth_of_a_tile target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 256] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 8] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 128, the tile of 'f4E2M1FN' weights, but got 192}}
    %e = mono.stream %w[0, 0] [16, 192] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @offset_of_a_tile target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 256] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 8] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected an offset on axis 1 that is a multiple of 128, the tile of #mono.mfma_rows<16>, but got 64}}
    %e = mono.stream %w[0, 64] [16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @map_axes target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws groups(%list : tensor<2xi32>) split_k(1)
    // expected-error @below {{expected 'rows' of 2 axes (groups, rows), but got 1}}
    %y = mono.contract %r[0, 0] [4, 128] rows(%list : tensor<2xi32>), %e : tensor<2x16xf32>
  }
}

// -----

mono.schedule @map_without_groups target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [1, 2] : i32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %map = mono.load %i[0, 0] [1, 2] : tensor<1x2xi32>
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected weights with 'groups' for 'rows'}}
    %y = mono.contract %r[0, 0] [4, 128] rows(%map : tensor<1x2xi32>), %e : tensor<2x16xf32>
  }
}

// -----

mono.schedule @map_of_other_groups target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  %m = mono.operand "m" read [3, 4] : i32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    %map = mono.load %m[0, 0] [3, 4] : tensor<3x4xi32>
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws groups(%list : tensor<2xi32>) split_k(1)
    // expected-error @below {{expected 'rows' for each of 2 groups, but got 3}}
    %y = mono.contract %r[0, 0] [4, 128] rows(%map : tensor<3x4xi32>), %e : tensor<4x16xf32>
  }
}

// -----

// With rows(...) the result's rows count, not those of the box.
mono.schedule @many_mapped_rows target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  %m = mono.operand "m" read [2, 17] : i32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    %map = mono.load %m[0, 0] [2, 17] : tensor<2x17xi32>
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws groups(%list : tensor<2xi32>) split_k(1)
    // expected-error @below {{expected at most 16 activation rows (the N side of MFMA 16x16x32), but got 17}}
    %y = mono.contract %r[0, 0] [4, 128] rows(%map : tensor<2x17xi32>), %e : tensor<17x16xf32>
  }
}

// -----

mono.schedule @activations_in_memory target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %a = mono.operand "a" read [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected activations in a region for weights with scales, but got operand 'a'}}
    %y = mono.contract %a[0, 0] [4, 128], %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @mapped_result target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [2, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %i = mono.operand "i" read [2] : i32
  %m = mono.operand "m" read [2, 3] : i32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %list = mono.load %i[0] [2] : tensor<2xi32>
    %map = mono.load %m[0, 0] [2, 3] : tensor<2x3xi32>
    %e = mono.stream %w[0, 0, 0] [2, 16, 128] scaled %ws groups(%list : tensor<2xi32>) split_k(1)
    // expected-error @below {{expected result type 'tensor<3x16xf32>', but got 'tensor<4x16xf32>'}}
    %y = mono.contract %r[0, 0] [4, 128] rows(%map : tensor<2x3xi32>), %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @blocks_of_codes_of_4_bits target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected weights of f8E4M3FN for scales of f32, but operand 'w' has 'f4E2M1FN'}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
  }
}

// -----

// 144 rows begin a second row of blocks.
mono.schedule @scales_of_whole_blocks_only target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [144, 256] : f8E4M3FN, #mono.mfma_rows<16>
  // expected-note @below {{declared here}}
  %ws = mono.operand "ws" read weight [1, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a row-major operand 'tensor<2x2xf32>', a scale for each block of 128 x 128 of operand 'w', but operand 'ws' is 'tensor<1x2xf32>'}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @depth_of_a_block target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 128, a block that shares an f32 scale, but got 192}}
    %e = mono.stream %w[0, 0] [16, 192] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @offset_in_a_block_of_weights target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected an offset on axis 1 that is a multiple of 128, a block that shares an f32 scale, but got 64}}
    %e = mono.stream %w[0, 64] [16, 128] scaled %ws split_k(1)
  }
}

// -----

mono.schedule @scales_of_32_with_blocks target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  %r = mono.region "r" [4, 256] : f8E4M3FN
  // expected-note @below {{declared here}}
  %s = mono.region "scales" [4, 8] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 256] scaled %ws split_k(1)
    // expected-error @below {{expected a region of f32 with a scale for each 128 columns of region 'r', but region 'scales' is something else}}
    %y = mono.contract %r[0, 0] [4, 256] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @offset_in_a_block_of_activations target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  %r = mono.region "r" [4, 256] : f8E4M3FN
  %s = mono.region "scales" [4, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
    // expected-error @below {{expected a depth offset that is a multiple of 128 elements (a scale), but got 32}}
    %y = mono.contract %r[0, 32] [4, 128] scaled %s, %e : tensor<4x16xf32>
  }
}

// -----

mono.schedule @operand_times_blocks target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [128, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 2] : f32
  %x = mono.operand "x" read [4, 256] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [16, 256] scaled %ws split_k(1)
    // expected-error @below {{expected activations in a region for weights with scales, but got operand 'x'}}
    %y = mono.contract %x[0, 0] [4, 256], %e : tensor<4x16xf32>
  }
}

// -----

// Whether the stream sees the old or the new scale would be chance.
mono.schedule @scales_that_change target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read [128, 128] : f8E4M3FN, #mono.mfma_rows<16>
  // expected-note @below {{declared here}}
  %s = mono.operand "s" update [1, 1] : f32
  mono.stage "use" (%t) tasks [1] base [0] {
    // expected-error @below {{expected scales that a launch only reads, but operand 's' is declared 'update'}}
    %st = mono.stream %w[0, 0] [128, 128] scaled %s split_k(1)
  }
}

// -----

mono.schedule @mx_scales_that_are_written target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read [16, 128] : f8E4M3FN, #mono.mfma_rows<16>
  // expected-note @below {{declared here}}
  %s = mono.operand "s" write [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "use" (%t) tasks [1] base [0] {
    // expected-error @below {{expected scales that a launch only reads, but operand 's' is declared 'write'}}
    %st = mono.stream %w[0, 0] [16, 128] scaled %s split_k(1)
  }
}

// -----

mono.schedule @first_of_the_groups target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read [4, 16, 128] : f8E4M3FN, #mono.mfma_rows<16>
  %s = mono.operand "s" read [4, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %ids = mono.operand "ids" read [1] : i32
  mono.stage "use" (%t) tasks [1] base [0] {
    %l = mono.load %ids[0] [1] : tensor<1xi32>
    // expected-error @below {{expected offset 0 on axis 0 with 'groups', as the list says which matrices are read, but got 2}}
    %st = mono.stream %w[2, 0, 0] [2, 16, 128] scaled %s groups(%l : tensor<1xi32>) split_k(1)
  }
}

// -----

mono.schedule @group_of_the_task target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read [4, 16, 128] : f8E4M3FN, #mono.mfma_rows<16>
  %s = mono.operand "s" read [4, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %ids = mono.operand "ids" read [1] : i32
  mono.stage "use" (%t) tasks [4] base [0] {
    %l = mono.load %ids[0] [1] : tensor<1xi32>
    // expected-error @below {{expected offset 0 on axis 0 with 'groups', as the list says which matrices are read, but got d0}}
    %st = mono.stream %w[%t, 0, 0] [1, 16, 128] scaled %s groups(%l : tensor<1xi32>) split_k(1)
  }
}

// -----

mono.schedule @some_of_the_groups target("gfx950") grid(4 x 64) {
  %w = mono.operand "w" read [4, 16, 128] : f8E4M3FN, #mono.mfma_rows<16>
  %s = mono.operand "s" read [4, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %ids = mono.operand "ids" read [1] : i32
  mono.stage "use" (%t) tasks [1] base [0] {
    %l = mono.load %ids[0] [1] : tensor<1xi32>
    // expected-error @below {{expected all 4 matrices of operand 'w' on axis 0 with 'groups', as the list may name any, but got 1}}
    %st = mono.stream %w[0, 0, 0] [1, 16, 128] scaled %s groups(%l : tensor<1xi32>) split_k(1)
  }
}
