// The special functions of the vector ALU, eight lanes at a time. The hardware approximates them
// within about 1 ulp and is not documented bit by bit; here each is computed in double precision
// and rounded once.
//
// Over all 2^32 inputs rcp, rsq, sqrt and log2 are correctly rounded, and exp2 but for two inputs
// (0x3b429d37, 0xbcf3a937), one ulp off. Over all inputs from 2^-40 to half a turn, of either sign,
// sin is correctly rounded, and cos but for two (0x390721a7, 0xb90721a7): `numeric-sweep` finds
// these by comparison with the host's long double library.
//
// As on the hardware, the f32 forms of exp, log, rcp, rsq and sqrt replace denormal inputs and
// results by zero of the same sign whatever MODE says: LLVM scales around them where it must.
#pragma once

#include "runtime/emulator/numeric/FloatFormat.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>

namespace mono::numeric {

/// Eight f32 lanes, on which the functions below are defined; their scalar forms stand at the end.
using Eight = __m256;

namespace detail {

/// Eight lanes in double precision.
struct Wide {
  __m256d low, high;
};
inline Wide widen(Eight x) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}
inline Eight narrow(Wide x) {
  return _mm256_set_m128(_mm256_cvtpd_ps(x.high), _mm256_cvtpd_ps(x.low));
}
inline Wide splat(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
inline Wide operator+(Wide a, Wide b) {
  return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)};
}
inline Wide operator-(Wide a, Wide b) {
  return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)};
}
inline Wide operator*(Wide a, Wide b) {
  return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)};
}
inline Wide fma(Wide a, Wide b, Wide c) {
  return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
}
/// c - a * b, rounded once.
inline Wide negatedFma(Wide a, Wide b, Wide c) {
  return {_mm256_fnmadd_pd(a.low, b.low, c.low), _mm256_fnmadd_pd(a.high, b.high, c.high)};
}

/// coefficients[0] * x^(n-1) + ... + coefficients[n-1], as a tree: neighbours are paired, then the
/// pairs, so that few operations wait for each other.
template <std::size_t N> inline Wide polynomial(const double (&coefficients)[N], Wide x) {
  constexpr std::size_t half = (N + 1) / 2;
  Wide terms[half]; // of x^2, ascending
  for (std::size_t n = 0; n < half; ++n) {
    const Wide low = splat(coefficients[N - 1 - 2 * n]);
    terms[n] = 2 * n + 1 < N ? fma(splat(coefficients[N - 2 - 2 * n]), x, low) : low;
  }
  for (std::size_t count = half; count > 1; count = (count + 1) / 2) {
    x = x * x;
    for (std::size_t n = 0; n < count / 2; ++n)
      terms[n] = fma(terms[2 * n + 1], x, terms[2 * n]);
    if (count % 2)
      terms[count / 2] = terms[count - 1];
  }
  return terms[0];
}

