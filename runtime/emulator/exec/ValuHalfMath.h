// f16 arithmetic whose f32 result is not yet good enough to be rounded to f16.
#pragma once

#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
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

/// Fused multiply-add of f16 values, for a host that rounds to nearest: the product is exact in
/// f32, TwoSum gives the error of the sum, and that makes its last bit odd (see roundToOdd).
inline F16 fmaHalfNearest(F16 a, F16 b, F16 c) {
  const float product = a.value * b.value, sum = product + c.value;
  const float part = sum - product;
  const float error = (product - (sum - part)) + (c.value - part); // NaN where sum is not finite
  const uint32_t bits = std::bit_cast<uint32_t>(sum);
  const uint32_t inexact = -uint32_t((error < 0) | (error > 0));
  // Toward zero where the exact sum is nearer to zero; then the last bit says that more follows.
  const uint32_t towardZero = uint32_t(int32_t(std::bit_cast<uint32_t>(error) ^ bits) >> 31);
  return {std::bit_cast<float>((bits + (towardZero & inexact)) | (inexact & 1))};
}

/// The same in any rounding mode. The product is exact in double and so is the sum wherever it
/// could decide the rounding: f16 terms within 53 bits of the result's last place.
inline F16 fmaHalf(F16 a, F16 b, F16 c) {
  return {roundToOdd(double(a.value) * double(b.value) + double(c.value))};
}

/// Multiply and add with the product rounded to f16, as V_MAD_F16 and V_MAC_F16 do: the same as a
/// multiplication and an addition, so MODE's rules for results hold for the product too.
inline F16 madHalf(F16 a, F16 b, F16 c, const FloatMode &mode) {
  constexpr float kGreatest = 65504;
  const float exact = a.value * b.value;
  const bool saturates = mode.fp16Overflow && std::isfinite(exact);
  uint16_t product =
      numeric::floatToHalf(saturates ? std::clamp(exact, -kGreatest, kGreatest) : exact);
  if (mode.flushOut64)
    product = numeric::flushDenormalHalf(product);
  return {numeric::halfToFloat(product) + c.value};
}

} // namespace mono::emu::valu
