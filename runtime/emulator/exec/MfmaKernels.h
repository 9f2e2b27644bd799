// The inner products of the matrix instructions. Operands are k-major arrays; the order of each sum
// is k ascending, one fused multiply-add a step, starting from c. The hardware's own order and
// intermediate precision are not documented for CDNA4: results agree with it within rounding, and
// they are the same from run to run.
#pragma once

#include "runtime/emulator/exec/MfmaLayout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace mono::emu::mfma {

/// One host vector register of elements.
template <typename T> struct VectorOf {
  static constexpr unsigned width = 32 / sizeof(T);
  typedef T Type __attribute__((vector_size(32), aligned(alignof(T))));
};
template <typename T> using Vector = typename VectorOf<T>::Type;

template <typename T> inline Vector<T> loadVector(const T *from) {
  return *reinterpret_cast<const Vector<T> *>(from);
}
template <typename T> inline void storeVector(T *to, Vector<T> value) {
  *reinterpret_cast<Vector<T> *>(to) = value;
}
template <typename T> inline Vector<T> broadcast(T value) {
  Vector<T> result;
  for (unsigned n = 0; n < VectorOf<T>::width; ++n)
    result[n] = value;
  return result;
}

/// One step of a sum, on vectors or single elements: fused for floats, wrapping for integers.
template <typename V> inline V multiplyAdd(V a, V b, V c) {
  if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(a[0])>>)
    return a * b + c;
  else
    return __builtin_elementwise_fma(a, b, c);
}

/// c[4, 2W] += a[k, 4]^T b[k, 2W] for `k` steps, within arrays of M and N columns; W is the host's
/// vector width. The tile leaves room for its operands in the host's 16 vector registers.
template <unsigned M, unsigned N, typename T>
inline void accumulateTile(const T *a, const T *b, unsigned k, T *c) {
  constexpr unsigned width = VectorOf<T>::width;
  Vector<T> sum[4][2];
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned half = 0; half < 2; ++half)
      sum[i][half] = loadVector(c + i * N + width * half);
  for (unsigned step = 0; step < k; ++step) {
    const Vector<T> low = loadVector(b + step * N), high = loadVector(b + step * N + width);
    for (unsigned i = 0; i < 4; ++i) {
      const Vector<T> factor = broadcast(a[step * M + i]);
      sum[i][0] = multiplyAdd(factor, low, sum[i][0]);
      sum[i][1] = multiplyAdd(factor, high, sum[i][1]);
    }
  }
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned half = 0; half < 2; ++half)
      storeVector(c + i * N + width * half, sum[i][half]);
}

/// c[4, 4] += a[k, 4]^T b[k, 4], the shapes with many small blocks.
template <typename T> inline void accumulateSmall(const T *a, const T *b, unsigned k, T *c) {
  typedef T Vector4 __attribute__((vector_size(4 * sizeof(T)), aligned(alignof(T))));
  for (unsigned i = 0; i < 4; ++i) {
    Vector4 sum = *reinterpret_cast<const Vector4 *>(c + 4 * i);
    for (unsigned step = 0; step < k; ++step) {
      const T v = a[4 * step + i];
      sum = multiplyAdd(Vector4{v, v, v, v}, *reinterpret_cast<const Vector4 *>(b + 4 * step), sum);
    }
    *reinterpret_cast<Vector4 *>(c + 4 * i) = sum;
  }
}

/// c[M, N] += a[k, M]^T b[k, N] for T of float, double and uint32_t (integers wrap).
template <unsigned M, unsigned N, typename T>
inline void accumulate(const T *a, const T *b, unsigned k, T *c) {
  if constexpr (N == 4) {
    static_assert(M == 4);
    accumulateSmall(a, b, k, c);
  } else {
    for (unsigned i = 0; i < M; i += 4)
      for (unsigned j = 0; j < N; j += 2 * VectorOf<T>::width)
        accumulateTile<M, N>(a + i, b + j, k, c + i * N + j);
  }
}

/// MODE.FP16_OVFL: results that overflow become the greatest number, true infinities stay (CDNA4
/// ISA 7.2). `d` [M, N] is the result of rows `a` [kA, M], columns `b` [kB, N] and `c` [M, N]; an
/// infinity in it is true if one of its inputs is.
template <unsigned M, unsigned N>
void saturate(const float *a, unsigned kA, const float *b, unsigned kB, const float *c, float *d) {
  bool finiteRow[M], finiteColumn[N];
  std::fill_n(finiteRow, M, true);
  std::fill_n(finiteColumn, N, true);
  for (unsigned n = 0; n < kA * M; ++n)
    finiteRow[n % M] &= std::isfinite(a[n]);
  for (unsigned n = 0; n < kB * N; ++n)
    finiteColumn[n % N] &= std::isfinite(b[n]);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < N; ++j) {
      float &value = d[i * N + j];
      if (std::isinf(value) && finiteRow[i] && finiteColumn[j] && std::isfinite(c[i * N + j]))
        value = std::copysign(std::numeric_limits<float>::max(), value);
    }
}

} // namespace mono::emu::mfma
