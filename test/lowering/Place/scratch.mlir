// Scratch areas lie side by side; where a stage would not fit so, each is free again after the last
// op that may look into it.
// RUN: mono-opt %s -split-input-file --mono-place-memory | FileCheck %s

// 65536 bytes each: both fit.
// CHECK-LABEL: mono.schedule @side_by_side
// CHECK-NOT: mono.short_scratch
// CHECK-SAME: mono.lds_bytes = 131072
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 0 : i64}
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 65536 : i64}
mono.schedule @side_by_side target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [128, 128] : f32
  %y = mono.operand "y" write [2, 128, 128] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %empty = tensor.empty() : tensor<128x128xf32>
    %v = mono.load %x[0, 0] [128, 128] : tensor<128x128xf32>
    %vt = linalg.transpose ins(%v : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
    mono.store %vt, %y[0, 0, 0] : tensor<128x128xf32>
    %w = mono.load %x[0, 0] [128, 128] : tensor<128x128xf32>
    %wt = linalg.transpose ins(%w : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
    mono.store %wt, %y[1, 0, 0] : tensor<128x128xf32>
  }
}

// -----

// 98304 bytes each: one after the other in the same place.
// CHECK-LABEL: mono.schedule @one_after_the_other
// CHECK-SAME: mono.lds_bytes = 98304
// CHECK-SAME: mono.short_scratch
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 0 : i64}
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 0 : i64}
mono.schedule @one_after_the_other target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [192, 128] : f32
  %y = mono.operand "y" write [2, 128, 192] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %empty = tensor.empty() : tensor<128x192xf32>
    %v = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %vt = linalg.transpose ins(%v : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %vt, %y[0, 0, 0] : tensor<128x192xf32>
    %w = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %wt = linalg.transpose ins(%w : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %wt, %y[1, 0, 0] : tensor<128x192xf32>
  }
}

// -----

// %v lies in the scratch of the first transpose until the last one has read it there.
// CHECK-LABEL: mono.schedule @operand_used_again
// CHECK-SAME: mono.short_scratch
// CHECK: linalg.transpose ins(%[[V:.*]] : tensor<128x128xf32>) {{.*}} {mono.scratch = 0 : i64}
// CHECK: linalg.transpose ins(%{{.*}} : tensor<96x128xf32>) {{.*}} {mono.scratch = 65536 : i64}
// CHECK: linalg.transpose ins(%[[V]] : tensor<128x128xf32>) {{.*}} {mono.scratch = 65536 : i64}
mono.schedule @operand_used_again target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [128, 128] : f32
  %y = mono.operand "y" write [2, 128, 128] : f32
  %z = mono.operand "z" write [128, 96] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %empty = tensor.empty() : tensor<128x128xf32>
    %other = tensor.empty() : tensor<128x96xf32>
    %v = mono.load %x[0, 0] [128, 128] : tensor<128x128xf32>
    %vt = linalg.transpose ins(%v : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
    mono.store %vt, %y[0, 0, 0] : tensor<128x128xf32>
    %w = mono.load %x[0, 0] [96, 128] : tensor<96x128xf32>
    %wt = linalg.transpose ins(%w : tensor<96x128xf32>) outs(%other : tensor<128x96xf32>) permutation = [1, 0]
    mono.store %wt, %z[0, 0] : tensor<128x96xf32>
    %again = linalg.transpose ins(%v : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
    mono.store %again, %y[1, 0, 0] : tensor<128x128xf32>
  }
}

// -----

// The reshaped tensor lies where the inserted one was put, so that place stays taken until the store;
// reshaping moves nothing and needs no place.
// CHECK-LABEL: mono.schedule @reshaped
// CHECK-SAME: mono.short_scratch
// CHECK: tensor.insert_slice {{.*}} {mono.scratch = 65536 : i64}
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<32x128xf32> into tensor<4096xf32>
// CHECK: linalg.transpose ins(%{{.*}} : tensor<128x128xf32>) {{.*}} {mono.scratch = 0 : i64}
// CHECK: linalg.transpose ins(%{{.*}} : tensor<192x128xf32>) {{.*}} {mono.scratch = 0 : i64}
mono.schedule @reshaped target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [192, 128] : f32
  %y = mono.operand "y" write [4096] : f32
  %z = mono.operand "z" write [128, 128] : f32
  %u = mono.operand "u" write [128, 192] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %a = mono.load %x[0, 0] [32, 128] : tensor<32x128xf32>
    %b = mono.load %x[0, 0] [1, 128] : tensor<1x128xf32>
    %both = tensor.insert_slice %b into %a[0, 0] [1, 128] [1, 1] : tensor<1x128xf32> into tensor<32x128xf32>
    %flat = tensor.collapse_shape %both [[0, 1]] : tensor<32x128xf32> into tensor<4096xf32>
    %empty = tensor.empty() : tensor<128x128xf32>
    %w = mono.load %x[0, 0] [128, 128] : tensor<128x128xf32>
    %wt = linalg.transpose ins(%w : tensor<128x128xf32>) outs(%empty : tensor<128x128xf32>) permutation = [1, 0]
    mono.store %wt, %z[0, 0] : tensor<128x128xf32>
    mono.store %flat, %y[0] : tensor<4096xf32>
    %large = tensor.empty() : tensor<128x192xf32>
    %l = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %lt = linalg.transpose ins(%l : tensor<192x128xf32>) outs(%large : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %lt, %u[0, 0] : tensor<128x192xf32>
  }
}

