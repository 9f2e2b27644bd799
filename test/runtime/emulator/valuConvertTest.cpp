// Conversions: integers, f16, f32, f64, and the narrow floats with and without scales.
#include "test/runtime/emulator/valuTestSupport.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <cmath>

using namespace mono::emu;
using namespace mono::emu::test;
using namespace mono::numeric;

namespace {

float toFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t toBits(float value) { return std::bit_cast<uint32_t>(value); }

/// Toward zero, saturating, NaN to zero.
template <typename Int> Int saturate(long double x) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(x))
    return 0;
  if (x <= (long double)Limits::min())
    return Limits::min();
  if (x >= (long double)Limits::max())
    return Limits::max();
  return Int(x);
}

class ValuConvert : public ValuTest {
protected:
  template <typename Fn> void check(const std::string &text, Fn expected) {
    SCOPED_TRACE(text);
    wave.setExec(kSome);
    for (int i = 0; i < 4; ++i) {
      fill(0, 4, [this] { return anyFloat(); });
      for (unsigned lane = 0; lane < 20; ++lane) { // around the limits of i32 and u32
        const float edges[] = {2147483648.0f, -2147483648.0f, 4294967296.0f, -1.0f, 0.5f};
        v(1, lane) = toBits(edges[lane % 5]) + lane / 5 - 2;
      }
      const Row before = row(0), a = row(1), b = row(2), c = row(3);
      run(text);
      expectRow(0, before, [&](unsigned lane) { return expected(a[lane], b[lane], c[lane]); });
    }
  }
};

TEST_F(ValuConvert, SinglesToIntegersSaturate) {
  check("v_cvt_i32_f32_e32 v0, v1",
        [](auto a, auto, auto) { return saturate<int32_t>(toFloat(a)); });
  check("v_cvt_u32_f32_e32 v0, v1",
        [](auto a, auto, auto) { return saturate<uint32_t>(toFloat(a)); });
  check("v_cvt_flr_i32_f32_e32 v0, v1",
        [](auto a, auto, auto) { return saturate<int32_t>(std::floor(toFloat(a))); });
  check("v_cvt_rpi_i32_f32_e32 v0, v1", [](auto a, auto, auto) {
    return saturate<int32_t>(std::floor((long double)toFloat(a) + 0.5L));
  });
}

TEST_F(ValuConvert, IntegersToSinglesRound) {
  check("v_cvt_f32_i32_e32 v0, v1",
        [](auto a, auto, auto) { return toBits(float((long double)int32_t(a))); });
  check("v_cvt_f32_u32_e32 v0, v1",
        [](auto a, auto, auto) { return toBits(float((long double)a)); });
  for (unsigned n = 0; n < 4; ++n)
    check("v_cvt_f32_ubyte" + std::to_string(n) + "_e32 v0, v1",
          [n](auto a, auto, auto) { return toBits(float(a >> 8 * n & 0xff)); });
  setMode(mode::roundF32, 2, 3);
  v(1, 0) = 0xffffffff;
  wave.setExec(kAll);
  run("v_cvt_f32_u32_e32 v0, v1");
  EXPECT_EQ(v(0, 0), toBits(4294967040.0f)) << "toward zero";
}

TEST_F(ValuConvert, Doubles) {
  for (unsigned lane = 0; lane < 64; ++lane)
    set64(2, lane, anyDouble());
  std::array<double, 64> x;
  for (unsigned lane = 0; lane < 64; ++lane)
    x[lane] = std::bit_cast<double>(v64(2, lane));
  const Row integer = row(10);
  run("v_cvt_i32_f64_e32 v0, v[2:3]\n v_cvt_u32_f64_e32 v1, v[2:3]\n v_cvt_f32_f64_e32 v4, v[2:3]\n"
      "v_cvt_f64_i32_e32 v[6:7], v10\n v_cvt_f64_u32_e32 v[8:9], v10");
  for (unsigned lane = 0; lane < 64; ++lane) {
    ASSERT_EQ(int32_t(v(0, lane)), saturate<int32_t>(x[lane]));
    ASSERT_EQ(v(1, lane), saturate<uint32_t>(x[lane]));
    if (x[lane] == x[lane])
      ASSERT_EQ(v(4, lane), encode(kFp32, x[lane]));
    ASSERT_EQ(std::bit_cast<double>(v64(6, lane)), double(int32_t(integer[lane])));
    ASSERT_EQ(std::bit_cast<double>(v64(8, lane)), double(integer[lane]));
  }
}

