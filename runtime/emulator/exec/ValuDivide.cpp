// The three instructions of an IEEE division: v_div_scale brings numerator and denominator into a
// range where the Newton steps are exact, v_div_fmas undoes it, v_div_fixup settles the special
// cases.
//
// The published pseudocode has slips that would make divisions wrong; where it does, this follows
// what the algorithm needs: div_scale takes a denominator whose reciprocal and quotient are both
// denormal down, not up; div_fmas scales by the same 2^64 (f64: 2^128) as div_scale, in the
// direction that brings the quotient back; div_fixup turns a NaN estimate of ordinary operands into
// overflow.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace mono::emu::valu {
namespace {

template <typename Float> struct DivisionTraits;
template <> struct DivisionTraits<float> {
  using Bits = uint32_t;
  static constexpr int mantissaBits = 23, exponentMask = 0xff, bias = 127;
  static constexpr int scale = 64; // by which operands are scaled, as a power of two
  static constexpr float up = 0x1p64f, down = 0x1p-64f;
  static constexpr int hugeQuotient = 96; // exponent difference near the greatest number
  static constexpr int tinyNumerator =
      23; // biased exponent up to which the remainder may denormalise
  static constexpr int vanishing = -150; // exponent difference below which the quotient is zero
};
template <> struct DivisionTraits<double> {
  using Bits = uint64_t;
  static constexpr int mantissaBits = 52, exponentMask = 0x7ff, bias = 1023;
  static constexpr int scale = 128;
  static constexpr double up = 0x1p128, down = 0x1p-128;
  static constexpr int hugeQuotient = 768;
  static constexpr int tinyNumerator = 53;
  static constexpr int vanishing = -1075;
};

/// As wide as Float, for lane loops to stay with one width.
template <typename Float> auto biasedExponent(Float x) {
  using T = DivisionTraits<Float>;
  using Int = std::make_signed_t<typename T::Bits>;
  return Int(std::bit_cast<typename T::Bits>(x) >> T::mantissaBits) & Int(T::exponentMask);
}

template <typename Float> bool isDenormal(Float x) { return x != 0 && biasedExponent(x) == 0; }

/// Whether |a / b| is too small to be normal: |a| < least * |b|. The side that is multiplied is the
/// one for which that is exact, or the overflow no matter.
template <typename Float> bool quotientIsDenormal(Float a, Float b) {
  constexpr Float least = std::numeric_limits<Float>::min();
  const Float top = std::fabs(a), bottom = std::fabs(b);
  const bool isLarge = bottom >= 1;
  return (isLarge ? top : top * (1 / least)) < (isLarge ? bottom * least : bottom);
}

template <typename Float> struct Scaled {
  Float value;
  bool unscaleLater; // the VCC bit for v_div_fmas
};

/// V_DIV_SCALE: `which` is the numerator or the denominator, the one to scale. Written as selects,
/// the last one deciding, so that lane loops vectorise.
template <typename Float> Scaled<Float> divScale(Float which, Float denominator, Float numerator) {
  using T = DivisionTraits<Float>;
  const Float up = which * T::up, down = which * T::down;
  const auto top = biasedExponent(numerator), bottom = biasedExponent(denominator);
  const bool tinyReciprocal = quotientIsDenormal(Float(1), denominator);
  const bool tinyQuotient = quotientIsDenormal(numerator, denominator);
  const bool isDenominator = which == denominator;
  Scaled<Float> result = {top <= T::tinyNumerator ? up : which, false};
  result = tinyQuotient ? Scaled<Float>{which == numerator ? up : which, true} : result;
  result = tinyReciprocal ? Scaled<Float>{down, false} : result;
  result =
      tinyReciprocal && tinyQuotient ? Scaled<Float>{isDenominator ? down : which, true} : result;
  result = isDenormal(denominator) ? Scaled<Float>{up, false} : result;
  result =
      top - bottom >= T::hugeQuotient ? Scaled<Float>{isDenominator ? up : which, true} : result;
  const bool isZero = numerator == 0 || denominator == 0;
  return isZero ? Scaled<Float>{std::numeric_limits<Float>::quiet_NaN(), false} : result;
}

/// a * b + c rounded to odd in a wider format: rounding that to Float is rounding the exact value.
template <typename Wide, typename Bits, typename Float> Wide fmaToOdd(Float a, Float b, Float c) {
  const Wide product = Wide(a) * Wide(b), addend = c, sum = product + addend;
  // TwoSum gives the rounding error; leave it behind as an odd last bit.
  const Wide part = sum - product;
  const Wide error = (product - (sum - part)) + (addend - part);
  const Bits bits = std::bit_cast<Bits>(sum);
  if (error == 0 || error != error || (bits & 1))
    return sum;
  return std::bit_cast<Wide>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
double wideFma(float a, float b, float c) { return fmaToOdd<double, uint64_t>(a, b, c); }
__float128 wideFma(double a, double b, double c) {
  return fmaToOdd<__float128, unsigned __int128>(a, b, c);
}

/// V_DIV_FMAS: fused multiply-add, then the scaling that v_div_scale asked for, rounded once.
template <typename Float> Float divFmas(Float a, Float b, Float c, bool unscale) {
  using T = DivisionTraits<Float>;
  if (!unscale)
    return std::fma(a, b, c);
  const double factor = std::ldexp(1.0, biasedExponent(c) > T::bias ? T::scale : -T::scale);
  return Float(wideFma(a, b, c) * factor);
}

/// V_DIV_FIXUP: replaces `ordinary`, the magnitude of the quotient, where the operands alone
/// decide, and gives it its sign. Written as selects, the last one deciding.
template <typename Float> Float settleQuotient(Float ordinary, Float denominator, Float numerator) {
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  constexpr Float nan = std::numeric_limits<Float>::quiet_NaN();
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const bool topInfinite = std::fabs(numerator) == infinity;
  const bool bottomInfinite = std::fabs(denominator) == infinity;
  Float size = (bottomInfinite | (numerator == 0)) ? Float(0) : ordinary;
  size = (topInfinite | (denominator == 0)) ? infinity : size;
  const bool undefined = ((denominator == 0) & (numerator == 0)) | (topInfinite & bottomInfinite);
  Float result = undefined ? -nan : (negative ? -size : size);
  result = denominator != denominator ? denominator + denominator : result;
  return numerator != numerator ? numerator + numerator : result;
}

/// V_DIV_FIXUP of the quotient estimate.
template <typename Float> Float divFixup(Float quotient, Float denominator, Float numerator) {
  using T = DivisionTraits<Float>;
  const bool vanishes = biasedExponent(numerator) - biasedExponent(denominator) < T::vanishing;
  const Float size =
      quotient != quotient ? std::numeric_limits<Float>::infinity() : std::fabs(quotient);
  return settleQuotient(vanishes ? Float(0) : size, denominator, numerator);
}

F16 divFixupHalf(F16 quotient, F16 denominator, F16 numerator) {
  return {settleQuotient(std::fabs(quotient.value), denominator.value, numerator.value)};
}

/// The handler of v_div_scale: a value and its VCC bit. VOP3B has no abs, and neg of no use here.
template <typename Float> void divScaleLanes(Wave &wave, const Instruction &inst) {
  const detail::Source<Float> which(wave, inst, 0), denominator(wave, inst, 1),
      numerator(wave, inst, 2);
  const uint64_t mask = writeMask(wave, inst);
  constexpr unsigned dwords = sizeof(Float) / 4;
  LaneBuffer rows[dwords], unscale;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    const Scaled<Float> scaled = divScale(which[lane], denominator[lane], numerator[lane]);
    const auto bits = std::bit_cast<typename DivisionTraits<Float>::Bits>(scaled.value);
    rows[0].dword[lane] = uint32_t(bits);
    if constexpr (dwords == 2)
      rows[1].dword[lane] = uint32_t(bits >> 32);
    unscale.dword[lane] = -uint32_t(scaled.unscaleLater);
  }
  for (unsigned n = 0; n < dwords; ++n)
    blendRow(wave.vgpr(inst.dst[0], n), rows[n].dword, mask);
  wave.writeScalar64(inst.dst[1], packSigns(unscale.dword) & mask);
}

/// The handler of v_div_fmas: a plain fma unless a lane asks for scaling.
template <typename Float> void divFmasLanes(Wave &wave, const Instruction &inst) {
  if (wave.readScalar64(inst.src[3]) == 0)
    valu<[](Float a, Float b, Float c) { return std::fma(a, b, c); }>(wave, inst);
  else
    valu<[](Float a, Float b, Float c, MaskBit unscale) {
      return divFmas(a, b, c, unscale.value);
    }>(wave, inst);
}

const Entry kEntries[] = {
    {"V_DIV_SCALE_F32", divScaleLanes<float>},
    {"V_DIV_SCALE_F64", divScaleLanes<double>},
    {"V_DIV_FMAS_F32", divFmasLanes<float>},
    {"V_DIV_FMAS_F64", divFmasLanes<double>},
    {"V_DIV_FIXUP_F32", valu<[](float q, float d, float n) { return divFixup(q, d, n); }>},
    {"V_DIV_FIXUP_F64", valu<[](double q, double d, double n) { return divFixup(q, d, n); }>},
    {"V_DIV_FIXUP_F16",
     valu<[](F16 q, F16 d, F16 n) { return divFixupHalf(q, d, n); }, HighHalf::Keep>},
    {"V_DIV_FIXUP_LEGACY_F16", valu<[](F16 q, F16 d, F16 n) { return divFixupHalf(q, d, n); }>},
};

} // namespace

void registerDivide(HandlerTable &table) { addAll(table, kEntries); }

} // namespace mono::emu::valu
