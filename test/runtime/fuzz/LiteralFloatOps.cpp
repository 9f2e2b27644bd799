// Float arithmetic of the vector ALU: add to fma, min and max, rounding, frexp and ldexp, division
// steps (CDNA4 ISA 12.7 to 12.11).
#include "test/runtime/fuzz/LiteralLane.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

using In = LaneInput;

const Format &formatOf(const In &x) { return LaneInput::formatOf(x.types[0]); }

// ---- arithmetic ----------------------------------------------------------------------------

uint64_t sum(In &x) { return x.result(add(x.number(0), x.number(1), x.round())); }
uint64_t difference(In &x) { return x.result(add(x.number(0), x.number(1).negated(), x.round())); }
uint64_t reversedDifference(In &x) {
  return x.result(add(x.number(1), x.number(0).negated(), x.round()));
}
uint64_t product(In &x) { return x.result(multiply(x.number(0), x.number(1))); }
uint64_t fused(In &x) { return x.result(fma(x.number(0), x.number(1), x.number(2), x.round())); }
/// Product and sum rounded separately; the product also loses its denormals if MODE says so.
uint64_t unfused(In &x) {
  const Format &format = formatOf(x);
  uint64_t rounded = x.result(multiply(x.number(0), x.number(1)));
  const bool keeps = x.types[0] == 'f' ? x.modes.keepOutF32 : x.modes.keepOutF64F16;
  if (!keeps && format.isDenormal(rounded))
    rounded &= format.sign();
  return x.result(add(unpack(format, rounded), x.number(2), x.round()));
}
/// The DX9 rule: zero times anything is +0.
uint64_t legacyProduct(In &x) {
  if (x.number(0).kind == Number::Zero || x.number(1).kind == Number::Zero)
    return 0;
  return product(x);
}

// ---- min and max ---------------------------------------------------------------------------

/// Orders -0 below +0, which compare() does not.
bool less(const Number &a, const Number &b) {
  if (a.kind == Number::Zero && b.kind == Number::Zero)
    return a.negative && !b.negative;
  return compare(a, b) == -1;
}

/// V_MIN and V_MAX: with IEEE set a signalling NaN wins and is quieted; otherwise a number wins
/// over a NaN.
uint64_t lesserOrGreater(const In &x, uint64_t a, uint64_t b, bool greater) {
  const Format &format = formatOf(x);
  if (x.modes.ieee && format.isSignallingNan(a))
    return a | format.quietBit();
  if (x.modes.ieee && format.isSignallingNan(b))
    return b | format.quietBit();
  if (format.isNan(a))
    return b;
  if (format.isNan(b))
    return a;
  const bool aIsLess = less(unpack(format, a), unpack(format, b));
  return aIsLess != greater ? a : b;
}
uint64_t lesser(const In &x, uint64_t a, uint64_t b) { return lesserOrGreater(x, a, b, false); }
uint64_t greater(const In &x, uint64_t a, uint64_t b) { return lesserOrGreater(x, a, b, true); }

/// V_MED3: the least of three if one is NaN, else the middle one, found as the manual does: drop
/// the greatest, take the greater of the rest.
uint64_t median(In &x) {
  const Format &format = formatOf(x);
  for (unsigned n = 0; n < 3; ++n)
    if (format.isNan(x.s[n]))
      return lesser(x, lesser(x, x.s[0], x.s[1]), x.s[2]);
  const uint64_t greatest = greater(x, greater(x, x.s[0], x.s[1]), x.s[2]);
  auto isGreatest = [&](unsigned n) { return compare(unpack(format, greatest), x.number(n)) == 0; };
  if (isGreatest(0))
    return greater(x, x.s[1], x.s[2]);
  if (isGreatest(1))
    return greater(x, x.s[0], x.s[2]);
  return greater(x, x.s[0], x.s[1]);
}

