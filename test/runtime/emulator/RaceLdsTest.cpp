// The check lds-race: each defect beside a twin that is right.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

/// Runs `body` on `waves` waves; s[8:9] is an input of 256 dwords, v1 = 4 * work-item, s20 the
/// number of the wave.
std::string run(const std::string &body, unsigned waves = 2,
                const std::string &checks = "all,-hazard") {
  Options options;
  EXPECT_EQ(errorText(options.checks.apply(checks)), "");
  std::string text = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_lshlrev_b32_e32 v1, 2, v0\n"
                     "  v_readfirstlane_b32 s20, v0\n  s_lshr_b32 s20, s20, 6\n"
                     "  v_xor_b32_e32 v2, 0x100, v1\n  s_waitcnt lgkmcnt(0)\n" +
                     body;
  TestMachine m(AsmKernel{.body = text, .ldsBytes = 4096}, 1, options);
  return m.run({m.buffer(std::vector<uint32_t>(256, 7))}, {1, 1, 1}, {64 * waves, 1, 1});
}

void expectRace(const std::string &body, const std::string &message) {
  std::string text = run(body);
  EXPECT_NE(text.find(message), std::string::npos) << text;
  EXPECT_NE(text.find("LDS race"), std::string::npos) << text;
  EXPECT_EQ(run(body, 2, "none"), "");
  EXPECT_EQ(run(body, 2, "all,-lds-race,-hazard"), "");
}

void expectClean(const std::string &body, unsigned waves = 2) { EXPECT_EQ(run(body, waves), ""); }

const std::string waitLds = "  s_waitcnt lgkmcnt(0)\n", barrier = "  s_barrier\n";

TEST(RaceLds, ReadOfAnotherWavesWriteNeedsABarrier) {
  // Each wave writes its own 256 bytes and reads those of the other.
  std::string write = "  ds_write_b32 v1, v0\n", read = "  ds_read_b32 v3, v2\n";
  // Both waves initialise everything, so that only the order is wrong.
  std::string init = "  ds_write_b32 v1, v0\n" + waitLds + barrier;
  expectRace(init + write + waitLds + read, "LDS race in lane 0");
  expectClean(init + write + waitLds + barrier + read);
}

TEST(RaceLds, ReportNamesBothAccesses) {
  std::string text = run("  ds_write_b32 v1, v0\n" + waitLds + barrier +
                         "  ds_write_b32 v1, v0 offset:512\n  ds_write_b32 v2, v0 offset:512\n");
  EXPECT_NE(text.find("ds_write_b32 v2, v0 offset:512"), std::string::npos) << text;
  EXPECT_NE(text.find("ds_write_b32 v1, v0 offset:512"), std::string::npos) << text;
  EXPECT_NE(text.find("at LDS byte "), std::string::npos) << text;
}

/// Write after read: the reader must be done before the other wave overwrites.
TEST(RaceLds, OverwriteOfWhatAnotherWaveReads) {
  std::string init = "  ds_write_b32 v1, v0\n" + waitLds + barrier;
  std::string read = init + "  ds_read_b32 v3, v2\n" + waitLds;
  expectRace(read + "  ds_write_b32 v1, v0\n", "LDS race in lane 0");
  expectClean(read + barrier + "  ds_write_b32 v1, v0\n");
}

/// A write that was issued but not waited for is still under way behind the barrier.
TEST(RaceLds, WriteMustBeWaitedForBeforeTheBarrier) {
  std::string write = "  ds_write_b32 v1, v0\n", read = "  ds_read_b32 v3, v2\n";
  expectRace(write + barrier + read, "expected an s_waitcnt lgkmcnt there");
  expectRace(write + barrier + waitLds + read, "expected an s_waitcnt lgkmcnt there");
  expectClean(write + waitLds + barrier + read);
  // DS returns in order: the second instruction may still be under way.
  expectClean(write + "  ds_write_b32 v1, v0 offset:1024\n  s_waitcnt lgkmcnt(1)\n" + barrier +
              read);
}

/// The same for the read half: data may be overwritten while they are being read.
TEST(RaceLds, ReadMustBeWaitedForBeforeTheBarrier) {
  std::string read = "  ds_write_b32 v1, v0\n" + waitLds + barrier + "  ds_read_b32 v3, v2\n";
  expectRace(read + barrier + "  ds_write_b32 v1, v0\n", "this write and the read by wave");
  expectClean(read + waitLds + barrier + "  ds_write_b32 v1, v0\n");
}

TEST(RaceLds, AtomicsDoNotRaceAmongThemselves) {
  std::string init = "  v_mov_b32_e32 v4, 0\n  s_cmp_lg_u32 s20, 0\n  s_cbranch_scc1 .Lskip\n"
                     "  ds_write_b32 v4, v4\n  s_waitcnt lgkmcnt(0)\n.Lskip:\n" +
                     barrier;
  expectClean(init + "  ds_add_u32 v4, v0\n  ds_add_rtn_u32 v5, v4, v0\n");
  expectRace(init + "  ds_add_u32 v4, v0\n" + waitLds + "  ds_read_b32 v5, v4\n",
             "LDS race in lane 0");
  expectClean(init + "  ds_add_u32 v4, v0\n" + waitLds + barrier + "  ds_read_b32 v5, v4\n");
  expectRace(init + "  ds_read_b32 v5, v4\n" + waitLds + "  ds_add_u32 v4, v0\n",
             "LDS race in lane 0");
}

