// Special functions, rounding to integers, frexp and ldexp for f16, f32 and f64.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuLanes.h"
#include "runtime/emulator/numeric/Transcendental.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace mono::emu::valu {
namespace {

/// V_FRACT: below 1 even where x - floor(x) rounds up to it.
float fraction(float x) {
  const float result = x - std::floor(x);
  return result >= 1 ? 0x1.fffffep-1f : result;
}
double fraction(double x) {
  const double result = x - std::floor(x);
  return result >= 1 ? 0x1.fffffffffffffp-1 : result;
}
/// On the exact f32 value of an f16: the greatest f16 below 1 bounds it.
float fractionHalf(float x) { return std::min(x - std::floor(x), 0x1.ffcp-1f); }

/// A finite nonzero number with its exponent apart: bits of a normal number, and what to add to the
/// exponent field. Branch-free, so that lane loops vectorise.
template <typename Float> struct Parts {
  static constexpr bool isDouble = std::is_same_v<Float, double>;
  using Bits = std::conditional_t<isDouble, uint64_t, uint32_t>;
  static constexpr int mantissaBits = isDouble ? 52 : 23;
  static constexpr Bits exponentMask = isDouble ? 0x7ff : 0xff;
  static constexpr int bias = isDouble ? 1023 : 127;

  Bits bits;
  int correction;
  bool isOrdinary; ///< neither zero nor Inf nor NaN

  explicit Parts(Float x) {
    const Bits raw = std::bit_cast<Bits>(x), field = raw >> mantissaBits & exponentMask;
    const Float normal = x * Float(Bits(1) << mantissaBits); // exact for denormals
    bits = field ? raw : std::bit_cast<Bits>(normal);
    correction = field ? 0 : -mantissaBits;
    isOrdinary = field != exponentMask && x != 0;
  }
  int field() const { return int(bits >> mantissaBits & exponentMask); }
};

/// In [1/2, 1), with the sign of x.
template <typename Float> Float mantissa(Float x) {
  using P = Parts<Float>;
  const P parts(x);
  const auto bits = (parts.bits & ~(P::exponentMask << P::mantissaBits)) |
                    typename P::Bits(P::bias - 1) << P::mantissaBits;
  return parts.isOrdinary ? std::bit_cast<Float>(bits) : x;
}
template <typename Float> int32_t exponent(Float x) {
  const Parts<Float> parts(x);
  return parts.isOrdinary ? parts.field() - (Parts<Float>::bias - 1) + parts.correction : 0;
}

/// 2^e in double, which holds every product of an f32 and a power of two that can round to an f32.
double powerOfTwo(int32_t e) {
  return std::bit_cast<double>(uint64_t(std::clamp(e, -400, 400) + 1023) << 52);
}
float loadExponent(float x, int32_t e) { return float(double(x) * powerOfTwo(e)); }

/// x * 2^e for an e of any size, rounded once: the first two of three factors are exact, or so
/// large or small that the result is settled. Going down they stop short of the least normal
/// number by the width of the mantissa, which leaves the rounding to the last one.
double loadExponent(double x, int32_t e) {
  int32_t rest = std::clamp(e, -3000, 3000);
  for (int step = 0; step < 2; ++step) {
    const int32_t part = rest < -1022 ? -1022 + 53 : rest > 1023 ? 1023 : 0;
    x *= std::bit_cast<double>(uint64_t(part + 1023) << 52);
    rest -= part;
  }
  return x * std::bit_cast<double>(uint64_t(std::clamp(rest, -1022, 1023) + 1023) << 52);
}

/// The first 1201 fraction bits of 2/pi, most significant first: all that the hardware has (CDNA4
/// ISA, V_TRIG_PREOP_F64).
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};

/// 53 bits of 2/pi from fraction bit `shift` on, as an integer.
uint64_t twoOverPiBits(unsigned shift) {
  const unsigned word = shift / 64, bit = shift % 64;
  const auto at = [](unsigned n) { return n < std::size(kTwoOverPi) ? kTwoOverPi[n] : 0; };
  const uint64_t window = bit ? at(word) << bit | at(word + 1) >> (64 - bit) : at(word);
  return window >> 11;
}

