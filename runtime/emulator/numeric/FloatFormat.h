// The small float formats of gfx950 (fp16, bf16, fp8, bf8, fp6, bf6, fp4, e8m0): exact decoding and
// correctly rounded encoding in every rounding mode the hardware has. Pure functions, no state.
#pragma once

#include <bit>
#include <cstdint>

namespace mono::numeric {

/// What the all-ones exponent of a format means.
enum class Specials {
  Ieee,    ///< Inf and NaN as in IEEE 754
  NanOnly, ///< all ones in exponent and mantissa is NaN, no Inf (OCP E4M3)
  None     ///< every code is finite (OCP fp6 and fp4)
};

/// A binary float format: one sign bit, `exponentBits`, `mantissaBits`; at most 32 bits in all.
struct FloatFormat {
  unsigned exponentBits;
  unsigned mantissaBits;
  int bias;
  Specials specials;

  constexpr unsigned bits() const { return 1 + exponentBits + mantissaBits; }
  constexpr uint32_t signBit() const { return 1u << (bits() - 1); }
  /// Exponent of the least normal number.
  constexpr int minExponent() const { return 1 - bias; }
  constexpr uint32_t exponentMask() const { return ((1u << exponentBits) - 1) << mantissaBits; }
  constexpr uint32_t magnitudeMask() const { return signBit() - 1; }
  /// Code of the greatest finite number.
  constexpr uint32_t maxFinite() const {
    switch (specials) {
    case Specials::Ieee:
      return exponentMask() - 1;
    case Specials::NanOnly:
      return magnitudeMask() - 1;
    case Specials::None:
      break;
    }
    return magnitudeMask();
  }
  /// Positive quiet NaN; a format without NaN answers its greatest number.
  constexpr uint32_t nan() const {
    return specials == Specials::Ieee ? exponentMask() | 1u << (mantissaBits - 1) : magnitudeMask();
  }
  /// Positive infinity; NaN for a format that has only NaN, the greatest number without either.
  constexpr uint32_t infinity() const {
    return specials == Specials::Ieee ? exponentMask() : magnitudeMask();
  }
};

inline constexpr FloatFormat kFp32{8, 23, 127, Specials::Ieee};
inline constexpr FloatFormat kFp16{5, 10, 15, Specials::Ieee};
inline constexpr FloatFormat kBf16{8, 7, 127, Specials::Ieee};
/// OCP formats (CDNA4 ISA 7.3): fp8 is E4M3FN with bias 7, bf8 is E5M2; fp6/bf6/fp4 of OCP MX.
inline constexpr FloatFormat kFp8E4M3{4, 3, 7, Specials::NanOnly};
inline constexpr FloatFormat kBf8E5M2{5, 2, 15, Specials::Ieee};
inline constexpr FloatFormat kFp6E2M3{2, 3, 1, Specials::None};
inline constexpr FloatFormat kBf6E3M2{3, 2, 3, Specials::None};
inline constexpr FloatFormat kFp4E2M1{2, 1, 1, Specials::None};

/// The first four have the encoding of the MODE register's round fields (CDNA4 ISA 3.4).
enum class Rounding : uint8_t {
  NearestEven = 0,
  TowardPositive = 1,
  TowardNegative = 2,
  TowardZero = 3,
  Stochastic = 4
};

/// What a number past the greatest finite one becomes. MODE.FP16_OVFL chooses between the first
/// and one of the others.
enum class Overflow : uint8_t {
  ToInfinity,      ///< Inf, or NaN where the format has no Inf; fp6 and fp4 always saturate
  Saturate,        ///< the greatest finite number, for infinite input too (fp8, bf8)
  SaturateNotExact ///< the greatest finite number, but infinite input stays Inf (fp16)
};

/// Value of `code`, exact. Bits above the format's width are ignored. NaN decodes to a quiet NaN.
constexpr double decode(const FloatFormat &format, uint32_t code) {
  const uint32_t magnitude = code & format.magnitudeMask();
  const uint64_t sign = code & format.signBit() ? 1ull << 63 : 0;
  if (format.specials != Specials::None && magnitude > format.maxFinite()) {
    const bool isInfinity = format.specials == Specials::Ieee && magnitude == format.infinity();
    return std::bit_cast<double>(sign | (isInfinity ? 0x7ffull << 52 : 0x7ff8ull << 48));
  }
  const uint32_t field = magnitude >> format.mantissaBits;
  const uint32_t fraction = magnitude & ((1u << format.mantissaBits) - 1);
  const uint32_t significand = field ? fraction | 1u << format.mantissaBits : fraction;
  const int exponent = (field ? int(field) : 1) - format.bias - int(format.mantissaBits);
  const double scale = std::bit_cast<double>(uint64_t(exponent + 1023) << 52);
  return std::bit_cast<double>(sign | std::bit_cast<uint64_t>(double(significand) * scale));
}

namespace detail {

/// `significand >> shift` rounded; `negative` matters to the directed modes, `random` to the
/// stochastic one, which rounds up when discarded fraction + random/2^32 reaches one.
constexpr uint64_t shiftRounded(uint64_t significand, unsigned shift, bool negative,
                                Rounding rounding, uint32_t random) {
  if (shift == 0)
    return significand;
  // A double has 53 bits, so nothing of them is kept; what is lost counts for stochastic rounding
  // with its weight, for the rest as "not zero".
  if (shift > 62) {
    const unsigned lost = shift - 62 < 63 ? shift - 62 : 63;
    const uint64_t sticky = significand & ((1ull << lost) - 1) ? 1 : 0;
    return shiftRounded(significand >> lost | sticky, 62, negative, rounding, random);
  }
  const uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((1ull << shift) - 1);
  if (rest == 0)
    return kept;
  const uint64_t half = 1ull << (shift - 1);
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::TowardPositive:
    up = !negative;
    break;
  case Rounding::TowardNegative:
    up = negative;
    break;
  case Rounding::TowardZero:
    break;
  case Rounding::Stochastic: {
    const uint64_t aligned =
        shift <= 32 ? uint64_t(random) >> (32 - shift) : uint64_t(random) << (shift - 32);
    up = rest + aligned >= 1ull << shift;
    break;
  }
  }
  return kept + up;
}

/// Code, without sign, of a finite result past the greatest finite number.
constexpr uint32_t overflowed(const FloatFormat &format, bool negative, Rounding rounding,
                              Overflow overflow) {
  const bool staysFinite = overflow != Overflow::ToInfinity || rounding == Rounding::TowardZero ||
                           (rounding == Rounding::TowardPositive && negative) ||
                           (rounding == Rounding::TowardNegative && !negative);
  return staysFinite ? format.maxFinite() : format.infinity();
}

} // namespace detail

