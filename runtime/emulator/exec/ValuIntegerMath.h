// Integer helpers that several instruction families share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace mono::emu::valu {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

/// `value` as the nearest number of type Int: what `clamp` does to integer results.
template <typename Int> constexpr Int saturate(i64 value) {
  using Limits = std::numeric_limits<Int>;
  return Int(std::clamp<i64>(value, Limits::min(), Limits::max()));
}

/// The middle one of three.
template <typename T> constexpr T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

/// One step of V_PRNG_B32, by which stochastic conversions go from element to element too.
constexpr u32 nextRandom(u32 x) { return x << 1 ^ (x >> 31 ? 0xc5u : 0u); }

/// Two 16-bit values side by side.
constexpr u32 pairOf(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

} // namespace mono::emu::valu
