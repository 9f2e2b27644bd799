// Posts and receives are tagged words: payload low, epoch high, one 8-byte access each.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// CHECK-LABEL: gpu.func @device_scope
// CHECK-SAME: known_block_size = array<i32: 64, 1, 1>
// The epoch is read past the caches; its tag is one more. Each stage counts up where it needs the tag.
// CHECK: %[[SEEN:.*]] = llvm.load %{{.*}} atomic syncscope("agent") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: %[[LAST:.*]] = llvm.inline_asm {{.*}} %[[SEEN]] :
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[LAST]]
// CHECK: %[[ADDED:.*]] = arith.addi %[[LAST]]
// CHECK: %[[NEXT:.*]] = arith.select %[[MORE]], %[[ADDED]]
// CHECK: %[[TAG:.*]] = rocdl.readfirstlane %[[NEXT]] : i32
// CHECK: %[[WIDE:.*]] = arith.extui %[[TAG]] : i32 to i64
// CHECK: %[[HIGH:.*]] = arith.shli %[[WIDE]]
// CHECK: %[[WORD:.*]] = arith.ori %[[HIGH]]
// CHECK: llvm.store %[[WORD]], %{{.*}} atomic syncscope("agent") monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK: %[[AGAIN:.*]] = llvm.inline_asm {{.*}} %[[SEEN]] :
// CHECK: arith.addi %[[AGAIN]]
// CHECK: %[[WANTED:.*]] = rocdl.readfirstlane
// CHECK: scf.while
// CHECK: %[[GOT:.*]] = llvm.load %{{.*}} atomic syncscope("agent") monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: arith.cmpi ne, %{{.*}}, %[[WANTED]] : i32
// CHECK: scf.condition
// CHECK: rocdl.s.sleep 1
// The epoch advances after every wavefront has read it.
// CHECK: %[[END:.*]] = llvm.inline_asm {{.*}} %[[SEEN]] :
// CHECK: arith.addi %[[END]]
// CHECK: %[[STORED:.*]] = rocdl.readfirstlane
// CHECK: amdgpu.lds_barrier
// CHECK: llvm.store %[[STORED]], %{{.*}} atomic syncscope("agent") monotonic
// CHECK: gpu.return
mono.schedule @device_scope target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [64] : f32
  %b = mono.operand "b" write [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xf32>
    mono.post %v to %m[0] : tensor<64xf32>
  }
  mono.stage "receive" (%t) tasks [1] base [1] {
    %v = mono.receive %m[0] [64] : tensor<64xf32>
    mono.store %v, %b[0] : tensor<64xf32>
  }
}

// -----

// System scope, one store for each of two ranks, and a slot that alternates with the epoch.
// CHECK-LABEL: gpu.func @peers
// CHECK: arith.remui
// CHECK-COUNT-2: llvm.store %{{.*}} atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK: scf.while
// CHECK-COUNT-2: llvm.load %{{.*}} atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// Two bf16 are one payload.
// CHECK: vector.bitcast %{{.*}} : vector<1xi32> to vector<2xbf16>
mono.schedule @peers target("gfx950") grid(1 x 64) {
  %rank = mono.ranks [2]
  %a = mono.operand "a" read [64] : bf16
  %b = mono.operand "b" write [64] : f32
  %m = mono.mailbox "m" tagged scope(peers) slots(2) [2, 64] : bf16
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xbf16>
    mono.post %v to %m[%rank, 0] : tensor<64xbf16>
  }
  mono.stage "sum" (%t) tasks [1] base [0] {
    %v = mono.receive %m[0, 0] [2, 64] sum : tensor<64xf32>
    mono.store %v, %b[0] : tensor<64xf32>
  }
}

// -----

// 48 terms of 4 sums: 32 lanes a pair of sums take 2 terms each, so a lane polls 4 words, once, and
// the lanes' sums meet in registers: within rows of 16 lanes, then across them.
// CHECK-LABEL: gpu.func @terms_on_lanes
// CHECK: scf.while
// CHECK-COUNT-4: llvm.load %{{.*}} atomic syncscope("agent")
// CHECK-NOT: scf.while
// CHECK: amdgpu.dpp
// CHECK: rocdl.permlane32.swap
// CHECK-NOT: scf.while
// CHECK: gpu.return
mono.schedule @terms_on_lanes target("gfx950") grid(49 x 512) {
  %a = mono.operand "a" read [48, 4] : f32
  %y = mono.operand "y" write [4] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [48, 4] : f32
  mono.stage "post" (%t) tasks [48] base [0] {
    %v = mono.load %a[%t, 0] [1, 4] : tensor<1x4xf32>
    mono.post %v to %m[%t, 0] : tensor<1x4xf32>
  }
  mono.stage "get" (%t) tasks [1] base [48] {
    %v = mono.receive %m[0, 0] [48, 4] sum : tensor<4xf32>
    mono.store %v, %y[0] : tensor<4xf32>
  }
}

// -----

// What goes to a region is polled so that neighbouring threads take neighbouring pairs of words, not
// the eight elements that a thread would hold of a tensor.
// CHECK-LABEL: gpu.func @into_region
// CHECK: scf.while
// CHECK-COUNT-8: vector.store %{{.*}} : memref<8192xf32, #gpu.address_space<workgroup>>, vector<2xf32>
// CHECK-NOT: vector<8xf32>
// CHECK: amdgpu.lds_barrier
mono.schedule @into_region target("gfx950") grid(2 x 512) {
  %a = mono.operand "a" read [4, 2048] : f32
  %y = mono.operand "y" write [4, 2048] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 2048] : f32
  %r = mono.region "r" [4, 2048] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0, 0] [4, 2048] : tensor<4x2048xf32>
    mono.post %v to %m[0, 0] : tensor<4x2048xf32>
  }
  mono.stage "get" (%t) tasks [1] base [1] {
    mono.receive %m[0, 0] [4, 2048] into %r
    %v = mono.load %r[0, 0] [4, 2048] : tensor<4x2048xf32>
    mono.store %v, %y[0, 0] : tensor<4x2048xf32>
  }
}
