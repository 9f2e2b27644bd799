// Scalar ALU, branches and scalar memory. Expectations are the formulas of the ISA, evaluated here
// in 64-bit arithmetic.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <functional>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// Runs "op s20, <a>, <b>" with SCC = `scc` before and returns {result, SCC after}.
std::pair<uint32_t, uint32_t> scalarOp(const std::string &op, uint32_t a, uint32_t b,
                                       bool scc = false) {
  std::string body = "  s_mov_b32 s16, " + std::to_string(a) + "\n  s_mov_b32 s18, " +
                     std::to_string(b) + "\n  s_cmp_eq_u32 0, " + (scc ? "0" : "1") + "\n  " + op +
                     " s20, s16, s18\n  s_cselect_b32 s21, 1, 0\n"
                     "  v_mov_b32_e32 v10, s20\n  v_mov_b32_e32 v11, s21\n";
  auto result = runWaveProgram(body, 2);
  return {result[0][0], result[1][0]};
}

const uint32_t interesting[] = {0,          1,          2,          31,        0x7FFFFFFF,
                                0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678};

/// Checks `op` on all pairs of interesting values in one kernel; `expected` gives result and SCC.
void checkAll(const std::string &op, bool sccIn,
              std::function<std::pair<uint32_t, bool>(uint32_t, uint32_t)> expected) {
  std::string body;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t a : interesting)
    for (uint32_t b : interesting)
      if (pairs.size() < 60)
        pairs.push_back({a, b});
  for (size_t n = 0; n < pairs.size(); ++n) {
    auto lane = std::to_string(n);
    body += "  s_mov_b32 s16, " + std::to_string(pairs[n].first) + "\n  s_mov_b32 s18, " +
            std::to_string(pairs[n].second) + "\n  s_cmp_eq_u32 0, " + (sccIn ? "0" : "1") +
            "\n  " + op +
            " s20, s16, s18\n  s_cselect_b32 s21, 1, 0\n  v_writelane_b32 v10, s20, " + lane +
            "\n  v_writelane_b32 v11, s21, " + lane + "\n";
  }
  auto result = runWaveProgram(body, 2);
  for (size_t n = 0; n < pairs.size(); ++n) {
    auto [value, scc] = expected(pairs[n].first, pairs[n].second);
    EXPECT_EQ(result[0][n], value) << op << " " << pairs[n].first << ", " << pairs[n].second;
    EXPECT_EQ(result[1][n], scc) << op << " scc " << pairs[n].first << ", " << pairs[n].second;
  }
}

bool fitsInt32(int64_t v) { return v == int32_t(v); }

} // namespace

/// M0 is added to the number of the register that is read, or written.
TEST(Scalar, RelativeMoves) {
  auto result = runWaveProgram(R"(
  s_mov_b32 s22, 22
  s_mov_b32 s23, 23
  s_mov_b32 s26, 0
  s_mov_b32 m0, 3
  s_movrels_b32 s24, s20
  s_movreld_b32 s23, s22
  v_mov_b32_e32 v10, s24
  v_mov_b32_e32 v11, s26
  v_mov_b32_e32 v12, s23)",
                               3);
  EXPECT_EQ(result[0][0], 23u);
  EXPECT_EQ(result[1][0], 22u);
  EXPECT_EQ(result[2][0], 23u);
}

TEST(Scalar, AddAndSubtractSetCarryOrOverflow) {
  checkAll("s_add_u32", false,
           [](uint64_t a, uint64_t b) { return std::pair(uint32_t(a + b), (a + b) >> 32 != 0); });
  checkAll("s_sub_u32", false,
           [](uint64_t a, uint64_t b) { return std::pair(uint32_t(a - b), a < b); });
  checkAll("s_addc_u32", true, [](uint64_t a, uint64_t b) {
    return std::pair(uint32_t(a + b + 1), (a + b + 1) >> 32 != 0);
  });
  checkAll("s_subb_u32", true,
           [](uint64_t a, uint64_t b) { return std::pair(uint32_t(a - b - 1), a < b + 1); });
  checkAll("s_add_i32", false, [](uint32_t a, uint32_t b) {
    int64_t sum = int64_t(int32_t(a)) + int32_t(b);
    return std::pair(uint32_t(sum), !fitsInt32(sum));
  });
  checkAll("s_sub_i32", false, [](uint32_t a, uint32_t b) {
    int64_t difference = int64_t(int32_t(a)) - int32_t(b);
    return std::pair(uint32_t(difference), !fitsInt32(difference));
  });
  checkAll("s_lshl3_add_u32", false, [](uint64_t a, uint64_t b) {
    return std::pair(uint32_t(a * 8 + b), (a * 8 + b) >> 32 != 0);
  });
}

