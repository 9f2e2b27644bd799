// Compares the special functions of the emulator with correctly rounded ones on all f32 inputs.
// Takes minutes, so it is no test of ctest: build and run `numeric-sweep [FUNCTION]...` after a
// change of numeric/Transcendental.h, whose head quotes the result.
#include "runtime/emulator/numeric/Transcendental.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

using namespace mono::numeric;

namespace {

struct Function {
  const char *name;
  Eight (*emulated)(Eight);
  double (*fast)(double);            ///< within 2^-50, relatively
  long double (*exact)(long double); ///< within 2^-62
  uint32_t firstCode, lastCode;      ///< what is swept, and the same with the sign bit
};

/// x in turns, which is exact in the wider types where it matters.
template <typename T> T sinTurns(T x) {
  const T size = std::fabs(x), folded = size > T(0.25) ? T(0.5) - size : size;
  return std::copysign(std::sin(2 * std::numbers::pi_v<T> * folded), x);
}
template <typename T> T cosTurns(T x) {
  return std::sin(2 * std::numbers::pi_v<T> * (T(0.25) - std::fabs(x)));
}

constexpr uint32_t kAll = 0x7fffffff, kTiny = 0x2b800000 /* 2^-40 */, kHalf = 0x3f000000;

const Function kFunctions[] = {
    {"exp2", exp2F32x8, [](double x) { return std::exp2(x); },
     [](long double x) { return std::exp2(x); }, 0, kAll},
    {"log2", log2F32x8, [](double x) { return std::log2(x); },
     [](long double x) { return std::log2(x); }, 0, kAll},
    {"rcp", rcpF32x8, [](double x) { return 1 / x; }, [](long double x) { return 1 / x; }, 0, kAll},
    {"rsq", rsqF32x8, [](double x) { return 1 / std::sqrt(x); },
     [](long double x) { return 1 / std::sqrt(x); }, 0, kAll},
    {"sqrt", sqrtF32x8, [](double x) { return std::sqrt(x); },
     [](long double x) { return std::sqrt(x); }, 0, kAll},
    {"sin", sinTurnsF32x8, sinTurns<double>, sinTurns<long double>, kTiny, kHalf},
    {"cos", cosTurnsF32x8, cosTurns<double>, cosTurns<long double>, kTiny, kHalf},
};

/// The correctly rounded result: by `fast` unless its error could change the rounding.
float rounded(const Function &function, float x) {
  const double near = function.fast(x);
  const float low = float(near * (1 - 0x1p-49)), high = float(near * (1 + 0x1p-49));
  return low == high || std::isnan(near) ? high : float(function.exact(x));
}

/// As the hardware does for all these functions but sin and cos: denormals are zeros.
float expected(const Function &function, float x) {
  const bool flushes = function.lastCode == kAll;
  return flushes ? flushDenormal(rounded(function, flushDenormal(x))) : rounded(function, x);
}

/// NaN equals NaN; zeros differ by their sign.
bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

/// Number of inputs with another result; prints the first few.
uint64_t sweep(const Function &function) {
  uint64_t wrong = 0;
  for (uint32_t sign : {0u, 0x80000000u})
    for (uint64_t code = function.firstCode; code <= function.lastCode; code += 8) {
      alignas(32) float in[8], out[8];
      for (uint32_t n = 0; n < 8; ++n)
        in[n] = std::bit_cast<float>(std::min(uint32_t(code) + n, function.lastCode) | sign);
      _mm256_store_ps(out, function.emulated(_mm256_load_ps(in)));
      for (int n = 0; n < 8; ++n) {
        const float right = expected(function, in[n]);
        if (!same(out[n], right) && ++wrong <= 8)
          std::printf("%s(%a): %a, but correctly rounded %a\n", function.name, in[n], out[n],
                      right);
      }
    }
  std::printf("%s: %llu inputs not correctly rounded\n", function.name,
              static_cast<unsigned long long>(wrong));
  std::fflush(stdout);
  return wrong;
}

} // namespace

int main(int argc, char **argv) {
  for (const Function &function : kFunctions) {
    bool wanted = argc == 1;
    for (int n = 1; n < argc; ++n)
      wanted |= std::strcmp(argv[n], function.name) == 0;
    if (wanted)
      sweep(function);
  }
}
