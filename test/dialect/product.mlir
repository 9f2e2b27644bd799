// mono.product parses, prints, and parses to the same again; each broken rule has its message.
// RUN: mono-opt %s -split-input-file -verify-diagnostics --verify-roundtrip | FileCheck %s

// CHECK-LABEL: mono.schedule @product
mono.schedule @product target("gfx950") grid(1 x 512) {
  %H = mono.param "H" in [1 to 64]
  %q = mono.region "q" [%H, 576] pad(8) : bf16
  %p = mono.region "p" [%H, 64] pad(8) : bf16
  %keys = mono.region "keys" [64, 576] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // CHECK: mono.product %{{.*}}[0, 0] [%{{.*}}, 576], %{{.*}}[0, 0] [64, 576] : tensor<?x64xf32>
    %l = mono.product %q[0, 0] [%H, 576], %keys[0, 0] [64, 576] : tensor<?x64xf32>
    // CHECK: mono.product %{{.*}}[0, 0] [%{{.*}}, 64], %{{.*}}[0, 0] [64, 512] by_columns : tensor<?x512xf32>
    %o = mono.product %p[0, 0] [%H, 64], %keys[0, 0] [64, 512] by_columns : tensor<?x512xf32>
  }
}

// -----

mono.schedule @operand target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [16, 32] : bf16
  %r = mono.region "r" [16, 32] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected factors in regions of LDS, but got operand 'a' (mono.load and mono.store bring it into a region)}}
    %y = mono.product %r[0, 0] [16, 32], %a[0, 0] [16, 32] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @element target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [16, 32] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected bf16 matrices as factors, but region 'r' has 2 axes of 'f32'}}
    %y = mono.product %r[0, 0] [16, 32], %r[0, 0] [16, 32] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @axes target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [2, 16, 32] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected bf16 matrices as factors, but region 'r' has 3 axes of 'bf16'}}
    %y = mono.product %r[0, 0, 0] [1, 16, 32], %r[0, 0, 0] [1, 16, 32] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @outside target("gfx950") grid(1 x 64) {
  // expected-note @below {{declared here with shape [16, 64]}}
  %r = mono.region "r" [16, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a box inside region 'r', but every task of stage 's' covers 8 to 24 of 16 on axis 0}}
    %y = mono.product %r[0, 0] [16, 32], %r[8, 0] [16, 32] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @depths target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [64, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected factors of the same depth, but got 64 and 32}}
    %y = mono.product %r[0, 0] [16, 64], %r[0, 0] [32, 64] by_columns : tensor<16x64xf32>
  }
}

// -----

mono.schedule @depth_unit target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [64, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected a depth that is a multiple of 32 (MFMA 16x16x32), but got 48}}
    %y = mono.product %r[0, 0] [16, 48], %r[0, 0] [16, 48] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @depth_offset target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [64, 64] : bf16
  mono.stage "s" (%t) tasks [4] base [0] {
    // expected-error @below {{expected a depth offset into region 'r' that is a multiple of 8 elements (16-byte loads), but got d0 * 4}}
    %y = mono.product %r[0, %t * 4] [16, 32], %r[0, 0] [16, 32] : tensor<16x16xf32>
  }
}

// -----

mono.schedule @result target("gfx950") grid(1 x 64) {
  %r = mono.region "r" [64, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected result type 'tensor<16x64xf32>', but got 'tensor<16x32xf32>'}}
    %y = mono.product %r[0, 0] [16, 32], %r[0, 0] [32, 64] by_columns : tensor<16x32xf32>
  }
}

// -----

mono.routine @sizes(%r : !mono.buffer) {
  mono.stage "s" (%t) tasks [1] base [0] {
    // expected-error @below {{expected 2 sizes for each factor, but got 1 and 2}}
    %y = mono.product %r[0] [16], %r[0, 0] [16, 32] : tensor<16x16xf32>
  }
}
