// Conversions from every number type to every other.
#include "test/runtime/kernels/device/Device.h"

// bf16 and f16 do not convert directly.
template <typename T> DEVICE f16 toHalf(T x) { return f16(x); }
DEVICE f16 toHalf(bf16 x) { return f16(f32(x)); }

/// Converts what T can hold of in[i]; rows by destination type.
template <typename T>
DEVICE void convertFrom(const T *in, u32 n, i8 *o0, u8 *o1, i16 *o2, u16 *o3, i32 *o4, u32 *o5,
                        i64 *o6, u64 *o7, f16 *o8, bf16 *o9, f32 *o10, f64 *o11) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  T x = in[i];
  o0[i] = i8(x);
  o1[i] = u8(x);
  o2[i] = i16(x);
  o3[i] = u16(x);
  o4[i] = i32(x);
  o5[i] = u32(x);
  o6[i] = i64(x);
  o7[i] = u64(x);
  o8[i] = toHalf(x);
  o9[i] = bf16(f32(x));
  o10[i] = f32(x);
  o11[i] = f64(x);
}

#define CONVERT_KERNEL(T)                                                                          \
  KERNEL void convert_##T(const T *in, u32 n, i8 *o0, u8 *o1, i16 *o2, u16 *o3, i32 *o4, u32 *o5,  \
                          i64 *o6, u64 *o7, f16 *o8, bf16 *o9, f32 *o10, f64 *o11) {               \
    convertFrom(in, n, o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11);                          \
  }
CONVERT_KERNEL(i8)
CONVERT_KERNEL(u8)
CONVERT_KERNEL(i16)
CONVERT_KERNEL(u16)
CONVERT_KERNEL(i32)
CONVERT_KERNEL(u32)
CONVERT_KERNEL(i64)
CONVERT_KERNEL(u64)
CONVERT_KERNEL(f16)
CONVERT_KERNEL(bf16)
CONVERT_KERNEL(f32)
CONVERT_KERNEL(f64)

/// Rounding of any bit pattern to the narrower real types and back.
KERNEL void narrowReals(const f64 *in, f32 *toF32, f16 *fromF32, bf16 *toBf16, f64 *back, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  f32 x = f32(in[i]);
  toF32[i] = x;
  fromF32[i] = f16(x);
  toBf16[i] = bf16(x);
  back[i] = f64(f16(x)) + f64(f32(bf16(x)));
}

#if defined(__AMDGCN__)
// ---- formats the host has no type for
// ------------------------------------------------------------

typedef bf16 BfPair __attribute__((ext_vector_type(2)));
typedef f16 HalfPair __attribute__((ext_vector_type(2)));
typedef f32 FloatPair __attribute__((ext_vector_type(2)));

/// v_cvt_pk_bf16_f32: two floats to two bfloat16 in a dword.
KERNEL void packBf16(const f32 *in, u32 *out) {
  u32 i = globalIndex();
  FloatPair pair = {in[2 * i], in[2 * i + 1]};
  out[i] = __builtin_bit_cast(u32, __builtin_convertvector(pair, BfPair));
}

/// v_cvt_pkrtz_f16_f32 rounds to zero.
KERNEL void packRoundToZero(const f32 *in, u32 *out) {
  u32 i = globalIndex();
  out[i] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(in[2 * i], in[2 * i + 1]));
}

/// Four floats to four OCP fp8 (E4M3) and four bf8 (E5M2) bytes, and back.
KERNEL void packFp8(const f32 *in, u32 *fp8, u32 *bf8, f32 *fromFp8, f32 *fromBf8) {
  u32 i = globalIndex();
  const f32 *x = in + 4 * i;
  i32 a = __builtin_amdgcn_cvt_pk_fp8_f32(x[0], x[1], 0, false);
  a = __builtin_amdgcn_cvt_pk_fp8_f32(x[2], x[3], a, true);
  i32 b = __builtin_amdgcn_cvt_pk_bf8_f32(x[0], x[1], 0, false);
  b = __builtin_amdgcn_cvt_pk_bf8_f32(x[2], x[3], b, true);
  fp8[i] = u32(a);
  bf8[i] = u32(b);
  FloatPair low = __builtin_amdgcn_cvt_pk_f32_fp8(a, false);
  fromFp8[4 * i] = low.x;
  fromFp8[4 * i + 1] = low.y;
  fromFp8[4 * i + 2] = __builtin_amdgcn_cvt_f32_fp8(a, 2);
  fromFp8[4 * i + 3] = __builtin_amdgcn_cvt_f32_fp8(a, 3);
  FloatPair high = __builtin_amdgcn_cvt_pk_f32_bf8(b, true);
  fromBf8[4 * i] = __builtin_amdgcn_cvt_f32_bf8(b, 0);
  fromBf8[4 * i + 1] = __builtin_amdgcn_cvt_f32_bf8(b, 1);
  fromBf8[4 * i + 2] = high.x;
  fromBf8[4 * i + 3] = high.y;
}

