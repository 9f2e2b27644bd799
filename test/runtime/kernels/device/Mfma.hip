// Matrix instructions, device only: every lane brings its registers of A and B from memory as they
// lie there, runs `steps` instructions that add up along K, and writes its registers of the result.
#include "test/runtime/kernels/device/Device.h"

template <typename T, u32 N> using Vector = T __attribute__((ext_vector_type(N)));
using Float4 = Vector<f32, 4>;
using Float16 = Vector<f32, 16>;
using Float32 = Vector<f32, 32>;
using Int4 = Vector<i32, 4>;
using Int8 = Vector<i32, 8>;
using Int16 = Vector<i32, 16>;
using Int32 = Vector<i32, 32>;
using Double4 = Vector<f64, 4>;
using Half4 = Vector<f16, 4>;
using Half8 = Vector<f16, 8>;
using Half16 = Vector<f16, 16>;
using Bf8 = Vector<bf16, 8>;
using Bf16 = Vector<bf16, 16>;
using Short4 = Vector<i16, 4>;
using Short8 = Vector<i16, 8>;
using Int2 = Vector<i32, 2>;

#define MFMA(instruction, Operand, Result)                                                         \
  KERNEL void mfma_##instruction(const Operand *a, const Operand *b, Result *c, u32 steps) {       \
    u32 lane = laneId();                                                                           \
    Result sum = c[lane];                                                                          \
    for (u32 step = 0; step < steps; ++step)                                                       \
      sum = __builtin_amdgcn_mfma_##instruction(a[64 * step + lane], b[64 * step + lane], sum, 0,  \
                                                0, 0);                                             \
    c[lane] = sum;                                                                                 \
  }

MFMA(f32_32x32x1f32, f32, Float32)
MFMA(f32_16x16x1f32, f32, Float16)
MFMA(f32_4x4x1f32, f32, Float4)
MFMA(f32_32x32x2f32, f32, Float16)
MFMA(f32_16x16x4f32, f32, Float4)
MFMA(f32_32x32x4f16, Half4, Float32)
MFMA(f32_16x16x4f16, Half4, Float16)
MFMA(f32_4x4x4f16, Half4, Float4)
MFMA(f32_32x32x8f16, Half4, Float16)
MFMA(f32_16x16x16f16, Half4, Float4)
MFMA(f32_32x32x16_f16, Half8, Float16)
MFMA(f32_16x16x32_f16, Half8, Float4)
MFMA(f32_32x32x4bf16_1k, Short4, Float32)
MFMA(f32_16x16x4bf16_1k, Short4, Float16)
MFMA(f32_4x4x4bf16_1k, Short4, Float4)
MFMA(f32_32x32x8bf16_1k, Short4, Float16)
MFMA(f32_16x16x16bf16_1k, Short4, Float4)
MFMA(f32_32x32x16_bf16, Bf8, Float16)
MFMA(f32_16x16x32_bf16, Bf8, Float4)
MFMA(i32_32x32x4i8, i32, Int32)
MFMA(i32_16x16x4i8, i32, Int16)
MFMA(i32_4x4x4i8, i32, Int4)
MFMA(i32_32x32x16_i8, i64, Int16)
MFMA(i32_16x16x32_i8, i64, Int4)
MFMA(i32_32x32x32_i8, Int4, Int16)
MFMA(i32_16x16x64_i8, Int4, Int4)
MFMA(f32_16x16x32_fp8_fp8, i64, Float4)
MFMA(f32_16x16x32_fp8_bf8, i64, Float4)
MFMA(f32_16x16x32_bf8_fp8, i64, Float4)
MFMA(f32_16x16x32_bf8_bf8, i64, Float4)
MFMA(f32_32x32x16_fp8_fp8, i64, Float16)
MFMA(f32_32x32x16_fp8_bf8, i64, Float16)
MFMA(f32_32x32x16_bf8_fp8, i64, Float16)
MFMA(f32_32x32x16_bf8_bf8, i64, Float16)
MFMA(f64_16x16x4f64, f64, Double4)
MFMA(f64_4x4x4f64, f64, f64)

/// Sparse A: `index` holds two bits for each stored element.
#define SMFMAC(instruction, OperandA, OperandB, Result)                                            \
  KERNEL void smfmac_##instruction(const OperandA *a, const OperandB *b, Result *c,                \
                                   const i32 *index, u32 steps) {                                  \
    u32 lane = laneId();                                                                           \
    Result sum = c[lane];                                                                          \
    for (u32 step = 0; step < steps; ++step)                                                       \
      sum = __builtin_amdgcn_smfmac_##instruction(a[64 * step + lane], b[64 * step + lane], sum,   \
                                                  index[64 * step + lane], 0, 0);                  \
    c[lane] = sum;                                                                                 \
  }

