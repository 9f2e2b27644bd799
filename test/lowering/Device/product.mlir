// Products of regions: tiles over the wavefronts, transpose reads where b is stored by columns.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// One tile on one wavefront: two steps of 16-byte loads, no part to add. Rows of the result are
// 80 bytes apart: 8 rows of 64 would share banks.
// CHECK-LABEL: gpu.func @rows
// CHECK: amdgpu.lds_barrier
// CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : memref<1280xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: amdgpu.mfma 16x16x32
// CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : memref<1280xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: amdgpu.mfma 16x16x32
// CHECK-NOT: amdgpu.mfma
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<160xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK: amdgpu.lds_barrier
mono.schedule @rows target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [16, 64] : bf16
  %y = mono.operand "y" write [8, 16] : f32
  %r = mono.region "r" [16, 64] pad(16) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [16, 64] : tensor<16x64xbf16>
    mono.store %v, %r[0, 0] : tensor<16x64xbf16>
    %p = mono.product %r[8, 0] [8, 64], %r[0, 0] [16, 64] : tensor<8x16xf32>
    mono.store %p, %y[0, 0] : tensor<8x16xf32>
  }
}

// -----

// The depth is shared by two wavefronts: two parts in LDS, of 16 rows of 80 bytes, added in order.
// CHECK-LABEL: gpu.func @parts
// CHECK: amdgpu.mfma
// CHECK: amdgpu.lds_barrier
// CHECK: %[[P0:.*]] = vector.load %{{.*}} : memref<640xf32, #gpu.address_space<workgroup>>
// CHECK: %[[P1:.*]] = vector.load %{{.*}} : memref<640xf32, #gpu.address_space<workgroup>>
// CHECK: arith.addf %[[P0]], %[[P1]]
mono.schedule @parts target("gfx950") grid(1 x 128) {
  %a = mono.operand "a" read [16, 64] : bf16
  %y = mono.operand "y" write [16, 16] : f32
  %r = mono.region "r" [16, 64] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [16, 64] : tensor<16x64xbf16>
    mono.store %v, %r[0, 0] : tensor<16x64xbf16>
    %p = mono.product %r[0, 0] [16, 64], %r[0, 0] [16, 64] : tensor<16x16xf32>
    mono.store %p, %y[0, 0] : tensor<16x16xf32>
  }
}

// -----

// CHECK-LABEL: gpu.func @transposed
// CHECK-COUNT-2: amdgpu.transpose_load
// CHECK: amdgpu.mfma
mono.schedule @transposed target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [32, 36] : bf16
  %y = mono.operand "y" write [8, 12] : f32
  %r = mono.region "r" [32, 36] pad(4) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [32, 36] : tensor<32x36xbf16>
    mono.store %v, %r[0, 0] : tensor<32x36xbf16>
    %p = mono.product %r[0, 0] [8, 32], %r[0, 4] [32, 12] by_columns : tensor<8x12xf32>
    mono.store %p, %y[0, 0] : tensor<8x12xf32>
  }
}

// -----

// Columns that do not start at a multiple of 4 are read one by one.
// CHECK-LABEL: gpu.func @element_by_element
// CHECK-NOT: amdgpu.transpose_load
// CHECK: amdgpu.mfma
mono.schedule @element_by_element target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [32, 36] : bf16
  %y = mono.operand "y" write [8, 12] : f32
  %r = mono.region "r" [32, 36] pad(4) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [32, 36] : tensor<32x36xbf16>
    mono.store %v, %r[0, 0] : tensor<32x36xbf16>
    %p = mono.product %r[0, 0] [8, 32], %r[0, 2] [32, 12] by_columns : tensor<8x12xf32>
    mono.store %p, %y[0, 0] : tensor<8x12xf32>
  }
}

// -----

// A slice reads the longer rows where the product left them: no copy, and one barrier.
// CHECK-LABEL: gpu.func @slice_of_product
// CHECK: amdgpu.mfma
// CHECK: vector.store %{{.*}} : memref<160xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK: amdgpu.lds_barrier
// CHECK-NOT: amdgpu.lds_barrier
// CHECK: vector.load %{{.*}} : memref<160xf32, #gpu.address_space<workgroup>>
// CHECK: vector.store %{{.*}} : memref<64xf32, #gpu.address_space<global>>
mono.schedule @slice_of_product target("gfx950") grid(1 x 64) {
  %a = mono.operand "a" read [16, 64] : bf16
  %y = mono.operand "y" write [4, 16] : f32
  %r = mono.region "r" [16, 64] pad(16) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [16, 64] : tensor<16x64xbf16>
    mono.store %v, %r[0, 0] : tensor<16x64xbf16>
    %p = mono.product %r[8, 0] [8, 64], %r[0, 0] [16, 64] : tensor<8x16xf32>
    %s = tensor.extract_slice %p[4, 0] [4, 16] [1, 1] : tensor<8x16xf32> to tensor<4x16xf32>
    mono.store %s, %y[0, 0] : tensor<4x16xf32>
  }
}