/// Two waves may share a dword as long as they keep to their halves.
TEST(RaceLds, BytesCountNotDwords) {
  std::string address = "  v_mbcnt_lo_u32_b32 v6, -1, 0\n  v_mbcnt_hi_u32_b32 v6, -1, v6\n"
                        "  v_lshlrev_b32_e32 v6, 2, v6\n  s_lshl_b32 s21, s20, 1\n"
                        "  v_add_u32_e32 v6, s21, v6\n"; // lane * 4 + wave * 2
  expectClean(address + "  ds_write_b16 v6, v0\n  s_waitcnt lgkmcnt(0)\n  ds_read_u16 v7, v6\n");
  expectRace(address + "  ds_write_b16 v6, v0\n" + waitLds +
                 "  v_and_b32_e32 v6, 0xfc, v6\n  ds_read_u8 v7, v6\n",
             "this read and the write by wave");
}

/// A load to LDS writes when its wave has waited for vmcnt, and not before the barrier behind that.
TEST(RaceLds, LoadToLdsIsAWrite) {
  std::string load = "  s_lshl_b32 m0, s20, 8\n  s_nop 0\n  global_load_lds_dword v1, s[8:9]\n";
  std::string read = "  ds_read_b32 v3, v2\n";
  expectClean(load + "  s_waitcnt vmcnt(0)\n" + barrier + read);
  // Over initialised LDS, so that only the order is wrong.
  std::string init = "  ds_write_b32 v1, v0\n" + waitLds + barrier;
  std::string text = run(init + load + "  s_waitcnt vmcnt(0)\n" + read, 2, "none,lds-race");
  EXPECT_NE(text.find("LDS race in lane 0"), std::string::npos) << text;
  text = run(init + load + barrier + read, 2, "none,lds-race");
  EXPECT_NE(text.find("the write by wave"), std::string::npos) << text;
  EXPECT_NE(text.find("s_waitcnt vmcnt there"), std::string::npos) << text;
  text = run(init + load + "  s_waitcnt vmcnt(0)\n" + barrier + read, 2, "none,lds-race");
  EXPECT_EQ(text, "");
}

/// lgkmcnt and vmcnt do not order each other: a load to LDS may overtake its own wave's DS
/// instructions.
TEST(RaceLds, LoadToLdsOverWhatItsWaveStillAccesses) {
  std::string load = "  s_lshl_b32 m0, s20, 8\n  s_nop 0\n  global_load_lds_dword v1, s[8:9]\n"
                     "  s_waitcnt vmcnt(0)\n";
  std::string write = "  ds_write_b32 v1, v0\n", read = "  ds_read_b32 v3, v1\n";
  std::string init = write + waitLds;
  expectRace(write + load, "this load to LDS and the write by wave");
  expectRace(write + load, "expected an s_waitcnt lgkmcnt between the two");
  expectRace(init + read + load, "this load to LDS and the read by wave");
  expectRace(init + "  ds_add_u32 v1, v0\n" + load, "expected an s_waitcnt lgkmcnt between");
  expectRace(init + read + barrier + load, "expected an s_waitcnt lgkmcnt between the two");
  expectClean(write + waitLds + load);
  expectClean(init + read + waitLds + load);
  // Other bytes are of no concern, and DS returns in order.
  expectClean(init + "  ds_write_b32 v1, v0 offset:2048\n" + load);
  expectClean(init + read + "  ds_write_b32 v1, v0 offset:1024\n  s_waitcnt lgkmcnt(1)\n" + load);
  EXPECT_NE(run(write + load, 1).find("LDS race in lane 0"), std::string::npos);
}

TEST(RaceLds, FlatReachesLdsToo) {
  std::string flat = "  s_mov_b64 s[22:23], src_shared_base\n  v_mov_b32_e32 v5, s23\n"
                     "  v_mov_b32_e32 v4, v1\n  v_mov_b32_e32 v7, s23\n  v_mov_b32_e32 v6, v2\n"
                     "  flat_store_dword v[4:5], v0\n";
  std::string wait = "  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  expectClean(flat + wait + barrier + "  flat_load_dword v8, v[6:7]\n" + wait);
  expectRace("  ds_write_b32 v1, v0\n" + waitLds + barrier + flat + wait +
                 "  flat_load_dword v8, v[6:7]\n" + wait,
             "LDS race in lane 0");
  // FLAT may be the one of three that is still out; the older two of three in order are not.
  std::string behind = "  ds_read_b32 v9, v1 offset:512\n  ds_read_b32 v10, v1 offset:512\n"
                       "  s_waitcnt lgkmcnt(1)\n" +
                       barrier + "  ds_read_b32 v3, v2\n";
  std::string init = "  ds_write_b32 v1, v0 offset:512\n";
  expectRace(init + waitLds + flat + behind, "LDS race in lane 0");
  expectClean(init + waitLds + "  ds_write_b32 v1, v0\n" + behind);
}

/// A wave that has ended orders what it did before a later barrier of the others.
TEST(RaceLds, EndedWavesAreOrderedByTheNextBarrier) {
  expectClean("  s_cmp_eq_u32 s20, 0\n  s_cbranch_scc1 .Lwriter\n  s_barrier\n"
              "  ds_read_b32 v3, v2\n  s_endpgm\n.Lwriter:\n  ds_write_b32 v1, v0\n"
              "  s_waitcnt lgkmcnt(0)\n  s_nop 0\n");
}

TEST(RaceLds, OneWaveNeverRaces) {
  expectClean("  ds_write_b32 v1, v0\n  ds_read_b32 v3, v1\n  ds_write_b32 v1, v0\n", 1);
}

/// The next workgroup starts with a clean record.
TEST(RaceLds, WorkgroupsDoNotMix) {
  TestMachine m(AsmKernel{.body = "  v_lshlrev_b32_e32 v1, 2, v0\n  ds_write_b32 v1, v0\n",
                          .ldsBytes = 4096});
  EXPECT_EQ(m.run({}, {700, 1, 1}, {256, 1, 1}), "");
}

} // namespace
