// E4M3 weights with an f32 scale for each block of 128 x 128: multiplied without scales, and each
// block's sum then scaled in f32.
// RUN: monoc %s -D CODES=0 --emit=asm -o - | FileCheck %s --check-prefix=WIDENED
// RUN: monoc %s -D CODES=1 --emit=asm -o - | FileCheck %s --check-prefix=CODES

// bf16 activations: four steps of 32, with weights widened by the scale 1.
// WIDENED-COUNT-4: v_mfma_f32_16x16x32_bf16
// WIDENED: v_pk_fma_f32
// WIDENED-NOT: f8f6f4

// Activations of codes: one step of 128 without scales.
// CODES-NOT: v_mfma_scale
// CODES: v_mfma_f32_16x16x128_f8f6f4
// CODES-NOT: v_mfma_scale
// CODES: v_pk_fma_f32
// CODES-NOT: v_mfma_scale
mono.schedule @blocks target("gfx950") grid(1 x 64) {
  %CODES = mono.param "CODES" in [0, 1]
  %one = arith.constant 1 : index
  %WIDE = arith.subi %one, %CODES : index
  %x = mono.operand "x" read [4, 1024] : bf16
  %xs = mono.operand "xs" read [4, 8] : f32
  %w = mono.operand "w" read weight [16, 1024] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [1, 8] : f32
  %y = mono.operand "y" write [4, 16] : f32
  %r = mono.region "r" [4, 1024] pad(8) : bf16
  %c = mono.region "c" [4, 1024] pad(16) : f8E4M3FN
  %s = mono.region "s" [4, 8] : f32
  mono.stage "widened" (%t) tasks [%WIDE] base [0] {
    %e = mono.stream %w[0, 0] [16, 1024] scaled %ws split_k(1)
    %v = mono.load %x[0, 0] [4, 1024] : tensor<4x1024xbf16>
    mono.store %v, %r[0, 0] : tensor<4x1024xbf16>
    %p = mono.contract %r[0, 0] [4, 1024], %e : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
  mono.stage "codes" (%t) tasks [%CODES] base [0] {
    %e = mono.stream %w[0, 0] [16, 1024] scaled %ws split_k(1)
    %v = mono.load %x[0, 0] [4, 1024] : tensor<4x1024xbf16>
    %v32 = arith.extf %v : tensor<4x1024xbf16> to tensor<4x1024xf32>
    %ones = arith.constant dense<1.0> : tensor<4x1024xf32>
    %k = arith.scaling_truncf %v32, %ones : tensor<4x1024xf32>, tensor<4x1024xf32> to tensor<4x1024xf8E4M3FN>
    mono.store %k, %c[0, 0] : tensor<4x1024xf8E4M3FN>
    %f = mono.load %xs[0, 0] [4, 8] : tensor<4x8xf32>
    mono.store %f, %s[0, 0] : tensor<4x8xf32>
    %p = mono.contract %c[0, 0] [4, 1024] scaled %s, %e : tensor<4x16xf32>
    mono.store %p, %y[0, 0] : tensor<4x16xf32>
  }
}
