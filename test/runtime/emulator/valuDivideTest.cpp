// The division sequences LLVM emits, end to end: the quotient must be the correctly rounded one for
// operands of all magnitudes, which tests v_div_scale, v_div_fmas and v_div_fixup together.
#include "test/runtime/emulator/valuTestSupport.h"

#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

class ValuDivide : public ValuTest {};

/// v1 / v2 to v0, as llc expands an f32 fdiv with denormals kept.
const char kDivideF32[] = R"(
  v_div_scale_f32 v3, s[4:5], v2, v2, v1
  v_rcp_f32_e32 v4, v3
  v_fma_f32 v5, -v3, v4, 1.0
  v_fmac_f32_e32 v4, v5, v4
  v_div_scale_f32 v5, vcc, v1, v2, v1
  v_mul_f32_e32 v6, v5, v4
  v_fma_f32 v7, -v3, v6, v5
  v_fmac_f32_e32 v6, v7, v4
  v_fma_f32 v3, -v3, v6, v5
  v_div_fmas_f32 v3, v3, v4, v6
  v_div_fixup_f32 v0, v3, v2, v1
)";

/// v[2:3] / v[4:5] to v[0:1], as llc expands an f64 fdiv.
const char kDivideF64[] = R"(
  v_div_scale_f64 v[6:7], s[4:5], v[4:5], v[4:5], v[2:3]
  v_rcp_f64_e32 v[8:9], v[6:7]
  v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0
  v_fmac_f64_e32 v[8:9], v[8:9], v[10:11]
  v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0
  v_fmac_f64_e32 v[8:9], v[8:9], v[10:11]
  v_div_scale_f64 v[10:11], vcc, v[2:3], v[4:5], v[2:3]
  v_mul_f64 v[12:13], v[10:11], v[8:9]
  v_fma_f64 v[6:7], -v[6:7], v[12:13], v[10:11]
  v_div_fmas_f64 v[6:7], v[6:7], v[8:9], v[12:13]
  v_div_fixup_f64 v[0:1], v[6:7], v[4:5], v[2:3]
)";

TEST_F(ValuDivide, SingleIsCorrectlyRoundedForAllMagnitudes) {
  for (int i = 0; i < 400; ++i) {
    // Pure random bits: all exponents, denormals and specials alike; every 4th wave near each
    // other.
    fill(1, 2, [&] { return i % 4 ? uint32_t(random()) : anyFloat(); });
    const Row numerator = row(1), denominator = row(2);
    run(kDivideF32);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float n = std::bit_cast<float>(numerator[lane]);
      const float d = std::bit_cast<float>(denominator[lane]);
      const float want = n / d;
      ASSERT_TRUE(std::isnan(want) ? std::isnan(f(0, lane))
                                   : v(0, lane) == std::bit_cast<uint32_t>(want))
          << n << " / " << d << ": expected " << want << ", but got " << f(0, lane);
    }
  }
}

TEST_F(ValuDivide, SingleAtTheEdgesOfTheScaling) {
  // Exponent pairs around every threshold of v_div_scale.
  constexpr int kExponents[] = {0, 1, 2, 22, 23, 24, 25, 95, 96, 97, 127, 150, 230, 252, 253, 254};
  for (int high : kExponents)
    for (int low : kExponents) {
      for (unsigned lane = 0; lane < 64; ++lane) {
        v(1, lane) = (uint32_t(random()) & 0x807fffff) | uint32_t(high) << 23;
        v(2, lane) = (uint32_t(random()) & 0x807fffff) | uint32_t(low) << 23;
      }
      const Row numerator = row(1), denominator = row(2);
      run(kDivideF32);
      for (unsigned lane = 0; lane < 64; ++lane) {
        const float n = std::bit_cast<float>(numerator[lane]);
        const float d = std::bit_cast<float>(denominator[lane]);
        ASSERT_EQ(v(0, lane), std::bit_cast<uint32_t>(n / d)) << n << " / " << d;
      }
    }
}

TEST_F(ValuDivide, DoubleIsCorrectlyRoundedForAllMagnitudes) {
  for (int i = 0; i < 300; ++i) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      set64(2, lane, i % 4 ? uint64_t(random()) << 32 | random() : anyDouble());
      set64(4, lane, i % 4 ? uint64_t(random()) << 32 | random() : anyDouble());
    }
    std::array<double, 64> n, d;
    for (unsigned lane = 0; lane < 64; ++lane) {
      n[lane] = std::bit_cast<double>(v64(2, lane));
      d[lane] = std::bit_cast<double>(v64(4, lane));
    }
    run(kDivideF64);
    for (unsigned lane = 0; lane < 64; ++lane) {
      const double want = n[lane] / d[lane], got = std::bit_cast<double>(v64(0, lane));
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got)
                                   : std::bit_cast<uint64_t>(got) == std::bit_cast<uint64_t>(want))
          << n[lane] << " / " << d[lane] << ": expected " << want << ", but got " << got;
    }
  }
}

TEST_F(ValuDivide, ScaleWritesItsMaskForActiveLanesOnly) {
  wave.setExec(kSome);
  for (unsigned lane = 0; lane < 64; ++lane) {
    v(1, lane) = 0x7f000000; // 2^127 / 2^-10: the quotient overflows, so the denominator is scaled
    v(2, lane) = 0x3a800000;
  }
  const Row before = row(3);
  run("v_div_scale_f32 v3, vcc, v2, v2, v1");
  EXPECT_EQ(wave.vcc(), kSome);
  expectRow(3, before, [](unsigned) { return 0x3a800000u + (64u << 23); });
}

} // namespace
