// Weights in flight through the whole depth of a contraction.
// RUN: monoc %s --emit=asm | FileCheck %s

// 48 tiles a wavefront, 8 in flight. The first 8 have arrived with the activations, and the last 8
// are waited for one by one with nothing behind them. Each of the 32 between waits for the oldest of
// what is in flight and for no other: 7 go on, or 8 where the next load is out already.
// CHECK-LABEL: steady:
// CHECK-COUNT-8: global_load_dwordx4 {{.*}} nt
// CHECK: s_barrier
// CHECK: v_mfma
// CHECK-NOT: vmcnt({{[0-6]}})
// CHECK-COUNT-32: s_waitcnt vmcnt({{[78]}})
// CHECK: s_waitcnt vmcnt(6)
// CHECK: .vgpr_spill_count: 0
mono.schedule @steady target("gfx950") grid(1 x 512) {
  %h = mono.operand "h" read [4, 6144] : bf16
  %w = mono.operand "w" read weight [32, 6144] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 32] : f32
  %r = mono.region "r" [4, 6144] pad(8) : bf16
  mono.stage "contract" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [32, 6144] split_k(4)
    %v = mono.load %h[0, 0] [4, 6144] : tensor<4x6144xbf16>
    mono.store %v, %r[0, 0] : tensor<4x6144xbf16>
    %p = mono.contract %r[0, 0] [4, 6144], %s : tensor<4x32xf32>
    mono.store %p, %y[0, 0] : tensor<4x32xf32>
  }
}
