// Streams of MXFP4 weights: a slot of the window is waited for alone, in every slot of the loop. Four
// slots of four loads (two row tiles, codes and scales of each) are in flight; codes and the first
// scale are the oldest three, so 13 may stay out, then 12.
// RUN: monoc %s -D GROUPS=0 --emit=asm -o - | FileCheck %s --check-prefixes=CHECK,SINGLE
// RUN: monoc %s -D GROUPS=1 --emit=asm -o - | FileCheck %s --check-prefixes=CHECK,LIST

// The list is in a register: its entries come neither from LDS nor do pointers from memory.
// LIST: v_readlane_b32
// CHECK-COUNT-16: buffer_load_{{dwordx4|ubyte}} {{.*}} offen nt
// SINGLE: s_barrier
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(13)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(12)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: v_mfma_f32_16x16x32_bf16
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(13)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(12)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(13)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(12)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(13)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: s_waitcnt vmcnt(12)
// CHECK-NOT: {{vmcnt|s_load|ds_read_b32}}
// CHECK: v_cmp
mono.schedule @mxfp4 target("gfx950") grid(1 x 512) {
  %GROUPS = mono.param "GROUPS" in [0, 1]
  %one = arith.constant 1 : index
  %SINGLE = arith.subi %one, %GROUPS : index
  %w = mono.operand "w" read weight [32, 8192] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [32, 256] : f8E8M0FNU, #mono.mfma_rows<16>
  %e = mono.operand "e" read weight [4, 32, 8192] : f4E2M1FN, #mono.mfma_rows<16>
  %es = mono.operand "es" read weight [4, 32, 256] : f8E8M0FNU, #mono.mfma_rows<16>
  %x = mono.operand "x" read [4, 8192] : bf16
  %ids = mono.operand "ids" read [4] : i32
  %y = mono.operand "y" write [4, 32] : f32
  %in = mono.region "in" [4, 8192] pad(8) : bf16
  mono.stage "single" (%t) tasks [%SINGLE] base [0] {
    %v = mono.load %x[0, 0] [4, 8192] : tensor<4x8192xbf16>
    mono.store %v, %in[0, 0] : tensor<4x8192xbf16>
    %s = mono.stream %w[0, 0] [32, 8192] scaled %ws split_k(8)
    %r = mono.contract %in[0, 0] [4, 8192], %s : tensor<4x32xf32>
    mono.store %r, %y[0, 0] : tensor<4x32xf32>
  }
  mono.stage "groups" (%t) tasks [%GROUPS] base [0] {
    %v = mono.load %x[0, 0] [4, 8192] : tensor<4x8192xbf16>
    mono.store %v, %in[0, 0] : tensor<4x8192xbf16>
    %l = mono.load %ids[0] [4] : tensor<4xi32>
    %s = mono.stream %e[0, 0, 0] [4, 32, 8192] scaled %es groups(%l : tensor<4xi32>) split_k(8)
    %r = mono.contract %in[0, 0] [4, 8192], %s : tensor<4x32xf32>
    mono.store %r, %y[0, 0] : tensor<4x32xf32>
  }
}
