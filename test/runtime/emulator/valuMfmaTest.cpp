// Matrix instructions against a double-precision triple loop. Element places come from a table of
// the manual's layouts written out here a second time, and every register holds different values in
// each lane and byte.
#include "test/runtime/emulator/valuTestSupport.h"

#include "runtime/emulator/exec/MfmaOrder.h"
#include "runtime/emulator/numeric/FloatFormat.h"

#include <cmath>
#include <functional>
#include <set>

using namespace mono::emu;
using namespace mono::emu::test;
using namespace mono::numeric;

namespace {

/// A place in the registers: lane and item (element number within the lane's registers).
struct Place {
  unsigned lane, item;
};

/// Result rows (gfx950: four rows follow each other in a lane).
Place resultPlace(unsigned m, unsigned i, unsigned j) {
  if (m == 16)
    return {j + 16 * (i / 4), i % 4};
  return {j + 32 * (i / 4 % 2), 4 * (i / 8) + i % 4};
}

class ValuMfma : public ValuTest {
protected:
  using Decode = std::function<double(uint32_t)>;

  static Decode small(const FloatFormat &format) {
    return [&format](uint32_t code) { return decode(format, code); };
  }
  static double integer8(uint32_t code) { return int8_t(code); }

  uint32_t codeAt(unsigned reg, Place place, unsigned bits) {
    uint32_t code = 0;
    for (unsigned n = 0; n < bits; ++n) {
      const unsigned at = place.item * bits + n;
      code |= (v(reg + at / 32, place.lane) >> at % 32 & 1) << n;
    }
    return code;
  }

  /// Registers of random codes that decode to finite numbers of moderate size.
  void fillCodes(unsigned first, unsigned count, unsigned bits, const FloatFormat *format) {
    fill(first, count, [&] {
      if (!format || bits == 6 || bits == 4)
        return uint32_t(random());
      uint32_t word = 0;
      for (unsigned n = 0; n < 32 / bits; ++n) {
        const double value =
            std::ldexp(double(int(random() % 2001)) - 1000, -9 - int(random() % 3));
        word |= encode(*format, value) << n * bits;
      }
      return word;
    });
  }

  /// |got - exact| within what k f32 roundings of the partial sums can make.
  void expectNear(float got, double exact, double magnitude, unsigned k) {
    ASSERT_NEAR(got, exact, (k + 2) * magnitude * 0x1p-24) << "seed " << kSeed;
  }

