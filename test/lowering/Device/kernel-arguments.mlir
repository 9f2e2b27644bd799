// Pointers to operands come through the scalar cache, also where only some lanes use them.
// RUN: monoc %s --emit=asm -o - | FileCheck %s
// CHECK-NOT: v_mov_b{{32|64}}{{.*}} s[0:1]
// CHECK: s_endpgm
mono.schedule @some_lanes target("gfx950") grid(1 x 512) {
  %q = mono.operand "q" read [16, 512] : bf16
  %c = mono.operand "c" read [4096, 576] : bf16
  %ids = mono.operand "ids" read [64] : i32
  %y = mono.operand "y" write [16, 64] : f32
  %ql = mono.region "ql" [16, 512] pad(8) : bf16
  %keys = mono.region "keys" [64, 576] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %i = mono.load %ids[0] [64] : tensor<64xi32>
    mono.gather %c at %i into %keys : tensor<64xi32>
    %v = mono.load %q[0, 0] [16, 512] : tensor<16x512xbf16>
    mono.store %v, %ql[0, 0] : tensor<16x512xbf16>
    %p = mono.product %ql[0, 0] [16, 512], %keys[0, 0] [64, 512] : tensor<16x64xf32>
    mono.store %p, %y[0, 0] : tensor<16x64xf32>
  }
}
