// Each case breaks one rule of MXFP4 weights: their operands, mono.stream, mono.contract.
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
  // expected-error @below {{expected matrices of bf16, f4E2M1FN or f8E8M0FNU for layout #mono.mfma_rows<16>, but got 1 axes of 'f4E2M1FN'}}
  %w = mono.operand "w" read weight [128] : f4E2M1FN, #mono.mfma_rows<16>
}

// -----

mono.schedule @code_tiles target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 128 columns for layout #mono.mfma_rows<16>, but got 192}}
  %w = mono.operand "w" read weight [16, 192] : f4E2M1FN, #mono.mfma_rows<16>
}

// -----

mono.schedule @scale_tiles target("gfx950") grid(1 x 64) {
  // expected-error @below {{expected a multiple of 4 columns for layout #mono.mfma_rows<16>, but got 6}}
  %ws = mono.operand "ws" read weight [16, 6] : f8E8M0FNU, #mono.mfma_rows<16>
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
    // expected-error @below {{expected weights of bf16 or f4E2M1FN, but operand 'ws' has 'f8E8M0FNU'}}
    %e = mono.stream %ws[0, 0] [16, 4] split_k(1)
  }
}

// -----

mono.schedule @scaled_bf16 target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 128] : bf16, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'scaled' and 'groups' with weights of f4E2M1FN only, but operand 'w' has 'bf16'}}
    %e = mono.stream %w[0, 0] [16, 128] scaled %ws split_k(1)
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

mono.schedule @few_shares target("gfx950") grid(1 x 256) {
  %w = mono.operand "w" read weight [32, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [32, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected split_k(4), all wavefronts, for weights of f4E2M1FN, but got 2}}
    %e = mono.stream %w[0, 0] [32, 128] scaled %ws split_k(2)
  }
}

// -----

mono.schedule @depth_of_a_tile target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read weight [16, 256] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [16, 8] : f8E8M0FNU, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 128, the tile of f4E2M1FN weights, but got 192}}
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
    // expected-error @below {{expected activations in a region for weights of f4E2M1FN, but got operand 'a'}}
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