TEST_F(ValuConvert, Halves) {
  for (unsigned mode = 0; mode < 4; ++mode) {
    setMode(mode::roundF64F16, 2, mode);
    fill(1, 1, [this] { return ordinaryFloat(); });
    const Row before = row(0), a = row(1);
    run("v_cvt_f16_f32_e32 v0, v1");
    expectRow(0, before,
              [&](unsigned lane) { return encode(kFp16, toFloat(a[lane]), Rounding(mode)); });
  }
  setMode(mode::roundF64F16, 2, 0);
  fill(1, 2, [this] { return ordinaryFloat(); });
  const Row before = row(0), a = row(1), b = row(2);
  run("v_cvt_pkrtz_f16_f32 v0, v1, v2");
  expectRow(0, before, [&](unsigned lane) {
    return encode(kFp16, toFloat(a[lane]), Rounding::TowardZero) |
           encode(kFp16, toFloat(b[lane]), Rounding::TowardZero) << 16;
  });
  fill(1, 1, [this] { return anyHalf(); });
  const Row h = row(1);
  run("v_cvt_f32_f16_e32 v0, v1\n v_cvt_u16_f16_e32 v3, v1\n v_cvt_i16_f16_e32 v4, v1");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const double value = decode(kFp16, h[lane]);
    ASSERT_TRUE(f(0, lane) == value || std::isnan(value));
    ASSERT_EQ(v(3, lane), saturate<uint16_t>(value));
    ASSERT_EQ(v(4, lane), uint16_t(saturate<int16_t>(value)));
  }
}

TEST_F(ValuConvert, Bf16IsNearestEven) {
  setMode(mode::roundF32, 2, 3); // must not matter
  fill(0, 4, [this] { return anyFloat(); });
  for (unsigned lane = 0; lane < 16; ++lane)
    v(1, lane) = (v(1, lane) & 0x7f7f0000) | 0x8000; // ties
  const Row a = row(1), b = row(2);
  run("v_cvt_pk_bf16_f32 v0, v1, v2\n v_cvt_f32_bf16_e32 v3, v1");
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (bool high : {false, true}) {
      const float source = toFloat(high ? b[lane] : a[lane]);
      const uint32_t code = v(0, lane) >> 16 * high & 0xffff;
      ASSERT_TRUE(std::isnan(source) ? std::isnan(decode(kBf16, code))
                                     : code == encode(kBf16, source));
    }
    ASSERT_EQ(v(3, lane), a[lane] << 16);
  }
}

TEST_F(ValuConvert, PackedIntegersSaturate) {
  fillBits(0, 4);
  for (unsigned lane = 0; lane < 32; ++lane)
    v(1, lane) = uint32_t(int32_t(v(1, lane)) >> 15);
  const Row before = row(0), a = row(1), b = row(2);
  run("v_cvt_pk_i16_i32 v0, v1, v2");
  expectRow(0, before, [&](unsigned lane) {
    const auto clamp = [](uint32_t x) {
      return uint32_t(std::clamp(int32_t(x), -32768, 32767)) & 0xffff;
    };
    return clamp(a[lane]) | clamp(b[lane]) << 16;
  });
  run("v_cvt_pk_u16_u32 v0, v1, v2");
  expectRow(0, before, [&](unsigned lane) {
    return std::min(a[lane], 65535u) | std::min(b[lane], 65535u) << 16;
  });
}

// ---- fp8 and bf8 ---------------------------------------------------------------------------

struct NarrowFormat {
  const char *name;
  FloatFormat format;
};
const NarrowFormat kBytes[] = {{"fp8", kFp8E4M3}, {"bf8", kBf8E5M2}};

