// Moves, selects and everything that crosses lanes: readlane, permlane swaps, DPP; and SDWA.
#include "test/runtime/emulator/valuTestSupport.h"

#include <optional>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

class ValuLane : public ValuTest {};

TEST_F(ValuLane, MovesKeepInactiveLanes) {
  wave.setExec(kSome);
  const Row before = row(0), source = row(2), before8 = row(8), high = row(3);
  run("v_mov_b32_e32 v0, v2\n v_mov_b64_e32 v[8:9], v[2:3]");
  expectRow(0, before, [&](unsigned lane) { return source[lane]; });
  expectRow(8, before8, [&](unsigned lane) { return source[lane]; });
  EXPECT_EQ(v(9, 0), high[0]);
}

TEST_F(ValuLane, AccumulatorMoves) {
  wave.setExec(kSome);
  Row before;
  for (unsigned lane = 0; lane < 64; ++lane)
    before[lane] = a(5, lane);
  const Row source = row(2), v9 = row(9);
  run("v_accvgpr_write_b32 a5, v2\n v_accvgpr_mov_b32 a6, a5\n v_accvgpr_read_b32 v9, a6");
  for (unsigned lane = 0; lane < 64; ++lane)
    ASSERT_EQ(a(5, lane), active(lane) ? source[lane] : before[lane]);
  expectRow(9, v9, [&](unsigned lane) { return source[lane]; });
}

