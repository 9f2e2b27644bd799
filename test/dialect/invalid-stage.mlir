// Each case breaks one rule of an op of a stage body.
// RUN: mono-opt %s -split-input-file -verify-diagnostics

mono.schedule @offset_count target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 2 offsets into operand 'a', but got 1}}
    %v = mono.load %a[0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @size_count target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 2 sizes for operand 'a', but got 1}}
    %v = mono.load %a[0, 0] [4] : tensor<4xf32>
  }
}

// -----

mono.schedule @size_zero target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a positive size on axis 0, but got 0}}
    %v = mono.load %a[0, 0] [0, 64] : tensor<0x64xf32>
  }
}

// -----

mono.schedule @outside target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here with shape [4, 64]}}
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but every task of stage 's' covers 32 to 96 of 64 on axis 1 [monoc --explain=bounds]}}
    %v = mono.load %a[0, 32] [4, 64] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @larger_than_its_memory target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here with shape [4, 64]}}
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside operand 'a', but every task of stage 's' takes 5 of 4 on axis 0 [monoc --explain=bounds]}}
    %v = mono.load %a[%t, 0] [5, 64] : tensor<5x64xf32>
  }
}

// -----

mono.schedule @result_type target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected result type 'tensor<4x64xf32>', but got 'tensor<4x64xbf16>'}}
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xbf16>
  }
}

// -----

mono.schedule @packed target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here}}
  %a = mono.operand "a" read [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected operand 'a' in layout #mono.row_major, but got #mono.mfma_rows<16> (packed weights go through mono.stream)}}
    %v = mono.load %a[0, 0] [16, 32] : tensor<16x32xbf16>
  }
}

// -----

mono.schedule @read_output target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" write [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected an operand that may be read, but operand 'a' is declared 'write'}}
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @write_input target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    // expected-error @below {{expected an operand that may be written, but operand 'a' is declared 'read'}}
    mono.store %v, %a[0, 0] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @store_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %b = mono.operand "b" write [4, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    // expected-error @below {{expected 'bf16' for operand 'b', but got 'f32'}}
    mono.store %v, %b[0, 0] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @store_axes target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : f32
  %b = mono.operand "b" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    // expected-error @below {{expected at most 1 axes for operand 'b', but got 2}}
    mono.store %v, %b[0] : tensor<4x64xf32>
  }
}

// -----

mono.schedule @stream_layout target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here}}
  %w = mono.operand "w" read [16, 32] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected operand 'w' in layout #mono.mfma_rows<16>, but got #mono.row_major}}
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
  }
}

// -----

mono.schedule @stream_offset target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read [64, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [2] base [0] {
    // expected-error @below {{expected an offset on axis 0 that is a multiple of 16, the tile of #mono.mfma_rows<16>, but got d0 * 8}}
    %s = mono.stream %w[%t * 8, 0] [16, 32] split_k(1)
  }
}

// -----

mono.schedule @split target("gfx950") grid(1 x 512) {
  %w = mono.operand "w" read [64, 96] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected split_k to divide the 8 wavefronts of the workgroup, but got 3}}
    %s = mono.stream %w[0, 0] [64, 96] split_k(3)
  }
}

// -----

mono.schedule @stream_rows target("gfx950") grid(1 x 512) {
  %w = mono.operand "w" read [64, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a multiple of 64 rows (16 for each of 4 wavefronts that share them), but got 32}}
    %s = mono.stream %w[0, 0] [32, 64] split_k(2)
  }
}

// -----

mono.schedule @stream_depth target("gfx950") grid(1 x 512) {
  %w = mono.operand "w" read [64, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 256 (32 for each of 8 wavefronts that share it), but got 64}}
    %s = mono.stream %w[0, 0] [64, 64] split_k(8)
  }
}

// -----

mono.schedule @activations target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [4, 32] : f32
  %w = mono.operand "w" read [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    // expected-error @below {{expected a bf16 matrix of activations, but operand 'h' has 2 axes of 'f32'}}
    %p = mono.contract %h[0, 0] [4, 32], %s : tensor<4x16xf32>
  }
}