inline Eight magnitude(Eight x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
inline Eight signOf(Eight x) { return _mm256_and_ps(_mm256_set1_ps(-0.0f), x); }
/// All ones in lanes that hold a denormal or zero.
inline Eight isTiny(Eight x) {
  return _mm256_cmp_ps(magnitude(x), _mm256_set1_ps(0x1p-126f), _CMP_LT_OQ);
}
/// Denormals replaced by zero of the same sign.
inline Eight flushDenormals(Eight x) { return _mm256_blendv_ps(x, signOf(x), isTiny(x)); }
inline Eight nearestInteger(Eight x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// sin(2 pi t) for |t| <= 1/4: an odd polynomial, near minimax, relative error 2^-51.9.
inline Wide sinOfQuarterTurns(Wide t) {
  static constexpr double kCoefficients[] = {
      -0x1.62903d02bb153p-1, 0x1.e89f6fe44fe7bp+1, -0x1.e30631bdf732dp+3, 0x1.5078327046959p+5,
      -0x1.32d2cce1ea145p+6, 0x1.466bc677522bdp+6, -0x1.4abbce625bd83p+5, 0x1.921fb54442d17p+2};
  return t * polynomial(kCoefficients, t * t);
}
/// Turns in [-1/2, 1/2]; the difference is exact. NaN for an infinity.
inline Eight withinOneTurn(Eight turns) { return _mm256_sub_ps(turns, nearestInteger(turns)); }

} // namespace detail

/// 2^x in double precision, for all x. Denormal results flush to +0.
inline Eight exp2Exactly(Eight x) {
  using namespace detail;
  // (2^f - 1) / f for |f| <= 1/2, near minimax; relative error of 2^f 2^-50.6.
  static constexpr double kCoefficients[] = {
      0x1.e5e9f548e5725p-28, 0x1.b6571de2f2351p-24, 0x1.62bfe46117445p-20, 0x1.ffcb76789860fp-17,
      0x1.4309130378460p-13, 0x1.5d87fe908f88ap-10, 0x1.3b2ab6fba385fp-7,  0x1.c6b08d7044119p-5,
      0x1.ebfbdff82c590p-3,  0x1.62e42fefa39f7p-1};
  // Results outside these bounds are settled below.
  const Eight least = _mm256_set1_ps(-126), limit = _mm256_set1_ps(128);
  const Eight bounded = _mm256_min_ps(_mm256_max_ps(x, least), _mm256_set1_ps(0x1.fffffep+6f));
  const Eight integer = nearestInteger(bounded);
  const Wide fraction = widen(_mm256_sub_ps(bounded, integer));
  const Eight mantissa = narrow(fma(polynomial(kCoefficients, fraction), fraction, splat(1)));
  // Added to the exponent field, not multiplied: 2^128 is no f32, and within the bounds the sum
  // never leaves the field.
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(integer), 23);
  Eight result = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(mantissa), exponent));
  result = _mm256_andnot_ps(_mm256_cmp_ps(x, least, _CMP_LT_OQ), result);
  result = _mm256_blendv_ps(result, _mm256_set1_ps(INFINITY), _mm256_cmp_ps(x, limit, _CMP_GE_OQ));
  return _mm256_blendv_ps(result, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

/// V_EXP_F32: 2^x. Denormal results flush to +0.
///
/// x = n/8 + f, and 2^(n/8) 2^f as a sum of two f32, good to about 2^-32. Unless all eight round to
/// the same f32 whatever the error, double precision decides.
inline Eight exp2F32x8(Eight x) {
  const auto all = [](float value) { return _mm256_set1_ps(value); };
  // 2^(n/8) = power + powerLow, ln(2) = rate + rateLow; then ln(2)^k / k! for k = 5 to 2.
  const Eight powers =
      _mm256_setr_ps(0x1p+0f, 0x1.172b84p+0f, 0x1.306fep+0f, 0x1.4bfdaep+0f, 0x1.6a09e6p+0f,
                     0x1.8ace54p+0f, 0x1.ae89fap+0f, 0x1.d5818ep+0f);
  const Eight powersLow =
      _mm256_setr_ps(0, -0x1.c15742p-27f, 0x1.4636e2p-25f, -0x1.593abcp-25f, 0x1.9fcef4p-26f,
                     0x1.15506ep-27f, -0x1.a94b14p-26f, -0x1.822dbcp-27f);
  const Eight rate = all(0x1.62e43p-1f), rateLow = all(-0x1.05c61p-29f);
  const Eight k5 = all(0x1.5d87fep-10f), k4 = all(0x1.3b2ab6p-7f), k3 = all(0x1.c6b08ep-5f),
              k2 = all(0x1.ebfbe0p-3f);
  // 2^128 becomes Inf by itself; what is below 2^-126 is flushed at the end. NaN stays NaN, and
  // that is never sure.
  const Eight bounded = _mm256_min_ps(all(128), _mm256_max_ps(all(-127), x));
  // Adding this leaves the multiple of 1/8 in the last bits; the differences are exact.
  const Eight aligner = all(0x1.8p20f), aligned = _mm256_add_ps(bounded, aligner);
  const __m256i n = _mm256_castps_si256(aligned);
  const Eight f = _mm256_sub_ps(bounded, _mm256_sub_ps(aligned, aligner));
  // 2^f = 1 + first + rest, |first| < 2^-4.5, |rest| < 2^-10.
  const Eight first = _mm256_mul_ps(f, rate), square = _mm256_mul_ps(f, f);
  const Eight firstLow = _mm256_fmadd_ps(f, rateLow, _mm256_fmsub_ps(f, rate, first));
  const Eight series =
      _mm256_fmadd_ps(_mm256_fmadd_ps(f, k5, k4), square, _mm256_fmadd_ps(f, k3, k2));
  const Eight rest = _mm256_fmadd_ps(series, square, firstLow);
  // sum + error = (power + powerLow) (1 + first + rest).
  const Eight power = _mm256_permutevar8x32_ps(powers, n); // its low three bits count
  const Eight powerLow = _mm256_permutevar8x32_ps(powersLow, n);
  const Eight step = _mm256_mul_ps(power, first), sum = _mm256_add_ps(power, step);
  const Eight stepLow =
      _mm256_add_ps(_mm256_fmadd_ps(power, rest, _mm256_fmsub_ps(power, first, step)),
                    _mm256_fmadd_ps(powerLow, first, powerLow));
  const Eight error = _mm256_add_ps(_mm256_sub_ps(step, _mm256_sub_ps(sum, power)), stepLow);
  const Eight margin = all(0x1p-32f);
  const Eight mantissa = _mm256_add_ps(sum, _mm256_add_ps(error, margin));
  const Eight isSure =
      _mm256_cmp_ps(mantissa, _mm256_add_ps(sum, _mm256_sub_ps(error, margin)), _CMP_EQ_OQ);
  if (_mm256_movemask_ps(isSure) != 0xff) [[unlikely]]
    return exp2Exactly(x);
  const __m256i exponent = _mm256_slli_epi32(_mm256_srli_epi32(n, 3), 23);
  const Eight result =
      _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(mantissa), exponent));
  return _mm256_andnot_ps(_mm256_cmp_ps(x, all(-126), _CMP_LT_OQ), result);
}

