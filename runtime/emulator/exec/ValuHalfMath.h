// f16 arithmetic whose f32 result is not yet good enough to be rounded to f16.
#pragma once

#include "runtime/emulator/exec/ValuLanes.h"

#include <bit>
#include <cstdint>

namespace mono::emu::valu {

/// `value` as an f32 such that rounding that to f16 equals rounding `value` itself, in any mode:
/// the bits that f32 lacks are or-ed into its last one (round to odd).
inline float roundToOdd(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  constexpr uint64_t kDropped = (1ull << 29) - 1;
  const uint64_t sticky = bits & kDropped ? kDropped + 1 : 0;
  const bool special = (bits >> 52 & 0x7ff) == 0x7ff;
  return float(std::bit_cast<double>(special ? bits : (bits & ~kDropped) | sticky));
}

/// Fused multiply-add of f16 values. The product is exact in double and so is the sum wherever it
/// could decide the rounding: f16 terms within 53 bits of the result's last place.
inline F16 fmaHalf(F16 a, F16 b, F16 c) {
  return {roundToOdd(double(a.value) * double(b.value) + double(c.value))};
}

/// Multiply and add with the product rounded to f16, as V_MAD_F16 and V_MAC_F16 do.
inline F16 madHalf(F16 a, F16 b, F16 c) {
  const float product = numeric::halfToFloat(numeric::floatToHalf(a.value * b.value));
  return {product + c.value};
}

} // namespace mono::emu::valu
