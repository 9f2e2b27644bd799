// What each atomic computes: new value from the old one and the data, shared by VMEM, SMEM and LDS.
#pragma once

#include "runtime/emulator/numeric/FloatFormat.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace mono::emu::atomics {

template <typename T> T add(T old, T data) { return old + data; }
template <typename T> T sub(T old, T data) { return old - data; }
template <typename T> T rsub(T old, T data) { return data - old; }
template <typename T> T umin(T old, T data) { return std::min(old, data); }
template <typename T> T umax(T old, T data) { return std::max(old, data); }
template <typename T> T smin(T old, T data) {
  using S = std::make_signed_t<T>;
  return T(std::min(S(old), S(data)));
}
template <typename T> T smax(T old, T data) {
  using S = std::make_signed_t<T>;
  return T(std::max(S(old), S(data)));
}
template <typename T> T bitAnd(T old, T data) { return old & data; }
template <typename T> T bitOr(T old, T data) { return old | data; }
template <typename T> T bitXor(T old, T data) { return old ^ data; }
template <typename T> T swap(T, T data) { return data; }
/// Counts up to `data`, then wraps to 0; counts down to 0, then wraps to `data`.
template <typename T> T inc(T old, T data) { return old >= data ? 0 : old + 1; }
template <typename T> T dec(T old, T data) { return old == 0 || old > data ? data : old - 1; }

/// f32 addition in L2 flushes denormals (CDNA4 ISA 9.2.2).
inline uint32_t addF32Flush(uint32_t old, uint32_t data) {
  using numeric::flushDenormal;
  float sum = flushDenormal(std::bit_cast<float>(old)) + flushDenormal(std::bit_cast<float>(data));
  return std::bit_cast<uint32_t>(flushDenormal(sum));
}
inline uint32_t addF32(uint32_t old, uint32_t data) {
  return std::bit_cast<uint32_t>(std::bit_cast<float>(old) + std::bit_cast<float>(data));
}
inline uint64_t addF64(uint64_t old, uint64_t data) {
  return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(data));
}

/// IEEE minimum and maximum: a NaN loses against a number, -0 < +0.
template <typename F, bool wantMax, typename T> T floatMinMax(T old, T data) {
  F a = std::bit_cast<F>(old), b = std::bit_cast<F>(data);
  if (a != a)
    return data;
  if (b != b)
    return old;
  bool takeOld = a == b ? (std::make_signed_t<T>(old) < 0) != wantMax : (a < b) != wantMax;
  return takeOld ? old : data;
}

template <auto addOne> uint32_t pairwise(uint32_t old, uint32_t data) {
  return uint32_t(addOne(uint16_t(old), uint16_t(data))) |
         uint32_t(addOne(uint16_t(old >> 16), uint16_t(data >> 16))) << 16;
}
inline uint16_t addHalf(uint16_t a, uint16_t b) {
  return numeric::floatToHalf(numeric::halfToFloat(a) + numeric::halfToFloat(b));
}
inline uint16_t addBf16(uint16_t a, uint16_t b) {
  return numeric::floatToBf16(numeric::bf16ToFloat(a) + numeric::bf16ToFloat(b));
}
inline uint32_t pkAddF16(uint32_t old, uint32_t data) { return pairwise<addHalf>(old, data); }
inline uint32_t pkAddBf16(uint32_t old, uint32_t data) { return pairwise<addBf16>(old, data); }

} // namespace mono::emu::atomics
