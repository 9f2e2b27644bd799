// Minimum and maximum on f16, f32 and f64 codes, NaN and signed zero rules included
// (CDNA4 ISA, V_MIN_F32, V_MAX_F32, V_MED3_F32, V_MINIMUM3_F32). Branch-free and inlined, for the
// lane loops around them vectorise only then.
#pragma once

#include "runtime/emulator/numeric/FloatFormat.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace mono::emu::valu {

/// What the rules need to know of a code type; `Bits` is its unsigned integer type.
template <typename Bits> struct FloatCode;
template <> struct FloatCode<uint16_t> {
  static constexpr uint16_t infinity = 0x7c00, quietBit = 0x200, sign = 0x8000;
  static float value(uint16_t bits) { return numeric::halfToFloat(bits); }
};
template <> struct FloatCode<uint32_t> {
  static constexpr uint32_t infinity = 0x7f800000, quietBit = 0x400000, sign = 0x80000000;
  static float value(uint32_t bits) { return std::bit_cast<float>(bits); }
};
template <> struct FloatCode<uint64_t> {
  static constexpr uint64_t infinity = 0x7ffull << 52, quietBit = 1ull << 51, sign = 1ull << 63;
  static double value(uint64_t bits) { return std::bit_cast<double>(bits); }
};

template <typename Bits> constexpr bool isNanCode(Bits bits) {
  return Bits(bits & ~FloatCode<Bits>::sign) > FloatCode<Bits>::infinity;
}
template <typename Bits> constexpr bool isSignalling(Bits bits) {
  return isNanCode(bits) && !(bits & FloatCode<Bits>::quietBit);
}

/// NaN rules shared by minimum and maximum: with IEEE a signalling NaN wins and is quietened, else
/// a NaN yields to the other operand. `ordered` is the result for two numbers.
template <typename Bits>
[[gnu::always_inline]] inline Bits withNanRules(Bits a, Bits b, Bits ordered, bool ieee) {
  using Code = FloatCode<Bits>;
  Bits result = isNanCode(b) ? a : ordered;
  result = isNanCode(a) ? b : result;
  result = ieee && isSignalling(b) ? Bits(b | Code::quietBit) : result;
  return ieee && isSignalling(a) ? Bits(a | Code::quietBit) : result;
}

/// A signed integer that orders the codes of numbers as V_MIN and V_MAX do: by value, and -0 before
/// +0. Its own inverse.
template <typename Bits> [[gnu::always_inline]] constexpr auto orderKey(Bits bits) {
  using Key = std::make_signed_t<Bits>;
  return Key(Key(bits) ^ Key((Key(bits) >> (8 * sizeof(Bits) - 1)) & Key(~FloatCode<Bits>::sign)));
}

/// V_MIN: -0 is less than +0.
template <typename Bits> [[gnu::always_inline]] inline Bits minNumber(Bits a, Bits b, bool ieee) {
  return withNanRules(a, b, orderKey(a) < orderKey(b) ? a : b, ieee);
}

/// V_MAX: +0 is greater than -0.
template <typename Bits> [[gnu::always_inline]] inline Bits maxNumber(Bits a, Bits b, bool ieee) {
  return withNanRules(a, b, orderKey(a) > orderKey(b) ? a : b, ieee);
}

// ---- the same where no operand is a NaN --------------------------------------------------------

/// By value, for want of a 64-bit arithmetic shift: of equal numbers, zeros alone differ in a bit.
[[gnu::always_inline]] inline double minOrdered(double a, double b) {
  const uint64_t either = std::bit_cast<uint64_t>(a) | std::bit_cast<uint64_t>(b);
  return a == b ? std::bit_cast<double>(either) : (a < b ? a : b);
}
[[gnu::always_inline]] inline double maxOrdered(double a, double b) {
  const uint64_t both = std::bit_cast<uint64_t>(a) & std::bit_cast<uint64_t>(b);
  return a == b ? std::bit_cast<double>(both) : (a > b ? a : b);
}
template <typename Bits> [[gnu::always_inline]] inline Bits minOrdered(Bits a, Bits b) {
  return orderKey(a) < orderKey(b) ? a : b;
}
template <typename Bits> [[gnu::always_inline]] inline Bits maxOrdered(Bits a, Bits b) {
  return orderKey(a) > orderKey(b) ? a : b;
}
/// Whether the numbers are equal, zeros of either sign among them.
template <typename Bits> [[gnu::always_inline]] inline bool sameNumber(Bits a, Bits b) {
  return (a == b) | (Bits((a | b) << 1) == 0);
}
/// What remains greatest without (the first operand equal to) the maximum; by value, so that zeros
/// of either sign are equal there.
template <typename Bits> [[gnu::always_inline]] inline Bits medianOrdered(Bits a, Bits b, Bits c) {
  const Bits ab = maxOrdered(a, b), bc = maxOrdered(b, c), ac = maxOrdered(a, c);
  const Bits greatest = maxOrdered(ab, c);
  return sameNumber(greatest, a) ? bc : (sameNumber(greatest, b) ? ac : ab);
}

/// V_MED3: with a NaN the minimum of the three, else what remains greatest without the maximum.
template <typename Bits>
[[gnu::always_inline]] inline Bits medianNumber(Bits a, Bits b, Bits c, bool ieee) {
  const Bits least = minNumber(minNumber(a, b, ieee), c, ieee);
  const Bits median = medianOrdered(a, b, c);
  const Bits withoutA = isNanCode(a) ? least : median;
  const Bits withoutB = isNanCode(b) ? least : withoutA;
  return isNanCode(c) ? least : withoutB;
}

/// IEEE 754-2019 minimum and maximum: a NaN operand gives a quiet NaN.
template <typename Bits> Bits minimumIeee(Bits a, Bits b) {
  if (isNanCode(a) || isNanCode(b))
    return Bits((isNanCode(a) ? a : b) | FloatCode<Bits>::quietBit);
  return minNumber(a, b, true);
}
template <typename Bits> Bits maximumIeee(Bits a, Bits b) {
  if (isNanCode(a) || isNanCode(b))
    return Bits((isNanCode(a) ? a : b) | FloatCode<Bits>::quietBit);
  return maxNumber(a, b, true);
}

} // namespace mono::emu::valu