TEST_F(ValuLane, CndmaskSelectsByBitAndHonoursSigns) {
  wave.setExec(kSome);
  wave.setVcc(0xaaaa'5555'0f0f'3c3cull);
  wave.setSgpr64(8, 0x1234'5678'9abc'def0ull);
  const Row before = row(0), x = row(2), y = row(3), before1 = row(1);
  run("v_cndmask_b32_e32 v0, v2, v3, vcc\n v_cndmask_b32_e64 v1, -v2, |v3|, s[8:9]");
  expectRow(0, before, [&](unsigned lane) { return wave.vcc() >> lane & 1 ? y[lane] : x[lane]; });
  expectRow(1, before1, [&](unsigned lane) {
    return wave.sgpr64(8) >> lane & 1 ? y[lane] & 0x7fffffff : x[lane] ^ 0x80000000;
  });
}

TEST_F(ValuLane, ReadAndWriteOfOneLane) {
  wave.setExec(0xff00ull);
  s(4) = 64 + 9; // the lane number wraps
  run("v_readfirstlane_b32 s8, v2\n v_readlane_b32 s9, v2, 3\n v_readlane_b32 s10, v2, s4");
  EXPECT_EQ(s(8), v(2, 8));
  EXPECT_EQ(s(9), v(2, 3)) << "EXEC does not matter";
  EXPECT_EQ(s(10), v(2, 9));
  const Row before = row(3);
  s(11) = 0xcafe;
  run("v_writelane_b32 v3, s11, 2");
  for (unsigned lane = 0; lane < 64; ++lane)
    ASSERT_EQ(v(3, lane), lane == 2 ? 0xcafe : before[lane]);
  wave.setExec(0);
  run("v_readfirstlane_b32 s8, v2");
  EXPECT_EQ(s(8), v(2, 0));
}

TEST_F(ValuLane, PermlaneSwapsExchangeRows) {
  const Row x = row(2), y = row(3);
  run("v_permlane32_swap_b32_e32 v2, v3");
  for (unsigned lane = 0; lane < 64; ++lane) {
    ASSERT_EQ(v(2, lane), lane < 32 ? x[lane] : y[lane - 32]);
    ASSERT_EQ(v(3, lane), lane < 32 ? x[lane + 32] : y[lane]);
  }
  const Row p = row(4), q = row(5);
  run("v_permlane16_swap_b32_e32 v4, v5");
  for (unsigned lane = 0; lane < 64; ++lane) {
    const bool odd = lane & 16;
    ASSERT_EQ(v(4, lane), odd ? q[lane - 16] : p[lane]);
    ASSERT_EQ(v(5, lane), odd ? q[lane] : p[lane + 16]);
  }
}

TEST_F(ValuLane, SwapExchangesActiveLanes) {
  wave.setExec(kSome);
  const Row x = row(2), y = row(3);
  run("v_swap_b32 v2, v3");
  expectRow(2, x, [&](unsigned lane) { return y[lane]; });
  expectRow(3, y, [&](unsigned lane) { return x[lane]; });
}

// ---- DPP -----------------------------------------------------------------------------------

/// Runs v_mov_b32_dpp v0, v2 and checks it against `source(lane)`, nothing meaning out of range.
class ValuDpp : public ValuTest {
protected:
  template <typename Fn> void check(const std::string &control, Fn source) {
    for (uint64_t exec : {kAll, kSome})
      for (bool bound : {false, true})
        for (auto [rowMask, bankMask] : {std::pair{15u, 15u}, std::pair{10u, 13u}}) {
          std::string text = "v_mov_b32_dpp v0, v2 " + control +
                             " row_mask:" + std::to_string(rowMask) +
                             " bank_mask:" + std::to_string(bankMask);
          if (bound)
            text += " bound_ctrl:0"; // the assembler's spelling of the set bit
          SCOPED_TRACE(text);
          wave.setExec(exec);
          const Row before = row(0), input = row(2);
          run(text);
          for (unsigned lane = 0; lane < 64; ++lane) {
            const std::optional<unsigned> from = source(lane);
            const bool readable = from && active(*from);
            const bool selected = rowMask >> lane / 16 & bankMask >> lane % 16 / 4 & 1;
            uint32_t want = before[lane];
            if (active(lane) && selected && (readable || bound))
              want = readable ? input[*from] : 0;
            ASSERT_EQ(v(0, lane), want) << "lane " << lane;
          }
        }
  }
};

using Source = std::optional<unsigned>;

TEST_F(ValuDpp, QuadPermutation) {
  check("quad_perm:[3,0,2,1]", [](unsigned lane) -> Source {
    constexpr unsigned kPermutation[] = {3, 0, 2, 1};
    return lane / 4 * 4 + kPermutation[lane % 4];
  });
}

TEST_F(ValuDpp, RowShiftsAndRotates) {
  for (unsigned n : {1u, 4u, 15u}) {
    const std::string count = std::to_string(n);
    check("row_shl:" + count, [n](unsigned lane) -> Source {
      return lane % 16 + n < 16 ? Source(lane + n) : std::nullopt;
    });
    check("row_shr:" + count, [n](unsigned lane) -> Source {
      return lane % 16 >= n ? Source(lane - n) : std::nullopt;
    });
    check("row_ror:" + count,
          [n](unsigned lane) -> Source { return lane / 16 * 16 + (lane + 16 - n) % 16; });
  }
}

TEST_F(ValuDpp, WaveShiftsAndRotates) {
  check("wave_shl:1", [](unsigned l) { return l < 63 ? Source(l + 1) : std::nullopt; });
  check("wave_shr:1", [](unsigned l) { return l > 0 ? Source(l - 1) : std::nullopt; });
  check("wave_rol:1", [](unsigned l) { return Source((l + 1) % 64); });
  check("wave_ror:1", [](unsigned l) { return Source((l + 63) % 64); });
}

TEST_F(ValuDpp, MirrorsAndBroadcasts) {
  check("row_mirror", [](unsigned l) { return Source(l / 16 * 16 + 15 - l % 16); });
  check("row_half_mirror", [](unsigned l) { return Source(l / 8 * 8 + 7 - l % 8); });
  check("row_newbcast:5", [](unsigned l) { return Source(l / 16 * 16 + 5); });
  check("row_bcast:15", [](unsigned l) { return l < 16 ? std::nullopt : Source(l / 16 * 16 - 1); });
  check("row_bcast:31", [](unsigned l) { return l < 32 ? std::nullopt : Source(31); });
}

TEST_F(ValuDpp, FirstSourceIsMovedBeforeItsModifiers) {
  fill(0, 4, [this] { return ordinaryFloat(); });
  const Row x = row(2), y = row(3), before = row(0);
  run("v_sub_f32_dpp v0, -|v2|, v3 row_ror:1 row_mask:0xf bank_mask:0xf");
  expectFloats(0, before, [&](unsigned lane) {
    const uint32_t from = x[lane / 16 * 16 + (lane + 15) % 16];
    return std::bit_cast<float>(from | 0x80000000) - std::bit_cast<float>(y[lane]);
  });
}

TEST_F(ValuDpp, WaveReductionAsTheCompilerWritesIt) {
  for (unsigned lane = 0; lane < 64; ++lane)
    v(0, lane) = std::bit_cast<uint32_t>(float(lane + 1));
  run("v_add_f32_dpp v0, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_add_f32_dpp v0, v0, v0 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_add_f32_dpp v0, v0, v0 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_add_f32_dpp v0, v0, v0 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_add_f32_dpp v0, v0, v0 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
      "v_add_f32_dpp v0, v0, v0 row_bcast:31 row_mask:0xc bank_mask:0xf\n"
      "v_readlane_b32 s4, v0, 63");
  EXPECT_EQ(std::bit_cast<float>(s(4)), 64 * 65 / 2);
}

// ---- SDWA ----------------------------------------------------------------------------------

class ValuSdwa : public ValuTest {};

TEST_F(ValuSdwa, SelectsBytesAndWordsWithSign) {
  const Row before = row(0), x = row(2), y = row(3);
  run("v_add_u32_sdwa v0, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
      "src1_sel:WORD_1");
  expectRow(0, before, [&](unsigned lane) {
    return (x[lane] >> 16 & 0xff) + uint32_t(int32_t(y[lane]) >> 16);
  });
}

TEST_F(ValuSdwa, DestinationSelectPadsExtendsOrPreserves) {
  wave.setExec(kSome);
  const Row before = row(0), x = row(2), y = row(3), b4 = row(4), b5 = row(5);
  run("v_add_u32_sdwa v0, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
      "src1_sel:DWORD\n"
      "v_add_u32_sdwa v4, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD "
      "src1_sel:DWORD\n"
      "v_add_u32_sdwa v5, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD "
      "src1_sel:DWORD");
  const auto byte = [&](unsigned lane) { return (x[lane] + y[lane] & 0xff) << 8; };
  expectRow(0, before, [&](unsigned lane) { return (before[lane] & 0xffff00ff) | byte(lane); });
  expectRow(4, b4, byte);
  expectRow(5, b5,
            [&](unsigned lane) { return uint32_t(int32_t(int8_t(x[lane] + y[lane])) * 256); });
}

TEST_F(ValuSdwa, HalvesAndComparisons) {
  for (unsigned lane = 0; lane < 64; ++lane)
    v(2, lane) = 0x3c004000 + lane, v(3, lane) = 0x40004200 + lane;
  const Row before = row(0);
  run("v_mul_f16_sdwa v0, v2, -v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
      "src1_sel:WORD_1");
  expectRow(0, before, [&](unsigned lane) { return 0xc0000000 | (before[lane] & 0xffff); });
  run("v_cmp_eq_u32_sdwa s[8:9], v2, v3 src0_sel:BYTE_1 src1_sel:BYTE_3");
  EXPECT_EQ(wave.sgpr64(8), kAll); // 0x40 in both
}

} // namespace
