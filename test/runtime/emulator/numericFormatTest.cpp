// The small float formats: every code of the narrow ones, every rounding boundary of all of them,
// and fp16 against the host's F16C instructions.
#include "runtime/emulator/numeric/FloatFormat.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <limits>
#include <random>
#include <vector>

using namespace mono::numeric;

namespace {

struct NamedFormat {
  const char *name;
  FloatFormat format;
  double maxFinite;   // from the OCP and IEEE tables
  double minDenormal; // 2^(1 - bias - mantissaBits)
};

const NamedFormat kFormats[] = {
    {"fp16", kFp16, 65504, 0x1p-24}, {"bf16", kBf16, 0x1.fep127, 0x1p-133},
    {"fp8", kFp8E4M3, 448, 0x1p-9},  {"bf8", kBf8E5M2, 57344, 0x1p-16},
    {"fp6", kFp6E2M3, 7.5, 0.125},   {"bf6", kBf6E3M2, 28, 0.0625},
    {"fp4", kFp4E2M1, 6, 0.5},
};

class NumericFormat : public testing::TestWithParam<NamedFormat> {
protected:
  const FloatFormat &format() const { return GetParam().format; }
  /// The text-book value of a code below the special ones.
  double valueOf(uint32_t code) const {
    const unsigned m = format().mantissaBits, e = format().exponentBits;
    const double fraction = std::ldexp(double(code & ((1u << m) - 1)), -int(m));
    const int field = int((code >> m) & ((1u << e) - 1));
    const double magnitude = field ? std::ldexp(1 + fraction, field - format().bias)
                                   : std::ldexp(fraction, 1 - format().bias);
    return (code >> (m + e)) & 1 ? -magnitude : magnitude;
  }
};

TEST_P(NumericFormat, LimitsAreThoseOfTheStandard) {
  EXPECT_EQ(decode(format(), format().maxFinite()), GetParam().maxFinite);
  EXPECT_EQ(decode(format(), 1), GetParam().minDenormal);
}

TEST_P(NumericFormat, EveryFiniteCodeDecodesAndEncodesBack) {
  for (uint32_t magnitude = 0; magnitude <= format().maxFinite(); ++magnitude)
    for (uint32_t code : {magnitude, magnitude | format().signBit()}) {
      const double value = decode(format(), code);
      ASSERT_EQ(value, valueOf(code)) << code;
      ASSERT_EQ(std::signbit(value), code != magnitude) << code;
      for (Rounding rounding :
           {Rounding::NearestEven, Rounding::TowardPositive, Rounding::TowardNegative,
            Rounding::TowardZero, Rounding::Stochastic})
        ASSERT_EQ(encode(format(), value, rounding, Overflow::ToInfinity, ~0u), code);
    }
}

TEST_P(NumericFormat, EveryGapRoundsByTheRules) {
  for (uint32_t low = 0; low < format().maxFinite(); ++low) {
    const uint32_t high = low + 1, even = low & 1 ? high : low;
    const double a = valueOf(low), b = valueOf(high), middle = (a + b) / 2;
    ASSERT_LT(a, b);
    ASSERT_EQ(encode(format(), middle), even) << low;
    ASSERT_EQ(encode(format(), -middle), even | format().signBit()) << low;
    ASSERT_EQ(encode(format(), std::nextafter(middle, a)), low);
    ASSERT_EQ(encode(format(), std::nextafter(middle, b)), high);
    for (double inside : {std::nextafter(a, b), middle, std::nextafter(b, a)}) {
      ASSERT_EQ(encode(format(), inside, Rounding::TowardPositive), high);
      ASSERT_EQ(encode(format(), inside, Rounding::TowardNegative), low);
      ASSERT_EQ(encode(format(), inside, Rounding::TowardZero), low);
      ASSERT_EQ(encode(format(), -inside, Rounding::TowardPositive), low | format().signBit());
      ASSERT_EQ(encode(format(), -inside, Rounding::TowardNegative), high | format().signBit());
      ASSERT_EQ(encode(format(), -inside, Rounding::TowardZero), low | format().signBit());
    }
  }
}

TEST_P(NumericFormat, StochasticRoundingGoesUpWhenFractionPlusRandomReachesOne) {
  for (uint32_t low = 0; low < format().maxFinite(); low += 1 + low / 64) {
    const double a = valueOf(low), b = valueOf(low + 1);
    for (uint32_t sixteenths = 1; sixteenths < 16; ++sixteenths) {
      const double value = a + (b - a) * sixteenths / 16;
      const uint32_t threshold = (16 - sixteenths) << 28;
      const auto rounded = [&](uint32_t random) {
        return encode(format(), value, Rounding::Stochastic, Overflow::ToInfinity, random);
      };
      ASSERT_EQ(rounded(threshold), low + 1);
      ASSERT_EQ(rounded(threshold - 1), low);
      ASSERT_EQ(rounded(0), low);
      ASSERT_EQ(rounded(~0u), low + 1);
    }
  }
}

TEST_P(NumericFormat, OverflowFollowsModeAndFormat) {
  const uint32_t top = format().maxFinite();
  const double last = valueOf(top), step = last - valueOf(top - 1);
  // What would be the next number, were there one, decides where rounding overflows.
  const double limit = last + step / 2;
  const double infinity = std::numeric_limits<double>::infinity();
  const bool finiteOnly = format().specials == Specials::None;
  const bool nanOnly = format().specials == Specials::NanOnly;
  const uint32_t over = finiteOnly ? top : top + 1; // Inf, or NaN where there is no Inf
  EXPECT_EQ(encode(format(), std::nextafter(limit, 0)), top);
  EXPECT_EQ(encode(format(), limit), top & 1 ? over : top);
  EXPECT_EQ(encode(format(), last * 8), over);
  EXPECT_EQ(encode(format(), -infinity), over | format().signBit());
  EXPECT_EQ(encode(format(), last * 8, Rounding::TowardZero), top);
  EXPECT_EQ(encode(format(), last * 8, Rounding::NearestEven, Overflow::Saturate), top);
  EXPECT_EQ(encode(format(), infinity, Rounding::NearestEven, Overflow::Saturate), top);
  EXPECT_EQ(encode(format(), infinity, Rounding::NearestEven, Overflow::SaturateNotExact), over);
  EXPECT_EQ(encode(format(), last * 8, Rounding::NearestEven, Overflow::SaturateNotExact), top);
  if (nanOnly)
    EXPECT_TRUE(std::isnan(decode(format(), over)));
}

TEST_P(NumericFormat, NanStaysNanWhereThereIsOne) {
  const uint32_t code = encode(format(), std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(std::isnan(decode(format(), code)), format().specials != Specials::None);
}

TEST_P(NumericFormat, TinyValuesRoundLikeAnyOther) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(encode(format(), tiny), 0u);
  EXPECT_EQ(encode(format(), -tiny), format().signBit());
  EXPECT_EQ(encode(format(), tiny, Rounding::TowardPositive), 1u);
  EXPECT_EQ(encode(format(), tiny, Rounding::TowardNegative), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NumericFormat, testing::ValuesIn(kFormats),
                         [](const auto &info) { return info.param.name; });

TEST(NumericSpecials, AreTheCodesOfTheStandards) {
  EXPECT_TRUE(std::isnan(decode(kFp8E4M3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(kFp8E4M3, 0xff)));
  EXPECT_EQ(decode(kFp8E4M3, 0x7e), 448);
  EXPECT_EQ(decode(kFp8E4M3, 0x78), 256);
  EXPECT_TRUE(std::isinf(decode(kBf8E5M2, 0x7c)));
  EXPECT_EQ(decode(kBf8E5M2, 0xfc), -std::numeric_limits<double>::infinity());
  for (uint32_t code : {0x7du, 0x7eu, 0x7fu, 0xfdu})
    EXPECT_TRUE(std::isnan(decode(kBf8E5M2, code))) << code;
  const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6}; // OCP MX table 5
  for (uint32_t code = 0; code < 8; ++code)
    EXPECT_EQ(decode(kFp4E2M1, code), fp4[code]);
}

template <const FloatFormat &Format> void expectSmallDecodes() {
  for (uint32_t code = 0; code < 1u << Format.bits(); ++code) {
    const double value = decode(Format, code);
    const float small = decodeSmall<Format>(code);
    EXPECT_TRUE(small == value || (std::isnan(small) && std::isnan(value))) << code;
    EXPECT_EQ(std::signbit(small), std::signbit(value)) << code;
  }
}
TEST(NumericSpecials, SmallFormatsDecodeWithoutBranches) {
  expectSmallDecodes<kFp8E4M3>();
  expectSmallDecodes<kBf8E5M2>();
  expectSmallDecodes<kFp6E2M3>();
  expectSmallDecodes<kBf6E3M2>();
  expectSmallDecodes<kFp4E2M1>();
}

/// encodeStochastic() against encode() on values around the format's range, with random numbers
/// that carry in many, some and almost no cases.
template <const FloatFormat &Format> void expectSameStochastic() {
  std::mt19937 random(20261130);
  for (int n = 0; n < 300000; ++n) {
    const uint32_t exponent = n % 4 ? uint32_t(127 + Format.minExponent() - 40 + int(random() % 80))
                                    : uint32_t(random() % 256);
    const uint32_t bits = (random() & 0x807fffff) | (exponent & 255) << 23;
    const uint32_t low = random(), seed = n % 3 == 0   ? low
                                          : n % 3 == 1 ? low | 0xfffff000
                                                       : low >> 20;
    for (Overflow overflow :
         {Overflow::ToInfinity, Overflow::Saturate, Overflow::SaturateNotExact}) {
      const float value = std::bit_cast<float>(bits);
      ASSERT_EQ(encodeStochastic<Format>(value, overflow, seed),
                encode(Format, value, Rounding::Stochastic, overflow, seed))
          << std::hexfloat << value << " random " << seed << " overflow " << int(overflow);
    }
  }
}
TEST(NumericSpecials, StochasticRoundingWithoutBranches) {
  expectSameStochastic<kFp16>();
  expectSameStochastic<kBf16>();
  expectSameStochastic<kFp8E4M3>();
  expectSameStochastic<kBf8E5M2>();
  expectSameStochastic<kFp6E2M3>();
  expectSameStochastic<kBf6E3M2>();
  expectSameStochastic<kFp4E2M1>();
}

TEST(NumericSpecials, E8M0IsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code)
    ASSERT_EQ(decodeE8M0(uint8_t(code)), std::ldexp(1.0, code - 127));
  EXPECT_TRUE(std::isnan(decodeE8M0(255)));
}

TEST(NumericHalf, EveryCodeAgreesWithTheHost) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float host = _cvtsh_ss(uint16_t(code));
    const double ours = decode(kFp16, code);
    ASSERT_TRUE(host == ours || (std::isnan(host) && std::isnan(ours))) << code;
    ASSERT_EQ(std::bit_cast<uint32_t>(halfToFloat(uint16_t(code))), std::bit_cast<uint32_t>(host));
  }
}

