// A wavefront of a watchdog build whose wait failed no longer counts at barriers. Behind one with
// receives in front of it the others of its workgroup leave, too: what it was to store is not there.
// RUN: mono-opt %s --mono-place-memory --mono-lower-to-device="watchdog=1000000" --canonicalize --cse | FileCheck %s
// RUN: mono-opt %s --mono-place-memory --mono-lower-to-device --canonicalize --cse | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: s_endpgm

// CHECK-LABEL: gpu.func @in_lds
// CHECK: llvm.cmpxchg
// CHECK: amdgpu.lds_barrier
// CHECK-NEXT: llvm.inline_asm{{.*}}"; behind receives"
// CHECK: %[[NOW:.*]] = llvm.load {{.*}} atomic syncscope("agent") monotonic
// CHECK: rocdl.readfirstlane %[[NOW]]
// CHECK: scf.if
// CHECK-NEXT: llvm.inline_asm has_side_effects "s_endpgm"
mono.schedule @in_lds target("gfx950") grid(2 x 128) {
  %a = mono.operand "a" read [256] : f32
  %b = mono.operand "b" write [256] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [256] : f32
  %r = mono.region "r" [256] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [256] : tensor<256xf32>
    mono.post %v to %m[0] : tensor<256xf32>
  }
  mono.stage "receive" (%t) tasks [1] base [1] {
    mono.receive %m[0] [256] into %r
    %v = mono.load %r[0] [256] : tensor<256xf32>
    mono.store %v, %b[0] : tensor<256xf32>
  }
}
