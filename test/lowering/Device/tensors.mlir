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

// A row of 32 elements lies on 16 lanes: four exchanges, then LDS for who needs the result.
// CHECK-LABEL: gpu.func @reduce
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
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
