// Many waves, workgroups and ranks: barriers, mailboxes, polling, deadlock, budget, determinism.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

static Options withThreads(unsigned threads) {
  Options options = testOptions();
  options.threads = threads;
  return options;
}

/// 8 waves hand a value round through LDS: without a working barrier wave w reads what nobody
/// wrote.
TEST(Scheduler, BarrierOrdersTheWavesOfAWorkgroup) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32_e32 v2, 0x7fc, v1
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[8:9])",
                   .ldsBytes = 2048};
  TestMachine m(kernel);
  DevicePtr out = m.output(512);
  ASSERT_EQ(m.run({out}, {1, 1, 1}, {512, 1, 1}), "");
  auto values = m.read(out, 512);
  for (unsigned n = 0; n < 512; ++n)
    EXPECT_EQ(values[n], n ^ 511);
}

/// Waves that end do not count for the barrier.
TEST(Scheduler, EndedWavesDoNotHoldABarrier) {
  AsmKernel kernel{.body = R"(
  v_readfirstlane_b32 s8, v0
  s_cmp_lt_u32 s8, 128
  s_cbranch_scc1 .Lend
  s_barrier
.Lend:)"};
  TestMachine m(kernel);
  EXPECT_EQ(m.run({}, {3, 1, 1}, {512, 1, 1}), "");
}

/// A barrier that a polling wave never reaches.
TEST(Scheduler, DeadlockIsReportedWithItsWaves) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_readfirstlane_b32 s10, v0
  s_waitcnt lgkmcnt(0)
  s_cmp_lt_u32 s10, 64
  s_cbranch_scc1 .Lpoll
  s_barrier
  s_endpgm
.Lpoll:
  global_load_dword v2, v1, s[8:9] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s11, v2
  s_sleep 1
  s_cmp_eq_u32 s11, 0
  s_cbranch_scc1 .Lpoll
  s_barrier)"};
  for (unsigned threads : {1u, 2u}) {
    TestMachine m(kernel, 1, withThreads(threads));
    DevicePtr flag = m.buffer({0}, "flag");
    std::string text = m.run({flag}, {20, 1, 1}, {128, 1, 1});
    EXPECT_NE(text.find("deadlock: 40 waves wait"), std::string::npos) << text;
    EXPECT_NE(text.find("workgroup (0, 0, 0), wave 0"), std::string::npos);
    EXPECT_NE(text.find("[polling]"), std::string::npos);
    EXPECT_NE(text.find("[at barrier]"), std::string::npos);
    EXPECT_NE(text.find("and 24 more"), std::string::npos);
  }
}

/// Workgroup w waits for the tag of workgroup w + 1 and adds; the last one starts. Each link is a
/// tagged 8-byte word, so the chain works only if all workgroups are live at once.
static const char *chainBody = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_load_dword s10, s[0:1], 0x8
  v_mov_b32_e32 v1, 0
  s_lshl_b32 s11, s2, 3
  s_add_u32 s12, s2, 1
  s_waitcnt lgkmcnt(0)
  s_add_u32 s14, s8, s11
  s_addc_u32 s15, s9, 0
  s_cmp_eq_u32 s12, s10
  v_mov_b32_e32 v4, 0
  s_cbranch_scc1 .Lpost
.Lpoll:
  global_load_dwordx2 v[4:5], v1, s[14:15] offset:8 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s16, v5
  s_cmp_eq_u32 s16, 1
  s_cbranch_scc1 .Lpost
  s_sleep 1
  s_branch .Lpoll
.Lpost:
  v_add_u32_e32 v4, s2, v4
  v_mov_b32_e32 v5, 1
  v_cmp_eq_u32_e32 vcc, 0, v0
  s_and_saveexec_b64 s[18:19], vcc
  global_store_dwordx2 v1, v[4:5], s[14:15] sc1)";

TEST(Scheduler, ChainOfMailboxesThroughTheWholeGrid) {
  for (unsigned threads : {1u, 2u, 3u}) {
    TestMachine m(AsmKernel{.body = chainBody}, 1, withThreads(threads));
    DevicePtr mail = m.buffer(std::vector<uint32_t>(512), "mail");
    Launch launch = m.launch({mail, 256}, {256, 1, 1}, {64, 1, 1});
    launch.resident = true;
    ASSERT_EQ(errorText(m.machine.run({launch})), "");
    EXPECT_EQ(m.read(mail, 2), (std::vector<uint32_t>{255 * 256 / 2, 1}));
  }
}

/// The same without s_sleep: the quantum must let the others run.
TEST(Scheduler, BusyPollingMakesProgressToo) {
  std::string body = chainBody;
  body.erase(body.find("  s_sleep 1\n"), 12);
  Options options = withThreads(2);
  options.quantum = 200;
  TestMachine m(AsmKernel{.body = body}, 1, options);
  DevicePtr mail = m.buffer(std::vector<uint32_t>(128), "mail");
  ASSERT_EQ(m.run({mail, 64}, {64, 1, 1}, {64, 1, 1}), "");
  EXPECT_EQ(m.read(mail, 1)[0], 63u * 64 / 2);
}

