// Regions pinned by the author stay where they are; the others are placed around them.
// RUN: mono-opt %s -split-input-file --mono-place-memory | FileCheck %s

// The largest region would start at 0, but that is taken while it lives: the gap in front of the
// pinned one holds the small region only.
// CHECK-LABEL: mono.schedule @around_a_pinned_region
// CHECK-SAME: mono.lds_bytes = 9216 : i64
// CHECK-SAME: mono.lds_lower_bound = 8192 : i64
mono.schedule @around_a_pinned_region target("gfx950") grid(4 x 64) {
  // CHECK: mono.region "pinned" {{.*}} at 1024
  %pinned = mono.region "pinned" [4, 128] : f32 at 1024
  // CHECK: mono.region "large" {{.*}} at 3072
  %large = mono.region "large" [12, 128] : f32
  // CHECK: mono.region "small" {{.*}} at 0
  %small = mono.region "small" [1, 128] : f32
  mono.stage "one" (%t) tasks [1] base [0] {
    %a = mono.load %pinned[0, 0] [4, 128] : tensor<4x128xf32>
    %b = mono.load %large[0, 0] [12, 128] : tensor<12x128xf32>
  }
  mono.stage "two" (%t) tasks [1] base [0] {
    %a = mono.load %pinned[0, 0] [4, 128] : tensor<4x128xf32>
    %b = mono.load %small[0, 0] [1, 128] : tensor<1x128xf32>
  }
}

// -----

// Two pinned regions lie over each other and never live together.
// CHECK-LABEL: mono.schedule @disjoint_lives
// CHECK-SAME: mono.lds_bytes = 3072 : i64
// CHECK-SAME: mono.lds_lower_bound = 2048 : i64
mono.schedule @disjoint_lives target("gfx950") grid(4 x 64) {
  %a = mono.region "a" [4, 128] : f32 at 512
  %b = mono.region "b" [4, 128] : f32 at 1024
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 128] : tensor<4x128xf32>
  }
  mono.stage "two" (%t) tasks [1] base [0] {
    %x = mono.load %b[0, 0] [4, 128] : tensor<4x128xf32>
  }
}

// -----

// A pinned region may end with the LDS.
// CHECK-LABEL: mono.schedule @at_the_very_end
// CHECK-SAME: mono.lds_bytes = 163840 : i64
mono.schedule @at_the_very_end target("gfx950") grid(4 x 64) {
  %a = mono.region "a" [128] : f32 at 163328
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [128] : tensor<128xf32>
  }
}

// -----

// The scratch of an op is placed around pinned regions too: the sums of 16 rows by wavefront, then
// the results, 16 bytes each, and 64 for the row that is spread again.
// CHECK-LABEL: mono.schedule @scratch_behind_a_pinned_region
mono.schedule @scratch_behind_a_pinned_region target("gfx950") grid(4 x 64) {
  %a = mono.region "a" [4, 64] : f32 at 0
  mono.stage "one" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 64] : tensor<4x64xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero : tensor<4xf32>
    // CHECK: linalg.reduce {{.*}} {mono.scratch = 1024 : i64}
    %sum = linalg.reduce { arith.addf } ins(%x : tensor<4x64xf32>) outs(%init : tensor<4xf32>)
      dimensions = [1]
  }
}
