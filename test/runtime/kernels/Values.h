// Inputs of kernels: seeded random values, and the special values where arithmetic goes wrong.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace mono::emu::test {

/// Any bit pattern of an integer type.
template <typename T> std::vector<T> randomIntegers(size_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(random());
  return values;
}

/// Evenly spread over [low, high).
template <typename T>
std::vector<T> randomReals(size_t count, uint32_t seed, double low = -1, double high = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = T(low + (high - low) * (double(random() >> 11) * 0x1p-53));
  return values;
}

/// An integer type as wide as T.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

/// Zeros, denormals, powers of two with their neighbours, the largest values, infinity and NaN, of
/// both signs. `mantissaBits` is 10, 7, 23 or 52 for f16, bf16, f32 and f64.
template <typename T> std::vector<T> specialReals(unsigned mantissaBits) {
  using Bits = BitsOf<T>;
  const Bits one = Bits(1), implied = Bits(one << mantissaBits);
  const Bits infinity = Bits((Bits(~Bits(0)) >> 1) & ~(implied - 1));
  const Bits unit = Bits((infinity >> 1) & ~(implied - 1));
  std::vector<Bits> patterns = {0,
                                1,
                                2,
                                Bits(implied - 1),
                                implied,
                                Bits(implied + 1),
                                Bits(unit - 1),
                                unit,
                                Bits(unit + 1),
                                Bits(unit + implied / 2),
                                Bits(unit + implied),
                                Bits(unit + 3 * implied + 5),
                                Bits(infinity - 1),
                                Bits(infinity - implied),
                                infinity,
                                Bits(infinity | implied >> 1)};
  std::vector<T> values;
  for (Bits pattern : patterns)
    for (Bits sign : {Bits(0), Bits(one << (8 * sizeof(T) - 1))})
      values.push_back(std::bit_cast<T>(Bits(pattern | sign)));
  return values;
}

/// All pairs of special values in `a` and `b`, then random bit patterns (NaNs quiet) up to `count`.
template <typename T>
void edgePairs(std::vector<T> &a, std::vector<T> &b, size_t count, unsigned mantissaBits,
               uint32_t seed) {
  for (T x : specialReals<T>(mantissaBits))
    for (T y : specialReals<T>(mantissaBits)) {
      a.push_back(x);
      b.push_back(y);
    }
  std::mt19937_64 random(seed);
  auto pattern = [&] {
    auto bits = BitsOf<T>(random());
    T value = std::bit_cast<T>(bits);
    return value == value ? value : T(1);
  };
  for (; a.size() < count;) {
    a.push_back(pattern());
    b.push_back(pattern());
  }
  a.resize(count);
  b.resize(count);
}

} // namespace mono::emu::test