TEST_F(ValuConvert, BytesFromSinglesIntoEitherHalf) {
  for (const NarrowFormat &narrow : kBytes)
    for (bool clampMode : {false, true}) {
      SCOPED_TRACE(narrow.name);
      setMode(mode::fp16Ovfl, 1, clampMode);
      const Overflow overflow = clampMode ? Overflow::Saturate : Overflow::ToInfinity;
      wave.setExec(kSome);
      fill(0, 4, [this] { return ordinaryFloat(); });
      v(1, 0) = 0x7f800000, v(1, 1) = 0x47000000, v(2, 0) = 0xff800000; // Inf, 32768, -Inf
      const Row before = row(0), a = row(1), b = row(2);
      const auto pair = [&](unsigned lane) {
        const auto code = [&](uint32_t x) {
          return encode(narrow.format, toFloat(x), Rounding::NearestEven, overflow);
        };
        return code(a[lane]) | code(b[lane]) << 8;
      };
      const std::string name = std::string("v_cvt_pk_") + narrow.name + "_f32";
      run(name + " v0, v1, v2");
      expectRow(0, before, [&](unsigned lane) { return (before[lane] & 0xffff0000) | pair(lane); });
      const Row again = row(0);
      run(name + " v0, v1, v2 op_sel:[0,0,1]");
      expectRow(0, again, [&](unsigned lane) { return (again[lane] & 0xffff) | pair(lane) << 16; });
    }
}

TEST_F(ValuConvert, BytesToSingles) {
  for (const NarrowFormat &narrow : kBytes) {
    SCOPED_TRACE(narrow.name);
    for (unsigned lane = 0; lane < 64; ++lane) // all 256 codes
      v(1, lane) = lane * 4 | (lane * 4 + 1) << 8 | (lane * 4 + 2) << 16 | (lane * 4 + 3) << 24;
    const std::string name = narrow.name;
    run("v_cvt_f32_" + name +
        "_e32 v2, v1\n"
        "v_cvt_f32_" +
        name +
        "_sdwa v3, v1 src0_sel:BYTE_3\n"
        "v_cvt_pk_f32_" +
        name +
        "_e32 v[4:5], v1\n"
        "v_cvt_pk_f32_" +
        name + "_sdwa v[6:7], v1 src0_sel:WORD_1");
    const unsigned offsets[] = {0, 3, 0, 1, 2, 3};
    for (unsigned n = 0; n < 6; ++n)
      for (unsigned lane = 0; lane < 64; ++lane) {
        const double want = decode(narrow.format, lane * 4 + offsets[n]);
        ASSERT_TRUE(f(2 + n, lane) == want || std::isnan(want)) << n << " " << lane;
      }
  }
}

TEST_F(ValuConvert, StochasticRoundingIntoAnyByte) {
  for (const NarrowFormat &narrow : kBytes)
    for (unsigned byte = 0; byte < 4; ++byte) {
      fill(0, 3, [this] { return ordinaryFloat(); });
      fillBits(2, 1);
      const Row before = row(0), a = row(1), seed = row(2);
      const std::string select =
          " op_sel:[0,0," + std::to_string(byte & 1) + "," + std::to_string(byte >> 1) + "]";
      run(std::string("v_cvt_sr_") + narrow.name + "_f32 v0, v1, v2" + select);
      // Discarded f32 mantissa bits plus as many random bits from the top: a carry rounds up.
      expectRow(0, before, [&](unsigned lane) {
        const double x = toFloat(a[lane]);
        const uint32_t code =
            encode(narrow.format, x, Rounding::Stochastic, Overflow::ToInfinity, seed[lane]);
        const double low = decode(narrow.format, encode(narrow.format, x, Rounding::TowardZero));
        const double high =
            std::fabs(x) < decode(narrow.format, narrow.format.maxFinite())
                ? decode(narrow.format, encode(narrow.format, low == x ? x : low) + 1)
                : low;
        EXPECT_TRUE(decode(narrow.format, code) == low || decode(narrow.format, code) == high ||
                    std::fabs(x) >= decode(narrow.format, narrow.format.maxFinite()));
        return (before[lane] & ~(0xffu << 8 * byte)) | code << 8 * byte;
      });
    }
}

// ---- scaled conversions ----------------------------------------------------------------------

const NarrowFormat kSixBits[] = {{"fp6", kFp6E2M3}, {"bf6", kBf6E3M2}};
const NarrowFormat kWide[] = {{"f32", kFp32}, {"f16", kFp16}, {"bf16", kBf16}};