// -----

// The contraction reads the list of groups where the broadcast put it, before the stream began.
// CHECK-LABEL: mono.schedule @list_of_groups
// CHECK-SAME: mono.short_scratch
// CHECK: linalg.broadcast {{.*}} {mono.scratch = 99328 : i64}
// CHECK: mono.stream {{.*}} {mono.scratch = 99392 : i64}
// CHECK: linalg.transpose {{.*}} {mono.scratch = 0 : i64}
// CHECK: mono.contract {{.*}} {mono.scratch = 0 : i64}
// CHECK: linalg.transpose {{.*}} {mono.scratch = 0 : i64}
mono.schedule @list_of_groups target("gfx950") grid(1 x 512) {
  %list = mono.operand "list" read [16] : i32
  %x = mono.operand "x" read [192, 128] : f32
  %w = mono.operand "w" read weight [4, 16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [4, 16, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %ids = mono.operand "ids" write [2, 16] : i32
  %y = mono.operand "y" write [4, 16] : f32
  %z = mono.operand "z" write [2, 128, 192] : f32
  %r = mono.region "r" [4, 128] : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %l = mono.load %list[0] [16] : tensor<16xi32>
    %twice = tensor.empty() : tensor<2x16xi32>
    %wide = linalg.broadcast ins(%l : tensor<16xi32>) outs(%twice : tensor<2x16xi32>) dimensions = [0]
    mono.store %wide, %ids[0, 0] : tensor<2x16xi32>
    %s = mono.stream %w[0, 0, 0] [4, 16, 128] scaled %ws groups(%l : tensor<16xi32>) split_k(8)
    %empty = tensor.empty() : tensor<128x192xf32>
    %v = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %vt = linalg.transpose ins(%v : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %vt, %z[0, 0, 0] : tensor<128x192xf32>
    %p = mono.contract %r[0, 0] [4, 128], %s : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
    %u = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %ut = linalg.transpose ins(%u : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %ut, %z[1, 0, 0] : tensor<128x192xf32>
  }
}

// -----

// The loads of the gather go out in front of the wait, and its indices lie in LDS from there on: not
// where the first transpose has its tensor.
// CHECK-LABEL: mono.schedule @loads_ahead
// CHECK-SAME: mono.short_scratch
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 0 : i64}
// CHECK: linalg.transpose {{.*}} permutation = [1, 0] {mono.scratch = 0 : i64}
// CHECK: mono.gather {{.*}} {mono.scratch = 98304 : i64}
mono.schedule @loads_ahead target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [192, 128] : f32
  %wanted = mono.operand "wanted" read [64] : i32
  %y = mono.operand "y" write [2, 128, 192] : f32
  %z = mono.operand "z" write [64, 128] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %empty = tensor.empty() : tensor<128x192xf32>
    %ids = mono.load %wanted[0] [64] : tensor<64xi32>
    %word = mono.receive %m[0] [64] : tensor<64xi32>
    %v = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %vt = linalg.transpose ins(%v : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %vt, %y[0, 0, 0] : tensor<128x192xf32>
    %w = mono.load %x[0, 0] [192, 128] : tensor<192x128xf32>
    %wt = linalg.transpose ins(%w : tensor<192x128xf32>) outs(%empty : tensor<128x192xf32>) permutation = [1, 0]
    mono.store %wt, %y[1, 0, 0] : tensor<128x192xf32>
    %rows = mono.gather %x at %ids : tensor<64xi32> -> tensor<64x128xf32>
    mono.store %rows, %z[0, 0] : tensor<64x128xf32>
  }
}
