// Flash attention of 16 queries by one wave, head dimension 64, device only: scores by MFMA, online
// softmax, probabilities through LDS into the operand layout, values by transposing LDS reads.
#include "test/runtime/kernels/device/Device.h"

constexpr u32 headSize = 64, keysPerStep = 32, queries = 16;

using Float4 = f32 __attribute__((ext_vector_type(4)));
using Bf8 = bf16 __attribute__((ext_vector_type(8)));
using Short4 = i16 __attribute__((ext_vector_type(4)));
using Int2 = i32 __attribute__((ext_vector_type(2)));
template <typename T> using LdsPointer = __attribute__((address_space(3))) T *;

/// bf16: operands of v_mfma_f32_16x16x32_bf16, eight consecutive k a lane.
struct Bf16Kind {
  using Element = bf16;
  using Operand = Bf8;
  static __attribute__((device)) Operand load(const Element *p) { return *(const Operand *)p; }
  static __attribute__((device)) Float4 multiply(Operand a, Operand b, Float4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
  }
  static __attribute__((device)) Element fromFloat(f32 v) { return bf16(v); }
  /// Column lane % 16 of rows k .. k + 7 of a tile with `headSize` columns: two reads of four rows.
  static __attribute__((device)) Operand column(Element *tile, u32 k, u32 firstColumn) {
    u32 l = laneId() % 16;
    Short4 parts[2];
    for (u32 half = 0; half < 2; ++half) {
      Element *source = tile + (k + 4 * half + l / 4) * headSize + firstColumn + 4 * (l % 4);
      parts[half] = __builtin_amdgcn_ds_read_tr16_b64_v4i16((LdsPointer<Short4>)source);
    }
    return __builtin_bit_cast(Operand, parts);
  }
};

/// fp8 (E4M3): operands of v_mfma_f32_16x16x32_fp8_fp8, eight bytes a lane.
struct Fp8Kind {
  using Element = u8;
  using Operand = i64;
  static __attribute__((device)) Operand load(const Element *p) { return *(const Operand *)p; }
  static __attribute__((device)) Float4 multiply(Operand a, Operand b, Float4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0);
  }
  static __attribute__((device)) Element fromFloat(f32 v) {
    return u8(__builtin_amdgcn_cvt_pk_fp8_f32(v, v, 0, false));
  }
  static __attribute__((device)) Operand column(Element *tile, u32 k, u32 firstColumn) {
    u32 l = laneId() % 16;
    Element *source = tile + (k + l / 2) * headSize + firstColumn + 8 * (l % 2);
    return __builtin_bit_cast(Operand,
                              __builtin_amdgcn_ds_read_tr8_b64_v2i32((LdsPointer<Int2>)source));
  }
};

DEVICE f32 maximumOf16(f32 v) {
  for (u32 step = 8; step > 0; step /= 2)
    v = __builtin_fmaxf(v, shuffle(v, laneId() ^ step));
  return v;
}
DEVICE f32 sumOf16(f32 v) {
  for (u32 step = 8; step > 0; step /= 2)
    v += shuffle(v, laneId() ^ step);
  return v;
}

/// q [16][64], k and v [keys][64], out [16][64] f32; lane group g = lane / 16 holds rows 4 g .. 4 g
/// + 3 of scores and output, one a register.
template <typename Kind>
DEVICE void attention(const typename Kind::Element *q, const typename Kind::Element *k,
                      const typename Kind::Element *v, f32 *out, u32 keys, f32 scale) {
  using Element = typename Kind::Element;
  SHARED(values, Element[keysPerStep * headSize]);
  SHARED(probabilities, Element[queries * keysPerStep]);
  u32 lane = laneId(), column = lane % 16, group = lane / 16;
  Float4 output[4] = {}, running = -__builtin_inff(), total = 0.0f;
  for (u32 first = 0; first < keys; first += keysPerStep) {
    for (u32 n = lane; n < keysPerStep * headSize; n += 64)
      values[n] = v[first * headSize + n];
    Float4 scores[2] = {};
    for (u32 half = 0; half < 2; ++half)
      for (u32 d = 0; d < headSize; d += 32)
        scores[half] = Kind::multiply(
            Kind::load(q + column * headSize + d + 8 * group),
            Kind::load(k + (first + 16 * half + column) * headSize + d + 8 * group), scores[half]);
    for (u32 row = 0; row < 4; ++row) {
      f32 a = scores[0][row] * scale, b = scores[1][row] * scale;
      f32 greatest = __builtin_fmaxf(running[row], maximumOf16(__builtin_fmaxf(a, b)));
      f32 shrink = __builtin_expf(running[row] - greatest);
      a = __builtin_expf(a - greatest);
      b = __builtin_expf(b - greatest);
      running[row] = greatest;
      total[row] = total[row] * shrink + sumOf16(a + b);
      for (Float4 &part : output)
        part[row] *= shrink;
      probabilities[(4 * group + row) * keysPerStep + column] = Kind::fromFloat(a);
      probabilities[(4 * group + row) * keysPerStep + 16 + column] = Kind::fromFloat(b);
    }
    syncThreads();
    auto weights = Kind::load(probabilities + column * keysPerStep + 8 * group);
    for (u32 part = 0; part < 4; ++part)
      output[part] =
          Kind::multiply(weights, Kind::column(values, 8 * group, 16 * part), output[part]);
    syncThreads();
  }
  for (u32 part = 0; part < 4; ++part)
    for (u32 row = 0; row < 4; ++row)
      out[(4 * group + row) * headSize + 16 * part + column] = output[part][row] / total[row];
}

KERNEL void attentionBf16(const bf16 *q, const bf16 *k, const bf16 *v, f32 *out, u32 keys,
                          f32 scale) {
  attention<Bf16Kind>(q, k, v, out, keys, scale);
}
KERNEL void attentionFp8(const u8 *q, const u8 *k, const u8 *v, f32 *out, u32 keys, f32 scale) {
  attention<Fp8Kind>(q, k, v, out, keys, scale);
}
