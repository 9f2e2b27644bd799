// Weights and activations in flight through the whole depth of a contraction.
// RUN: monoc %s --emit=asm | FileCheck %s

// Activations come from memory with the weights they meet, not behind all that are in flight: of 8
// tiles with as many activations the oldest two have arrived, or the next two are out already.
// CHECK-LABEL: from_memory:
// CHECK-COUNT-8: global_load_dwordx4 {{.*}} nt
// CHECK: v_mfma
// CHECK: s_waitcnt vmcnt(14)
// CHECK-NOT: vmcnt({{[0-9]|1[0-3]}})
// CHECK-COUNT-32: s_waitcnt vmcnt({{1[4-6]}})
// CHECK: .vgpr_spill_count: 0
mono.schedule @from_memory target("gfx950") grid(1 x 512) {
  %h = mono.operand "h" read [4, 6144] : bf16
  %w = mono.operand "w" read weight [32, 6144] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [4, 32] : f32
  mono.stage "contract" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [32, 6144] split_k(4)
    %p = mono.contract %h[0, 0] [4, 6144], %s : tensor<4x32xf32>
    mono.store %p, %y[0, 0] : tensor<4x32xf32>
  }
}