/// V_LOG_F32: log2(x). Zero and denormals give -Inf, negative numbers NaN.
inline Eight log2F32x8(Eight x) {
  using namespace detail;
  // m = 2^-k x lies in [0.71875, 1.4375), in one of eight intervals of 2^20 codes each. 1/c is an
  // f32 near the interval's middle, log2(c) = high + low; the interval of 1 has c = 1.
  constexpr int kLeast = 0x3f380000;
  const Eight reciprocals =
      _mm256_setr_ps(0x1.55556ep+0f, 0x1.3b13b6p+0f, 0x1.249158p+0f, 0x1.110c9ep+0f, 1,
                     0x1.c71cb2p-1f, 0x1.9992d0p-1f, 0x1.745a62p-1f);
  const Eight logHigh = _mm256_setr_ps(-0x1.a9p-2f, -0x1.32cp-2f, -0x1.8a8p-3f, -0x1.7dp-4f, 0,
                                       0x1.5cp-3f, 0x1.49cp-2f, 0x1.d68p-2f);
  const Eight logLow =
      _mm256_setr_ps(-0x1.da76fep-26f, -0x1.24eafap-24f, 0x1.4e6dfcp-26f, 0x1.3f0bbap-28f, 0,
                     0x1.57c0a0p-26f, 0x1.f720b6p-34f, -0x1.b9a6d6p-25f);
  // log2(1 + u) / u for -0.0556 <= u <= 0.0625, near minimax, relative error 2^-52.5.
  static constexpr double kCoefficients[] = {
      -0x1.205eae0f862d5p-3, 0x1.4a7c56762e931p-3, -0x1.7162e1dc25762p-3, 0x1.a615c48969904p-3,
      -0x1.ec70950f24d2dp-3, 0x1.2776c54e1e1b3p-2, -0x1.71547653a7f06p-2, 0x1.ec709dc3996a1p-2,
      -0x1.71547652b8292p-1, 0x1.71547652b82ffp+0};
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i above = _mm256_sub_epi32(bits, _mm256_set1_epi32(kLeast));
  const __m256i interval = _mm256_srli_epi32(above, 20); // its low three bits count
  const __m256i exponent = _mm256_srai_epi32(above, 23);
  const Eight m = _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(exponent, 23)));
  const auto pick = [&](Eight table) { return _mm256_permutevar8x32_ps(table, interval); };
  const Wide u = fma(widen(m), widen(pick(reciprocals)), splat(-1));                   // exact
  const Wide high = widen(_mm256_add_ps(_mm256_cvtepi32_ps(exponent), pick(logHigh))); // exact
  const Wide low = fma(polynomial(kCoefficients, u), u, widen(pick(logLow)));
  Eight result = narrow(high + low);
  // Whatever is no positive normal number.
  const Eight infinity = _mm256_set1_ps(INFINITY), tiny = isTiny(x);
  const Eight negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  result = _mm256_blendv_ps(result, _mm256_set1_ps(NAN), negative);
  result = _mm256_blendv_ps(result, _mm256_set1_ps(-INFINITY), tiny);
  return _mm256_blendv_ps(result, x, _mm256_cmp_ps(x, infinity, _CMP_NLT_UQ)); // +Inf and NaN
}

/// V_RCP_F32: 1/x.
inline Eight rcpF32x8(Eight x) {
  return detail::flushDenormals(_mm256_div_ps(_mm256_set1_ps(1), detail::flushDenormals(x)));
}

/// V_SQRT_F32.
inline Eight sqrtF32x8(Eight x) { return _mm256_sqrt_ps(detail::flushDenormals(x)); }