TEST(NumericHalf, EncodingAgreesWithTheHostInEveryMode) {
  const uint32_t seed = 20260901;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 400000; ++i) {
    // Exponents around the range of fp16, so that denormals and overflow are common.
    const auto bits = uint32_t((random() & 0x807fffff) | (96 + random() % 52) << 23);
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(encode(kFp16, value), _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
    ASSERT_EQ(encode(kFp16, value, Rounding::TowardZero), _cvtss_sh(value, _MM_FROUND_TO_ZERO));
    ASSERT_EQ(encode(kFp16, value, Rounding::TowardPositive),
              _cvtss_sh(value, _MM_FROUND_TO_POS_INF));
    ASSERT_EQ(encode(kFp16, value, Rounding::TowardNegative),
              _cvtss_sh(value, _MM_FROUND_TO_NEG_INF));
    ASSERT_EQ(floatToHalf(value), _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
  }
}

TEST(NumericBf16, FastPathAgreesWithTheGeneralOne) {
  const uint32_t seed = 20260902;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu, uint32_t(random() & 0xffff)}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(value))
        ASSERT_TRUE(std::isnan(bf16ToFloat(floatToBf16(value))));
      else
        ASSERT_EQ(floatToBf16(value), encode(kBf16, value)) << high << " " << low;
    }
}

