// bfloat16 for the host halves of kernels: arithmetic happens in f32, storing rounds to nearest
// even.
#pragma once

#include <bit>
#include <cstdint>

class HostBfloat {
public:
  HostBfloat() = default;
  HostBfloat(float value) : bits(round(std::bit_cast<uint32_t>(value))) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

private:
  static uint16_t round(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000) // NaN stays NaN, quiet
      return uint16_t(word >> 16 | 0x40);
    return uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
  }
  uint16_t bits;
};
