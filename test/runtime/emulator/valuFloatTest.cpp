// f32 and f64 instructions against 113-bit arithmetic rounded once, in every rounding and denormal
// mode, with the input and output modifiers.
#include "test/runtime/emulator/valuTestSupport.h"

#include <bit>
#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

using Quad = __float128;

float toFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
double toDouble(uint64_t bits) { return std::bit_cast<double>(bits); }

/// A number as an unevaluated sum: what Quad could hold and the rest.
struct Exact {
  Quad value, rest = 0;
};

/// x + y without loss (TwoSum).
Exact exactSum(Quad x, Quad y) {
  const Quad sum = x + y;
  if (!std::isfinite(double(x)) || !std::isfinite(double(y)))
    return {sum};
  const Quad part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}

/// `exact` in Float, rounded by a MODE round field: 0 nearest even, 1 up, 2 down, 3 toward zero.
template <typename Float> Float rounded(Exact exact, unsigned mode) {
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  const Quad value = exact.value;
  Float nearest = Float(value);
  // Below and above `nearest`, the rest included.
  const bool isAbove = Quad(nearest) < value || (Quad(nearest) == value && exact.rest > 0);
  const bool isBelow = Quad(nearest) > value || (Quad(nearest) == value && exact.rest < 0);
  if (mode == 0 && exact.rest != 0) { // a tie that the rest decides
    const Float other = std::nextafter(nearest, isAbove ? infinity : -infinity);
    if (Quad(nearest) + Quad(other) == 2 * value)
      return exact.rest > 0 ? std::max(nearest, other) : std::min(nearest, other);
  }
  if ((mode == 1 || (mode == 3 && value < 0)) && isAbove)
    return std::nextafter(nearest, infinity);
  if ((mode == 2 || (mode == 3 && value > 0)) && isBelow)
    return std::nextafter(nearest, -infinity);
  return nearest;
}
template <typename Float> Float rounded(Quad value, unsigned mode) {
  return rounded<Float>(Exact{value}, mode);
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

class ValuFloat : public ValuTest {
protected:
  template <typename Fn> void check(const std::string &text, Fn expected) {
    SCOPED_TRACE(text);
    for (uint64_t exec : {kAll, kSome}) {
      wave.setExec(exec);
      fill(0, 4, [this] { return anyFloat(); });
      const Row before = row(0), a = row(1), b = row(2), c = row(3);
      run(text);
      expectFloats(0, before, [&](unsigned lane) {
        return expected(toFloat(a[lane]), toFloat(b[lane]), toFloat(c[lane]));
      });
    }
  }
};

TEST_F(ValuFloat, ArithmeticRoundsOnceInEveryMode) {
  for (unsigned mode = 0; mode < 4; ++mode) {
    SCOPED_TRACE(testing::Message() << "round mode " << mode);
    setMode(mode::roundF32, 2, mode);
    // The sign of an exact zero sum depends on the mode and Quad cannot tell; leave it to others.
    const auto sum = [mode](float a, float b) {
      if (Quad(a) + b == 0 && (a != 0 || b != 0))
        return mode == 2 ? -0.0f : 0.0f;
      if (a == 0 && b == 0)
        return std::signbit(a) == std::signbit(b) ? a : mode == 2 ? -0.0f : 0.0f;
      return rounded<float>(exactSum(a, b), mode);
    };
    check("v_add_f32_e32 v0, v1, v2", [&](float a, float b, float) { return sum(a, b); });
    check("v_sub_f32_e32 v0, v1, v2", [&](float a, float b, float) { return sum(a, -b); });
    check("v_subrev_f32_e32 v0, v1, v2", [&](float a, float b, float) { return sum(b, -a); });
    check("v_mul_f32_e32 v0, v1, v2",
          [&](float a, float b, float) { return rounded<float>(Quad(a) * b, mode); });
    for (int i = 0; i < 8; ++i)
      check("v_fma_f32 v0, v1, v2, v3", [&](float a, float b, float c) {
        const Quad exact = Quad(a) * b + c;
        if (exact == 0) // product and addend cancel or are zero: compare with an addition of zeros
          return Quad(a) * b != 0 || std::signbit(a) != (std::signbit(b) != std::signbit(c))
                     ? (mode == 2 ? -0.0f : 0.0f)
                     : c;
        return rounded<float>(exactSum(Quad(a) * b, c), mode);
      });
  }
}

TEST_F(ValuFloat, FusedMultiplyAddFormsShareTheirSemantics) {
  const auto fma = [](float a, float b, float c) { return float(Quad(a) * b + c); };
  fill(0, 4, [this] { return ordinaryFloat(); });
  const Row accumulator = row(0), a = row(1), b = row(2);
  run("v_fmac_f32_e32 v0, v1, v2");
  expectFloats(0, accumulator, [&](unsigned lane) {
    return fma(toFloat(a[lane]), toFloat(b[lane]), toFloat(accumulator[lane]));
  });
  run("v_fmaak_f32 v3, v1, v2, 0x40490fdb");
  expectFloats(3, accumulator, [&](unsigned lane) {
    return fma(toFloat(a[lane]), toFloat(b[lane]), toFloat(0x40490fdb));
  });
  run("v_fmamk_f32 v3, v1, 0x40490fdb, v2");
  expectFloats(3, accumulator, [&](unsigned lane) {
    return fma(toFloat(a[lane]), toFloat(0x40490fdb), toFloat(b[lane]));
  });
}

TEST_F(ValuFloat, InputModifiersActOnTheSignAlone) {
  check("v_mul_f32_e64 v0, -v1, |v2|",
        [](float a, float b, float) { return float(Quad(-a) * std::fabs(b)); });
  check("v_mul_f32_e64 v0, -|v1|, v2",
        [](float a, float b, float) { return float(Quad(-std::fabs(a)) * b); });
  s(4) = 0xc0a00000; // -5.0
  check("v_mul_f32_e64 v0, |s4|, v2", [](float, float b, float) { return float(Quad(5) * b); });
}

TEST_F(ValuFloat, ClampIsToTheUnitIntervalAndNanToZero) {
  check("v_add_f32_e64 v0, v1, v2 clamp", [](float a, float b, float) {
    const float sum = a + b;
    return sum != sum || sum < 0 ? 0 : sum > 1 ? 1 : sum == 0 ? 0 : sum;
  });
  setMode(mode::dx10Clamp, 1, 0);
  check("v_add_f32_e64 v0, v1, v2 clamp", [](float a, float b, float) {
    const float sum = a + b;
    return sum != sum ? sum : sum <= 0 ? 0 : sum > 1 ? 1 : sum;
  });
}

TEST_F(ValuFloat, OutputModifierNeedsFlushedDenormalsAndNoIeee) {
  const auto product = [](float a, float b) { return float(Quad(a) * b); };
  check("v_mul_f32_e64 v0, v1, v2 mul:2",
        [&](float a, float b, float) { return product(a, b); }); // IEEE on: ignored
  setMode(mode::ieee, 1, 0);
  check("v_mul_f32_e64 v0, v1, v2 mul:2",
        [&](float a, float b, float) { return product(a, b); }); // denormals kept: ignored
  setMode(mode::denormF32, 2, 0);
  fill(0, 3, [this] { return ordinaryFloat(); });
  v(1, 0) = 0x80000000;                       // a product of -0
  v(1, 1) = 0x00800000, v(2, 1) = 0x3f800000; // half of it is a denormal
  v(1, 2) = 0x00800000, v(2, 2) = 0x3f000000; // a denormal, twice it is not: flushing comes last
  const Row before = row(0), a = row(1), b = row(2);
  const auto scaled = [&](unsigned lane, float factor) {
    const float result = flushed(float(Quad(product(toFloat(a[lane]), toFloat(b[lane]))) * factor));
    return result == 0 ? 0.0f : result; // omod turns -0 into +0
  };
  run("v_mul_f32_e64 v0, v1, v2 mul:2");
  expectFloats(0, before, [&](unsigned lane) { return scaled(lane, 2); });
  run("v_mul_f32_e64 v0, v1, v2 mul:4");
  expectFloats(0, before, [&](unsigned lane) { return scaled(lane, 4); });
  run("v_mul_f32_e64 v0, v1, v2 div:2");
  expectFloats(0, before, [&](unsigned lane) { return scaled(lane, 0.5f); });
}

TEST_F(ValuFloat, DenormalModesFlushInputsAndOutputs) {
  for (unsigned mode = 0; mode < 4; ++mode) {
    SCOPED_TRACE(testing::Message() << "denormal mode " << mode);
    setMode(mode::denormF32, 2, mode);
    for (unsigned lane = 0; lane < 64; ++lane) {
      v(1, lane) = lane & 1 ? uint32_t(random()) & 0x807fffff // a denormal times a power of two
                            : 0x00800000 + uint32_t(random()) % 0x800000; // a small normal
      v(2, lane) = lane & 1 ? 0x42000000 : 0x3f000000;                    // 32 and 1/2
    }
    const Row before = row(0), a = row(1), b = row(2);
    run("v_mul_f32_e32 v0, v1, v2");
    expectFloats(0, before, [&](unsigned lane) {
      float x = toFloat(a[lane]);
      if (!(mode & 1))
        x = flushed(x);
      const float result = float(Quad(x) * toFloat(b[lane]));
      return mode & 2 ? result : flushed(result);
    });
  }
}

/// The manual's text of V_MIN_F32 and V_MAX_F32 for IEEE mode.
float manualMinMax(float a, float b, bool isMax) {
  const auto signalling = [](float x) {
    return x != x && !(std::bit_cast<uint32_t>(x) & 0x400000);
  };
  const auto quiet = [](float x) { return toFloat(std::bit_cast<uint32_t>(x) | 0x400000); };
  if (signalling(a))
    return quiet(a);
  if (signalling(b))
    return quiet(b);
  if (a != a)
    return b;
  if (b != b)
    return a;
  if (a == 0 && b == 0)
    return std::signbit(a) == isMax ? b : a;
  return isMax ? (a >= b ? a : b) : (a < b ? a : b);
}

TEST_F(ValuFloat, MinimumAndMaximumOrderZerosAndHandleNan) {
  for (int i = 0; i < 8; ++i) {
    fill(0, 4, [this] { return anyFloat(); });
    const Row a = row(1), b = row(2);
    run("v_min_f32_e32 v0, v1, v2\n v_max_f32_e32 v3, v1, v2");
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float x = toFloat(a[lane]), y = toFloat(b[lane]);
      ASSERT_EQ(v(0, lane), std::bit_cast<uint32_t>(manualMinMax(x, y, false)))
          << std::hex << a[lane] << " " << b[lane];
      ASSERT_EQ(v(3, lane), std::bit_cast<uint32_t>(manualMinMax(x, y, true)))
          << std::hex << a[lane] << " " << b[lane];
    }
  }
}

