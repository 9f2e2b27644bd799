// The random numbers of an adversarial run: one small generator, the same on every host.
#pragma once

#include <cstdint>
#include <utility>

namespace mono::emu {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15 + 0x1234567) {}

  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// In [0, limit), limit at least 1.
  uint64_t below(uint64_t limit) { return next() % limit; }
  /// True once in `n` times on average; never if n is 0.
  bool oneIn(uint64_t n) { return n != 0 && below(n) == 0; }

  template <typename List> void shuffle(List &list) {
    for (size_t n = list.size(); n > 1; --n)
      std::swap(list[n - 1], list[below(n)]);
  }

private:
  uint64_t state;
};

} // namespace mono::emu