/// IEEE 754-2019 minimum and maximum: any NaN gives NaN.
uint64_t propagating(In &x, bool wantGreater) {
  const Format &format = formatOf(x);
  uint64_t best = x.s[0];
  for (unsigned n = 0; n < 3; ++n) {
    if (format.isNan(x.s[n]))
      return format.nan();
    const bool isLess = less(unpack(format, x.s[n]), unpack(format, best));
    const bool isGreater = less(unpack(format, best), unpack(format, x.s[n]));
    if (wantGreater ? isGreater : isLess)
      best = x.s[n];
  }
  return best;
}

// ---- one operand ---------------------------------------------------------------------------

uint64_t rounded(In &x, Round round) { return x.result(toIntegral(x.number(0), round)); }

/// x - floor(x), kept below one: the result is the greatest number under 1 if rounding says 1.
uint64_t fraction(In &x) {
  const Format &format = formatOf(x);
  const Number n = x.number(0);
  if (n.kind == Number::Infinite)
    return format.nan();
  const Number floor = toIntegral(n, Round::Down);
  const uint64_t result = x.result(add(n, floor.negated(), x.round()));
  if (format.isNan(result))
    return result;
  const uint64_t one = pack(format, integer(1), Round::Even);
  return std::min(result, one - 1) == result || (result & format.sign()) ? result : one - 1;
}

/// The mantissa in [0.5, 1); zero, infinity and NaN as they are.
uint64_t frexpMantissa(In &x) {
  const Number n = x.number(0);
  if (n.kind != Number::Finite)
    return n.isNan() ? formatOf(x).nan() : x.s[0];
  int bits = 0;
  while (n.significand >> bits)
    ++bits;
  return x.result(scaled(n, -(n.exponent + bits)));
}
/// The exponent that goes with it; 0 for zero, infinity and NaN.
uint64_t frexpExponent(In &x) {
  const Number n = x.number(0);
  if (n.kind != Number::Finite)
    return 0;
  int bits = 0;
  while (n.significand >> bits)
    ++bits;
  return uint64_t(int64_t(n.exponent + bits));
}

uint64_t loadExponent(In &x, int exponent) {
  // Past these the result is zero or infinity whatever the number.
  return x.result(scaled(x.number(0), std::clamp(exponent, -5000, 5000)));
}

// ---- division ------------------------------------------------------------------------------

int exponentField(const Format &format, uint64_t code) {
  return int((code & format.exponentMask()) >> format.mantissaBits);
}

/// Whether an exact quotient is below the least normal number; that of an infinity is.
bool isTiny(const Format &format, Number n) {
  n.negative = false;
  return n.kind == Number::Zero ||
         (n.kind == Number::Finite && compare(n, integer(1, 1 - format.bias)) < 0);
}

/// V_DIV_SCALE: S0 is the value to scale (equal to S1 or S2), S1 the denominator, S2 the numerator.
/// The lane's bit says that V_DIV_FMAS must undo it. As published, but for the denominator whose
/// reciprocal and quotient are both denormal: it goes down, or its reciprocal would stay denormal.
uint64_t divisionScale(In &x) {
  const Format &format = formatOf(x);
  const bool isDouble = x.types[0] == 'd';
  const int by = isDouble ? 128 : 64, far = isDouble ? 768 : 96, low = isDouble ? 53 : 23;
  const uint64_t value = x.s[0], denominator = x.s[1], numerator = x.s[2];
  auto scaledValue = [&](int power) { return x.result(scaled(x.number(0), power)); };
  const bool isDenominator = compare(x.number(0), x.number(1)) == 0;
  const bool isNumerator = compare(x.number(0), x.number(2)) == 0;
  if (format.isZero(numerator) || format.isZero(denominator))
    return format.nan();
  if (exponentField(format, numerator) - exponentField(format, denominator) >= far) {
    x.carryOut = true; // the quotient is near overflow
    return isDenominator ? scaledValue(by) : value;
  }
  if (format.isDenormal(denominator))
    return scaledValue(by);
  const bool tinyReciprocal = isTiny(format, divide(integer(1), x.number(1)));
  const bool tinyQuotient = isTiny(format, divide(x.number(2), x.number(1)));
  if (tinyReciprocal && tinyQuotient) {
    x.carryOut = true;
    return isDenominator ? scaledValue(-by) : value;
  }
  if (tinyReciprocal)
    return scaledValue(-by);
  if (tinyQuotient) {
    x.carryOut = true;
    return isNumerator ? scaledValue(by) : value;
  }
  return exponentField(format, numerator) <= low ? scaledValue(by) : value;
}

