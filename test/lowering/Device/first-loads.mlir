// What a workgroup does first: it asks for the epoch word, then for its first weights, and waits for
// the word only where a receive or post needs it.
// RUN: monoc %s --emit=asm -o - | FileCheck %s
// RUN: mono-opt %s --mono-place-memory --mono-lower-to-device | FileCheck %s --check-prefix=DEVICE

// CHECK-NOT: vmcnt
// CHECK: global_load_dword {{.*}} sc1
// CHECK-NOT: vmcnt
// CHECK-COUNT-8: global_load_dwordx4 {{.*}} nt
// CHECK: s_waitcnt vmcnt
// CHECK: global_store_dwordx2 {{.*}} sc1

// The kernel's arguments are found once; each stage loads the pointers it needs.
// DEVICE: llvm.call_intrinsic "llvm.amdgcn.kernarg.segment.ptr"
// DEVICE-NOT: kernarg.segment.ptr
mono.schedule @first_loads target("gfx950") grid(2 x 64) {
  %w = mono.operand "w" read weight [16, 512] : bf16, #mono.mfma_rows<16>
  %x = mono.operand "x" read [4, 512] : bf16
  %y = mono.operand "y" write [4, 16] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [4, 16] : f32
  mono.stage "multiply" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 512] split_k(1)
    %p = mono.contract %x[0, 0] [4, 512], %s : tensor<4x16xf32>
    mono.post %p to %m[0, 0] : tensor<4x16xf32>
  }
  mono.stage "receive" (%t) tasks [1] base [0] {
    %p = mono.receive %m[0, 0] [4, 16] : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
}
