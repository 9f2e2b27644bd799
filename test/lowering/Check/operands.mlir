// Outputs that are not stored exactly once, and loads that race with stores.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-check-schedule

mono.schedule @never_stored target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected every element of operand 'y' to be stored, but nobody stores element [0]}}
  // expected-note @below {{no stage with tasks stores to it}}
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
  }
}

// -----

mono.schedule @stored_partly target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected every element of operand 'y' to be stored, but nobody stores element [3, 0]}}
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "s" (%t) tasks [3] base [0] {
    %v = arith.constant dense<0.0> : tensor<1x64xf32>
    // expected-note @below {{stage 's' stores other elements here}}
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
}

// -----

mono.schedule @stored_with_a_gap target("gfx950") grid(4 x 64) {
  // expected-error @below {{expected every element of operand 'y' to be stored, but nobody stores element [0, 32]}}
  %y = mono.operand "y" write [2, 128] : f32
  mono.stage "s" (%t) tasks [2] base [0] {
    %v = arith.constant dense<0.0> : tensor<2x32xf32>
    // expected-note @below {{stage 's' stores other elements here}}
    mono.store %v, %y[0, %t * 64] : tensor<2x32xf32>
  }
}

// -----

// Every rank stores its own row only: the other rows of its copy stay empty.
mono.schedule @stored_by_rank target("gfx950") grid(4 x 64) {
  %rank = mono.ranks [2]
  // expected-error @below {{expected every element of operand 'y' to be stored, but nobody stores element [1, 0]}}
  %y = mono.operand "y" write [2, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = arith.constant dense<0.0> : tensor<64xf32>
    // expected-note @below {{stage 's' stores other elements here}}
    mono.store %v, %y[%rank, 0] : tensor<64xf32>
  }
}

// -----

// As TensorRT-LLM 18339: several workgroups store one value.
mono.schedule @stored_by_every_task target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = arith.constant dense<0.0> : tensor<64xf32>
    // expected-error @below {{expected every element of operand 'y' to be stored once per launch, but element [0] is stored again by task 1 of stage 's' on workgroup 1}}
    // expected-note @below {{stored before by task 0 of stage 's' on workgroup 0}}
    mono.store %v, %y[0] : tensor<64xf32>
  }
}

// -----