SMFMAC(f32_16x16x32_f16, Half4, Half8, Float4)
SMFMAC(f32_32x32x16_f16, Half4, Half8, Float16)
SMFMAC(f32_16x16x32_bf16, Short4, Short8, Float4)
SMFMAC(f32_32x32x16_bf16, Short4, Short8, Float16)
SMFMAC(f32_16x16x64_f16, Half8, Half16, Float4)
SMFMAC(f32_32x32x32_f16, Half8, Half16, Float16)
SMFMAC(f32_16x16x64_bf16, Bf8, Bf16, Float4)
SMFMAC(f32_32x32x32_bf16, Bf8, Bf16, Float16)
SMFMAC(i32_16x16x64_i8, Int2, Int4, Int4)
SMFMAC(i32_32x32x32_i8, Int2, Int4, Int16)
SMFMAC(i32_16x16x128_i8, Int4, Int8, Int4)
SMFMAC(i32_32x32x64_i8, Int4, Int8, Int16)
SMFMAC(f32_16x16x64_fp8_fp8, Int2, Int4, Float4)
SMFMAC(f32_16x16x64_fp8_bf8, Int2, Int4, Float4)
SMFMAC(f32_16x16x64_bf8_fp8, Int2, Int4, Float4)
SMFMAC(f32_16x16x64_bf8_bf8, Int2, Int4, Float4)
SMFMAC(f32_32x32x32_fp8_fp8, Int2, Int4, Float16)
SMFMAC(f32_32x32x32_fp8_bf8, Int2, Int4, Float16)
SMFMAC(f32_32x32x32_bf8_fp8, Int2, Int4, Float16)
SMFMAC(f32_32x32x32_bf8_bf8, Int2, Int4, Float16)
SMFMAC(f32_16x16x128_fp8_fp8, Int4, Int8, Float4)
SMFMAC(f32_16x16x128_fp8_bf8, Int4, Int8, Float4)
SMFMAC(f32_16x16x128_bf8_fp8, Int4, Int8, Float4)
SMFMAC(f32_16x16x128_bf8_bf8, Int4, Int8, Float4)
SMFMAC(f32_32x32x64_fp8_fp8, Int4, Int8, Float16)
SMFMAC(f32_32x32x64_fp8_bf8, Int4, Int8, Float16)
SMFMAC(f32_32x32x64_bf8_fp8, Int4, Int8, Float16)
SMFMAC(f32_32x32x64_bf8_bf8, Int4, Int8, Float16)

// ---- f8f6f4 with scales
// ---------------------------------------------------------------------------

/// One instruction; formats and scale bytes are part of its encoding. The pair of formats picks the
/// bytes, so that all four of either operand come up: byte = format % 4 for A, (format + 1) % 4 for
/// B.
template <u32 FormatA, u32 FormatB>
DEVICE Float4 scaledOnce(Int8 a, Int8 b, Float4 c, i32 scaleA, i32 scaleB) {
  return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, FormatA, FormatB, FormatA % 4,
                                                          scaleA, (FormatB + 1) % 4, scaleB);
}
template <u32 FormatA, u32 FormatB>
DEVICE Float16 scaledOnce(Int8 a, Int8 b, Float16 c, i32 scaleA, i32 scaleB) {
  return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, FormatA, FormatB, FormatA % 4,
                                                         scaleA, (FormatB + 1) % 4, scaleB);
}

template <u32 FormatA, typename Result>
DEVICE Result scaledWithA(u32 formatB, Int8 a, Int8 b, Result c, i32 scaleA, i32 scaleB) {
  switch (formatB) {
  case 0:
    return scaledOnce<FormatA, 0>(a, b, c, scaleA, scaleB);
  case 1:
    return scaledOnce<FormatA, 1>(a, b, c, scaleA, scaleB);
  case 2:
    return scaledOnce<FormatA, 2>(a, b, c, scaleA, scaleB);
  case 3:
    return scaledOnce<FormatA, 3>(a, b, c, scaleA, scaleB);
  default:
    return scaledOnce<FormatA, 4>(a, b, c, scaleA, scaleB);
  }
}

template <typename Result>
DEVICE void scaledMfma(u32 formatA, u32 formatB, const Int8 *a, const Int8 *b, const i32 *scaleA,
                       const i32 *scaleB, Result *c, u32 steps) {
  u32 lane = laneId();
  Result sum = c[lane];
  for (u32 step = 0; step < steps; ++step) {
    u32 at = 64 * step + lane;
    switch (formatA) {
    case 0:
      sum = scaledWithA<0>(formatB, a[at], b[at], sum, scaleA[at], scaleB[at]);
      break;
    case 1:
      sum = scaledWithA<1>(formatB, a[at], b[at], sum, scaleA[at], scaleB[at]);
      break;
    case 2:
      sum = scaledWithA<2>(formatB, a[at], b[at], sum, scaleA[at], scaleB[at]);
      break;
    case 3:
      sum = scaledWithA<3>(formatB, a[at], b[at], sum, scaleA[at], scaleB[at]);
      break;
    default:
      sum = scaledWithA<4>(formatB, a[at], b[at], sum, scaleA[at], scaleB[at]);
      break;
    }
  }
  c[lane] = sum;
}

KERNEL void scaled_16x16x128(u32 formatA, u32 formatB, const Int8 *a, const Int8 *b,
                             const i32 *scaleA, const i32 *scaleB, Float4 *c, u32 steps) {
  scaledMfma(formatA, formatB, a, b, scaleA, scaleB, c, steps);
}
KERNEL void scaled_32x32x64(u32 formatA, u32 formatB, const Int8 *a, const Int8 *b,
                            const i32 *scaleA, const i32 *scaleB, Float16 *c, u32 steps) {
  scaledMfma(formatA, formatB, a, b, scaleA, scaleB, c, steps);
}