/// V_TRIG_PREOP_F64: a segment of 2/pi for the argument reduction of large angles.
double trigPreop(double x, uint32_t segment) {
  const int field = int(std::bit_cast<uint64_t>(x) >> 52) & 0x7ff;
  const int shift = int(segment & 31) * 53 + std::max(field - 1077, 0);
  const int scale = -53 - shift + (field >= 1968 ? 128 : 0);
  return std::ldexp(double(twoOverPiBits(unsigned(shift))), scale);
}

using numeric::Eight;

/// out[lane] = Fn(in[lane]) on eight lanes at a time; `out` may be `in`.
template <auto Fn> void loopEights(const float *in, float *out) {
  for (unsigned lane = 0; lane < Wave::lanes; lane += 8)
    _mm256_storeu_ps(out + lane, Fn(_mm256_loadu_ps(in + lane)));
}

template <auto Fn> [[gnu::noinline]] void runEights(Wave &wave, const Instruction &inst) {
  LaneBuffer buffer;
  const uint32_t *row = fetchRow(wave, inst, inst.src[0], 0, ValueKind::Float32, buffer);
  detail::Sink<float> sink(wave, inst);
  loopEights<Fn>(reinterpret_cast<const float *>(row), reinterpret_cast<float *>(sink.rows()));
  sink.finish(wave, inst);
}
/// Fn of every f16 code, rounded to f16.
template <auto Fn> const uint16_t *halfTable() {
  static const std::vector<uint16_t> table = [] {
    std::vector<uint16_t> codes(1u << 16);
    for (uint32_t code = 0; code < codes.size(); code += 8) {
      float values[8];
      for (uint32_t n = 0; n < 8; ++n)
        values[n] = numeric::halfToFloat(uint16_t(code + n));
      _mm256_storeu_ps(values, Fn(_mm256_loadu_ps(values)));
      for (uint32_t n = 0; n < 8; ++n)
        codes[code + n] = numeric::floatToHalf(values[n]);
    }
    return codes;
  }();
  return table.data();
}

template <auto Fn> [[gnu::noinline]] void lookUpHalves(Wave &wave, const Instruction &inst) {
  const uint16_t *table = halfTable<Fn>();
  const detail::Source<F16Code> source(wave, inst, 0);
  detail::HalfSink<F16Code, HighHalf::Zero> sink(wave, inst);
  uint32_t *codes = sink.rows();
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    codes[lane] = table[source[lane].bits];
  sink.finish(wave, inst);
}

template <auto Fn> [[gnu::noinline]] void runHalfEights(Wave &wave, const Instruction &inst) {
  const detail::Source<F16> source(wave, inst, 0);
  detail::HalfSink<F16, HighHalf::Zero> sink(wave, inst);
  float *values = reinterpret_cast<float *>(sink.rows());
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    values[lane] = source[lane].value;
  loopEights<Fn>(values, values);
  sink.finish(wave, inst);
}

/// The handlers of the functions that numeric/ defines on eight f32 lanes. They round to nearest
/// whatever MODE says: to the hardware's approximations its directions mean nothing, and here they
/// would make a finite number of exp2(1e4).
template <auto Fn> void valuEights(Wave &wave, const Instruction &inst) {
  runEights<Fn>(wave, inst);
}
template <auto Fn> void valuHalfEights(Wave &wave, const Instruction &inst) {
  // omod, clamp and the like work on the result before it is rounded.
  if (inst.omod | needsHalfFinish(wave, inst)) [[unlikely]]
    runHalfEights<Fn>(wave, inst);
  else
    lookUpHalves<Fn>(wave, inst);
}
/// The same for functions of one lane.
template <auto Fn> void valuNearest(Wave &wave, const Instruction &inst) {
  const uint32_t saved = wave.modeRegister;
  wave.modeRegister &= ~(3u << mode::roundF32 | 3u << mode::roundF64F16);
  valu<Fn>(wave, inst);
  wave.modeRegister = saved;
}

