// The checks hazard (wait states) and exec (all lanes needed).
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

std::string run(const std::string &body, const std::string &checks) {
  Options options;
  EXPECT_EQ(errorText(options.checks.apply(checks)), "");
  TestMachine m(
      AsmKernel{.body = body + "\n  s_nop 15\n", .vgprs = 96, .agprs = 32, .ldsBytes = 4096}, 1,
      options);
  return m.run({m.buffer(std::vector<uint32_t>(64))});
}

/// `consumer` needs exactly `states` wait states behind `producer`.
void needs(unsigned states, const std::string &producer, const std::string &consumer) {
  auto with = [&](unsigned nops) {
    std::string body = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                       "  v_mov_b32_e32 v0, 0\n  v_mov_b32_e32 v8, s9\n  s_nop 15\n  " +
                       producer + "\n";
    for (unsigned n = 0; n < nops; ++n)
      body += "  s_nop 0\n";
    return run(body + "  " + consumer + "\n", "hazard");
  };
  EXPECT_EQ(with(states), "") << producer << " / " << consumer;
  std::string text = with(states - 1);
  EXPECT_NE(text.find("needs " + std::to_string(states) + " wait states before this, but got " +
                      std::to_string(states - 1)),
            std::string::npos)
      << producer << " / " << consumer << ": " << text;
}

/// Passes of 4 cycles (CDNA4 ISA table 28) and the states behind them.
TEST(Hazard, MfmaResult) {
  needs(8, "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]", "v_mov_b32_e32 v20, v10");
  needs(12, "v_mfma_f32_32x32x16_bf16 v[16:31], v[0:3], v[4:7], v[16:31]",
        "v_mov_b32_e32 v40, v31");
  needs(8, "v_mfma_f32_16x16x128_f8f6f4 v[20:23], v[0:3], v[4:7], v[20:23] cbsz:4 blgp:4",
        "v_mov_b32_e32 v40, v20");
  needs(12, "v_mfma_f32_16x16x128_f8f6f4 v[20:23], v[0:7], v[8:15], v[20:23]",
        "v_mov_b32_e32 v40, v20");
  needs(20, "v_mfma_f32_32x32x64_f8f6f4 v[32:47], v[0:7], v[8:15], v[32:47]",
        "global_store_dword v0, v32, s[8:9]");
  needs(8, "v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", "ds_write_b32 v0, a0");
  // As A of the next, and overwritten by a VALU.
  needs(8, "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]",
        "v_mfma_f32_16x16x32_bf16 v[20:23], v[10:13], v[4:7], v[20:23]");
  needs(8, "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[14:17]", "v_mov_b32_e32 v12, 0");
}

TEST(Hazard, MfmaChainsThroughC) {
  std::string first = "  s_nop 15\n  v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]\n";
  EXPECT_EQ(run(first + "  v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]", "hazard"),
            "");
  EXPECT_EQ(run(first + "  v_mfma_f32_16x16x32_bf16 v[20:23], v[0:3], v[4:7], v[10:13]", "hazard"),
            "");
  needs(6, "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]",
        "v_mfma_f32_16x16x32_bf16 v[20:23], v[0:3], v[4:7], v[12:15]");
}

TEST(Hazard, OverwriteOfC) {
  needs(3, "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[20:23]", "v_mov_b32_e32 v20, 0");
  needs(7, "v_mfma_f32_32x32x16_bf16 v[16:31], v[0:3], v[4:7], v[32:47]", "v_mov_b32_e32 v47, 0");
}

TEST(Hazard, ValuResult) {
  needs(2, "v_mov_b32_e32 v4, 0", "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]");
  needs(2, "v_mov_b32_e32 v4, 0",
        "v_mov_b32_dpp v5, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf");
  needs(1, "v_mov_b32_e32 v4, 0", "v_readlane_b32 s10, v4, 3");
  needs(1, "v_mov_b32_e32 v4, 0", "v_readfirstlane_b32 s10, v4");
  needs(2, "v_mov_b32_e32 v4, 0", "v_permlane32_swap_b32 v4, v5");
  needs(1, "v_exp_f32_e32 v4, v5", "v_add_f32_e32 v6, v4, v4");
  needs(1,
        "v_add_u16_sdwa v4, v5, v6 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD "
        "src1_sel:DWORD",
        "v_mov_b32_e32 v7, v4");
  needs(3, "v_dot2_f32_f16 v4, v5, v6, v4", "v_mov_b32_e32 v7, v4");
}

