// Layouts, element types and shapes of the two ends that do not agree.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

// As sglang 26884: weights that were not shuffled where a shuffled layout is read.
mono.schedule @stream_of_row_major_weights target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here}}
  %w = mono.operand "w" read weight [16, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected operand 'w' in layout #mono.mfma_rows<16>, but got #mono.row_major}}
    %rows = mono.stream %w[0, 0] [16, 64] split_k(1)
  }
}

// -----

mono.schedule @load_of_shuffled_weights target("gfx950") grid(4 x 64) {
  // expected-note @below {{declared here}}
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected operand 'w' in layout #mono.row_major, but got #mono.mfma_rows<16> (packed weights go through mono.stream)}}
    %v = mono.load %w[0, 0] [16, 64] : tensor<16x64xbf16>
  }
}

// -----

mono.schedule @f32_posted_to_bf16 target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    // expected-error @below {{expected 'bf16' for mailbox 'm', but got 'f32'}}
    mono.post %v to %m[0] : tensor<64xf32>
  }
}

// -----

mono.schedule @received_as_another_type target("gfx950") grid(4 x 64) {
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected result type 'tensor<64xbf16>', but got 'tensor<64xf32>'}}
    %v = mono.receive %m[0] [64] : tensor<64xf32>
  }
}

// -----

// The depth of the activations is that of another matrix.
mono.schedule @depths_differ target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [4, 128] : bf16
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-note @below {{weights come from here}}
    %rows = mono.stream %w[0, 0] [16, 64] split_k(1)
    // expected-error @below {{expected a depth of 64, that of the weights, but got 128}}
    %v = mono.contract %x[0, 0] [4, 128], %rows : tensor<4x16xf32>
  }
}
