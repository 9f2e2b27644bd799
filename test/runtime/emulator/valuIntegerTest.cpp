// Integer instructions against exact arithmetic in wider types, on random whole wavefronts.
#include "test/runtime/emulator/valuTestSupport.h"

#include <algorithm>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

using Wide = __int128;

class ValuInteger : public ValuTest {
protected:
  /// Runs `text` ("op v0, v1, v2, v3" style) with random sources v1-v3 under full and partial EXEC;
  /// `expected(a, b, c)` is the formula of the manual.
  template <typename Fn> void check(const std::string &text, Fn expected) {
    SCOPED_TRACE(text);
    for (uint64_t exec : {kAll, kSome, uint64_t(0)}) {
      wave.setExec(exec);
      fillBits(0, 4);
      // Small numbers and limits besides random ones.
      for (unsigned lane = 0; lane < 16; ++lane)
        v(1 + lane % 3, lane) = lane & 1 ? 0x7fffffff + lane / 4 : uint32_t(lane / 4) - 1;
      const Row before = row(0), a = row(1), b = row(2), c = row(3);
      run(text);
      expectRow(0, before, [&](unsigned lane) { return expected(a[lane], b[lane], c[lane]); });
    }
  }
};

uint32_t saturated(Wide value, Wide low, Wide high) {
  return uint32_t(value < low ? low : value > high ? high : value);
}
constexpr Wide kI32Min = -(Wide(1) << 31), kI32Max = (Wide(1) << 31) - 1, kU32Max = 0xffffffff;
Wide s32(uint32_t x) { return int32_t(x); }
/// Low 24 bits, signed.
Wide s24(uint32_t x) { return Wide(x & 0x7fffff) - Wide(x & 0x800000); }
Wide u24(uint32_t x) { return x % (1u << 24); }