TEST(Hazard, ScalarResultsOfTheValu) {
  needs(2, "v_readfirstlane_b32 s10, v0", "v_mov_b32_e32 v4, s10");
  needs(2, "v_cmp_eq_u32_e32 vcc, 0, v0", "v_cndmask_b32_e32 v4, v5, v6, vcc");
  needs(4, "v_readfirstlane_b32 s10, v0", "v_readlane_b32 s11, v4, s10");
  needs(5, "v_readfirstlane_b32 s9, v8", "global_load_dword v4, v0, s[8:9]");
  needs(4, "v_cmp_eq_u32_e32 vcc, 0, v0", "v_div_fmas_f32 v4, v5, v6, v7");
  needs(4, "v_cmpx_le_u32_e32 vcc, 0, v0",
        "v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]");
}

TEST(Hazard, M0AndHardwareRegisters) {
  needs(1, "s_mov_b32 m0, 0", "global_load_lds_dword v0, s[8:9]");
  needs(2, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
        "s_getreg_b32 s10, hwreg(HW_REG_MODE)");
}

TEST(Hazard, WideStoreData) {
  needs(2, "global_store_dwordx4 v0, v[4:7], s[8:9]", "v_mov_b32_e32 v7, 0");
}

/// A wave that does other work meanwhile, and s_nop N, which counts N + 1.
TEST(Hazard, WaitStatesAreCountedInInstructions) {
  std::string mfma = "  s_nop 15\n  v_mfma_f32_16x16x32_bf16 v[10:13], v[0:3], v[4:7], v[10:13]\n";
  EXPECT_EQ(run(mfma + "  s_nop 7\n  v_mov_b32_e32 v20, v10", "hazard"), "");
  EXPECT_NE(run(mfma + "  s_nop 6\n  v_mov_b32_e32 v20, v10", "hazard"), "");
  EXPECT_EQ(run(mfma +
                    "  s_nop 3\n  s_mov_b32 s4, 0\n  v_mov_b32_e32 v30, 0\n  v_mov_b32_e32 v31, 0\n"
                    "  s_mov_b32 s5, 0\n  v_mov_b32_e32 v20, v10",
                "hazard"),
            "");
}

TEST(Hazard, IsOffUnlessAsked) {
  std::string body = "  v_mov_b32_e32 v4, 0\n  v_readfirstlane_b32 s10, v4\n";
  EXPECT_FALSE(Checks::defaults().has(Check::Hazard));
  EXPECT_EQ(run(body, "none"), "");
  EXPECT_NE(run(body, "hazard").find("VALU write at pc 0x"), std::string::npos);
}

TEST(Exec, TransposeReadsNeedAllLanes) {
  std::string setup =
      "  v_lshlrev_b32_e32 v1, 3, v0\n  ds_write_b64 v1, v[2:3]\n  s_waitcnt lgkmcnt(0)\n"
      "  s_mov_b64 exec, 0xff\n";
  for (const char *op : {"ds_read_b64_tr_b16 v[4:5], v1", "ds_read_b64_tr_b8 v[4:5], v1",
                         "ds_read_b64_tr_b4 v[4:5], v1"}) {
    std::string body = setup + "  " + op + "\n  s_waitcnt lgkmcnt(0)\n";
    EXPECT_NE(run(body, "exec").find("transpose read with exec = 0x00000000000000ff"),
              std::string::npos);
    EXPECT_EQ(run(body, "all,-exec,-hazard"), "");
  }
  std::string good =
      setup + "  s_mov_b64 exec, -1\n  ds_read_b64_tr_b16 v[4:5], v1\n  s_waitcnt lgkmcnt(0)\n";
  EXPECT_EQ(run(good, "all,-hazard"), "");
}

} // namespace