/// Code of `value` in `format`, rounded once. NaN becomes the format's quiet NaN with the sign of
/// `value` (the greatest number where the format has no NaN; OCP leaves that case open).
/// `random` is used by Rounding::Stochastic alone: its top bits are added below the kept mantissa
/// bits (CDNA4 V_CVT_SR_FP8_F32 uses S1[31:12], the 20 bits discarded from a normal f32).
constexpr uint32_t encode(const FloatFormat &format, double value,
                          Rounding rounding = Rounding::NearestEven,
                          Overflow overflow = Overflow::ToInfinity, uint32_t random = 0) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63;
  const uint32_t sign = negative ? format.signBit() : 0;
  const int field = int(bits >> 52) & 0x7ff;
  const uint64_t fraction = bits & ((1ull << 52) - 1);
  if (field == 0x7ff) {
    if (fraction)
      return sign | format.nan();
    return sign | (overflow == Overflow::Saturate ? format.maxFinite() : format.infinity());
  }
  const uint64_t significand = field ? fraction | 1ull << 52 : fraction;
  const int exponent = (field ? field : 1) - 1023;
  // The least exponent keeps its quantum for denormals, so one shift serves both.
  const int quantumExponent = exponent > format.minExponent() ? exponent : format.minExponent();
  const unsigned shift = unsigned(quantumExponent - exponent) + 52 - format.mantissaBits;
  const uint64_t kept = detail::shiftRounded(significand, shift, negative, rounding, random);
  // The hidden bit of a normal number carries into the exponent field, and so does rounding up.
  const uint64_t code =
      kept + (uint64_t(quantumExponent - format.minExponent()) << format.mantissaBits);
  if (code > format.maxFinite())
    return sign | detail::overflowed(format, negative, rounding, overflow);
  return sign | uint32_t(code);
}

/// encode() of an f32 to nearest even for formats of at most 16 bits with fewer exponent bits than
/// f32: the same codes, branch-free so that lane loops vectorise. The host must round to nearest.
template <const FloatFormat &Format>
constexpr uint32_t encodeNearest(float value, Overflow overflow = Overflow::ToInfinity) {
  constexpr unsigned dropped = 23 - Format.mantissaBits;
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  const uint32_t sign = bits >> 31 ? Format.signBit() : 0;
  // Normal: round the mantissa, carrying into the exponent, then change the bias.
  const uint32_t rounded = magnitude + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1);
  const uint32_t normal =
      (rounded >> dropped) - (uint32_t(127 - Format.bias) << Format.mantissaBits);
  // Denormal: adding a power of two whose last place is the format's quantum rounds to it.
  constexpr int quantum = Format.minExponent() - int(Format.mantissaBits);
  constexpr uint32_t aligner = uint32_t(quantum + 23 + 127) << 23;
  const float aligned = std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligner);
  const uint32_t denormal = std::bit_cast<uint32_t>(aligned) - aligner;
  constexpr uint32_t leastNormal = uint32_t(Format.minExponent() + 127) << 23;
  const uint32_t code = magnitude < leastNormal ? denormal : normal;
  // A huge or infinite magnitude has a code past maxFinite() however far, and infinity() is at most
  // one more than that.
  const uint32_t past = overflow == Overflow::ToInfinity ? Format.infinity() : Format.maxFinite();
  const uint32_t finite = code < past ? code : past;
  return sign | (magnitude > 0x7f800000 ? Format.nan() : finite);
}