TEST_F(ValuFloat, WithoutIeeeASignallingNanIsOnlyANan) {
  setMode(mode::ieee, 1, 0);
  v(1, 0) = 0x7f800001;
  v(2, 0) = 0x3f800000;
  run("v_min_f32_e32 v0, v1, v2");
  EXPECT_EQ(v(0, 0), 0x3f800000u);
}

TEST_F(ValuFloat, ThreeOperandMinimumMaximumMedian) {
  for (int i = 0; i < 8; ++i) {
    fill(0, 6, [this] { return anyFloat(); });
    const Row a = row(1), b = row(2), c = row(3);
    run("v_min3_f32 v0, v1, v2, v3\n v_max3_f32 v4, v1, v2, v3\n v_med3_f32 v5, v1, v2, v3");
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float x = toFloat(a[lane]), y = toFloat(b[lane]), z = toFloat(c[lane]);
      const float least = manualMinMax(manualMinMax(x, y, false), z, false);
      ASSERT_EQ(v(0, lane), std::bit_cast<uint32_t>(least));
      ASSERT_EQ(v(4, lane),
                std::bit_cast<uint32_t>(manualMinMax(manualMinMax(x, y, true), z, true)));
      if (x != x || y != y || z != z) {
        ASSERT_EQ(v(5, lane), std::bit_cast<uint32_t>(least)) << "NaN: the minimum";
        continue;
      }
      std::array<float, 3> sorted = {x, y, z};
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(f(5, lane), sorted[1]);
    }
  }
}