/// The branch-free encoder against the general one: every exponent, ties, neighbours of codes.
template <const FloatFormat &Format> void expectNearestAgrees() {
  std::mt19937 random(20260904);
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0x8000u, 0xffffu, uint32_t(random() & 0xffff)}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      for (Overflow overflow : {Overflow::ToInfinity, Overflow::Saturate})
        ASSERT_EQ(encodeNearest<Format>(value, overflow),
                  encode(Format, value, Rounding::NearestEven, overflow))
            << std::hex << (high << 16 | low);
    }
}

TEST(NumericNearest, AgreesWithTheGeneralEncoder) {
  expectNearestAgrees<kFp8E4M3>();
  expectNearestAgrees<kBf8E5M2>();
  expectNearestAgrees<kFp6E2M3>();
  expectNearestAgrees<kBf6E3M2>();
  expectNearestAgrees<kFp4E2M1>();
}

TEST(NumericDenormal, FlushKeepsTheSignAndNothingElse) {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_EQ(bits(flushDenormal(0x1p-149f)), 0u);
  EXPECT_EQ(bits(flushDenormal(-0x1.fffffcp-127f)), 0x80000000u);
  EXPECT_EQ(flushDenormal(0x1p-126f), 0x1p-126f);
  EXPECT_EQ(std::bit_cast<uint64_t>(flushDenormal(-0x1p-1074)), 1ull << 63);
  EXPECT_EQ(flushDenormal(0x1p-1022), 0x1p-1022);
  EXPECT_EQ(flushDenormalHalf(0x83ff), 0x8000);
  EXPECT_EQ(flushDenormalHalf(0x0400), 0x0400);
}

} // namespace