mono.schedule @stored_by_two_stages target("gfx950") grid(4 x 64) {
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "draft" (%t) tasks [4] base [0] {
    %v = arith.constant dense<0.0> : tensor<1x64xf32>
    // expected-note @below {{stored before by task 2 of stage 'draft' on workgroup 2}}
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "final" (%t) tasks [1] base [3] {
    %v = arith.constant dense<0.0> : tensor<1x64xf32>
    // expected-error @below {{element [2, 0] is stored again by task 0 of stage 'final' on workgroup 3}}
    mono.store %v, %y[2, 0] : tensor<1x64xf32>
  }
}

// -----

// As aiter 3290: data through plain memory, without a word that says it has come.
mono.schedule @output_of_another_workgroup target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [4, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "write" (%t) tasks [4] base [0] {
    %v = arith.constant dense<1.0> : tensor<1x64xf32>
    // expected-note @below {{stored here by task 1 of stage 'write' on workgroup 1; hand it on through a mailbox}}
    mono.store %v, %x[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "read" (%t) tasks [4] base [0] {
    // expected-error @below {{task 0 of stage 'read' on workgroup 0 loads element [1, 0] of operand 'x', which another workgroup stores in the same launch: whether it sees the old or the new value is chance}}
    %v = mono.load %x[(%t + 1) mod 4, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// The store comes later in the file, but on another workgroup: it may well run first.
mono.schedule @old_value_of_another_workgroup target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [4, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  mono.stage "read" (%t) tasks [4] base [1] {
    // expected-error @below {{task 0 of stage 'read' on workgroup 1 loads element [0, 0] of operand 'x', which another workgroup stores in the same launch}}
    %v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %v, %y[%t, 0] : tensor<1x64xf32>
  }
  mono.stage "write" (%t) tasks [4] base [0] {
    %v = arith.constant dense<1.0> : tensor<1x64xf32>
    // expected-note @below {{stored here by task 0 of stage 'write' on workgroup 0; hand it on through a mailbox}}
    mono.store %v, %x[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// Wavefront 1 loads what wavefront 0 stores, and no barrier orders memory.
mono.schedule @other_wavefront_of_the_workgroup target("gfx950") grid(1 x 128) {
  %x = mono.operand "x" update [512] : f32
  %y = mono.operand "y" write [512] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[256] [256] : tensor<256xf32>
    // expected-note @below {{stored here by task 0 of stage 's' on workgroup 0; let one task load the box it stores, the load first, or use a region}}
    mono.store %v, %x[0] : tensor<256xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 loads element [0] of operand 'x', which other threads of it store in the same launch}}
    %w = mono.load %x[0] [512] : tensor<512xf32>
    mono.store %w, %y[0] : tensor<512xf32>
  }
}

// -----

// The load of the larger box spreads over the threads in another way than the store.
mono.schedule @load_of_a_larger_box_first target("gfx950") grid(1 x 128) {
  %x = mono.operand "x" update [512] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{task 0 of stage 's' on workgroup 0 loads element [256] of operand 'x', which other threads of it store in the same launch}}
    %v = mono.load %x[0] [512] : tensor<512xf32>
    %c = arith.constant dense<1.0> : tensor<256xf32>
    // expected-note @below {{stored here by task 0 of stage 's' on workgroup 0; let one task load the box it stores}}
    mono.store %c, %x[256] : tensor<256xf32>
  }
}

// -----

// Read back in the same task: the store may still be on its way.
mono.schedule @read_back target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" update [64] : f32
  %y = mono.operand "y" write [64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    // expected-note @below {{stored here by task 0 of stage 's' on workgroup 0}}
    mono.store %c, %x[0] : tensor<64xf32>
    // expected-error @below {{task 0 of stage 's' on workgroup 0 loads element [0] of operand 'x', which other threads of it store}}
    %v = mono.load %x[0] [64] : tensor<64xf32>
    mono.store %v, %y[0] : tensor<64xf32>
  }
}

// -----

// Activations of a contraction are read by all lanes that need them, not by who stored them.
mono.schedule @contraction_of_an_updated_operand target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" update [4, 64] : bf16
  %w = mono.operand "w" read weight [16, 64] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 16] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %rows = mono.stream %w[0, 0] [16, 64] split_k(1)
    // expected-error @below {{task 0 of stage 's' on workgroup 0 loads element [0, 0] of operand 'x', which other threads of it store}}
    %v = mono.contract %x[0, 0] [4, 64], %rows : tensor<4x16xf32>
    mono.store %v, %y[0, 0] : tensor<4x16xf32>
    %c = arith.constant dense<1.0> : tensor<4x64xbf16>
    // expected-note @below {{stored here by task 0 of stage 's' on workgroup 0}}
    mono.store %c, %x[0, 0] : tensor<4x64xbf16>
  }
}

// -----

// A gather reads any row, so also the one that another workgroup stores.
mono.schedule @gather_of_a_stored_operand target("gfx950") grid(4 x 64) {
  %ids = mono.operand "ids" read [2] : i32
  %x = mono.operand "x" update [4, 64] : f32
  %y = mono.operand "y" write [2, 64] : f32
  mono.stage "write" (%t) tasks [1] base [0] {
    %v = arith.constant dense<1.0> : tensor<1x64xf32>
    // expected-note @below {{stored here by task 0 of stage 'write' on workgroup 0; hand it on through a mailbox}}
    mono.store %v, %x[3, 0] : tensor<1x64xf32>
  }
  mono.stage "read" (%t) tasks [1] base [1] {
    %i = mono.load %ids[0] [2] : tensor<2xi32>
    // expected-error @below {{task 0 of stage 'read' on workgroup 1 loads element [3, 0] of operand 'x', which another workgroup stores in the same launch}}
    %v = mono.gather %x at %i : tensor<2xi32> -> tensor<2x64xf32>
    mono.store %v, %y[0, 0] : tensor<2x64xf32>
  }
}
