// Selections: rounds of a maximum on one wavefront, or a radix search by the workgroup.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// Eight rounds; without a payload there is one result.
// CHECK-LABEL: gpu.func @wavefront
// CHECK-NOT: llvm.atomicrmw
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// Lanes compare in registers: four steps within rows of 16, two across them for each half of a key.
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-4: amdgpu.dpp
// CHECK-COUNT-2: rocdl.permlane16.swap
// CHECK-COUNT-2: rocdl.permlane32.swap
// CHECK-NOT: gpu.shuffle
// CHECK: rocdl.ballot
mono.schedule @wavefront target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [1, 64] : f32
  %y = mono.operand "y" write [1, 8] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 64] : tensor<1x64xf32>
    %i = mono.select top [8] of %v : tensor<1x64xf32> -> tensor<1x8xi32>
    mono.store %i, %y[0, 0] : tensor<1x8xi32>
  }
}

// -----

// Four passes. The adds to the histogram are ordered with nothing but the barriers.
// CHECK-LABEL: gpu.func @workgroup
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK-COUNT-4: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("workgroup") monotonic
// CHECK-NOT: llvm.atomicrmw
// CHECK: amdgpu.lds_barrier
// CHECK: amdgpu.dpp
// CHECK: amdgpu.lds_barrier
// CHECK: scf.yield
// Counts of each share, and their sums on one wavefront.
// CHECK-COUNT-8: rocdl.ballot
// CHECK-NOT: rocdl.ballot
// CHECK: amdgpu.lds_barrier
// CHECK: amdgpu.dpp
// CHECK: amdgpu.lds_barrier
mono.schedule @workgroup target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [1, 2048] : f32
  %y = mono.operand "y" write [1, 100] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [1, 2048] : tensor<1x2048xf32>
    %i = mono.select top [100] of %v : tensor<1x2048xf32> -> tensor<1x100xi32>
    mono.store %i, %y[0, 0] : tensor<1x100xi32>
  }
}