/// V_DIV_FMAS: fma, and if VCC asks, times 2^64 or 2^-64 (f64: 2^128), away from where the exponent
/// of S2 already is; one rounding.
uint64_t divisionFmas(In &x) {
  const Number exact = fma(x.number(0), x.number(1), x.number(2), x.round());
  const int by = x.types[0] == 'd' ? 128 : 64;
  const bool isGreat = exponentField(formatOf(x), x.s[2]) > formatOf(x).bias;
  return x.result(x.bit ? scaled(exact, isGreat ? by : -by) : exact);
}

/// V_DIV_FIXUP: S0 the quotient so far, S1 the denominator, S2 the numerator.
uint64_t divisionFixup(In &x) {
  const Format &format = formatOf(x);
  const uint64_t denominator = x.s[1], numerator = x.s[2];
  const uint64_t sign = (denominator ^ numerator) & format.sign();
  if (format.isNan(numerator) || format.isNan(denominator))
    return format.nan();
  const bool zeroN = format.isZero(numerator), zeroD = format.isZero(denominator);
  const bool infN = format.isInfinite(numerator), infD = format.isInfinite(denominator);
  if ((zeroN && zeroD) || (infN && infD))
    return format.nan();
  if (zeroD || infN)
    return sign | format.exponentMask();
  if (infD || zeroN)
    return sign;
  const bool isHalf = x.types[0] == 'h';
  const int difference = exponentField(format, numerator) - exponentField(format, denominator);
  if (!isHalf && difference < (x.types[0] == 'f' ? -150 : -1075))
    return sign; // the quotient underflows
  if (!isHalf && format.isNan(x.s[0]))
    return sign | format.exponentMask(); // the steps overflowed
  return (x.s[0] & format.magnitude()) | sign;
}

// ---- cube maps -----------------------------------------------------------------------------

/// Axis of the greatest coordinate: 2 for z, 1 for y, 0 for x; later axes win ties.
unsigned cubeAxis(const In &x) {
  auto size = [&](unsigned n) { return unpack(kF32, x.s[n] & 0x7fffffff); };
  auto atLeast = [&](unsigned a, unsigned b) {
    const int order = compare(size(a), size(b));
    return order == 0 || order == 1;
  };
  if (atLeast(2, 0) && atLeast(2, 1))
    return 2;
  return atLeast(1, 0) ? 1 : 0;
}
bool isNegative(const In &x, unsigned n) { return compare(x.number(n), zero(false)) == -1; }
uint64_t negated(uint64_t value) { return value ^ 0x80000000; }

uint64_t cubeFace(In &x) {
  const unsigned axis = cubeAxis(x);
  return x.result(integer(2 * int(axis) + isNegative(x, axis)));
}
uint64_t cubeMajor(In &x) { return x.result(scaled(x.number(cubeAxis(x)), 1)); }
uint64_t cubeS(In &x) {
  const unsigned axis = cubeAxis(x);
  if (axis == 2)
    return isNegative(x, 2) ? negated(x.s[0]) : x.s[0];
  if (axis == 1)
    return x.s[0];
  return isNegative(x, 0) ? x.s[2] : negated(x.s[2]);
}
uint64_t cubeT(In &x) {
  const unsigned axis = cubeAxis(x);
  if (axis == 1)
    return isNegative(x, 1) ? negated(x.s[2]) : x.s[2];
  return negated(x.s[1]);
}

