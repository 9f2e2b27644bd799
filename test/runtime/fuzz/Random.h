// The generator's source of randomness: small, fast, the same on every host.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace mono::fuzz {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// A number in [0, n).
  unsigned below(unsigned n) { return unsigned((next() >> 32) * n >> 32); }
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(next() % uint64_t(high - low + 1));
  }
  bool oneIn(unsigned n) { return below(n) == 0; }
  template <typename T> T pick(std::initializer_list<T> values) {
    return values.begin()[below(unsigned(values.size()))];
  }

private:
  uint64_t state;
};

} // namespace mono::fuzz
