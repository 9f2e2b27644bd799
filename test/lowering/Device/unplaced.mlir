// The order of the passes is the order of the pipeline.
// RUN: mono-opt %s -verify-diagnostics --mono-lower-to-device

// expected-error @below {{expected a placed schedule; run --mono-place-memory first}}
mono.schedule @unplaced target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [2] : tensor<2xf32>
  }
}