TEST_F(ValuFloat, MinimumAndMaximumOf2019PropagateNan) {
  fill(0, 6, [this] { return anyFloat(); });
  const Row a = row(1), b = row(2), c = row(3);
  run("v_minimum3_f32 v0, v1, v2, v3\n v_maximum3_f32 v4, v1, v2, v3");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float x = toFloat(a[lane]), y = toFloat(b[lane]), z = toFloat(c[lane]);
    if (x != x || y != y || z != z) {
      ASSERT_TRUE(std::isnan(f(0, lane)) && std::isnan(f(4, lane)));
      continue;
    }
    ASSERT_EQ(f(0, lane), std::min({x, y, z}));
    ASSERT_EQ(f(4, lane), std::max({x, y, z}));
  }
}

TEST_F(ValuFloat, LegacyMultiplicationHasZeroWin) {
  check("v_mul_legacy_f32_e64 v0, v1, v2",
        [](float a, float b, float) { return a == 0 || b == 0 ? 0.0f : float(Quad(a) * b); });
}

TEST_F(ValuFloat, DoubleArithmetic) {
  for (unsigned mode = 0; mode < 4; ++mode)
    for (uint64_t exec : {kAll, kSome}) {
      SCOPED_TRACE(testing::Message() << "round mode " << mode);
      setMode(mode::roundF64F16, 2, mode);
      wave.setExec(exec);
      std::array<uint64_t, 64> a, b, c;
      const auto draw = [&](auto &to, unsigned reg) {
        for (unsigned lane = 0; lane < 64; ++lane) {
          // Exponents near one, so that Quad holds sums exactly.
          to[lane] = (uint64_t(random()) << 32 | random());
          to[lane] = (to[lane] & 0x800fffffffffffffull) | (1015 + random() % 16) << 52;
          set64(reg, lane, to[lane]);
        }
      };
      draw(a, 2), draw(b, 4), draw(c, 6);
      const Row before = row(10);
      run("v_add_f64 v[10:11], v[2:3], -v[4:5]\n v_mul_f64 v[12:13], v[2:3], |v[4:5]|\n"
          "v_fma_f64 v[14:15], v[2:3], v[4:5], v[6:7]");
      for (unsigned lane = 0; lane < 64; ++lane) {
        if (!active(lane)) {
          ASSERT_EQ(v(10, lane), before[lane]);
          continue;
        }
        const Quad x = toDouble(a[lane]), y = toDouble(b[lane]);
        ASSERT_EQ(toDouble(v64(10, lane)), rounded<double>(x - y, mode));
        ASSERT_EQ(toDouble(v64(12, lane)), rounded<double>(x * (y < 0 ? -y : y), mode));
        ASSERT_EQ(toDouble(v64(14, lane)),
                  rounded<double>(exactSum(x * y, toDouble(c[lane])), mode));
      }
    }
}