const Entry kF32[] = {
    {"V_RCP_F32", valuEights<numeric::rcpF32x8>},
    {"V_RCP_IFLAG_F32", valuEights<numeric::rcpF32x8>},
    {"V_RSQ_F32", valuEights<numeric::rsqF32x8>},
    {"V_SQRT_F32", valuEights<numeric::sqrtF32x8>},
    {"V_EXP_F32", valuEights<numeric::exp2F32x8>},
    {"V_EXP_LEGACY_F32", valuEights<numeric::exp2F32x8>},
    {"V_LOG_F32", valuEights<numeric::log2F32x8>},
    {"V_LOG_LEGACY_F32", valuEights<numeric::log2F32x8>},
    {"V_SIN_F32", valuEights<numeric::sinTurnsF32x8>},
    {"V_COS_F32", valuEights<numeric::cosTurnsF32x8>},
    {"V_FLOOR_F32", valu<[](float x) { return std::floor(x); }>},
    {"V_CEIL_F32", valu<[](float x) { return std::ceil(x); }>},
    {"V_TRUNC_F32", valu<[](float x) { return std::trunc(x); }>},
    {"V_RNDNE_F32", valu<[](float x) { return __builtin_roundevenf(x); }>},
    {"V_FRACT_F32", valu<[](float x) { return fraction(x); }>},
    {"V_FREXP_MANT_F32", valu<[](float x) { return mantissa(x); }>},
    {"V_FREXP_EXP_I32_F32", valu<[](float x) { return exponent(x); }>},
    {"V_LDEXP_F32", valu<[](float x, int32_t e) { return loadExponent(x, e); }>},
};

const Entry kF64[] = {
    {"V_RCP_F64", valuNearest<[](double x) { return 1 / x; }>},
    {"V_RSQ_F64", valuNearest<[](double x) { return numeric::rsqF64(x); }>},
    {"V_SQRT_F64", valuNearest<[](double x) { return __builtin_elementwise_sqrt(x); }>},
    {"V_FLOOR_F64", valu<[](double x) { return std::floor(x); }>},
    {"V_CEIL_F64", valu<[](double x) { return std::ceil(x); }>},
    {"V_TRUNC_F64", valu<[](double x) { return std::trunc(x); }>},
    {"V_RNDNE_F64", valu<[](double x) { return __builtin_roundeven(x); }>},
    {"V_FRACT_F64", valu<[](double x) { return fraction(x); }>},
    {"V_FREXP_MANT_F64", valu<[](double x) { return mantissa(x); }>},
    {"V_FREXP_EXP_I32_F64", valu<[](double x) { return exponent(x); }>},
    {"V_LDEXP_F64", valu<[](double x, int32_t e) { return loadExponent(x, e); }>},
    {"V_TRIG_PREOP_F64", valu<[](double x, uint32_t n) { return trigPreop(x, n); }>},
};

const Entry kF16[] = {
    {"V_RCP_F16", valuNearest<[](F16 x) { return F16{1 / x.value}; }>},
    {"V_RSQ_F16", valuHalfEights<numeric::rsqF16x8>},
    {"V_SQRT_F16", valuNearest<[](F16 x) { return F16{__builtin_elementwise_sqrt(x.value)}; }>},
    {"V_EXP_F16", valuHalfEights<numeric::exp2F16x8>},
    {"V_LOG_F16", valuHalfEights<numeric::log2F16x8>},
    {"V_SIN_F16", valuHalfEights<numeric::sinTurnsF32x8>},
    {"V_COS_F16", valuHalfEights<numeric::cosTurnsF32x8>},
    {"V_FLOOR_F16", valu<[](F16 x) { return F16{std::floor(x.value)}; }>},
    {"V_CEIL_F16", valu<[](F16 x) { return F16{std::ceil(x.value)}; }>},
    {"V_TRUNC_F16", valu<[](F16 x) { return F16{std::trunc(x.value)}; }>},
    {"V_RNDNE_F16", valu<[](F16 x) { return F16{__builtin_roundevenf(x.value)}; }>},
    {"V_FRACT_F16", valu<[](F16 x) { return F16{fractionHalf(x.value)}; }>},
    {"V_FREXP_MANT_F16", valu<[](F16 x) { return F16{mantissa(x.value)}; }>},
    {"V_FREXP_EXP_I16_F16", valu<[](F16 x) { return int16_t(exponent(x.value)); }>},
    {"V_LDEXP_F16", valu<[](F16 x, int16_t e) {
       // Beyond these the f16 has over- or underflowed, within them the f32 has not.
       return F16{loadExponent(x.value, std::clamp<int>(e, -64, 64))};
     }>},
};

} // namespace

void registerFloatUnary(HandlerTable &table) {
  addAll(table, kF32);
  addAll(table, kF64);
  addAll(table, kF16);
}

} // namespace mono::emu::valu
