// Loads that need nothing of a wait go out in front of it.
// RUN: mono-opt %s -split-input-file --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s

// Which rows of the cache are read needs the places, not the rows of this launch: what stands behind
// both receives in the file is on its way while the second one waits.
// CHECK-LABEL: gpu.func @new_rows
// CHECK: scf.while
// CHECK-NOT: memref<2048xf32, #gpu.address_space<global>>
// CHECK: scf.condition
// CHECK: vector.load %{{.*}} : memref<2048xf32, #gpu.address_space<global>>, vector<4xf32>
// CHECK: scf.while
// CHECK-NOT: #gpu.address_space<global>>
// CHECK: amdgpu.lds_barrier
// CHECK: vector.load %{{.*}} : memref<128xf32, #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK: arith.select %{{.*}} : vector<4xf32>
// CHECK: vector.store %{{.*}} : memref<256xf32, #gpu.address_space<global>>
mono.schedule @new_rows target("gfx950") grid(4 x 64) {
  %wanted = mono.operand "wanted" read [4] : i32
  %new = mono.operand "new" read [2, 64] : f32
  %cache = mono.operand "cache" update [32, 64] : f32
  %y = mono.operand "y" write [4, 64] : f32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  %new_rows = mono.mailbox "new_rows" tagged scope(device) slots(1) [2, 64] : f32
  %fresh = mono.region "fresh" [2, 64] : f32
  mono.stage "read" (%t) tasks [1] base [2] {
    %ids = mono.load %wanted[0] [4] : tensor<4xi32>
    %all = mono.receive %places[0] [2] : tensor<2xi32>
    mono.receive %new_rows[0, 0] [2, 64] into %fresh
    %rows = mono.gather %cache or %fresh places(%all : tensor<2xi32>) at %ids : tensor<4xi32> -> tensor<4x64xf32>
    mono.store %rows, %y[0, 0] : tensor<4x64xf32>
  }
}

// -----

// Operands that nobody writes, by an index that a splat makes behind the wait, and as a box. What
// the launch updates stays where it is, and so does what depends on the message.
// CHECK-LABEL: gpu.func @read_only
// CHECK-DAG: vector.load %{{.*}} : memref<32xi32, #gpu.address_space<global>>, vector<1xi32>
// CHECK-DAG: vector.load %{{.*}} : memref<65xi32, #gpu.address_space<global>>, vector<2xi32>
// CHECK: scf.while
// CHECK: vector.load %{{.*}} : memref<67xi32, #gpu.address_space<global>>, vector<1xi32>
// CHECK: vector.load %{{.*}} : memref<66xi32, #gpu.address_space<global>>, vector<2xi32>
mono.schedule @read_only target("gfx950") grid(4 x 64) {
  %positions = mono.operand "positions" read [32] : i32
  %gamma = mono.operand "gamma" read [65] : i32
  %x = mono.operand "x" update [66] : i32
  %table = mono.operand "table" read [67] : i32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : i32
  mono.stage "s" (%t) tasks [1] base [2] {
    %v = mono.receive %m[0] [64] : tensor<64xi32>
    %at = mono.gather %table at %v : tensor<64xi32> -> tensor<64xi32>
    %t32 = arith.index_cast %t : index to i32
    %ts = tensor.splat %t32 : tensor<64xi32>
    %own = mono.gather %positions at %ts : tensor<64xi32> -> tensor<64xi32>
    %g = mono.load %gamma[0] [64] : tensor<64xi32>
    %old = mono.load %x[0] [64] : tensor<64xi32>
    %a = arith.addi %at, %own : tensor<64xi32>
    %b = arith.addi %a, %g : tensor<64xi32>
    %c = arith.addi %b, %old : tensor<64xi32>
    mono.store %c, %x[0] : tensor<64xi32>
  }
}

// -----

// One of these tensors takes 128 registers of a thread, the other 192: 256 may be held ahead.
// CHECK-LABEL: gpu.func @room
// CHECK: vector.load %{{.*}} : memref<8192xf32, #gpu.address_space<global>>
// CHECK: scf.while
// CHECK: vector.load %{{.*}} : memref<12288xf32, #gpu.address_space<global>>
mono.schedule @room target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [64, 128] : f32
  %b = mono.operand "b" read [64, 192] : f32
  %y = mono.operand "y" write [64, 128] : f32
  %z = mono.operand "z" write [64, 192] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : i32
  mono.stage "s" (%t) tasks [1] base [2] {
    %v = mono.receive %m[0] [64] : tensor<64xi32>
    %p = mono.load %a[0, 0] [64, 128] : tensor<64x128xf32>
    %q = mono.load %b[0, 0] [64, 192] : tensor<64x192xf32>
    mono.store %p, %y[0, 0] : tensor<64x128xf32>
    mono.store %q, %z[0, 0] : tensor<64x192xf32>
  }
}

// -----

// A gather does not pass what its own task writes to the operand: the rows are read behind the store.
// CHECK-LABEL: gpu.func @own_store
// CHECK: scf.while
// CHECK: scf.while
// CHECK: vector.store %{{.*}} : memref<2048xf32, #gpu.address_space<global>>
// CHECK: vector.load %{{.*}} : memref<2048xf32, #gpu.address_space<global>>
mono.schedule @own_store target("gfx950") grid(4 x 64) {
  %cache = mono.operand "cache" update [32, 64] : f32
  %y = mono.operand "y" write [2, 64] : f32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [2] : i32
  %new_rows = mono.mailbox "new_rows" tagged scope(device) slots(1) [2, 64] : f32
  %fresh = mono.region "fresh" [2, 64] : f32
  mono.stage "read" (%t) tasks [1] base [2] {
    %all = mono.receive %places[0] [2] : tensor<2xi32>
    mono.receive %new_rows[0, 0] [2, 64] into %fresh
    %new = mono.load %fresh[0, 0] [2, 64] : tensor<2x64xf32>
    mono.scatter %new, %cache[0] at %all : tensor<2x64xf32>, tensor<2xi32>
    %rows = mono.gather %cache or %fresh places(%all : tensor<2xi32>) at %all : tensor<2xi32> -> tensor<2x64xf32>
    mono.store %rows, %y[0, 0] : tensor<2x64xf32>
  }
}
