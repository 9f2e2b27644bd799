// Transcendental and other approximating functions. The manual promises about 1 ulp, so a result
// within that of the exact value is accepted (CDNA4 ISA 12.8).
#include "test/runtime/fuzz/LiteralLane.h"

#include "llvm/ADT/APInt.h"

#include <cmath>
#include <limits>

namespace mono::fuzz {

namespace {

using In = LaneInput;

constexpr long double kPi = 3.14159265358979323846264338327950288L;

/// The code nearest to `value`, with anything within 1.5 ulp of it allowed.
uint64_t near(In &x, long double value) {
  const Format &format = LaneInput::formatOf(x.types[0]);
  if (std::isnan(value))
    return format.nan();
  const double rounded = double(value);
  uint64_t code = pack(format, fromDouble(rounded), Round::Even);
  const bool saturates = x.types[0] == 'h' && x.modes.fp16Overflow && std::isfinite(rounded);
  if (saturates && format.isInfinite(code))
    code = (code & format.sign()) | format.greatest();
  if (std::isinf(value))
    return code;
  const int exponent =
      rounded == 0 ? 1 - format.bias : std::max(std::ilogb(rounded), 1 - format.bias);
  // A double can't hold half an ulp of another one, so the bound is coarser there.
  const double slack =
      std::ldexp(format.mantissaBits == 52 ? 2.0 : 1.5, exponent - int(format.mantissaBits));
  x.isLoose = true;
  x.low = rounded - slack;
  x.high = rounded + slack;
  // Next to overflow or to where denormals begin, either side may come out.
  const double greatest = toDouble(format, format.greatest());
  if (x.high > greatest)
    x.high = std::numeric_limits<double>::infinity();
  if (x.low < -greatest)
    x.low = -std::numeric_limits<double>::infinity();
  const double leastNormal = std::ldexp(1.0, 1 - format.bias);
  if (std::fabs(rounded) < leastNormal + slack) {
    x.low = std::min(x.low, 0.0);
    x.high = std::max(x.high, 0.0);
  }
  return code;
}

double value(const In &x) {
  const Number n = x.number(0);
  return n.isNan() ? std::numeric_limits<double>::quiet_NaN() : toDouble(n);
}

long double sineOfTurns(long double turns, long double phase) {
  if (!std::isfinite(turns))
    return std::numeric_limits<long double>::quiet_NaN();
  // Whole turns go exactly; what is left lies in [-1/2, 1/2].
  const long double angle = std::remainder(turns, 1.0L);
  // Exact at quarter turns, where the sine of a rounded pi would not be.
  const long double quarters = (angle + phase) * 4;
  if (angle + phase - phase == angle && quarters == std::floor(quarters)) {
    constexpr int kSine[] = {0, 1, 0, -1};
    return kSine[int(quarters) & 3];
  }
  return phase == 0 ? std::sin(angle * 2 * kPi) : std::cos(angle * 2 * kPi);
}

uint64_t exponential(In &x) { return near(x, std::exp2((long double)value(x))); }
uint64_t logarithm(In &x) { return near(x, std::log2((long double)value(x))); }
uint64_t reciprocal(In &x) { return near(x, 1 / (long double)value(x)); }
uint64_t squareRootOf(In &x) { return near(x, std::sqrt((long double)value(x))); }
uint64_t reciprocalRoot(In &x) { return near(x, 1 / std::sqrt((long double)value(x))); }
uint64_t sine(In &x) { return near(x, sineOfTurns(value(x), 0)); }
uint64_t cosine(In &x) { return near(x, sineOfTurns(value(x), 0.25L)); }

/// atan(1 / n) in units of `one`, by its series.
llvm::APInt arcTangent(uint64_t n, const llvm::APInt &one) {
  llvm::APInt term = one.udiv(n), sum = term;
  for (uint64_t k = 1; !term.isZero(); ++k) {
    term = term.udiv(n * n);
    if (k % 2)
      sum -= term.udiv(2 * k + 1);
    else
      sum += term.udiv(2 * k + 1);
  }
  return sum;
}

constexpr unsigned kPreopBits = 1201;

/// The first 1201 fraction bits of 2/pi; Machin: pi = 16 atan(1/5) - 4 atan(1/239).
const llvm::APInt &twoOverPi() {
  static const llvm::APInt bits = [] {
    constexpr unsigned kFraction = 1400;
    const llvm::APInt one = llvm::APInt::getOneBitSet(3000, kFraction);
    const llvm::APInt pi = arcTangent(5, one) * 16 - arcTangent(239, one) * 4;
    return llvm::APInt::getOneBitSet(3000, 1 + kFraction + kPreopBits).udiv(pi).trunc(kPreopBits);
  }();
  return bits;
}

/// 53 bits of 2/pi for a step of the argument reduction (CDNA4 ISA, V_TRIG_PREOP_F64).
uint64_t trigPreop(In &x) {
  const int field = int(x.s[0] >> 52 & 0x7ff);
  const int shift = int(x.u(1) & 31) * 53 + std::max(field - 1077, 0);
  const int scale = -53 - shift + (field >= 1968 ? 128 : 0);
  const uint64_t bits =
      shift >= int(kPreopBits) ? 0 : twoOverPi().shl(unsigned(shift)).lshr(1148).getZExtValue();
  return x.result(integer(int64_t(bits), scale));
}

constexpr uint32_t kF32Special = kVop | kAlwaysFlush, kWide = kE32 | kE64;

const VectorOp kOps[] = {
    {"v_exp_f32", kF32Special, "f=f", exponential},
    {"v_log_f32", kF32Special, "f=f", logarithm},
    {"v_rcp_f32", kF32Special, "f=f", reciprocal},
    {"v_rcp_iflag_f32", kF32Special, "f=f", reciprocal},
    {"v_rsq_f32", kF32Special, "f=f", reciprocalRoot},
    {"v_sqrt_f32", kF32Special, "f=f", squareRootOf},
    {"v_sin_f32", kVop, "f=f", sine},
    {"v_cos_f32", kVop, "f=f", cosine},
    {"v_exp_legacy_f32", kF32Special, "f=f", exponential},
    {"v_log_legacy_f32", kF32Special, "f=f", logarithm},
    {"v_rcp_f64", kWide, "d=d", reciprocal},
    {"v_rsq_f64", kWide, "d=d", reciprocalRoot},
    {"v_sqrt_f64", kWide, "d=d", squareRootOf},
    {"v_trig_preop_f64", kBare, "d=di", trigPreop},
    {"v_rcp_f16", kVop, "h=h", reciprocal},
    {"v_sqrt_f16", kVop, "h=h", squareRootOf},
    {"v_rsq_f16", kVop, "h=h", reciprocalRoot},
    {"v_log_f16", kVop, "h=h", logarithm},
    {"v_exp_f16", kVop, "h=h", exponential},
    {"v_sin_f16", kVop, "h=h", sine},
    {"v_cos_f16", kVop, "h=h", cosine},
};

} // namespace

llvm::ArrayRef<VectorOp> specialFloatOps() { return kOps; }

} // namespace mono::fuzz
