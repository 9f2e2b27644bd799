// Arithmetic of every real type on every pair of edge values, and elementary functions of f32.
#include "test/runtime/kernels/device/Device.h"

/// Row r of `out` (each `n` long) is the r-th operation.
template <typename T> DEVICE void arithmetic(const T *a, const T *b, const T *c, T *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  T x = a[i], y = b[i], z = c[i];
  // min and max of zeros of both signs may be either zero; adding +0 makes them one.
  T results[] = {T(x + y),
                 T(x - y),
                 T(x * y),
                 T(x / y),
                 fusedMultiplyAdd(x, y, z),
                 T(__builtin_elementwise_min(x, y) + T(0)),
                 T(__builtin_elementwise_max(x, y) + T(0)),
                 __builtin_elementwise_sqrt(x),
                 __builtin_elementwise_floor(x),
                 __builtin_elementwise_ceil(x),
                 __builtin_elementwise_trunc(x),
                 __builtin_elementwise_rint(x),
                 __builtin_elementwise_abs(x),
                 __builtin_elementwise_copysign(x, y),
                 T(x < y ? z : -z),
                 T(x == y ? x : y),
                 T(!(x >= y) ? z : x),
                 T((x != x) + 2 * (y > z))};
  u32 row = 0;
  for (T result : results)
    out[n * row++ + i] = result;
}

KERNEL void arithmeticF32(const f32 *a, const f32 *b, const f32 *c, f32 *out, u32 n) {
  arithmetic(a, b, c, out, n);
}
KERNEL void arithmeticF16(const f16 *a, const f16 *b, const f16 *c, f16 *out, u32 n) {
  arithmetic(a, b, c, out, n);
}
KERNEL void arithmeticF64(const f64 *a, const f64 *b, const f64 *c, f64 *out, u32 n) {
  arithmetic(a, b, c, out, n);
}

// There is no fused multiply-add of bf16, and no libm of it.
KERNEL void arithmeticBf16(const bf16 *a, const bf16 *b, bf16 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  bf16 x = a[i], y = b[i];
  bf16 results[] = {bf16(x + y),
                    bf16(x - y),
                    bf16(x * y),
                    bf16(x / y),
                    bf16(x < y ? x : y),
                    bf16(-x),
                    bf16(f32(x) * 3.0f + f32(y))};
  u32 row = 0;
  for (bf16 result : results)
    out[n * row++ + i] = result;
}

/// Two halves at a time: v_pk_add_f16 and its relatives.
KERNEL void packedF16(const f16 *a, const f16 *b, f16 *out, u32 n) {
  typedef f16 Pair __attribute__((ext_vector_type(2)));
  u32 i = globalIndex();
  if (2 * i >= n)
    return;
  Pair x = {a[2 * i], a[2 * i + 1]}, y = {b[2 * i], b[2 * i + 1]};
  Pair results[] = {x + y, x - y, x * y, Pair{x.y, x.x} + y, -x, Pair{x.y, y.x}};
  u32 row = 0;
  for (Pair result : results) {
    out[n * row + 2 * i] = result.x;
    out[n * row++ + 2 * i + 1] = result.y;
  }
}

/// Two floats at a time: v_pk_add_f32, v_pk_mul_f32, v_pk_fma_f32.
KERNEL void packedF32(const f32 *a, const f32 *b, f32 *out, u32 n) {
  typedef f32 Pair __attribute__((ext_vector_type(2)));
  u32 i = globalIndex();
  if (2 * i >= n)
    return;
  Pair x = {a[2 * i], a[2 * i + 1]}, y = {b[2 * i], b[2 * i + 1]};
  Pair results[] = {x + y, x * y, Pair{x.y, x.x} * y,
                    Pair{fusedMultiplyAdd(x.x, y.x, y.y), fusedMultiplyAdd(x.y, y.y, y.x)}};
  u32 row = 0;
  for (Pair result : results) {
    out[n * row + 2 * i] = result.x;
    out[n * row++ + 2 * i + 1] = result.y;
  }
}

#if defined(__AMDGCN__)
/// The precise functions as the compiler expands them, row by row.
KERNEL void elementaryF32(const f32 *in, f32 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  f32 x = in[i];
  f32 results[] = {__builtin_expf(x), __builtin_exp2f(x),       __builtin_exp10f(x),
                   __builtin_logf(x), __builtin_log2f(x),       __builtin_log10f(x),
                   1.0f / x,          1.0f / __builtin_sqrtf(x)};
  u32 row = 0;
  for (f32 result : results)
    out[n * row++ + i] = result;
}

/// The machine's own approximations.
KERNEL void approximateF32(const f32 *in, f32 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  f32 x = in[i];
  f32 results[] = {__builtin_amdgcn_exp2f(x), __builtin_amdgcn_logf(x),
                   __builtin_amdgcn_rcpf(x),  __builtin_amdgcn_rsqf(x),
                   __builtin_amdgcn_sqrtf(x), __builtin_amdgcn_fractf(x)};
  u32 row = 0;
  for (f32 result : results)
    out[n * row++ + i] = result;
}

/// Sine and cosine of turns, not radians.
KERNEL void trigonometryF32(const f32 *in, f32 *sines, f32 *cosines) {
  u32 i = globalIndex();
  sines[i] = __builtin_amdgcn_sinf(in[i]);
  cosines[i] = __builtin_amdgcn_cosf(in[i]);
}

KERNEL void approximateF16(const f16 *in, f16 *out, u32 n) {
  u32 i = globalIndex();
  if (i >= n)
    return;
  f16 x = in[i];
  f16 results[] = {f16(__builtin_amdgcn_rcph(x)), f16(__builtin_amdgcn_rsqh(x)),
                   __builtin_elementwise_exp2(x), __builtin_elementwise_log2(x),
                   f16(__builtin_amdgcn_fracth(x))};
  u32 row = 0;
  for (f16 result : results)
    out[n * row++ + i] = result;
}
#endif