/// Rank r stores to its peer's memory and waits for the peer's word in its own.
TEST(Scheduler, RanksExchangeThroughPeerVisibleMemory) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dword s12, s[0:1], 0x10
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v3, 1
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s12
  global_store_dwordx2 v1, v[2:3], s[10:11] sc0 sc1
.Lpoll:
  global_load_dwordx2 v[4:5], v1, s[8:9] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s16, v5
  s_sleep 1
  s_cmp_lg_u32 s16, 1
  s_cbranch_scc1 .Lpoll
  global_store_dword v1, v4, s[8:9] offset:8)"};
  TestMachine m(kernel, 2, withThreads(2));
  std::vector<DevicePtr> own;
  for (unsigned rank = 0; rank < 2; ++rank)
    own.push_back(m.buffer({0, 0, 0}, "mailbox", rank, MemoryKind::PeerVisible));
  std::vector<Launch> launches;
  for (uint64_t rank = 0; rank < 2; ++rank)
    launches.push_back(
        m.launch({own[rank], own[1 - rank], 100 + rank}, {1, 1, 1}, {1, 1, 1}, rank));
  ASSERT_EQ(errorText(m.machine.run(launches)), "");
  EXPECT_EQ(m.read(own[0] + 8, 1, 0)[0], 101u);
  EXPECT_EQ(m.read(own[1] + 8, 1, 1)[0], 100u);
  uint64_t toPeer = 0;
  for (const AllocationTraffic &t : m.machine.stats(0).traffic)
    if (t.rank == 1)
      toPeer += t.bytesWritten;
  EXPECT_EQ(toPeer, 8u);
}

TEST(Scheduler, PrivateMemoryOfAPeerIsOutOfBounds) {
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[8:9])"},
                2);
  DevicePtr peer = m.buffer({1}, "secret", 1);
  EXPECT_NE(m.run({peer}).find("inside 'secret' of rank 1, which is not visible to rank 0"),
            std::string::npos);
}

TEST(Scheduler, RunawayKernelsEndWithTheBudget) {
  Options options = testOptions();
  options.instructionBudget = 100000;
  TestMachine m(AsmKernel{.body = ".Lloop:\n  s_branch .Lloop"}, 1, options);
  std::string text = m.run({}, {4, 1, 1});
  EXPECT_NE(text.find("instruction budget of 100000 wave instructions is spent, "),
            std::string::npos);
  EXPECT_NE(text.find("s_branch"), std::string::npos);
}

/// Launches of one rank run one after another.
TEST(Scheduler, LaunchesOfARankAreOrdered) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_load_dword s10, s[0:1], 0x8
  s_lshl_b32 s11, s2, 2
  v_mov_b32_e32 v1, s11
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v2, v2, s10
  v_add_u32_e32 v2, 1, v2
  global_store_dword v1, v2, s[8:9])"};
  TestMachine m(kernel, 1, withThreads(2));
  DevicePtr data = m.buffer(std::vector<uint32_t>(600, 1), "data");
  std::vector<Launch> launches;
  for (uint64_t factor : {3, 5, 7})
    launches.push_back(m.launch({data, factor}, {600, 1, 1}, {1, 1, 1}));
  ASSERT_EQ(errorText(m.machine.run(launches)), "");
  for (uint32_t value : m.read(data, 600))
    EXPECT_EQ(value, ((1u * 3 + 1) * 5 + 1) * 7 + 1);
}

/// The workgroups all write the same bytes, which is a race but one whose counts are known.
TEST(Scheduler, StatisticsCountByClassAndAllocation) {
  Options options = testOptions();
  options.checks.set(Check::GlobalRace, false);
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[8:9]
  s_waitcnt vmcnt(0)
  ds_write_b32 v1, v2
  s_barrier
  global_store_dword v1, v2, s[8:9])",
                          .ldsBytes = 256},
                1, options);
  DevicePtr data = m.buffer(std::vector<uint32_t>(64), "data");
  ASSERT_EQ(m.run({data}, {3, 1, 1}), "");
  const Stats &s = m.machine.stats(0);
  EXPECT_EQ(s.count(InstructionClass::Valu), 3u);
  EXPECT_EQ(s.count(InstructionClass::VmemLoad), 3u);
  EXPECT_EQ(s.count(InstructionClass::VmemStore), 3u);
  EXPECT_EQ(s.count(InstructionClass::Waitcnt), 6u);
  EXPECT_EQ(s.count(InstructionClass::Barrier), 3u);
  EXPECT_EQ(s.count(InstructionClass::Smem), 3u);
  EXPECT_EQ(s.level(MemoryLevel::Lds).bytesWritten, 3u * 256);
  EXPECT_EQ(s.workgroups, 3u);
  uint64_t read = 0, written = 0;
  for (const AllocationTraffic &t : s.traffic)
    if (t.name == "data")
      read += t.bytesRead, written += t.bytesWritten;
  EXPECT_EQ(read, 3u * 256);
  EXPECT_EQ(written, 3u * 256);
}