TEST_F(ValuInteger, AddAndSubtractWrap) {
  check("v_add_u32_e32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(a) + b; });
  check("v_sub_u32_e32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(a) - b; });
  check("v_subrev_u32_e32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(b) - a; });
  check("v_add_i32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(a) + b; });
  check("v_add3_u32 v0, v1, v2, v3", [](auto a, auto b, auto c) { return Wide(a) + b + c; });
  check("v_xad_u32 v0, v1, v2, v3", [](auto a, auto b, auto c) { return Wide(a ^ b) + c; });
}

TEST_F(ValuInteger, ClampSaturates) {
  check("v_add_u32_e64 v0, v1, v2 clamp",
        [](auto a, auto b, auto) { return saturated(Wide(a) + b, 0, kU32Max); });
  check("v_sub_u32_e64 v0, v1, v2 clamp",
        [](auto a, auto b, auto) { return saturated(Wide(a) - b, 0, kU32Max); });
  check("v_add_i32 v0, v1, v2 clamp",
        [](auto a, auto b, auto) { return saturated(s32(a) + s32(b), kI32Min, kI32Max); });
  check("v_sub_i32 v0, v1, v2 clamp",
        [](auto a, auto b, auto) { return saturated(s32(a) - s32(b), kI32Min, kI32Max); });
  check("v_mad_i32_i24 v0, v1, v2, v3 clamp", [](auto a, auto b, auto c) {
    return saturated(s24(a) * s24(b) + s32(c), kI32Min, kI32Max);
  });
  check("v_mad_u32_u24 v0, v1, v2, v3 clamp",
        [](auto a, auto b, auto c) { return saturated(u24(a) * u24(b) + c, 0, kU32Max); });
}

TEST_F(ValuInteger, ShiftsUseTheLowBitsOfTheCount) {
  check("v_lshlrev_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(b) << a % 32; });
  check("v_lshrrev_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(b) >> a % 32; });
  check("v_ashrrev_i32_e32 v0, v1, v2", [](auto a, auto b, auto) { return s32(b) >> a % 32; });
  check("v_lshl_add_u32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return (Wide(a) << b % 32) + c; });
  check("v_add_lshl_u32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return (Wide(a) + b) << c % 32; });
  check("v_lshl_or_b32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return uint32_t(Wide(a) << b % 32) | c; });
  check("v_alignbit_b32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return (Wide(a) << 32 | b) >> c % 32; });
  check("v_alignbyte_b32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return (Wide(a) << 32 | b) >> 8 * (c % 4); });
}

TEST_F(ValuInteger, Products) {
  check("v_mul_lo_u32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(a) * b; });
  check("v_mul_hi_u32 v0, v1, v2", [](auto a, auto b, auto) { return Wide(a) * b >> 32; });
  check("v_mul_hi_i32 v0, v1, v2", [](auto a, auto b, auto) { return s32(a) * s32(b) >> 32; });
  check("v_mul_i32_i24_e32 v0, v1, v2", [](auto a, auto b, auto) { return s24(a) * s24(b); });
  check("v_mul_u32_u24_e32 v0, v1, v2", [](auto a, auto b, auto) { return u24(a) * u24(b); });
  check("v_mul_hi_i32_i24_e32 v0, v1, v2",
        [](auto a, auto b, auto) { return s24(a) * s24(b) >> 32; });
  check("v_mul_hi_u32_u24_e32 v0, v1, v2",
        [](auto a, auto b, auto) { return u24(a) * u24(b) >> 32; });
  check("v_mad_i32_i24 v0, v1, v2, v3", [](auto a, auto b, auto c) { return s24(a) * s24(b) + c; });
  check("v_mad_u32_u16 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return Wide(a % 65536) * (b % 65536) + c; });
  check("v_mad_i32_i16 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return Wide(int16_t(a)) * int16_t(b) + c; });
}

TEST_F(ValuInteger, MinimumMaximumMedian) {
  check("v_min_i32_e32 v0, v1, v2", [](auto a, auto b, auto) { return s32(a) < s32(b) ? a : b; });
  check("v_max_i32_e32 v0, v1, v2", [](auto a, auto b, auto) { return s32(a) < s32(b) ? b : a; });
  check("v_min_u32_e32 v0, v1, v2", [](auto a, auto b, auto) { return a < b ? a : b; });
  check("v_max_u32_e32 v0, v1, v2", [](auto a, auto b, auto) { return a < b ? b : a; });
  const auto sorted = [](uint32_t a, uint32_t b, uint32_t c, bool isSigned) {
    std::array<Wide, 3> values = {isSigned ? s32(a) : a, isSigned ? s32(b) : b,
                                  isSigned ? s32(c) : c};
    std::sort(values.begin(), values.end());
    return values;
  };
  check("v_med3_i32 v0, v1, v2, v3",
        [&](auto a, auto b, auto c) { return sorted(a, b, c, true)[1]; });
  check("v_med3_u32 v0, v1, v2, v3",
        [&](auto a, auto b, auto c) { return sorted(a, b, c, false)[1]; });
  check("v_min3_i32 v0, v1, v2, v3",
        [&](auto a, auto b, auto c) { return sorted(a, b, c, true)[0]; });
  check("v_max3_u32 v0, v1, v2, v3",
        [&](auto a, auto b, auto c) { return sorted(a, b, c, false)[2]; });
}

TEST_F(ValuInteger, BitwiseOperations) {
  check("v_and_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return a & b; });
  check("v_or_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return a | b; });
  check("v_xor_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return a ^ b; });
  check("v_xnor_b32_e32 v0, v1, v2", [](auto a, auto b, auto) { return ~(a ^ b); });
  check("v_not_b32_e32 v0, v1", [](auto a, auto, auto) { return ~a; });
  check("v_or3_b32 v0, v1, v2, v3", [](auto a, auto b, auto c) { return a | b | c; });
  check("v_and_or_b32 v0, v1, v2, v3", [](auto a, auto b, auto c) { return (a & b) | c; });
  check("v_bfi_b32 v0, v1, v2, v3", [](auto a, auto b, auto c) { return (a & b) | (~a & c); });
}

TEST_F(ValuInteger, TruthTableHasTheFirstSourceOnTop) {
  // Bit {a, b, c} of the table: 0xf0 is a alone, 0xcc b, 0xaa c.
  check("v_bitop3_b32 v0, v1, v2, v3 bitop3:0xf0", [](auto a, auto, auto) { return a; });
  check("v_bitop3_b32 v0, v1, v2, v3 bitop3:0xcc", [](auto, auto b, auto) { return b; });
  check("v_bitop3_b32 v0, v1, v2, v3 bitop3:0xaa", [](auto, auto, auto c) { return c; });
  check("v_bitop3_b32 v0, v1, v2, v3 bitop3:0x36", [](auto a, auto b, auto c) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const unsigned index = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1);
      result |= (0x36u >> index & 1) << bit;
    }
    return result;
  });
}

TEST_F(ValuInteger, BitFields) {
  check("v_bfe_u32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return Wide(a) >> b % 32 & ((Wide(1) << c % 32) - 1); });
  check("v_bfe_i32 v0, v1, v2, v3", [](auto a, auto b, auto c) {
    const unsigned width = c % 32;
    Wide value = s32(a) >> b % 32 & ((Wide(1) << width) - 1);
    if (width && (value >> (width - 1) & 1))
      value -= Wide(1) << width;
    return value;
  });
  check("v_bfm_b32 v0, v1, v2",
        [](auto a, auto b, auto) { return ((Wide(1) << a % 32) - 1) << b % 32; });
  check("v_bfrev_b32_e32 v0, v1", [](auto a, auto, auto) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
      result |= (a >> bit & 1) << (31 - bit);
    return result;
  });
}

TEST_F(ValuInteger, CountingBits) {
  const auto firstFrom = [](uint32_t a, bool fromTop, bool isSigned) -> int {
    for (int n = isSigned; n < 32; ++n) {
      const unsigned bit = fromTop ? 31 - n : n;
      if ((a >> bit & 1) != (isSigned ? a >> 31 : 0))
        return n;
    }
    return -1;
  };
  check("v_ffbh_u32_e32 v0, v1", [&](auto a, auto, auto) { return firstFrom(a, true, false); });
  check("v_ffbl_b32_e32 v0, v1", [&](auto a, auto, auto) { return firstFrom(a, false, false); });
  check("v_ffbh_i32_e32 v0, v1", [&](auto a, auto, auto) { return firstFrom(a, true, true); });
  check("v_bcnt_u32_b32 v0, v1, v2", [](auto a, auto b, auto) {
    uint32_t count = b;
    for (; a; a >>= 1)
      count += a & 1;
    return count;
  });
}

TEST_F(ValuInteger, MbcntCountsBitsOfLowerLanes) {
  wave.setExec(kSome);
  const uint64_t mask = 0xdead'beef'8000'0001ull;
  s(4) = uint32_t(mask);
  s(5) = uint32_t(mask >> 32);
  const Row before = row(0);
  run("v_mbcnt_lo_u32_b32 v1, s4, 0\n v_mbcnt_hi_u32_b32 v0, s5, v1");
  expectRow(0, before, [&](unsigned lane) {
    uint32_t count = 0;
    for (unsigned below = 0; below < lane; ++below)
      count += mask >> below & 1;
    return count;
  });
}

TEST_F(ValuInteger, CarriesGoToTheMask) {
  wave.setExec(kSome);
  wave.setVcc(0x0123456789abcdefull);
  fillBits(0, 4);
  for (unsigned lane = 0; lane < 16; ++lane)
    v(2, lane) = ~v(1, lane) + lane / 8; // sums at the edge of the carry
  const uint64_t carryIn = wave.vcc();
  const Row before = row(0), a = row(1), b = row(2);
  run("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc");
  uint64_t carryOut = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    if (active(lane))
      carryOut |= uint64_t((Wide(a[lane]) + b[lane] + (carryIn >> lane & 1)) >> 32) << lane;
  EXPECT_EQ(wave.vcc(), carryOut) << "inactive lanes have a zero carry";
  expectRow(0, before,
            [&](unsigned lane) { return Wide(a[lane]) + b[lane] + (carryIn >> lane & 1); });

  run("v_subb_co_u32_e64 v3, s[8:9], v1, v2, vcc");
  uint64_t borrow = 0;
  for (unsigned lane = 0; lane < 64; ++lane)
    if (active(lane))
      borrow |= uint64_t(Wide(a[lane]) - b[lane] - Wide(carryOut >> lane & 1) < 0) << lane;
  EXPECT_EQ(wave.sgpr64(8), borrow);
  run("v_sub_co_u32_e32 v3, vcc, v1, v2\n v_add_co_u32_e64 v0, s[10:11], v1, v2");
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(wave.vcc() >> lane & 1, uint64_t(active(lane) && a[lane] < b[lane]));
    EXPECT_EQ(wave.sgpr64(10) >> lane & 1,
              uint64_t(active(lane) && Wide(a[lane]) + b[lane] > kU32Max));
  }
}

TEST_F(ValuInteger, SixtyFourBitOperations) {
  wave.setExec(kSome);
  fillBits(0, 16);
  const auto before = row(0);
  std::array<uint64_t, 64> c, b;
  const Row a = row(2), m = row(3);
  for (unsigned lane = 0; lane < 64; ++lane) {
    b[lane] = v64(4, lane);
    c[lane] = v64(6, lane);
  }
  run("v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[6:7]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!active(lane))
      continue;
    const unsigned __int128 sum = (unsigned __int128)(uint64_t(a[lane]) * m[lane]) + c[lane];
    ASSERT_EQ(v64(0, lane), uint64_t(sum));
    ASSERT_EQ(wave.sgpr64(4) >> lane & 1, uint64_t(sum >> 64));
  }
  run("v_mad_i64_i32 v[0:1], s[4:5], v2, v3, v[6:7]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!active(lane))
      continue;
    const Wide sum = s32(a[lane]) * s32(m[lane]) + Wide(int64_t(c[lane]));
    ASSERT_EQ(v64(0, lane), uint64_t(sum));
    ASSERT_EQ(wave.sgpr64(4) >> lane & 1, uint64_t(sum >> 64 & 1));
  }
  run("v_lshl_add_u64 v[0:1], v[4:5], 3, v[6:7]\n v_ashrrev_i64 v[8:9], v2, v[4:5]\n"
      "v_lshlrev_b64 v[10:11], v2, v[4:5]\n v_lshrrev_b64 v[12:13], v2, v[4:5]");
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!active(lane)) {
      ASSERT_EQ(v(0, lane), before[lane]);
      continue;
    }
    ASSERT_EQ(v64(0, lane), (b[lane] << 3) + c[lane]);
    ASSERT_EQ(int64_t(v64(8, lane)), int64_t(b[lane]) >> a[lane] % 64);
    ASSERT_EQ(v64(10, lane), b[lane] << a[lane] % 64);
    ASSERT_EQ(v64(12, lane), b[lane] >> a[lane] % 64);
  }
}

TEST_F(ValuInteger, BytePermute) {
  fillBits(0, 4);
  for (unsigned lane = 0; lane < 64; ++lane)
    v(3, lane) &= 0x0f0f0f0f; // mostly defined selectors; bytes above 13 come from the second run
  for (int pass = 0; pass < 2; ++pass) {
    const Row a = row(1), b = row(2), select = row(3);
    run("v_perm_b32 v0, v1, v2, v3");
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned n = 0; n < 4; ++n) {
        const auto byte = [&](unsigned i) { // 0-3 of the second source, 4-7 of the first
          return (i < 4 ? b[lane] >> 8 * i : a[lane] >> 8 * (i - 4)) & 0xff;
        };
        const unsigned sel = select[lane] >> 8 * n & 0xff;
        unsigned want = 0xff;
        if (sel < 8)
          want = byte(sel);
        else if (sel < 12)
          want = byte(2 * (sel - 8) + 1) & 0x80 ? 0xff : 0;
        else if (sel == 12)
          want = 0;
        ASSERT_EQ(v(0, lane) >> 8 * n & 0xff, want) << "selector " << sel;
      }
    fillBits(3, 1);
  }
}

TEST_F(ValuInteger, SumsOfAbsoluteDifferences) {
  const auto sad = [](uint32_t a, uint32_t b, bool masked) {
    uint32_t sum = 0;
    for (unsigned n = 0; n < 32; n += 8) {
      const int x = a >> n & 0xff, y = b >> n & 0xff;
      sum += masked && y == 0 ? 0 : uint32_t(std::abs(x - y));
    }
    return sum;
  };
  check("v_sad_u8 v0, v1, v2, v3", [&](auto a, auto b, auto c) { return sad(a, b, false) + c; });
  check("v_msad_u8 v0, v1, v2, v3", [&](auto a, auto b, auto c) { return sad(a, b, true) + c; });
  wave.setExec(kAll);
  for (unsigned lane = 0; lane < 64; ++lane)
    v(2, lane) &= lane & 1 ? 0xff00ffff : 0x00ff00ff;
  const Row a = row(1), b = row(2), c = row(3);
  run("v_msad_u8 v0, v1, v2, v3");
  for (unsigned lane = 0; lane < 64; ++lane)
    ASSERT_EQ(v(0, lane), sad(a[lane], b[lane], true) + c[lane]) << "bytes of zero are left out";
  check("v_sad_hi_u8 v0, v1, v2, v3",
        [&](auto a, auto b, auto c) { return (sad(a, b, false) << 16) + c; });
  check("v_sad_u32 v0, v1, v2, v3",
        [](auto a, auto b, auto c) { return (a > b ? a - b : b - a) + c; });
  check("v_lerp_u8 v0, v1, v2, v3", [](auto a, auto b, auto c) {
    uint32_t result = 0;
    for (unsigned n = 0; n < 32; n += 8)
      result |= ((a >> n & 0xff) + (b >> n & 0xff) + (c >> n & 1)) / 2 << n;
    return result;
  });
}

TEST_F(ValuInteger, ScalarsAndConstantsReachEveryLane) {
  s(7) = 0x12345678;
  check("v_add_u32_e32 v0, s7, v2", [](auto, auto b, auto) { return b + 0x12345678u; });
  check("v_add_u32_e32 v0, -16, v2", [](auto, auto b, auto) { return b - 16u; });
  check("v_add_u32_e32 v0, 0xdeadbeef, v2", [](auto, auto b, auto) { return b + 0xdeadbeefu; });
  check("v_and_b32_e32 v0, 1.0, v2", [](auto, auto b, auto) { return b & 0x3f800000u; });
}

TEST_F(ValuInteger, RandomNumberStep) {
  check("v_prng_b32_e32 v0, v1",
        [](auto a, auto, auto) { return a * 2 ^ (a >= 0x80000000u ? 197u : 0u); });
}

} // namespace