  /// A dense one-block instruction with f32 result: A in v[16..], B in v[32..], C in v[64..], D in
  /// v[96..]. An operand's k of one lane group is contiguous: lane i + m * (k / perLane).
  void checkDense(const std::string &name, unsigned m, unsigned k, unsigned bits,
                  const FloatFormat &formatA, const FloatFormat &formatB) {
    SCOPED_TRACE(name);
    const unsigned perLane = k * m / 64, registers = perLane * bits / 32;
    const unsigned results = m * m / 64;
    fillCodes(16, registers, bits, &formatA);
    fillCodes(32, registers, bits, &formatB);
    fill(64, results, [this] { return ordinaryFloat(); });
    wave.setExec(kSome); // must not matter
    const auto range = [](unsigned first, unsigned count) {
      return count == 1
                 ? "v" + std::to_string(first)
                 : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
    };
    run(name + " " + range(96, results) + ", " + range(16, registers) + ", " +
        range(32, registers) + ", " + range(64, results));
    for (unsigned i = 0; i < m; ++i)
      for (unsigned j = 0; j < m; ++j) {
        const Place place = resultPlace(m, i, j);
        double exact = f(64 + place.item, place.lane), magnitude = std::fabs(exact);
        for (unsigned step = 0; step < k; ++step) {
          const Place pa{i + m * (step / perLane), step % perLane};
          const Place pb{j + m * (step / perLane), step % perLane};
          const double product =
              decode(formatA, codeAt(16, pa, bits)) * decode(formatB, codeAt(32, pb, bits));
          exact += product;
          magnitude += std::fabs(product);
        }
        expectNear(f(96 + place.item, place.lane), exact, magnitude, k);
      }
  }
};

TEST_F(ValuMfma, Bf16) {
  checkDense("v_mfma_f32_16x16x32_bf16", 16, 32, 16, kBf16, kBf16);
  checkDense("v_mfma_f32_32x32x16_bf16", 32, 16, 16, kBf16, kBf16);
  checkDense("v_mfma_f32_16x16x16_bf16", 16, 16, 16, kBf16, kBf16);
  checkDense("v_mfma_f32_32x32x8_bf16", 32, 8, 16, kBf16, kBf16);
}

TEST_F(ValuMfma, F16) {
  checkDense("v_mfma_f32_16x16x32_f16", 16, 32, 16, kFp16, kFp16);
  checkDense("v_mfma_f32_32x32x16_f16", 32, 16, 16, kFp16, kFp16);
  checkDense("v_mfma_f32_16x16x16_f16", 16, 16, 16, kFp16, kFp16);
  checkDense("v_mfma_f32_32x32x8_f16", 32, 8, 16, kFp16, kFp16);
}

TEST_F(ValuMfma, F32) {
  checkDense("v_mfma_f32_16x16x4_f32", 16, 4, 32, kFp32, kFp32);
  checkDense("v_mfma_f32_32x32x2_f32", 32, 2, 32, kFp32, kFp32);
}

TEST_F(ValuMfma, LegacyBytesInAnyMix) {
  checkDense("v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 8, kFp8E4M3, kFp8E4M3);
  checkDense("v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 8, kFp8E4M3, kBf8E5M2);
  checkDense("v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 8, kBf8E5M2, kFp8E4M3);
  checkDense("v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 8, kBf8E5M2, kBf8E5M2);
  checkDense("v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 8, kFp8E4M3, kBf8E5M2);
}

/// With FP16_OVFL a sum past the greatest f32 is that, and a true infinity stays one.
TEST_F(ValuMfma, OverflowSaturatesWithFp16Ovfl) {
  const uint32_t big = 0x7f7f7f7f, infinity = 0x7f807f80; // pairs of bf16
  for (const char *text : {"v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[12:15], v[4:7]",
                           "v_smfmac_f32_16x16x64_bf16 v[0:3], v[8:11], v[16:23], v24"}) {
    const bool isSparse = std::string(text).starts_with("v_smfmac");
    for (bool saturates : {false, true}) {
      setMode(mode::fp16Ovfl, 1, saturates);
      fill(0, 8, [] { return 0u; });
      fill(8, 16, [=] { return big; });
      fill(24, 1, [] { return 0xe4e4e4e4u; }); // indices 0, 1, 2, 3 in turn
      v(8, 3) = infinity;                      // row 3 of A
      run(text);
      // Row i is in lanes 16 * (i / 4) and on, register i % 4.
      EXPECT_EQ(v(2, 0), saturates ? 0x7f7fffffu : 0x7f800000u) << text;
      EXPECT_EQ(v(3, 0), 0x7f800000u) << text << (isSparse ? ", sparse" : "");
    }
  }
}

TEST_F(ValuMfma, Bf16SumsAreFusedInOrderOfK) {
  // The documented order of the emulator: f32 fused multiply-adds, k ascending, from C.
  fillCodes(16, 4, 16, &kBf16);
  fillCodes(32, 4, 16, &kBf16);
  fill(64, 4, [this] { return ordinaryFloat(); });
  run("v_mfma_f32_16x16x32_bf16 v[96:99], v[16:19], v[32:35], v[64:67]");
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      const Place place = resultPlace(16, i, j);
      float sum = f(64 + place.item, place.lane);
      for (unsigned k = 0; k < 32; ++k)
        sum = std::fma(float(decode(kBf16, codeAt(16, {i + 16 * (k / 8), k % 8}, 16))),
                       float(decode(kBf16, codeAt(32, {j + 16 * (k / 8), k % 8}, 16))), sum);
      ASSERT_EQ(f(96 + place.item, place.lane), sum);
    }
}

TEST_F(ValuMfma, AnyOrderOfSumsStaysWithinRounding) {
  for (wave.sumOrder = 1; wave.sumOrder <= 12; ++wave.sumOrder) {
    SCOPED_TRACE(wave.sumOrder);
    checkDense("v_mfma_f32_16x16x32_bf16", 16, 32, 16, kBf16, kBf16);
    checkDense("v_mfma_f32_32x32x16_f16", 32, 16, 16, kFp16, kFp16);
    checkDense("v_mfma_f32_16x16x4_f32", 16, 4, 32, kFp32, kFp32);
    checkDense("v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 8, kFp8E4M3, kBf8E5M2);
  }
}

/// D[16, 16] = A[16, 256] B[256, 16] by eight instructions that hand on their sum, in f32 and in
/// double; the bound holds for 256 additions in any order.
TEST_F(ValuMfma, GemmOfAnyOrderStaysWithinRounding) {
  constexpr unsigned steps = 8, depth = 32 * steps;
  // Exponents far enough apart that sums round.
  const auto draw = [this] { return (ordinaryFloat() >> 16) | (ordinaryFloat() & 0xffff0000); };
  fill(16, 4 * steps, draw);
  fill(64, 4 * steps, draw);
  const auto at = [&](unsigned first, unsigned i, unsigned k) {
    const unsigned inStep = k % 32;
    return decode(kBf16, codeAt(first + k / 32 * 4, {i + 16 * (inStep / 8), inStep % 8}, 16));
  };
  std::string text = "v_mfma_f32_16x16x32_bf16 v[100:103], v[16:19], v[64:67], 0\n";
  for (unsigned step = 1; step < steps; ++step)
    text += "v_mfma_f32_16x16x32_bf16 v[100:103], v[" + std::to_string(16 + 4 * step) + ":" +
            std::to_string(19 + 4 * step) + "], v[" + std::to_string(64 + 4 * step) + ":" +
            std::to_string(67 + 4 * step) + "], v[100:103]\n";
  std::set<uint32_t> seen;
  for (wave.sumOrder = 0; wave.sumOrder <= 12; ++wave.sumOrder) {
    run(text);
    seen.insert(v(100, 0));
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 16; ++j) {
        double exact = 0, magnitude = 0;
        for (unsigned k = 0; k < depth; ++k) {
          const double product = at(16, i, k) * at(64, j, k);
          exact += product;
          magnitude += std::fabs(product);
        }
        const Place place = resultPlace(16, i, j);
        expectNear(f(100 + place.item, place.lane), exact, magnitude, depth);
      }
  }
  EXPECT_GT(seen.size(), 2u) << "the seeds must make different orders";
}

TEST_F(ValuMfma, EverySeedIsAPermutation) {
  for (uint64_t seed : {0ull, 1ull, 2ull, 12345ull, ~0ull})
    for (unsigned count : {1u, 2u, 4u, 32u, 128u}) {
      const mfma::SumOrder order(seed, count);
      std::set<unsigned> terms;
      for (unsigned n = 0; n < count; ++n)
        terms.insert(order.term(n));
      EXPECT_EQ(terms.size(), count);
      EXPECT_LT(*terms.rbegin(), count);
      EXPECT_EQ(order.groups() * order.termsEach(), count);
    }
}

TEST_F(ValuMfma, AccumulatorRegistersAndConstantC) {
  fillCodes(16, 8, 16, &kBf16);
  run("v_mfma_f32_16x16x32_bf16 v[96:99], v[16:19], v[20:23], 1.0\n"
      "v_mfma_f32_16x16x32_bf16 a[4:7], v[16:19], v[20:23], 0\n"
      "v_mfma_f32_16x16x32_bf16 a[8:11], v[16:19], v[20:23], a[4:7]\n"
      "v_mfma_f32_16x16x32_bf16 v[16:19], v[16:19], v[20:23], 0"); // D over A
  for (unsigned reg = 0; reg < 4; ++reg)
    for (unsigned lane = 0; lane < 64; ++lane) {
      const float plain = std::bit_cast<float>(a(4 + reg, lane));
      ASSERT_NEAR(f(96 + reg, lane), plain + 1, 1e-4);
      ASSERT_NEAR(std::bit_cast<float>(a(8 + reg, lane)), 2 * plain, 1e-3);
      ASSERT_EQ(f(16 + reg, lane), plain);
    }
}

TEST_F(ValuMfma, Integers) {
  for (const auto &[name, m, k] : {std::tuple{"v_mfma_i32_16x16x64_i8", 16u, 64u},
                                   {"v_mfma_i32_32x32x32_i8", 32u, 32u},
                                   {"v_mfma_i32_16x16x32_i8", 16u, 32u},
                                   {"v_mfma_i32_32x32x16_i8", 32u, 16u}}) {
    SCOPED_TRACE(name);
    const unsigned perLane = k * m / 64, registers = perLane / 4, results = m * m / 64;
    fillBits(16, 120);
    const auto range = [](unsigned first, unsigned count) {
      return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
    };
    run(std::string(name) + " " + range(96, results) + ", " + range(16, registers) + ", " +
        range(32, registers) + ", " + range(64, results));
    for (unsigned i = 0; i < m; ++i)
      for (unsigned j = 0; j < m; ++j) {
        const Place place = resultPlace(m, i, j);
        int64_t sum = int32_t(v(64 + place.item, place.lane));
        for (unsigned step = 0; step < k; ++step)
          sum += int8_t(codeAt(16, {i + m * (step / perLane), step % perLane}, 8)) *
                 int8_t(codeAt(32, {j + m * (step / perLane), step % perLane}, 8));
        ASSERT_EQ(v(96 + place.item, place.lane), uint32_t(sum));
      }
  }
}

TEST_F(ValuMfma, Doubles) {
  for (unsigned reg = 16; reg < 40; reg += 2)
    for (unsigned lane = 0; lane < 64; ++lane)
      set64(reg, lane, (anyDouble() & 0x800fffffffffffffull) | uint64_t(1020 + lane % 7) << 52);
  const auto d = [&](unsigned reg, unsigned lane) { return std::bit_cast<double>(v64(reg, lane)); };
  run("v_mfma_f64_16x16x4_f64 v[96:103], v[16:17], v[18:19], v[20:27] neg:[1,0,1]");
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      const unsigned lane = j + 16 * (i % 4), reg = 2 * (i / 4); // f64: one row a register pair
      double sum = -d(20 + reg, lane);
      for (unsigned k = 0; k < 4; ++k)
        sum = std::fma(-d(16, i + 16 * k), d(18, j + 16 * k), sum);
      ASSERT_EQ(d(96 + reg, lane), sum);
    }
}

TEST_F(ValuMfma, ManySmallBlocks) {
  // 16 blocks of 4x4x1: block b has lanes 4b..4b+3 of A, B and D, and D's rows in four registers.
  fill(16, 6, [this] { return ordinaryFloat(); });
  run("v_mfma_f32_4x4x1_16b_f32 v[96:99], v16, v17, v[18:21]");
  for (unsigned b = 0; b < 16; ++b)
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j)
        ASSERT_EQ(f(96 + i, 4 * b + j),
                  std::fma(f(16, 4 * b + i), f(17, 4 * b + j), f(18 + i, 4 * b + j)));
  // Two blocks of 32x32x1: block b has lanes 32b.. of A and B, and registers 16b.. of D.
  fill(64, 32, [this] { return ordinaryFloat(); });
  run("v_mfma_f32_32x32x1_2b_f32 v[96:127], v16, v17, v[64:95]");
  for (unsigned b = 0; b < 2; ++b)
    for (unsigned i = 0; i < 32; ++i)
      for (unsigned j = 0; j < 32; ++j) {
        const Place place = resultPlace(32, i, j);
        const unsigned reg = place.item + 16 * b;
        ASSERT_EQ(f(96 + reg, place.lane),
                  std::fma(f(16, 32 * b + i), f(17, 32 * b + j), f(64 + reg, place.lane)));
      }
  // cbsz 1: both blocks use block abid of A.
  run("v_mfma_f32_32x32x1_2b_f32 v[96:127], v16, v17, 0 cbsz:1 abid:1");
  for (unsigned b = 0; b < 2; ++b)
    ASSERT_EQ(f(96 + 16 * b, 5), f(16, 32) * f(17, 32 * b + 5));
}

// ---- f8f6f4 --------------------------------------------------------------------------------

struct OperandFormat {
  const FloatFormat &format;
  unsigned bits, registers;
};
const OperandFormat kFormats[] = {
    {kFp8E4M3, 8, 8}, {kBf8E5M2, 8, 8}, {kFp6E2M3, 6, 6}, {kBf6E3M2, 6, 6}, {kFp4E2M1, 4, 4}};

/// Place of row i, step k in an operand of m rows: 8-bit elements come in chunks of 16 k for which
/// the lane groups take turns, narrower ones 32 k a lane.
Place mixedPlace(unsigned m, unsigned bits, unsigned i, unsigned k) {
  if (bits < 8)
    return {i + m * (k / 32), k % 32};
  return m == 16 ? Place{i + 16 * (k / 16 % 4), 16 * (k / 64) + k % 16}
                 : Place{i + 32 * (k / 16 % 2), 16 * (k / 32) + k % 16};
}

class ValuMixedMfma : public ValuMfma,
                      public testing::WithParamInterface<std::tuple<int, int, int>> {
protected:
  /// A in v[16:23], B in v[32:39], C in v[64:79], scales in v8 and v9, D in v[96:111].
  void check(const std::string &suffix, bool scaled, unsigned byteA, unsigned byteB) {
    const auto [m, formatA, formatB] = GetParam();
    const OperandFormat &a = kFormats[formatA], &b = kFormats[formatB];
    const unsigned rows = unsigned(m), k = rows == 16 ? 128 : 64, results = rows * rows / 64;
    fillCodes(16, 8, a.bits, &a.format);
    fillCodes(32, 8, b.bits, &b.format);
    fill(64, results, [this] { return ordinaryFloat(); });
    for (unsigned lane = 0; lane < 64; ++lane) // scales that differ in every lane and byte
      for (unsigned byte = 0; byte < 4; ++byte)
        for (unsigned reg : {8u, 9u}) {
          const uint32_t scale = 120 + (lane * 5 + byte * 3 + reg) % 15;
          v(reg, lane) = (v(reg, lane) & ~(0xffu << 8 * byte)) | scale << 8 * byte;
        }
    const auto range = [](unsigned first, unsigned count) {
      return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
    };
    const std::string shape = rows == 16 ? "16x16x128" : "32x32x64";
    run(std::string(scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape + "_f8f6f4 " +
        range(96, results) + ", " + range(16, a.registers) + ", " + range(32, b.registers) + ", " +
        range(64, results) + (scaled ? ", v8, v9" : "") + suffix +
        " cbsz:" + std::to_string(formatA) + " blgp:" + std::to_string(formatB));
    const auto scale = [&](unsigned reg, unsigned i, unsigned block, unsigned byte) {
      return scaled ? std::ldexp(1.0, int(v(reg, i + rows * block) >> 8 * byte & 0xff) - 127) : 1.0;
    };
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < rows; ++j) {
        const Place place = resultPlace(rows, i, j);
        double exact = f(64 + place.item, place.lane), magnitude = std::fabs(exact);
        for (unsigned step = 0; step < k; ++step) {
          const double product =
              decode(a.format, codeAt(16, mixedPlace(rows, a.bits, i, step), a.bits)) *
              decode(b.format, codeAt(32, mixedPlace(rows, b.bits, j, step), b.bits)) *
              scale(8, i, step / 32, byteA) * scale(9, j, step / 32, byteB);
          exact += product;
          magnitude += std::fabs(product);
        }
        expectNear(f(96 + place.item, place.lane), exact, magnitude, k);
      }
  }
};

TEST_P(ValuMixedMfma, Unscaled) { check("", false, 0, 0); }
TEST_P(ValuMixedMfma, ScalesOfByteZero) { check(" op_sel_hi:[0,0,0]", true, 0, 0); }
TEST_P(ValuMixedMfma, ScalesOfOtherBytes) {
  check(" op_sel:[1,0,0] op_sel_hi:[0,1,0]", true, 1, 2);
  check(" op_sel:[0,1,0] op_sel_hi:[1,1,0]", true, 2, 3);
}

INSTANTIATE_TEST_SUITE_P(AllFormats, ValuMixedMfma,
                         testing::Combine(testing::Values(16, 32), testing::Range(0, 5),
                                          testing::Range(0, 5)));

TEST_F(ValuMfma, ScaleOfAllOnesIsNan) {
  fillCodes(16, 8, 8, &kFp8E4M3);
  fill(8, 2, [] { return 0x7f7f7f7fu; });
  v(8, 3) = 0xff; // row 3, block 0
  run("v_mfma_scale_f32_16x16x128_f8f6f4 v[96:99], v[16:23], v[16:23], 0, v8, v9 "
      "op_sel_hi:[0,0,0]");
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      const Place place = resultPlace(16, i, j);
      ASSERT_EQ(std::isnan(f(96 + place.item, place.lane)), i == 3);
    }
}

TEST_F(ValuMfma, ExtremeScalesDoNotOverflowOnTheWay) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned reg = 16; reg < 24; ++reg)
      v(reg, lane) = 0x38383838;      // 1.0 in fp8
    v(8, lane) = 254, v(9, lane) = 0; // 2^127 and 2^-127
  }
  run("v_mfma_scale_f32_16x16x128_f8f6f4 v[96:99], v[16:23], v[16:23], 0, v8, v9 "
      "op_sel_hi:[0,0,0]");
  EXPECT_EQ(f(96, 0), 128);
}