class ValuScaled : public ValuTest {
protected:
  /// Scales of 2^-6 .. 2^6 with rubbish in sign and mantissa, different in each lane.
  void fillScales(unsigned reg) {
    for (unsigned lane = 0; lane < 64; ++lane)
      v(reg, lane) = (uint32_t(random()) & 0x807fffff) | (121 + (lane + 3) % 13) << 23;
  }
  double scaleAt(unsigned reg, unsigned lane) {
    return std::ldexp(1.0, int(v(reg, lane) >> 23 & 0xff) - 127);
  }
  /// Element n of packed elements of `bits` bits from register `reg` on.
  uint32_t element(unsigned reg, unsigned lane, unsigned n, unsigned bits) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const unsigned at = n * bits + bit;
      result |= (v(reg + at / 32, lane) >> at % 32 & 1) << bit;
    }
    return result;
  }
  /// Moderate values in the given wide format.
  void fillWide(unsigned first, unsigned count, const FloatFormat &format) {
    fill(first, count, [&] {
      const auto code = [&] {
        return encode(format,
                      toFloat((uint32_t(random()) & 0x807fffff) | (120 + random() % 14) << 23));
      };
      return format.bits() == 32 ? code() : code() | code() << 16;
    });
  }
};

TEST_F(ValuScaled, WideningBytesAndNibbles) {
  const NarrowFormat kNarrow[] = {kBytes[0], kBytes[1], {"fp4", kFp4E2M1}};
  for (const NarrowFormat &from : kNarrow)
    for (const NarrowFormat &to : kWide)
      for (unsigned select = 0; select < (from.format.bits() == 4 ? 4 : 2); ++select) {
        fillBits(1, 1);
        fillScales(2);
        const std::string text = std::string("v_cvt_scalef32_pk_") + to.name + "_" + from.name +
                                 (to.format.bits() == 32 ? " v[4:5]" : " v4") +
                                 ", v1, v2 op_sel:[" + std::to_string(select & 1) + "," +
                                 std::to_string(select >> 1) + ",0]";
        SCOPED_TRACE(text);
        run(text);
        for (unsigned lane = 0; lane < 64; ++lane)
          for (unsigned n = 0; n < 2; ++n) {
            const uint32_t code = element(1, lane, 2 * select + n, from.format.bits());
            const double want = decode(from.format, code) * scaleAt(2, lane);
            const uint32_t got = element(4, lane, n, to.format.bits());
            ASSERT_TRUE(got == encode(to.format, want) ||
                        (std::isnan(want) && std::isnan(decode(to.format, got))))
                << lane;
          }
      }
}

TEST_F(ValuScaled, WideningOneByte) {
  for (const NarrowFormat &from : kBytes)
    for (unsigned byte = 0; byte < 4; ++byte) {
      fillBits(1, 1);
      fillScales(2);
      const Row before = row(5);
      const std::string select =
          "op_sel:[" + std::to_string(byte & 1) + "," + std::to_string(byte >> 1);
      const std::string name = std::string("_") + from.name;
      run("v_cvt_scalef32_f32" + name + " v4, v1, v2 " + select + ",0]\n v_cvt_scalef32_f16" +
          name + " v5, v1, v2 " + select + ",1]"); // the third bit is the destination's half
      for (unsigned lane = 0; lane < 64; ++lane) {
        const double want = decode(from.format, v(1, lane) >> 8 * byte & 0xff) * scaleAt(2, lane);
        if (std::isnan(want))
          continue;
        ASSERT_EQ(v(4, lane), encode(kFp32, want));
        ASSERT_EQ(v(5, lane), (before[lane] & 0xffff) | encode(kFp16, want) << 16);
      }
    }
}