/// encode() of an f32 with stochastic rounding for formats of at most 16 bits: the same codes,
/// branch-free so that lane loops vectorise.
template <const FloatFormat &Format>
constexpr uint32_t encodeStochastic(float value, Overflow overflow, uint32_t random) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  const uint32_t sign = bits >> 31 ? Format.signBit() : 0;
  const int field = int(magnitude >> 23), exponent = (field ? field : 1) - 127;
  const uint32_t fraction = magnitude & 0x7fffff;
  const uint32_t significand = field ? fraction | 0x800000 : fraction;
  // As in encode(): one shift for normal and denormal results.
  const int quantum = exponent > Format.minExponent() ? exponent : Format.minExponent();
  const uint32_t shift = uint32_t(quantum - exponent) + 23 - Format.mantissaBits;
  const uint32_t kept = shift < 32 ? significand >> (shift & 31) : 0;
  // What is lost as 32 bits after the point, less what is behind them: adding the random number
  // carries as often as it should.
  const uint32_t below = shift < 64 ? significand >> ((shift - 32) & 31) : 0;
  const uint32_t lost = shift <= 32 ? significand << ((32 - shift) & 31) : below;
  const uint32_t up = lost + random < lost;
  const uint32_t code =
      kept + up + (uint32_t(quantum - Format.minExponent()) << Format.mantissaBits);
  const uint32_t past = overflow == Overflow::ToInfinity ? Format.infinity() : Format.maxFinite();
  const uint32_t infinite = overflow == Overflow::Saturate ? Format.maxFinite() : Format.infinity();
  const uint32_t finite = code > Format.maxFinite() ? past : code;
  const uint32_t number = magnitude == 0x7f800000 ? infinite : finite;
  return sign | (magnitude > 0x7f800000 ? Format.nan() : number);
}

/// Value of an OCP E8M0 scale: 2^(code - 127), and NaN for 0xff.
constexpr double decodeE8M0(uint8_t code) {
  return code == 0xff ? std::bit_cast<double>(0x7ff8ull << 48)
                      : std::bit_cast<double>(uint64_t(int(code) - 127 + 1023) << 52);
}

/// bf16 to f32: exact.
constexpr float bf16ToFloat(uint16_t code) { return std::bit_cast<float>(uint32_t(code) << 16); }

/// f32 to bf16, round to nearest even, NaN quietened. Branch-free, so that lane loops vectorise.
constexpr uint16_t floatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40;
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
}

/// f16 to f32: exact. Uses the host's F16C where the caller is compiled for it.
inline float halfToFloat(uint16_t code) { return float(std::bit_cast<_Float16>(code)); }

/// f32 to f16 in the host's rounding mode (nearest even unless a caller changed MXCSR).
inline uint16_t floatToHalf(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }

/// decode() for formats of at most 8 bits, branch-free so that lane loops vectorise: such a code is
/// an f16 but for the bias of its exponent.
template <const FloatFormat &Format> inline float decodeSmall(uint32_t code) {
  static_assert(Format.bits() <= 8);
  constexpr float unbias = float(1u << (15 - Format.bias));
  const uint32_t magnitude = code & Format.magnitudeMask();
  const uint32_t sign = (code & Format.signBit()) << (32 - Format.bits());
  const float value = halfToFloat(uint16_t(magnitude << (10 - Format.mantissaBits))) * unbias;
  const uint32_t finite = std::bit_cast<uint32_t>(value);
  constexpr uint32_t quietNan = 0x7fc00000;
  uint32_t bits = finite;
  if constexpr (Format.specials == Specials::NanOnly)
    bits = magnitude == Format.nan() ? quietNan : finite;
  else if constexpr (Format.specials == Specials::Ieee)
    bits = magnitude > Format.infinity() ? quietNan : finite;
  return std::bit_cast<float>(bits | sign);
}

/// `value` with an f32 denormal replaced by zero of the same sign.
constexpr float flushDenormal(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits & 0x7f800000) ? value : std::bit_cast<float>(bits & 0x80000000);
}

/// `value` with an f64 denormal replaced by zero of the same sign.
constexpr double flushDenormal(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  return (bits & 0x7ffull << 52) ? value : std::bit_cast<double>(bits & 1ull << 63);
}

/// f16 code with a denormal replaced by zero of the same sign.
constexpr uint16_t flushDenormalHalf(uint16_t code) {
  return (code & 0x7c00) ? code : uint16_t(code & 0x8000);
}

} // namespace mono::numeric