TEST(Scalar, LogicalOperationsSetSccToNonZero) {
  checkAll("s_and_b32", true,
           [](uint32_t a, uint32_t b) { return std::pair(a & b, (a & b) != 0); });
  checkAll("s_xnor_b32", true, [](uint32_t a, uint32_t b) { return std::pair(~(a ^ b), a != ~b); });
  checkAll("s_andn2_b32", true,
           [](uint32_t a, uint32_t b) { return std::pair(a & ~b, (a & ~b) != 0); });
  checkAll("s_lshl_b32", true, [](uint32_t a, uint32_t b) {
    uint32_t r = a << b % 32;
    return std::pair(r, r != 0);
  });
  checkAll("s_ashr_i32", true, [](uint32_t a, uint32_t b) {
    uint32_t r = uint32_t(int32_t(a) >> b % 32);
    return std::pair(r, r != 0);
  });
}

TEST(Scalar, MultiplyAndBitfieldMaskKeepScc) {
  for (bool scc : {false, true}) {
    checkAll("s_mul_i32", scc, [=](uint32_t a, uint32_t b) { return std::pair(a * b, scc); });
    checkAll("s_mul_hi_u32", scc,
             [=](uint64_t a, uint64_t b) { return std::pair(uint32_t(a * b >> 32), scc); });
    checkAll("s_mul_hi_i32", scc, [=](uint32_t a, uint32_t b) {
      return std::pair(uint32_t(int64_t(int32_t(a)) * int32_t(b) >> 32), scc);
    });
  }
}

TEST(Scalar, MinAndMaxSayWhichSourceWon) {
  checkAll("s_min_i32", true, [](uint32_t a, uint32_t b) {
    bool first = int32_t(a) < int32_t(b);
    return std::pair(first ? a : b, first);
  });
  checkAll("s_max_u32", true,
           [](uint32_t a, uint32_t b) { return std::pair(a > b ? a : b, a > b); });
}

/// Offset in bits 4:0, width in bits 22:16 of the second source; fields past the top are cut.
TEST(Scalar, BitfieldExtract) {
  for (auto [offset, width] :
       {std::pair(0u, 8u), {4u, 8u}, {28u, 8u}, {31u, 1u}, {0u, 32u}, {5u, 0u}}) {
    uint32_t value = 0x89ABCDEF, field = 0;
    for (unsigned bit = 0; bit < width && offset + bit < 32; ++bit)
      field |= (value >> (offset + bit) & 1) << bit;
    auto unsignedResult = scalarOp("s_bfe_u32", value, offset | width << 16);
    EXPECT_EQ(unsignedResult, std::pair(field, uint32_t(field != 0)));
    unsigned kept = std::min(width, 32 - offset);
    uint32_t extended = kept && field >> (kept - 1) & 1 && kept < 32 ? field | ~0u << kept : field;
    EXPECT_EQ(scalarOp("s_bfe_i32", value, offset | width << 16).first, extended)
        << offset << width;
  }
}

TEST(Scalar, BitSearch) {
  auto result = runWaveProgram(R"(
  s_mov_b32 s16, 0x00f01000
  s_mov_b32 s17, 0
  s_ff1_i32_b32 s20, s16
  s_flbit_i32_b32 s21, s16
  s_ff1_i32_b32 s22, s17
  s_bcnt1_i32_b32 s23, s16
  s_brev_b32 s24, s16
  s_flbit_i32 s25, 0xffff8000
  s_ff1_i32_b64 s26, s[16:17]
  s_bcnt0_i32_b64 s27, s[16:17]
  v_mov_b32_e32 v10, s20
  v_mov_b32_e32 v11, s21
  v_mov_b32_e32 v12, s22
  v_mov_b32_e32 v13, s23
  v_mov_b32_e32 v14, s24
  v_mov_b32_e32 v15, s25
  v_mov_b32_e32 v16, s26
  v_mov_b32_e32 v17, s27)",
                               8);
  const uint32_t expected[] = {12, 8, ~0u, 5, 0x00080F00, 17, 12, 59};
  for (unsigned r = 0; r < 8; ++r)
    EXPECT_EQ(result[r][0], expected[r]) << r;
}

TEST(Scalar, SaveExecAndConditionalBranches) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[16:17], vcc
  s_cbranch_scc0 .Lskip
  v_mov_b32_e32 v10, 1
.Lskip:
  s_or_b64 exec, exec, s[16:17]
  s_mov_b32 s20, 0
.Lloop:
  v_add_u32_e32 v11, 3, v11
  s_addk_i32 s20, 1
  s_cmp_lt_i32 s20, 5
  s_cbranch_scc1 .Lloop)",
                               2);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(result[0][lane], lane < 8 ? 1u : 0u);
    EXPECT_EQ(result[1][lane], 15u);
  }
}

TEST(Scalar, CallsAndReturns) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v10, 1
  s_getpc_b64 s[16:17]
.Lbase:
  s_add_u32 s16, s16, .Lfunction-.Lbase
  s_addc_u32 s17, s17, 0
  s_swappc_b64 s[18:19], s[16:17]
  v_add_u32_e32 v10, 100, v10
  s_branch .Lend
.Lfunction:
  v_add_u32_e32 v10, 10, v10
  s_setpc_b64 s[18:19]
.Lend:)",
                               1);
  EXPECT_EQ(result[0][0], 111u);
}