TEST_F(ValuFloat, DoubleMinimumMaximumAndFlush) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    set64(2, lane, anyDouble());
    set64(4, lane, anyDouble());
  }
  std::array<double, 64> a, b;
  for (unsigned lane = 0; lane < 64; ++lane) {
    a[lane] = toDouble(v64(2, lane));
    b[lane] = toDouble(v64(4, lane));
  }
  run("v_min_f64 v[0:1], v[2:3], v[4:5]\n v_max_f64 v[6:7], v[2:3], v[4:5]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (a[lane] != a[lane] || b[lane] != b[lane])
      continue;
    ASSERT_EQ(toDouble(v64(0, lane)), std::min(a[lane], b[lane]));
    ASSERT_EQ(toDouble(v64(6, lane)), std::max(a[lane], b[lane]));
  }
  setMode(mode::denormF64F16, 2, 0);
  set64(2, 0, 0x800fffffffffffffull);
  run("v_mul_f64 v[0:1], v[2:3], 1.0");
  EXPECT_EQ(v64(0, 0), 1ull << 63);
}

TEST_F(ValuFloat, RoundingToIntegersIgnoresTheMode) {
  setMode(mode::roundF32, 2, 1);
  const auto even = [](float x) {
    const float floor = std::floor(x), rest = x - floor;
    if (!std::isfinite(x) || rest < 0.5f)
      return std::isfinite(x) ? std::copysign(floor, x) : x;
    if (rest > 0.5f || std::fmod(floor, 2.0f) != 0)
      return std::copysign(floor + 1, x);
    return std::copysign(floor, x);
  };
  for (int i = 0; i < 4; ++i) {
    check("v_rndne_f32_e32 v0, v1", [&](float a, float, float) { return even(a); });
    check("v_floor_f32_e32 v0, v1", [](float a, float, float) { return std::floor(a); });
    check("v_ceil_f32_e32 v0, v1", [](float a, float, float) { return std::ceil(a); });
    check("v_trunc_f32_e32 v0, v1", [](float a, float, float) { return std::trunc(a); });
  }
  wave.setExec(kAll);
  for (unsigned lane = 0; lane < 64; ++lane) // all halves from -16 to 15.5
    v(1, lane) = std::bit_cast<uint32_t>(float(lane) / 2 - 16);
  run("v_rndne_f32_e32 v0, v1");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(f(0, lane), even(float(lane) / 2 - 16));
}