/// 1/sqrt(x) of any f32 that is zero, infinite, NaN or normal.
inline Eight rsqOfNormal(Eight x) {
  using namespace detail;
  const Eight estimate = _mm256_rsqrt_ps(x); // relative error below 1.5 * 2^-12
  // Newton step: e = 1 - x r^2, then r (1 + e/2 + 3 e^2/8), whose error is of the order of e^3. The
  // first one in f32 leaves 2^-21, the second one in double 2^-52.
  const Eight residue = _mm256_fnmadd_ps(_mm256_mul_ps(estimate, estimate), x, _mm256_set1_ps(1));
  const Eight better =
      _mm256_fmadd_ps(_mm256_mul_ps(estimate, residue), _mm256_set1_ps(0.5f), estimate);
  const Wide r = widen(better);
  const Wide e = negatedFma(r * r, widen(x), splat(1));
  const Wide refined = fma(r * e, fma(e, splat(0.375), splat(0.5)), r);
  // For 0 and Inf the estimate is exact and the steps are not, for negative numbers it is NaN.
  const Eight isOrdinary = _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ),
                                         _mm256_cmp_ps(x, _mm256_set1_ps(INFINITY), _CMP_LT_OQ));
  return _mm256_blendv_ps(estimate, narrow(refined), isOrdinary);
}
/// V_RSQ_F32: -0 gives -Inf.
inline Eight rsqF32x8(Eight x) { return rsqOfNormal(detail::flushDenormals(x)); }

/// V_SIN_F32 of `turns` revolutions: sin(2 pi x). Inf gives NaN.
inline Eight sinTurnsF32x8(Eight turns) {
  using namespace detail;
  const Eight rest = withinOneTurn(turns), size = magnitude(rest);
  const Eight quarter = _mm256_set1_ps(0.25f), half = _mm256_set1_ps(0.5f);
  // sin(pi - a) = sin(a); the difference is exact.
  const Eight folded =
      _mm256_blendv_ps(size, _mm256_sub_ps(half, size), _mm256_cmp_ps(size, quarter, _CMP_GT_OQ));
  return _mm256_xor_ps(narrow(sinOfQuarterTurns(widen(folded))), signOf(rest));
}

/// V_COS_F32 of `turns` revolutions: cos(2 pi x) = sin(2 pi (1/4 - |x|)). Inf gives NaN.
inline Eight cosTurnsF32x8(Eight turns) {
  using namespace detail;
  const Wide size = widen(magnitude(withinOneTurn(turns)));
  return narrow(sinOfQuarterTurns(splat(0.25) - size));
}

/// The f16 functions take and give the exact f32 value of an f16; the caller rounds the result to
/// f16. The f32 in between is precise enough never to round twice differently from once, but for
/// exp, log, sin and cos within 2^-13 ulp of a tie. f16 denormals are normal f32 numbers, so they
/// are kept.
inline Eight exp2F16x8(Eight x) { return exp2F32x8(x); }
inline Eight log2F16x8(Eight x) { return log2F32x8(x); }
inline Eight rsqF16x8(Eight x) { return rsqOfNormal(x); }

/// `function` of one number.
template <auto Function> float onOne(float x) {
  return _mm256_cvtss_f32(Function(_mm256_set1_ps(x)));
}
inline float exp2F32(float x) { return onOne<exp2F32x8>(x); }
inline float log2F32(float x) { return onOne<log2F32x8>(x); }
inline float rcpF32(float x) { return onOne<rcpF32x8>(x); }
inline float sqrtF32(float x) { return onOne<sqrtF32x8>(x); }
inline float rsqF32(float x) { return onOne<rsqF32x8>(x); }
inline float sinTurnsF32(float x) { return onOne<sinTurnsF32x8>(x); }
inline float cosTurnsF32(float x) { return onOne<cosTurnsF32x8>(x); }

/// V_RSQ_F64: 1/sqrt(x), correctly rounded but for cases within 2^-40 ulp of a tie. Branch-free, so
/// that lane loops vectorise.
inline double rsqF64(double x) {
  const double estimate = 1 / __builtin_elementwise_sqrt(x);
  // A Newton step with the product x * estimate as a sum of two doubles. For 0 and Inf the estimate
  // is exact and the step a NaN.
  const double product = x * estimate, low = std::fma(x, estimate, -product);
  const double residue = std::fma(-low, estimate, std::fma(-product, estimate, 1));
  const double refined = std::fma(0.5 * estimate, residue, estimate);
  return residue == residue ? refined : estimate;
}

} // namespace mono::numeric