TEST(Scalar, ConstantsOf64Bits) {
  auto result = runWaveProgram(R"(
  s_mov_b64 s[16:17], -1
  s_mov_b64 s[18:19], 0x80000000
  s_mov_b64 s[20:21], 1.0
  v_mov_b32_e32 v10, s17
  v_mov_b32_e32 v11, s18
  v_mov_b32_e32 v12, s19
  v_mov_b32_e32 v13, s21)",
                               4);
  EXPECT_EQ(result[0][0], ~0u) << "inline integers are sign-extended";
  EXPECT_EQ(result[1][0], 0x80000000u);
  EXPECT_EQ(result[2][0], 0u) << "a literal of a B64 operation is zero-extended";
  EXPECT_EQ(result[3][0], 0x3FF00000u);
}

TEST(Scalar, ModeAndHardwareRegisters) {
  auto result = runWaveProgram(R"(
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 1
  s_getreg_b32 s20, hwreg(HW_REG_MODE, 4, 2)
  s_movk_i32 s21, 2
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s21
  s_getreg_b32 s22, hwreg(HW_REG_MODE, 0, 2)
  s_getreg_b32 s23, hwreg(HW_REG_XCC_ID)
  v_mov_b32_e32 v10, s20
  v_mov_b32_e32 v11, s22
  v_mov_b32_e32 v12, s23)",
                               3);
  EXPECT_EQ(result[0][0], 1u);
  EXPECT_EQ(result[1][0], 2u);
  EXPECT_EQ(result[2][0], 0u) << "workgroup 0 is on XCD 0";
}

TEST(Scalar, VgprIndexing) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v20, 20
  v_mov_b32_e32 v23, 23
  v_mov_b32_e32 v11, 5
  s_mov_b32 s16, 3
  s_set_gpr_idx_on s16, gpr_idx(SRC0)
  v_mov_b32_e32 v10, v20
  s_set_gpr_idx_mode gpr_idx(DST)
  s_set_gpr_idx_idx 1
  v_mov_b32_e32 v10, v20
  s_set_gpr_idx_off
  v_mov_b32_e32 v12, v20)",
                               3);
  EXPECT_EQ(result[0][0], 23u);
  EXPECT_EQ(result[1][0], 20u);
  EXPECT_EQ(result[2][0], 20u);
}

TEST(Scalar, VskipSkipsVectorInstructionsOnly) {
  auto result = runWaveProgram(R"(
  v_mov_b32_e32 v10, 1
  s_mov_b32 s16, 1
  s_setvskip s16, 0
  v_mov_b32_e32 v10, 2
  s_mov_b32 s17, 9
  s_setvskip s16, 1
  v_mov_b32_e32 v11, s17)",
                               2);
  EXPECT_EQ(result[0][0], 1u);
  EXPECT_EQ(result[1][0], 9u);
}

TEST(Scalar, LoadsOfEachWidth) {
  std::vector<uint32_t> input(64);
  for (unsigned n = 0; n < 64; ++n)
    input[n] = 1000 + n;
  auto result = runWaveProgram(R"(
  s_load_dword s16, s[6:7], 0x4
  s_mov_b32 s15, 16
  s_load_dwordx2 s[18:19], s[6:7], s15
  s_load_dwordx4 s[20:23], s[6:7], s15 offset:0x10
  s_load_dwordx8 s[24:31], s[6:7], 0x40
  s_load_dwordx16 s[32:47], s[6:7], 0x80
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s16
  v_mov_b32_e32 v11, s19
  v_mov_b32_e32 v12, s23
  v_mov_b32_e32 v13, s31
  v_mov_b32_e32 v14, s47)",
                               5, input);
  const unsigned expected[] = {1, 5, 8 + 3, 16 + 7, 32 + 15};
  for (unsigned r = 0; r < 5; ++r)
    EXPECT_EQ(result[r][0], 1000 + expected[r]);
}

/// NUM_RECORDS of 10 bytes covers dwords 0 and 1; the rest reads 0.
TEST(Scalar, BufferLoadIsRangeChecked) {
  auto result = runWaveProgram(R"(
  s_mov_b64 s[20:21], s[6:7]
  s_and_b32 s21, s21, 0xffff
  s_mov_b32 s22, 10
  s_mov_b32 s23, 0x27000
  s_buffer_load_dwordx4 s[24:27], s[20:23], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s25
  v_mov_b32_e32 v11, s26)",
                               2, {1, 2, 3, 4});
  EXPECT_EQ(result[0][0], 2u);
  EXPECT_EQ(result[1][0], 0u);
}

TEST(Scalar, StoresAndAtomics) {
  auto result = runWaveProgram(R"(
  s_movk_i32 s16, 77
  s_store_dword s16, s[6:7], 0x4
  s_movk_i32 s17, 5
  s_atomic_add s17, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[18:19], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v10, s17
  v_mov_b32_e32 v11, s18
  v_mov_b32_e32 v12, s19)",
                               3, {40, 1});
  EXPECT_EQ(result[0][0], 40u);
  EXPECT_EQ(result[1][0], 45u);
  EXPECT_EQ(result[2][0], 77u);
}