// -----

mono.schedule @too_many_rows target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [17, 32] : bf16
  %w = mono.operand "w" read [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    // expected-error @below {{expected at most 16 activation rows (the N side of MFMA 16x16x32), but got 17}}
    %p = mono.contract %h[0, 0] [17, 32], %s : tensor<17x16xf32>
  }
}

// -----

mono.schedule @depths target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [4, 64] : bf16
  %w = mono.operand "w" read [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-note @below {{weights come from here}}
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    // expected-error @below {{expected a depth of 32, that of the weights, but got 64}}
    %p = mono.contract %h[0, 0] [4, 64], %s : tensor<4x16xf32>
  }
}

// -----

mono.schedule @depth_offset target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [4, 64] : bf16
  %w = mono.operand "w" read [16, 32] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    // expected-error @below {{expected a depth offset that is a multiple of 8 elements (16-byte loads), but got 4}}
    %p = mono.contract %h[0, 4] [4, 32], %s : tensor<4x16xf32>
  }
}

// -----

mono.schedule @post_odd_offset target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 64] : bf16
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 64] : tensor<4x64xbf16>
    // expected-error @below {{expected an offset on the last axis that is a multiple of 2 (as many 'bf16' share a tagged word), but got 3}}
    mono.post %v to %m[0, 3] : tensor<4x64xbf16>
  }
}

// -----

mono.schedule @post_odd_size target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 63] : bf16
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 63] : tensor<4x63xbf16>
    // expected-error @below {{expected a last axis that is a multiple of 2 (as many 'bf16' share a tagged word), but got 63}}
    mono.post %v to %m[0, 0] : tensor<4x63xbf16>
  }
}

// -----

mono.schedule @receive_odd target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected an offset and size on the last axis that are multiples of 2 (as many 'bf16' share a tagged word)}}
    %v = mono.receive %m[0, 1] [4, 64] : tensor<4x64xbf16>
  }
}

// -----

mono.schedule @sum_of_integers target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a mailbox of bf16 or f32 of at least 2 axes to sum over, but mailbox 'm' has 2 axes of 'i32'}}
    %v = mono.receive %m[0, 0] [4, 128] sum : tensor<128xf32>
  }
}

// -----

mono.schedule @nothing_received target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a result or 'into'}}
    mono.receive %m[0, 0] [4, 128]
  }
}

// -----

mono.schedule @sum_into target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  %r = mono.region "r" [128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected either 'sum' or 'into', but got both}}
    mono.receive %m[0, 0] [4, 128] sum into %r
  }
}

// -----

mono.schedule @result_and_into target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  %r = mono.region "r" [4, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected either a result or 'into', but got both}}
    %v = mono.receive %m[0, 0] [4, 128] into %r : tensor<4x128xf32>
  }
}

// -----

mono.schedule @into_operand target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  %o = mono.operand "o" write [4, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a region after 'into', but got operand 'o'}}
    mono.receive %m[0, 0] [4, 128] into %o
  }
}

// -----

mono.schedule @into_element target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 'f32' in region 'r', but got 'bf16'}}
    mono.receive %m[0, 0] [4, 128] into %r
  }
}

// -----

mono.schedule @into_shape target("gfx950") grid(1 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : f32
  %r = mono.region "r" [4, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box of the shape of region 'r', [4, 64] but for axes of 1, but got [4, 128]}}
    mono.receive %m[0, 0] [4, 128] into %r
  }
}

// -----

mono.schedule @post_of_a_number target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [1] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c = arith.constant dense<1.0> : tensor<f32>
    // expected-error @below {{expected a tensor and offsets of at least 1 axis, but got 'tensor<f32>' and 1 offsets}}
    mono.post %c to %m[0] : tensor<f32>
  }
}

// -----

mono.routine @post_nowhere(%m : !mono.mailbox, %v : tensor<?xf32>) {
  // expected-error @below {{expected a tensor and offsets of at least 1 axis, but got 'tensor<?xf32>' and 0 offsets}}
  mono.post %v to %m[] : tensor<?xf32>
  mono.yield
}
