// Statistics: counts worked out by hand from the text of each kernel.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <map>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

Options countingOptions() {
  Options options;
  options.countBankConflicts = true;
  return options;
}

/// Modelled conflict cycles of one wave that writes `element` bytes per lane at lane * `stride` and
/// reads them again; halved, as both take the same.
uint64_t conflictsOf(const std::string &element, unsigned stride) {
  const std::string data = element == "32" ? "v4" : element == "64" ? "v[4:5]" : "v[4:7]";
  TestMachine m(AsmKernel{.body = "  v_mul_u32_u24_e32 v2, " + std::to_string(stride) +
                                  ", v0\n  v_mov_b32_e32 v4, 1\n  v_mov_b32_e32 v5, 1\n"
                                  "  v_mov_b32_e32 v6, 1\n  v_mov_b32_e32 v7, 1\n"
                                  "  ds_write_b" +
                                  element + " v2, " + data + "\n  ds_read_b" + element + " " +
                                  data + ", v2\n  s_waitcnt lgkmcnt(0)",
                          .ldsBytes = 65536},
                1, countingOptions());
  EXPECT_EQ(m.run({}), "");
  const Stats &s = m.machine.stats(0);
  EXPECT_EQ(s.ldsAccesses, 2u);
  EXPECT_EQ(s.ldsBankConflicts % 2, 0u);
  return s.ldsBankConflicts / 2;
}

} // namespace

/// One access reads the kernel arguments, the others move 64 lanes of 4 bytes.
TEST(Stats, BytesByMemoryLevel) {
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dwordx2 s[12:13], s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[8:9]
  global_load_dword v3, v1, s[10:11]
  global_load_dword v4, v1, s[12:13]
  s_waitcnt vmcnt(0)
  scratch_store_dword off, v2, off
  scratch_store_dwordx2 off, v[2:3], off offset:8
  s_waitcnt vmcnt(0)
  scratch_load_dword v5, off, off
  ds_write_b32 v1, v2
  s_mov_b32 m0, 0
  s_waitcnt vmcnt(0)
  global_load_lds_dword v1, s[8:9] offset:256
  global_store_dword v1, v2, s[10:11]
  global_store_dword v1, v2, s[12:13])",
                          .ldsBytes = 1024,
                          .scratchBytes = 16},
                2, countingOptions());
  DevicePtr own = m.buffer(std::vector<uint32_t>(128), "own");
  DevicePtr fine = m.buffer(std::vector<uint32_t>(64), "fine", 0, MemoryKind::PeerVisible);
  DevicePtr peer = m.buffer(std::vector<uint32_t>(64), "peer", 1, MemoryKind::PeerVisible);
  ASSERT_EQ(m.run({own, fine, peer}), "");
  auto bytes = [&](MemoryLevel level) {
    const LevelTraffic &traffic = m.machine.stats(0).level(level);
    return std::pair(traffic.bytesRead, traffic.bytesWritten);
  };
  EXPECT_EQ(bytes(MemoryLevel::Scalar), std::pair(uint64_t(24), uint64_t(0)));
  EXPECT_EQ(bytes(MemoryLevel::Global), std::pair(uint64_t(512), uint64_t(0)));
  EXPECT_EQ(bytes(MemoryLevel::FineGrained), std::pair(uint64_t(256), uint64_t(256)));
  EXPECT_EQ(bytes(MemoryLevel::Peers), std::pair(uint64_t(256), uint64_t(256)));
  EXPECT_EQ(bytes(MemoryLevel::Scratch), std::pair(uint64_t(256), uint64_t(768)));
  EXPECT_EQ(bytes(MemoryLevel::Lds), std::pair(uint64_t(0), uint64_t(512)));
}

/// Instructions whose EXEC is zero still count as instructions, but move no bytes.
TEST(Stats, OnlyActiveLanesMoveBytes) {
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 0x1f
  global_store_dwordx2 v1, v[0:1], s[8:9]
  s_mov_b64 exec, 0
  global_store_dword v1, v0, s[8:9])"},
                1, countingOptions());
  DevicePtr out = m.output(64);
  ASSERT_EQ(m.run({out}), "");
  EXPECT_EQ(m.machine.stats(0).level(MemoryLevel::Global).bytesWritten, 5u * 8);
  EXPECT_EQ(m.machine.stats(0).count(InstructionClass::VmemStore), 2u);
}

/// Workgroup w of three reads a dword in each of lanes 0 to 4 + w.
TEST(Stats, BytesOfEachWorkgroup) {
  Options options;
  options.countWorkgroups = true;
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_lshl_b32 s3, 0x20, s2
  s_sub_u32 s3, s3, 1
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 0
  s_mov_b32 exec_lo, s3
  global_load_dword v2, v1, s[8:9])"},
                1, options);
  DevicePtr in = m.buffer(std::vector<uint32_t>(64), "in");
  ASSERT_EQ(m.run({in}, {3, 1, 1}), "");
  const std::vector<AllocationTraffic> &traffic = m.machine.stats(0).traffic;
  auto found = std::ranges::find(traffic, "in", &AllocationTraffic::name);
  ASSERT_NE(found, traffic.end());
  EXPECT_EQ(found->readByWorkgroup, (std::vector<uint64_t>{20, 24, 28}));
  EXPECT_EQ(found->mostReadByWorkgroup(), 28u);
  EXPECT_EQ(found->bytesRead, 72u);
}

