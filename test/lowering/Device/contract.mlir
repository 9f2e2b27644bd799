// Contractions: loads of the weights first, MFMA, partial sums through LDS in a fixed order.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// CHECK-LABEL: gpu.func @before_the_wait
// Four steps of one tile are on their way before the workgroup waits.
// CHECK-COUNT-4: vector.load %{{.*}} {alignment = 16 : i64, nontemporal = true} : memref<2048xbf16, #gpu.address_space<global>>, vector<8xbf16>
// CHECK: rocdl.sched.barrier 0
// CHECK: scf.while
// CHECK: amdgpu.lds_barrier
// CHECK-COUNT-4: amdgpu.mfma 16x16x32
// CHECK-NOT: amdgpu.mfma
// CHECK: amdgpu.lds_barrier
// CHECK: vector.load %{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>
mono.schedule @before_the_wait target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 128] : bf16
  %w = mono.operand "w" read weight [16, 128] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 16] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 128] : bf16
  %r = mono.region "r" [4, 128] pad(8) : bf16
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 128] : tensor<4x128xbf16>
    mono.post %v to %m[0, 0] : tensor<4x128xbf16>
  }
  mono.stage "contract" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 128] split_k(1)
    mono.receive %m[0, 0] [4, 128] into %r
    %p = mono.contract %r[0, 0] [4, 128], %s : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
}

// -----

// A depth that does not fit in flight is walked in blocks: 96 steps, 8 at a time.
// CHECK-LABEL: gpu.func @blocks
// CHECK-COUNT-8: nontemporal = true
// CHECK-NOT: nontemporal = true
// CHECK: rocdl.sched.barrier
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK-COUNT-8: amdgpu.mfma
// CHECK-NOT: amdgpu.mfma
// CHECK: scf.yield
// CHECK-COUNT-8: amdgpu.mfma
// CHECK-NOT: amdgpu.mfma
mono.schedule @blocks target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [4, 3072] : bf16
  %w = mono.operand "w" read weight [16, 3072] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 16] : f32
  mono.stage "contract" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 3072] split_k(1)
    %p = mono.contract %h[0, 0] [4, 3072], %s : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
}

// -----

// A depth of 11 steps that no window divides: 8 are in flight, the last 3 take the place of the first
// 3, and a load never crosses the tile it follows.
// CHECK-LABEL: gpu.func @rest
// CHECK-COUNT-8: nontemporal = true
// CHECK-NOT: nontemporal = true
// CHECK: rocdl.sched.barrier 0
// CHECK-NOT: scf.for
// CHECK: amdgpu.mfma
// CHECK: nontemporal = true
// CHECK-NEXT: rocdl.sched.barrier 134
// CHECK: amdgpu.mfma
// CHECK: nontemporal = true
// CHECK-NEXT: rocdl.sched.barrier 134
// CHECK: amdgpu.mfma
// CHECK: nontemporal = true
// CHECK-NEXT: rocdl.sched.barrier 134
// CHECK-NOT: nontemporal = true
// CHECK-COUNT-8: amdgpu.mfma
// CHECK-NOT: amdgpu.mfma
mono.schedule @rest target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [4, 352] : bf16
  %w = mono.operand "w" read weight [16, 352] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 16] : f32
  %r = mono.region "r" [4, 352] pad(8) : bf16
  mono.stage "contract" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 352] split_k(1)
    %v = mono.load %h[0, 0] [4, 352] : tensor<4x352xbf16>
    mono.store %v, %r[0, 0] : tensor<4x352xbf16>
    %p = mono.contract %r[0, 0] [4, 352], %s : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
}
