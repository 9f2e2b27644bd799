// The special functions of the vector ALU. The hardware approximates them within about 1 ulp and
// is not documented bit by bit; here each is computed in double precision and rounded once, so
// results are correctly rounded but for cases within 2^-20 ulp of a tie.
//
// As on the hardware, the f32 forms of exp, log, rcp, rsq and sqrt replace denormal inputs and
// results by zero of the same sign whatever MODE says: LLVM scales around them where it must.
#pragma once

#include "runtime/emulator/numeric/FloatFormat.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mono::numeric {

/// 2^x in double precision, relative error below 2^-50 for |x| <= 1022; out of that range 0 or Inf
/// as far as f32 and f16 can tell. NaN gives NaN. Branch-free, so that lane loops vectorise.
inline double exp2Double(double x) {
  // Past +-1000 every caller's result has long since overflowed or underflowed.
  const double clamped = x > 1000 ? 1000 : x < -1000 ? -1000 : x;
  // Adding 1.5 * 2^52 leaves the nearest integer in the low mantissa bits.
  constexpr double kToInteger = 6755399441055744.0;
  const double shifted = clamped + kToInteger;
  const double fraction = clamped - (shifted - kToInteger);
  // exp(f ln 2) by its Taylor series: |f ln 2| <= 0.347, so 13 terms leave 2^-52.
  const double t = fraction * 0.693147180559945309417;
  double sum = 1.0 / 479001600;
  constexpr double kInverseFactorial[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                          1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                          1.0 / 6,        1.0 / 2,       1.0,          1.0};
  for (double coefficient : kInverseFactorial)
    sum = sum * t + coefficient;
  const uint64_t integer = std::bit_cast<uint64_t>(shifted);
  const double scale = std::bit_cast<double>((integer + 1023) << 52);
  return sum * scale;
}

/// log2(x) in double precision for positive normal x, relative error below 2^-48. Other inputs give
/// no useful result: the callers below sort them out. Branch-free.
inline double log2Double(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  // Take the exponent such that the mantissa lies in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t offset = bits - kSqrtHalf;
  const uint64_t exponentField = ((offset >> 52) + 0x800) & 0xfff;
  // The integer in the mantissa of 2^52: exact, and vectorises where int64 to double does not.
  const double exponent =
      std::bit_cast<double>(exponentField | 0x433ull << 52) - (4503599627370496.0 + 0x800);
  const double m = std::bit_cast<double>(bits - (offset & 0xfffull << 52));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  // atanh series: |s| <= 0.1716, so eleven terms leave 2^-58.
  double sum = 1.0 / 21;
  constexpr double kInverseOdd[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                    1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  for (double coefficient : kInverseOdd)
    sum = sum * z + coefficient;
  return exponent + s * sum * 2.885390081777926814719; // 2 / ln 2
}

/// V_EXP_F32: 2^x. Denormal results flush to +0.
inline float exp2F32(float x) {
  const float result = flushDenormal(float(exp2Double(x)));
  return x == x ? result : x;
}

/// V_LOG_F32: log2(x). Zero and denormals give -Inf, negative numbers NaN.
inline float log2F32(float x) {
  const float input = flushDenormal(x);
  float result = float(log2Double(input));
  result = input == std::numeric_limits<float>::infinity() ? input : result;
  result = input < 0 ? std::numeric_limits<float>::quiet_NaN() : result;
  result = input == 0 ? -std::numeric_limits<float>::infinity() : result;
  return x == x ? result : x;
}

/// V_RCP_F32: 1/x.
inline float rcpF32(float x) { return flushDenormal(1.0f / flushDenormal(x)); }
/// V_SQRT_F32.
inline float sqrtF32(float x) { return __builtin_elementwise_sqrt(flushDenormal(x)); }
/// V_RSQ_F32: 1/sqrt(x); -0 gives -Inf.
inline float rsqF32(float x) {
  return float(1.0 / __builtin_elementwise_sqrt(double(flushDenormal(x))));
}

/// V_SIN_F32 and V_COS_F32 of `turns` revolutions: sin/cos(2 pi x). Inf gives NaN.
float sinTurnsF32(float turns);
float cosTurnsF32(float turns);

/// The f16 functions take and give the exact f32 value of an f16; the caller rounds the result to
/// f16. The f32 in between is precise enough never to round twice differently from once, but for
/// exp, log, sin and cos within 2^-13 ulp of a tie. f16 denormals are kept.
inline float exp2F16(float x) { return x == x ? float(exp2Double(x)) : x; }
/// V_LOG_F16: an f16 denormal is a normal f32, so only the f32 rules for zero and sign apply.
inline float log2F16(float x) { return log2F32(x); }
inline float rsqF16(float x) { return float(1.0 / __builtin_elementwise_sqrt(double(x))); }

/// V_RSQ_F64: 1/sqrt(x), correctly rounded but for cases within 2^-10 ulp of a tie.
double rsqF64(double x);

} // namespace mono::numeric