TEST_F(ValuFloat, FractionStaysBelowOne) {
  setMode(mode::roundF32, 2, 0);
  check("v_fract_f32_e32 v0, v1", [](float a, float, float) {
    const float fraction = a - std::floor(a);
    return fraction == 1 ? std::nextafter(1.0f, 0.0f) : fraction;
  });
  wave.setExec(kAll);
  v(1, 0) = 0xa0000000; // a tiny negative number
  run("v_fract_f32_e32 v0, v1");
  EXPECT_EQ(v(0, 0), 0x3f7fffffu);
}

TEST_F(ValuFloat, FrexpAndLdexpAreInverse) {
  fill(0, 4, [this] { return anyFloat(); });
  const Row a = row(1);
  run("v_frexp_exp_i32_f32_e32 v2, v1\n v_frexp_mant_f32_e32 v3, v1\n v_ldexp_f32 v0, v3, v2");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const float x = toFloat(a[lane]);
    if (!std::isfinite(x)) {
      ASSERT_EQ(v(2, lane), 0u);
      continue;
    }
    ASSERT_EQ(v(0, lane), a[lane]);
    if (x != 0)
      ASSERT_TRUE(std::fabs(f(3, lane)) >= 0.5f && std::fabs(f(3, lane)) < 1);
  }
}

TEST_F(ValuFloat, LdexpRoundsOnceAndTakesAnyExponent) {
  for (int i = 0; i < 8; ++i) {
    fill(0, 2, [this] { return anyFloat(); });
    fill(2, 1,
         [this] { return uint32_t(random() % 8 ? int(random() % 600) - 300 : int(random())); });
    const Row before = row(0), a = row(1), e = row(2);
    run("v_ldexp_f32 v0, v1, v2");
    expectFloats(0, before, [&](unsigned lane) {
      return float(std::ldexp((long double)toFloat(a[lane]), int32_t(e[lane])));
    });
  }
}

TEST_F(ValuFloat, SpecialFunctionsAreWithinOneUlp) {
  for (int i = 0; i < 16; ++i) {
    fill(0, 8, [this] { return ordinaryFloat() & 0x7fffffff; });
    const Row a = row(1);
    run("v_rcp_f32_e32 v0, v1\n v_rsq_f32_e32 v2, v1\n v_sqrt_f32_e32 v3, v1\n"
        "v_exp_f32_e32 v4, v1\n v_log_f32_e32 v5, v1\n v_sin_f32_e32 v6, v1\n v_cos_f32_e32 v7, "
        "v1");
    for (unsigned lane = 0; lane < 64; ++lane) {
      const long double x = toFloat(a[lane]);
      const auto near = [&](unsigned reg, long double exact) {
        const float want = float(exact);
        return f(reg, lane) >= std::nextafter(want, -INFINITY) &&
               f(reg, lane) <= std::nextafter(want, INFINITY);
      };
      ASSERT_TRUE(near(0, 1 / x) && near(2, 1 / std::sqrt(x)) && near(3, std::sqrt(x))) << (float)x;
      ASSERT_TRUE((x > 127 || near(4, std::exp2(x))) && near(5, std::log2(x))) << (float)x;
      const long double turn = 6.28318530717958647692528676655900577L;
      const long double reduced = x - std::floor(x);
      ASSERT_NEAR(f(6, lane), std::sin(reduced * turn), 1e-7);
      ASSERT_NEAR(f(7, lane), std::cos(reduced * turn), 1e-7);
    }
  }
}

TEST_F(ValuFloat, TwoOverPiSegments) {
  // 2/pi = 0.6366197723675813..., in segments of 53 bits.
  set64(2, 0, std::bit_cast<uint64_t>(1.0));
  run("v_trig_preop_f64 v[0:1], v[2:3], 0\n v_trig_preop_f64 v[4:5], v[2:3], 1");
  const long double twoOverPi = 0.636619772367581343075535053490057448L;
  const double first = toDouble(v64(0, 0)), second = toDouble(v64(4, 0));
  EXPECT_LE(first, twoOverPi);
  EXPECT_GT(first + 0x1p-53, twoOverPi);
  EXPECT_NEAR(double(twoOverPi - first - second), 0, 0x1p-63);
}

} // namespace