TEST(Stats, MatrixInstructionsByShapeAndTypes) {
  TestMachine m(AsmKernel{.body = R"(
  v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[12:15], v[0:3]
  v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[12:15], v[0:3]
  v_mfma_f32_32x32x16_bf16 v[16:31], v[8:11], v[12:15], 0
  v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:19], v[0:3] blgp:4
  v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[12:15], v[0:3], v40, v41 cbsz:4 blgp:4
  v_smfmac_f32_16x16x64_bf16 v[0:3], v[8:11], v[16:23], v40
  v_accvgpr_write_b32 a0, v0)",
                          .agprs = 8});
  ASSERT_EQ(m.run({}, {2, 1, 1}), "");
  const Stats &s = m.machine.stats(0);
  EXPECT_EQ(s.count(InstructionClass::Mfma), 12u);
  EXPECT_EQ(s.count(InstructionClass::Valu), 2u);
  const std::map<std::string, uint64_t> counts(s.matrix.begin(), s.matrix.end());
  EXPECT_EQ(counts,
            (std::map<std::string, uint64_t>{{"mfma_f32_16x16x32_bf16", 4},
                                             {"mfma_f32_32x32x16_bf16", 2},
                                             {"mfma_f32_16x16x128_f8f6f4 fp8 x fp4", 2},
                                             {"mfma_scale_f32_16x16x128_f8f6f4 fp4 x fp4", 2},
                                             {"smfmac_f32_16x16x64_bf16", 2}}));
}

/// 64 banks of 4 bytes; phases of 64, 32 and 16 lanes for 4, 8 and 16 bytes.
TEST(Stats, LdsBankConflicts) {
  EXPECT_EQ(conflictsOf("32", 4), 0u);         // each lane its own bank
  EXPECT_EQ(conflictsOf("32", 8), 1u);         // every second bank, two lanes each
  EXPECT_EQ(conflictsOf("32", 256), 63u);      // all in one bank
  EXPECT_EQ(conflictsOf("32", 260), 0u);       // padded by a bank
  EXPECT_EQ(conflictsOf("32", 0), 0u);         // one dword for all
  EXPECT_EQ(conflictsOf("64", 8), 0u);         // 32 lanes fill the banks
  EXPECT_EQ(conflictsOf("64", 16), 2u);        // two lanes a bank in each of two phases
  EXPECT_EQ(conflictsOf("128", 16), 0u);       // 16 lanes fill the banks
  EXPECT_EQ(conflictsOf("128", 256), 4u * 15); // 16 rows in the same four banks, four phases
  EXPECT_EQ(conflictsOf("128", 272), 0u);      // rows padded by 16 bytes
}

/// Two addresses are two accesses; lanes of an atomic on one dword take turns.
TEST(Stats, LdsConflictsOfPairsAndAtomics) {
  TestMachine m(AsmKernel{.body = R"(
  v_lshlrev_b32_e32 v1, 2, v0
  v_lshlrev_b32_e32 v2, 3, v0
  v_mov_b32_e32 v3, 0
  ds_write2_b32 v1, v0, v0 offset1:64
  ds_write2_b32 v2, v0, v0 offset1:1
  ds_add_u32 v3, v0)",
                          .ldsBytes = 4096},
                1, countingOptions());
  ASSERT_EQ(m.run({}), "");
  EXPECT_EQ(m.machine.stats(0).ldsAccesses, 5u);
  EXPECT_EQ(m.machine.stats(0).ldsBankConflicts, 0u + 2u + 63u);
}

TEST(Stats, ConflictsAreCountedOnlyOnDemand) {
  TestMachine m(
      AsmKernel{.body = "  v_lshlrev_b32_e32 v1, 8, v0\n  ds_write_b32 v1, v0", .ldsBytes = 16384});
  ASSERT_EQ(m.run({}), "");
  EXPECT_EQ(m.machine.stats(0).ldsAccesses, 0u);
  EXPECT_EQ(m.machine.stats(0).ldsBankConflicts, 0u);
}

/// gfx950: 8 waves and 512 registers per SIMD, 128 granules of 1280 bytes of LDS.
TEST(Stats, Occupancy) {
  auto check = [](unsigned vgprs, uint64_t lds, unsigned items, unsigned workgroups, double waves,
                  const char *limits) {
    const Occupancy occupancy = occupancyOf(vgprs, lds, items);
    EXPECT_EQ(occupancy.workgroups(), workgroups) << vgprs << " " << lds << " " << items;
    EXPECT_EQ(occupancy.waves(), waves);
    EXPECT_EQ(occupancy.limits(), limits);
  };
  check(64, 0, 64, 32, 8, "threads,vgprs");
  check(32, 0, 256, 8, 8, "threads");
  check(72, 0, 256, 7, 7, "vgprs");
  check(168, 0, 512, 1, 2, "vgprs"); // 3 waves per SIMD are 12, but workgroups have 8
  check(512, 0, 64, 4, 1, "vgprs");
  check(512, 0, 512, 0, 0, "vgprs");
  check(64, 81920, 512, 2, 4, "lds");
  check(64, 81921, 512, 1, 2, "lds");
  check(128, 81920, 512, 2, 4, "vgprs,lds");
  check(64, 163840, 1024, 1, 4, "lds");
}
