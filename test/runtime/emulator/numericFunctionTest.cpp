// The special functions against the host's long double library.
#include "runtime/emulator/numeric/Transcendental.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mono::numeric;

namespace {

constexpr uint32_t kSeed = 20260903;
constexpr int kSamples = 200000;

/// Distance in representable numbers; NaN equals NaN.
int64_t ulps(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto ordered = [](float v) {
    const int32_t bits = std::bit_cast<int32_t>(v);
    return int64_t(bits < 0 ? INT32_MIN - bits : bits);
  };
  return std::abs(ordered(a) - ordered(b));
}

/// Requires `function` to be the correctly rounded `reference` for all but one sample in 10^4, and
/// never more than one ulp off. `draw` makes an input.
template <typename Function, typename Reference, typename Draw>
void expectRounded(Function function, Reference reference, Draw draw) {
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  int inexact = 0;
  for (int i = 0; i < kSamples; ++i) {
    const float x = draw(random);
    const float expected = flushDenormal(float(reference((long double)x)));
    const int64_t distance = ulps(function(x), expected);
    ASSERT_LE(distance, 1) << x << " gave " << function(x) << ", expected " << expected;
    inexact += distance != 0;
  }
  EXPECT_LE(inexact, kSamples / 10000);
}

float uniform(std::mt19937 &random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}
/// Any positive normal number, all exponents alike.
float positive(std::mt19937 &random) {
  return std::bit_cast<float>(uint32_t((1 + random() % 254) << 23 | (random() & 0x7fffff)));
}

TEST(NumericFunction, Exp2) {
  const auto reference = [](long double x) { return exp2l(x); };
  expectRounded(exp2F32, reference, [](auto &r) { return uniform(r, -125.9f, 127.9f); });
  expectRounded(exp2F32, reference, [](auto &r) { return uniform(r, -1e-3f, 1e-3f); });
}

TEST(NumericFunction, Exp2OfSpecials) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp2F32(infinity), infinity);
  EXPECT_EQ(exp2F32(-infinity), 0);
  EXPECT_EQ(exp2F32(128), infinity);
  EXPECT_EQ(exp2F32(1e30f), infinity);
  EXPECT_EQ(exp2F32(-126), 0x1p-126f);
  EXPECT_EQ(exp2F32(-127), 0) << "a denormal result flushes";
  EXPECT_EQ(exp2F32(-0.0f), 1);
  EXPECT_TRUE(std::isnan(exp2F32(NAN)));
}

TEST(NumericFunction, Log2) {
  const auto reference = [](long double x) { return log2l(x); };
  expectRounded(log2F32, reference, positive);
  expectRounded(log2F32, reference, [](auto &r) { return uniform(r, 0.99f, 1.01f); });
}

TEST(NumericFunction, Log2OfSpecials) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(log2F32(infinity), infinity);
  EXPECT_EQ(log2F32(0), -infinity);
  EXPECT_EQ(log2F32(-0.0f), -infinity);
  EXPECT_EQ(log2F32(-0x1p-140f), -infinity) << "a denormal counts as zero";
  EXPECT_TRUE(std::isnan(log2F32(-1)));
  EXPECT_TRUE(std::isnan(log2F32(-infinity)));
  EXPECT_EQ(log2F32(1), 0);
  for (int e = -126; e < 128; ++e)
    EXPECT_EQ(log2F32(std::ldexp(1.0f, e)), e);
}

TEST(NumericFunction, Reciprocals) {
  expectRounded(rcpF32, [](long double x) { return 1 / x; }, positive);
  expectRounded(rsqF32, [](long double x) { return 1 / sqrtl(x); }, positive);
  expectRounded(sqrtF32, [](long double x) { return sqrtl(x); }, positive);
  EXPECT_EQ(rcpF32(-0.0f), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(rcpF32(0x1p127f), 0) << "2^-127 is a denormal";
  EXPECT_EQ(rsqF32(0x1p-140f), std::numeric_limits<float>::infinity());
}

TEST(NumericFunction, SinAndCosTakeTurns) {
  const long double turn = 6.28318530717958647692528676655900577L;
  const auto draw = [](auto &r) { return uniform(r, -0.49f, 0.49f); };
  expectRounded(sinTurnsF32, [&](long double x) { return sinl(x * turn); }, draw);
  expectRounded(cosTurnsF32, [&](long double x) { return cosl(x * turn); }, draw);
  EXPECT_NEAR(sinTurnsF32(1000.25f), 1, 1e-7);
  EXPECT_NEAR(cosTurnsF32(-7.5f), -1, 1e-7);
  EXPECT_TRUE(std::isnan(sinTurnsF32(INFINITY)));
}

} // namespace
