// f16 and 16-bit integer instructions: values rounded once from exact arithmetic, and what happens
// to the other half of the destination.
#include "test/runtime/emulator/valuTestSupport.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;
using namespace mono::numeric;

namespace {

double half(uint32_t code) { return decode(kFp16, code & 0xffff); }

class ValuHalf : public ValuTest {
protected:
  /// `expected` gives the low half; `keepsHigh` whether the upper half of v0 stays (else it is
  /// zero).
  template <typename Fn> void check(const std::string &text, bool keepsHigh, Fn expected) {
    SCOPED_TRACE(text);
    for (uint64_t exec : {kAll, kSome}) {
      wave.setExec(exec);
      fill(0, 4, [this] { return anyHalf() | uint32_t(anyHalf()) << 16; });
      const Row before = row(0), a = row(1), b = row(2), c = row(3);
      run(text);
      for (unsigned lane = 0; lane < 64; ++lane) {
        if (!active(lane)) {
          ASSERT_EQ(v(0, lane), before[lane]);
          continue;
        }
        const uint32_t want = uint32_t(expected(a[lane], b[lane], c[lane])) & 0xffff;
        const uint32_t got = v(0, lane) & 0xffff;
        ASSERT_TRUE(got == want || (std::isnan(half(got)) && std::isnan(half(want))))
            << std::hex << "expected " << want << ", but got " << got << ", lane " << lane;
        ASSERT_EQ(v(0, lane) >> 16, keepsHigh ? before[lane] >> 16 : 0);
      }
    }
  }
};

TEST_F(ValuHalf, ArithmeticRoundsOnceInEveryMode) {
  for (unsigned mode = 0; mode < 4; ++mode) {
    SCOPED_TRACE(testing::Message() << "round mode " << mode);
    setMode(mode::roundF64F16, 2, mode);
    // Sums and products of f16 are exact in double, but for the sign of an exact zero sum in
    // mode 2.
    const auto to = [mode](double value, bool zeroIsNegative = false) {
      return value == 0 && zeroIsNegative && mode == 2 ? 0x8000u
                                                       : encode(kFp16, value, Rounding(mode));
    };
    check("v_mul_f16_e32 v0, v1, v2", false,
          [&](auto a, auto b, auto) { return to(half(a) * half(b)); });
    check("v_add_f16_e32 v0, v1, v2", false, [&](auto a, auto b, auto) {
      const bool cancels = half(a) != 0 || std::signbit(half(a)) != std::signbit(half(b));
      return to(half(a) + half(b), cancels);
    });
    for (int i = 0; i < 8; ++i)
      check("v_fma_f16 v0, v1, v2, v3", true, [&](auto a, auto b, auto c) {
        const __float128 product = __float128(half(a)) * half(b), sum = product + half(c);
        if (sum == 0 && !(product == 0 && half(c) == 0 &&
                          std::signbit(double(product)) == std::signbit(half(c))))
          return to(0, true);
        // What double cannot hold is far below an f16's last place: its direction is enough.
        double near = double(sum);
        if (std::isfinite(near) && __float128(near) != sum)
          near = std::nextafter(near, __float128(near) < sum ? INFINITY : -INFINITY);
        return to(near);
      });
  }
}

TEST_F(ValuHalf, ModifiersUseBitFifteen) {
  check("v_mul_f16_e64 v0, -v1, |v2|", false,
        [](auto a, auto b, auto) { return encode(kFp16, -half(a) * std::fabs(half(b))); });
  check("v_add_f16_e64 v0, v1, 1.0", false,
        [](auto a, auto, auto) { return encode(kFp16, half(a) + 1); });
}

TEST_F(ValuHalf, MinimumMaximumMedian) {
  const auto ordered = [](uint32_t a, uint32_t b, bool isMax) -> uint32_t {
    a &= 0xffff, b &= 0xffff;
    const auto signalling = [](uint32_t x) { return std::isnan(half(x)) && !(x & 0x200); };
    if (signalling(a))
      return a | 0x200;
    if (signalling(b))
      return b | 0x200;
    if (std::isnan(half(a)))
      return b;
    if (std::isnan(half(b)))
      return a;
    if (half(a) == 0 && half(b) == 0)
      return isMax ? a & b : a | b;
    return (half(a) < half(b)) == isMax ? b : a;
  };
  for (int i = 0; i < 4; ++i) {
    check("v_min_f16_e32 v0, v1, v2", false,
          [&](auto a, auto b, auto) { return ordered(a, b, false); });
    check("v_max_f16_e32 v0, v1, v2", false,
          [&](auto a, auto b, auto) { return ordered(a, b, true); });
    check("v_max3_f16 v0, v1, v2, v3", true,
          [&](auto a, auto b, auto c) { return ordered(ordered(a, b, true), c, true); });
  }
}

TEST_F(ValuHalf, OverflowModeClampsFiniteResults) {
  setMode(mode::fp16Ovfl, 1, 1);
  check("v_mul_f16_e32 v0, v1, v2", false, [](auto a, auto b, auto) {
    return encode(kFp16, half(a) * half(b), Rounding::NearestEven, Overflow::SaturateNotExact);
  });
}

TEST_F(ValuHalf, DenormalsFlushByTheirOwnModeField) {
  setMode(mode::denormF32, 2, 0); // must not matter
  check("v_mul_f16_e32 v0, v1, v2", false,
        [](auto a, auto b, auto) { return encode(kFp16, half(a) * half(b)); });
  setMode(mode::denormF64F16, 2, 0);
  check("v_mul_f16_e32 v0, v1, v2", false, [](auto a, auto b, auto) {
    const auto flush = [](uint32_t x) { return half(flushDenormalHalf(uint16_t(x))); };
    return flushDenormalHalf(uint16_t(encode(kFp16, flush(a) * flush(b))));
  });
}

TEST_F(ValuHalf, OpSelPicksHalves) {
  fillBits(0, 4);
  const Row before = row(0), a = row(1), b = row(2), c = row(3);
  run("v_mad_u16 v0, v1, v2, v3 op_sel:[1,0,1,0]");
  expectRow(0, before, [&](unsigned lane) {
    const uint32_t low = (a[lane] >> 16) * (b[lane] & 0xffff) + (c[lane] >> 16);
    return (before[lane] & 0xffff0000) | (low & 0xffff);
  });
  const Row again = row(0);
  run("v_mad_u16 v0, v1, v2, v3 op_sel:[0,1,0,1]");
  expectRow(0, again, [&](unsigned lane) {
    const uint32_t high = (a[lane] & 0xffff) * (b[lane] >> 16) + (c[lane] & 0xffff);
    return (again[lane] & 0xffff) | high << 16;
  });
  run("v_pack_b32_f16 v0, v1, v2 op_sel:[1,0,0]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const uint32_t low = a[lane] >> 16, high = b[lane] & 0xffff;
    if (!std::isnan(half(low)) && !std::isnan(half(high)))
      ASSERT_EQ(v(0, lane), low | high << 16);
  }
}

TEST_F(ValuHalf, ShortIntegers) {
  const auto s16 = [](uint32_t x) { return int(int16_t(x)); };
  const auto u16 = [](uint32_t x) { return int(x & 0xffff); };
  check("v_add_u16_e32 v0, v1, v2", false, [](auto a, auto b, auto) { return a + b; });
  check("v_sub_u16_e32 v0, v1, v2", false, [](auto a, auto b, auto) { return a - b; });
  check("v_sub_u16_e64 v0, v1, v2 clamp", false,
        [&](auto a, auto b, auto) { return std::max(u16(a) - u16(b), 0); });
  check("v_add_i16 v0, v1, v2 clamp", true,
        [&](auto a, auto b, auto) { return std::clamp(s16(a) + s16(b), -32768, 32767); });
  check("v_mul_lo_u16_e32 v0, v1, v2", false,
        [&](auto a, auto b, auto) { return uint32_t(u16(a)) * uint32_t(u16(b)); });
  check("v_lshlrev_b16_e32 v0, v1, v2", false,
        [&](auto a, auto b, auto) { return u16(b) << (a & 15); });
  check("v_ashrrev_i16_e32 v0, v1, v2", false,
        [&](auto a, auto b, auto) { return s16(b) >> (a & 15); });
  check("v_max_i16_e32 v0, v1, v2", false,
        [&](auto a, auto b, auto) { return std::max(s16(a), s16(b)); });
  check("v_min_u16_e32 v0, v1, v2", false,
        [&](auto a, auto b, auto) { return std::min(u16(a), u16(b)); });
  check("v_med3_i16 v0, v1, v2, v3", true, [&](auto a, auto b, auto c) {
    std::array<int, 3> values = {s16(a), s16(b), s16(c)};
    std::sort(values.begin(), values.end());
    return values[1];
  });
}

} // namespace
