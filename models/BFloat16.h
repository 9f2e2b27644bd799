// bf16 values as the upper half of an f32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mono::models {

/// Exact.
inline float toFloat(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }

/// Round to nearest, ties to even; NaN becomes the quiet NaN 0x7FC0 with its sign.
inline uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

} // namespace mono::models