/// Eight floats to eight scaled fp4 codes and two times four scaled fp8 codes, and back.
KERNEL void packScaled(const f32 *in, const f32 *scale, u32 *fp4, u32 *fp8, f32 *fromFp4,
                       f32 *fromFp8) {
  typedef i16 ShortPair __attribute__((ext_vector_type(2)));
  u32 i = globalIndex();
  const f32 *x = in + 8 * i;
  f32 s = scale[i];
  u32 four = 0;
  four = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(four, x[0], x[1], s, 0);
  four = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(four, x[2], x[3], s, 1);
  four = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(four, x[4], x[5], s, 2);
  four = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(four, x[6], x[7], s, 3);
  fp4[i] = four;
  FloatPair f[] = {__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(four, s, 0),
                   __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(four, s, 1),
                   __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(four, s, 2),
                   __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(four, s, 3)};
  for (u32 n = 0; n < 4; ++n) {
    fromFp4[8 * i + 2 * n] = f[n].x;
    fromFp4[8 * i + 2 * n + 1] = f[n].y;
  }
  for (u32 word = 0; word < 2; ++word, x += 4) {
    ShortPair eight = {0, 0};
    eight = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(eight, x[0], x[1], s, false);
    eight = __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(eight, x[2], x[3], s, true);
    u32 bits = __builtin_bit_cast(u32, eight);
    fp8[2 * i + word] = bits;
    FloatPair low = __builtin_amdgcn_cvt_scalef32_pk_f32_fp8(bits, s, false);
    FloatPair high = __builtin_amdgcn_cvt_scalef32_pk_f32_fp8(bits, s, true);
    f32 *back = fromFp8 + 8 * i + 4 * word;
    back[0] = low.x;
    back[1] = low.y;
    back[2] = high.x;
    back[3] = high.y;
  }
}

/// 32 floats to 32 six-bit codes of either format (192 bits), and back.
KERNEL void packSixBit(const f32 *in, const f32 *scale, u32 *fp6, u32 *bf6, f32 *fromFp6,
                       f32 *fromBf6) {
  typedef f32 Float16 __attribute__((ext_vector_type(16)));
  typedef f32 Float32 __attribute__((ext_vector_type(32)));
  typedef u32 Word6 __attribute__((ext_vector_type(6)));
  u32 i = globalIndex();
  Float16 a, b;
  // The instruction takes even elements from the first source and odd ones from the second.
  for (u32 n = 0; n < 16; ++n) {
    a[n] = in[32 * i + 2 * n];
    b[n] = in[32 * i + 2 * n + 1];
  }
  f32 s = scale[i];
  Word6 codes6 = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(a, b, s);
  Word6 codesB6 = __builtin_amdgcn_cvt_scalef32_2xpk16_bf6_f32(a, b, s);
  Float32 back6 = __builtin_amdgcn_cvt_scalef32_pk32_f32_fp6(codes6, s);
  Float32 backB6 = __builtin_amdgcn_cvt_scalef32_pk32_f32_bf6(codesB6, s);
  for (u32 n = 0; n < 6; ++n) {
    fp6[6 * i + n] = codes6[n];
    bf6[6 * i + n] = codesB6[n];
  }
  for (u32 n = 0; n < 32; ++n) {
    fromFp6[32 * i + n] = back6[n];
    fromBf6[32 * i + n] = backB6[n];
  }
}
#endif