TEST_F(ValuScaled, NarrowingPairsDividesAndKeepsTheRest) {
  const NarrowFormat kNarrow[] = {kBytes[0], kBytes[1], {"fp4", kFp4E2M1}};
  for (const NarrowFormat &to : kNarrow)
    for (const NarrowFormat &from : kWide) {
      const unsigned places = to.format.bits() == 4 ? 4 : 2, width = 2 * to.format.bits();
      for (unsigned place = 0; place < places; ++place) {
        fillWide(1, 2, from.format);
        fillScales(3);
        const Row before = row(0);
        const bool isF32 = from.format.bits() == 32;
        // op_sel[3:2] is the destination byte of fp4; for the others the last bit is the half.
        const std::string select =
            places == 4 ? "0,0," + std::to_string(place & 1) + "," + std::to_string(place >> 1)
                        : (isF32 ? "0,0,0," : "0,0,") + std::to_string(place);
        const std::string text = std::string("v_cvt_scalef32_pk_") + to.name + "_" + from.name +
                                 (isF32 ? " v0, v1, v2, v3" : " v0, v1, v3") + " op_sel:[" +
                                 select + "]";
        SCOPED_TRACE(text);
        run(text);
        for (unsigned lane = 0; lane < 64; ++lane) {
          uint32_t want = 0;
          for (unsigned n = 0; n < 2; ++n) {
            const double x =
                isF32 ? toFloat(v(1 + n, lane)) : decode(from.format, element(1, lane, n, 16));
            want |= encode(to.format, x / scaleAt(3, lane)) << n * to.format.bits();
          }
          const uint32_t field = ((1u << width) - 1) << place * width;
          ASSERT_EQ(v(0, lane), (before[lane] & ~field) | want << place * width) << lane;
        }
      }
    }
}

TEST_F(ValuScaled, ThirtyTwoSixBitElements) {
  for (const NarrowFormat &six : kSixBits)
    for (const NarrowFormat &wide : kWide) {
      const unsigned bits = wide.format.bits();
      const std::string range = bits == 32 ? "v[32:63]" : "v[32:47]";
      fillBits(0, 6);
      fillScales(8);
      const std::string widen = std::string("v_cvt_scalef32_pk32_") + wide.name + "_" + six.name;
      SCOPED_TRACE(widen);
      run(widen + " " + range + ", v[0:5], v8");
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned n = 0; n < 32; ++n)
          ASSERT_EQ(
              element(32, lane, n, bits),
              encode(wide.format, decode(six.format, element(0, lane, n, 6)) * scaleAt(8, lane)));
      fillWide(32, 32, wide.format);
      if (bits == 32) // two sources of 16, interleaved
        run(std::string("v_cvt_scalef32_2xpk16_") + six.name +
            "_f32 v[0:5], v[32:47], v[48:63], v8");
      else
        run(std::string("v_cvt_scalef32_pk32_") + six.name + "_" + wide.name +
            " v[0:5], v[32:47], v8");
      for (unsigned lane = 0; lane < 64; ++lane)
        for (unsigned n = 0; n < 32; ++n) {
          const uint32_t code =
              bits == 32 ? v(32 + 16 * (n % 2) + n / 2, lane) : element(32, lane, n, 16);
          ASSERT_EQ(element(0, lane, n, 6),
                    encode(six.format, decode(wide.format, code) / scaleAt(8, lane)))
              << n;
        }
    }
}

TEST_F(ValuScaled, StochasticFormsStepTheRandomNumber) {
  const auto next = [](uint32_t x) { return x * 2 ^ (x >> 31 ? 0xc5u : 0); };
  fillWide(32, 32, kFp32);
  fillBits(7, 1);
  fillScales(8);
  const Row before = row(0);
  run("v_cvt_scalef32_sr_pk32_bf6_f32 v[10:15], v[32:63], v7, v8\n"
      "v_cvt_scalef32_sr_pk_fp4_f32 v0, v[32:33], v7, v8 op_sel:[0,0,1,1]\n"
      "v_cvt_scalef32_sr_fp8_f32 v1, v32, v7, v8");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const auto code = [&](const FloatFormat &format, unsigned n, uint32_t seed) {
      return encode(format, toFloat(v(32 + n, lane)) / scaleAt(8, lane), Rounding::Stochastic,
                    Overflow::ToInfinity, seed);
    };
    uint32_t seed = v(7, lane);
    ASSERT_EQ(v(1, lane) & 0xff, code(kFp8E4M3, 0, seed));
    ASSERT_EQ(v(0, lane), (before[lane] & 0x00ffffff) |
                              (code(kFp4E2M1, 0, seed) | code(kFp4E2M1, 1, next(seed)) << 4) << 24);
    for (unsigned n = 0; n < 32; ++n, seed = next(seed))
      ASSERT_EQ(element(10, lane, n, 6), code(kBf6E3M2, n, seed)) << n;
  }
}

} // namespace