// ---- sparse --------------------------------------------------------------------------------

TEST_F(ValuMfma, SparsePairsTakeTheirPlaces) {
  const struct {
    const char *name;
    unsigned m, k, bits;
    const FloatFormat &format;
  } kCases[] = {
      {"v_smfmac_f32_16x16x32_bf16", 16, 32, 16, kBf16},
      {"v_smfmac_f32_32x32x16_f16", 32, 16, 16, kFp16},
      {"v_smfmac_f32_16x16x64_f16", 16, 64, 16, kFp16},
      {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, 8, kFp8E4M3},
      {"v_smfmac_f32_16x16x128_fp8_fp8", 16, 128, 8, kFp8E4M3},
  };
  for (const auto &c : kCases) {
    const unsigned dense = c.k * c.m / 64, stored = dense / 2, setBits = 2 * stored;
    for (unsigned set = 0; set < 32 / setBits; ++set) {
      SCOPED_TRACE(testing::Message() << c.name << " set " << set);
      const unsigned registersA = stored * c.bits / 32, registersB = dense * c.bits / 32;
      const unsigned results = c.m * c.m / 64;
      fillCodes(16, registersA, c.bits, &c.format);
      fillCodes(32, registersB, c.bits, &c.format);
      fill(96, results, [this] { return ordinaryFloat(); });
      fill(8, 1, [this] { // ascending index pairs: 01, 02, 03, 12, 13, 23
        constexpr uint32_t kPairs[] = {4, 8, 12, 9, 13, 14};
        uint32_t word = 0;
        for (unsigned n = 0; n < 32; n += 4)
          word |= kPairs[random() % 6] << n;
        return word;
      });
      std::vector<Row> before;
      for (unsigned n = 0; n < results; ++n)
        before.push_back(row(96 + n));
      const auto range = [](unsigned first, unsigned count) {
        return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
      };
      run(std::string(c.name) + " " + range(96, results) + ", " + range(16, registersA) + ", " +
          range(32, registersB) + ", v8" + (set ? " abid:" + std::to_string(set) : ""));
      for (unsigned i = 0; i < c.m; ++i)
        for (unsigned j = 0; j < c.m; ++j) {
          const Place place = resultPlace(c.m, i, j);
          double exact = std::bit_cast<float>(before[place.item][place.lane]);
          double magnitude = std::fabs(exact);
          for (unsigned group = 0; group < 64 / c.m; ++group)
            for (unsigned n = 0; n < stored; ++n) {
              const unsigned lane = i + c.m * group;
              const unsigned index = v(8, lane) >> (set * setBits + 2 * n) & 3;
              const double product =
                  decode(c.format, codeAt(16, {lane, n}, c.bits)) *
                  decode(c.format, codeAt(32, {j + c.m * group, n / 2 * 4 + index}, c.bits));
              exact += product;
              magnitude += std::fabs(product);
            }
          expectNear(f(96 + place.item, place.lane), exact, magnitude, c.k);
        }
    }
  }
}

} // namespace
