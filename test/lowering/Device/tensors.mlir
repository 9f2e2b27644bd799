// Upstream ops on tensors, thread by thread.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// 256 elements on 64 threads: vectors of 4, no LDS, no barrier but the last.
// CHECK-LABEL: gpu.func @elementwise
// CHECK: %[[X:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<256xf32, #gpu.address_space<global>>, vector<4xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : vector<4xf32>
// CHECK: vector.store %[[Y]]
// CHECK: amdgpu.lds_barrier
// CHECK-NOT: amdgpu.lds_barrier
mono.schedule @elementwise target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [256] : f32
  %b = mono.operand "b" write [256] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0] [256] : tensor<256xf32>
    %y = arith.mulf %x, %x : tensor<256xf32>
    mono.store %y, %b[0] : tensor<256xf32>
  }
}

// -----

// A row of 32 elements lies on 16 lanes: four exchanges in registers, then LDS for who needs the result.
// CHECK-LABEL: gpu.func @reduce(
// CHECK: amdgpu.dpp {{.*}} quad_perm([1 : i32, 0 : i32, 3 : i32, 2 : i32])
// CHECK: amdgpu.dpp {{.*}} quad_perm([2 : i32, 3 : i32, 0 : i32, 1 : i32])
// CHECK: amdgpu.dpp {{.*}} row_half_mirror
// CHECK: amdgpu.dpp {{.*}} row_ror(8 : i32)
// CHECK-NOT: {{amdgpu.dpp|gpu.shuffle|swap}}
// CHECK: amdgpu.lds_barrier
// CHECK: gpu.return
mono.schedule @reduce target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 32] : f32
  %b = mono.operand "b" write [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 32] : tensor<4x32xf32>
    %zero = arith.constant 0.0 : f32
    %init = tensor.splat %zero : tensor<4xf32>
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x32xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    mono.store %y, %b[0] : tensor<4xf32>
  }
}

// -----

// Rows of two chunks over 4 wavefronts each: the lanes' sums of both chunks, in registers, and only then
// what the first lane of each wavefront stores.
// CHECK-LABEL: gpu.func @reduce_two_chunks
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-2: rocdl.permlane32.swap
// CHECK: scf.if
// CHECK-COUNT-2: vector.store {{.*}} : memref<16xf32, #gpu.address_space<workgroup>>
// CHECK: amdgpu.lds_barrier
// CHECK: gpu.return
mono.schedule @reduce_two_chunks target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [4, 2048] : f32
  %b = mono.operand "b" write [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 2048] : tensor<4x2048xf32>
    %init = arith.constant dense<0.0> : tensor<4xf32>
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x2048xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    mono.store %y, %b[0] : tensor<4xf32>
  }
}

// -----

// The initial value as a constant: it is the value the first partial result is combined with.
// CHECK-LABEL: gpu.func @reduce_from_constant
// CHECK-DAG: %[[INIT:.*]] = arith.constant 2.500000e+00 : f32
// CHECK: arith.addf %{{.*}}, %[[INIT]] : f32
// CHECK: gpu.return
mono.schedule @reduce_from_constant target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [4, 32] : f32
  %b = mono.operand "b" write [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %a[0, 0] [4, 32] : tensor<4x32xf32>
    %init = arith.constant dense<2.5> : tensor<4xf32>
    %y = linalg.reduce { arith.addf } ins(%x : tensor<4x32xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
    mono.store %y, %b[0] : tensor<4xf32>
  }
}

// -----

// More tasks than workgroups: a loop, without a barrier where tasks share no LDS.
// CHECK-LABEL: gpu.func @task_loop
// CHECK: scf.for
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: {{^ +}$}}
mono.schedule @task_loop target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [8, 64] : f32
  %b = mono.operand "b" write [8, 64] : f32
  mono.stage "s" (%t) tasks [8] base [0] {
    %x = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %x, %b[%t, 0] : tensor<1x64xf32>
  }
}

// -----

// The next task writes what this one reads: a barrier, and behind the loads of the task. Another between
// the two accesses.
// CHECK-LABEL: gpu.func @task_loop_in_lds
// CHECK: scf.for
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: vector.load %{{.*}} : memref<512xf32, #gpu.address_space<global>>
// CHECK: amdgpu.lds_barrier
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: vector.store %{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>
// CHECK: amdgpu.lds_barrier
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: vector.load %{{.*}} : memref<64xf32, #gpu.address_space<workgroup>>
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: {{^ +}$}}
mono.schedule @task_loop_in_lds target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [8, 64] : f32
  %b = mono.operand "b" write [8, 64] : f32
  %r = mono.region "r" [1, 64] : f32
  mono.stage "s" (%t) tasks [8] base [0] {
    %x = mono.load %a[%t, 0] [1, 64] : tensor<1x64xf32>
    mono.store %x, %r[0, 0] : tensor<1x64xf32>
    %y = mono.load %r[0, 0] [1, 64] : tensor<1x64xf32>
    mono.store %y, %b[%t, 0] : tensor<1x64xf32>
  }
}