uint64_t packHalves(In &x) { return (x.s[0] & 0xffff) | (x.s[1] & 0xffff) << 16; }

constexpr uint32_t kThree = kBare;
constexpr uint32_t kHalfThree = kBare | kOpSel;

const VectorOp kOps[] = {
    // ---- VOP2
    {"v_add_f32", kVop, "f=ff", sum},
    {"v_sub_f32", kVop, "f=ff", difference},
    {"v_subrev_f32", kVop, "f=ff", reversedDifference},
    {"v_mul_f32", kVop, "f=ff", product},
    {"v_mul_legacy_f32", kE64, "f=ff", legacyProduct},
    {"v_min_f32", kVop, "f=ff", [](In &x) { return lesser(x, x.s[0], x.s[1]); }},
    {"v_max_f32", kVop, "f=ff", [](In &x) { return greater(x, x.s[0], x.s[1]); }},
    {"v_fmac_f32", kE32 | kE64 | kDpp | kAccumulates, "f=fff", fused},
    {"v_fmamk_f32", kBare | kLiteral, "f=fff", fused},
    {"v_fmaak_f32", kBare | kLiteral, "f=fff", fused},
    {"v_add_f16", kVop, "h=hh", sum},
    {"v_sub_f16", kVop, "h=hh", difference},
    {"v_subrev_f16", kVop, "h=hh", reversedDifference},
    {"v_mul_f16", kVop, "h=hh", product},
    {"v_min_f16", kVop, "h=hh", [](In &x) { return lesser(x, x.s[0], x.s[1]); }},
    {"v_max_f16", kVop, "h=hh", [](In &x) { return greater(x, x.s[0], x.s[1]); }},
    {"v_mac_f16", kE32 | kE64 | kDpp | kAccumulates, "h=hhh", unfused},
    {"v_fmac_f64", kE32 | kE64 | kAccumulates, "d=ddd", fused},
    {"v_ldexp_f16", kVop, "h=hs", [](In &x) { return loadExponent(x, int16_t(x.s[1])); }},
    // ---- VOP1
    {"v_fract_f32", kVop, "f=f", fraction},
    {"v_trunc_f32", kVop, "f=f", [](In &x) { return rounded(x, Round::Zero); }},
    {"v_ceil_f32", kVop, "f=f", [](In &x) { return rounded(x, Round::Up); }},
    {"v_rndne_f32", kVop, "f=f", [](In &x) { return rounded(x, Round::Even); }},
    {"v_floor_f32", kVop, "f=f", [](In &x) { return rounded(x, Round::Down); }},
    {"v_frexp_mant_f32", kVop, "f=f", frexpMantissa},
    {"v_frexp_exp_i32_f32", kVop, "i=f", frexpExponent},
    {"v_fract_f16", kVop, "h=h", fraction},
    {"v_trunc_f16", kVop, "h=h", [](In &x) { return rounded(x, Round::Zero); }},
    {"v_ceil_f16", kVop, "h=h", [](In &x) { return rounded(x, Round::Up); }},
    {"v_rndne_f16", kVop, "h=h", [](In &x) { return rounded(x, Round::Even); }},
    {"v_floor_f16", kVop, "h=h", [](In &x) { return rounded(x, Round::Down); }},
    {"v_frexp_mant_f16", kVop, "h=h", frexpMantissa},
    {"v_frexp_exp_i16_f16", kVop, "s=h", frexpExponent},
    {"v_fract_f64", kE32 | kE64, "d=d", fraction},
    {"v_trunc_f64", kE32 | kE64, "d=d", [](In &x) { return rounded(x, Round::Zero); }},
    {"v_ceil_f64", kE32 | kE64, "d=d", [](In &x) { return rounded(x, Round::Up); }},
    {"v_rndne_f64", kE32 | kE64, "d=d", [](In &x) { return rounded(x, Round::Even); }},
    {"v_floor_f64", kE32 | kE64, "d=d", [](In &x) { return rounded(x, Round::Down); }},
    {"v_frexp_mant_f64", kE32 | kE64, "d=d", frexpMantissa},
    {"v_frexp_exp_i32_f64", kE32 | kE64, "i=d", frexpExponent},
    // ---- VOP3
    {"v_fma_f32", kThree, "f=fff", fused},
    {"v_fma_f64", kThree, "d=ddd", fused},
    {"v_fma_f16", kHalfThree, "h=hhh", fused},
    {"v_mad_f16", kHalfThree, "h=hhh", unfused},
    {"v_mad_legacy_f16", kThree, "h=hhh", unfused},
    {"v_fma_legacy_f16", kThree, "h=hhh", fused},
    {"v_add_f64", kThree, "d=dd", sum},
    {"v_mul_f64", kThree, "d=dd", product},
    {"v_min_f64", kThree, "d=dd", [](In &x) { return lesser(x, x.s[0], x.s[1]); }},
    {"v_max_f64", kThree, "d=dd", [](In &x) { return greater(x, x.s[0], x.s[1]); }},
    {"v_ldexp_f64", kThree, "d=di", [](In &x) { return loadExponent(x, x.i(1)); }},
    {"v_ldexp_f32", kThree, "f=fi", [](In &x) { return loadExponent(x, x.i(1)); }},
    {"v_min3_f32", kThree, "f=fff",
     [](In &x) { return lesser(x, lesser(x, x.s[0], x.s[1]), x.s[2]); }},
    {"v_max3_f32", kThree, "f=fff",
     [](In &x) { return greater(x, greater(x, x.s[0], x.s[1]), x.s[2]); }},
    {"v_med3_f32", kThree, "f=fff", median},
    {"v_min3_f16", kHalfThree, "h=hhh",
     [](In &x) { return lesser(x, lesser(x, x.s[0], x.s[1]), x.s[2]); }},
    {"v_max3_f16", kHalfThree, "h=hhh",
     [](In &x) { return greater(x, greater(x, x.s[0], x.s[1]), x.s[2]); }},
    {"v_med3_f16", kHalfThree, "h=hhh", median},
    {"v_minimum3_f32", kThree, "f=fff", [](In &x) { return propagating(x, false); }},
    {"v_maximum3_f32", kThree, "f=fff", [](In &x) { return propagating(x, true); }},
    {"v_cubeid_f32", kThree, "f=fff", cubeFace},
    {"v_cubesc_f32", kThree, "f=fff", cubeS},
    {"v_cubetc_f32", kThree, "f=fff", cubeT},
    {"v_cubema_f32", kThree, "f=fff", cubeMajor},
    {"v_div_scale_f32", kThree | kCarryOut | kNoOmod | kNoSign | kNoOutputFlush, "f=fff",
     divisionScale},
    {"v_div_scale_f64", kThree | kCarryOut | kNoOmod | kNoSign | kNoOutputFlush, "d=ddd",
     divisionScale},
    {"v_div_fmas_f32", kThree | kImplicitVcc, "f=fffc", divisionFmas},
    {"v_div_fmas_f64", kThree | kImplicitVcc, "d=dddc", divisionFmas},
    {"v_div_fixup_f32", kThree, "f=fff", divisionFixup},
    {"v_div_fixup_f64", kThree, "d=ddd", divisionFixup},
    {"v_div_fixup_f16", kHalfThree, "h=hhh", divisionFixup},
    {"v_div_fixup_legacy_f16", kThree, "h=hhh", divisionFixup},
    {"v_pack_b32_f16", kHalfThree | kNoOmod, "i=hh", packHalves},
};

} // namespace

llvm::ArrayRef<VectorOp> floatOps() { return kOps; }

} // namespace mono::fuzz
