// RUN: mono-opt %s -split-input-file -verify-diagnostics --mono-place-memory

mono.schedule @too_much_lds target("gfx950") grid(4 x 64) {
  // expected-note @below {{region 'a' takes 131072 bytes}}
  %a = mono.region "a" [64, 512] : f32
  // expected-note @below {{region 'b' takes 65536 bytes}}
  %b = mono.region "b" [32, 512] : f32
  // expected-error @below {{expected at most 163840 bytes of LDS (gfx950, one workgroup), but stage 'both' needs 196608}}
  mono.stage "both" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [64, 512] : tensor<64x512xf32>
    %y = mono.load %b[0, 0] [32, 512] : tensor<32x512xf32>
  }
}
