// A watchdog build bounds its waits: the first that fails is recorded behind the epoch words, and the
// wavefront ends.
// RUN: mono-opt %s --mono-place-memory --mono-lower-to-device="watchdog=1000000" --canonicalize --cse | FileCheck %s
// RUN: mono-opt %s --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s --check-prefix=PLAIN
// RUN: monoc %s --watchdog=1000000 --emit=asm | FileCheck %s --check-prefix=ASM

// CHECK: epoch_bytes\22:256
// CHECK-SAME: watchdog\22:{\22cycles\22:1000000,\22record_offset\22:128}
// CHECK-LABEL: gpu.func @bounded
// CHECK: llvm.call_intrinsic "llvm.amdgcn.s.memtime"
// CHECK: scf.while
// CHECK: llvm.call_intrinsic "llvm.amdgcn.s.memtime"
// CHECK: rocdl.s.sleep 1
// Behind the loop, or its masks of lanes would fill the SGPRs.
// CHECK: scf.if
// CHECK: llvm.cmpxchg
// CHECK: llvm.fence syncscope("agent") release
// CHECK: llvm.inline_asm has_side_effects "s_endpgm"
// PLAIN-NOT: memtime
// PLAIN-NOT: endpgm
// ASM: s_memtime
// ASM: global_atomic_cmpswap
mono.schedule @bounded target("gfx950") grid(2 x 64) {
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
