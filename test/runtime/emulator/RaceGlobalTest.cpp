// The check global-race: each defect beside a twin that is right.
#include "test/runtime/emulator/ExchangeKernels.h"

#include <gtest/gtest.h>

#include <unistd.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

const std::string waitVmem = "s_waitcnt vmcnt(0)";
const std::string writeBack = "buffer_wbl2 sc1\n  s_waitcnt vmcnt(0)";

template <typename Kernel> void expectClean(const Kernel &kernel) {
  for (unsigned threads : {1u, 2u}) {
    Options options = withChecks();
    options.threads = threads;
    RunResult result = run(kernel, options);
    EXPECT_TRUE(result.isRight) << result.error;
  }
}

/// Reported with the check, and passing without it: fast mode is coherent. With `oneThread` of the
/// host it passes by the order of turns.
template <typename Kernel>
void expectRace(const Kernel &kernel, const std::string &message, bool oneThread = false) {
  Options options = withChecks();
  options.threads = 1;
  std::string text = run(kernel, options).error;
  EXPECT_NE(text.find("global race at byte"), std::string::npos) << text;
  EXPECT_NE(text.find(message), std::string::npos) << text;
  Options unchecked = withChecks("-global-race");
  if (oneThread)
    unchecked.threads = 1;
  RunResult without = run(kernel, unchecked);
  EXPECT_TRUE(without.isRight) << without.error;
}

TEST(RaceGlobal, ReleaseAndAcquireWithCacheMaintenance) {
  for (unsigned waves : {1u, 4u}) {
    expectClean(releaseAcquire(waves));
    Exchange e = releaseAcquire(waves);
    e.release = waitVmem;
    expectRace(e, "expected sc1 on it, or buffer_wbl2 sc1");
    e = releaseAcquire(waves);
    e.acquire = "";
    expectRace(e, "expected sc1 on this load, or buffer_inv sc1");
    e = releaseAcquire(waves);
    e.release = "buffer_wbl2 sc1"; // not waited for
    expectRace(e, "not ordered");
  }
}

TEST(RaceGlobal, DataOfDeviceScopeNeedOnlyTheWaits) {
  for (unsigned waves : {1u, 4u}) {
    expectClean(deviceScope(waves));
    Exchange e = deviceScope(waves);
    e.loadBits = "";
    expectRace(e, "the caches may hold older data");
    e.acquire = "buffer_inv sc1";
    expectClean(e);
    e = deviceScope(waves);
    e.flagBits = "";
    expectRace(e, "'flag'");
    e = deviceScope(waves);
    e.pollBits = "";
    expectRace(e, "'flag'");
    e.pollBits = "sc0"; // workgroup scope
    expectRace(e, "'flag'");
  }
}

/// The trap: a flag of device scope does not wait for stores of the other waves, the barrier
/// neither. (Data of up to 8 bytes and device scope would be relaxed atomics, which never race.)
TEST(RaceGlobal, EveryProducingWaveWaitsBeforeTheBarrier) {
  Exchange e = deviceScope(4);
  e.isWide = true;
  expectClean(e);
  e.waitBeforeBarrier = "";
  e.release = waitVmem; // covers wave 0 only
  expectRace(e, "expected s_waitcnt vmcnt(0) behind the first, a barrier");
  // A write-back queues behind the stores of the whole CU.
  e.release = writeBack;
  expectClean(e);
}

/// An exchange whose first poll comes after all stores, so that it sees the flag.
Exchange lateConsumer(unsigned waves, const std::string &besidePoll) {
  Exchange e = deviceScope(waves);
  e.isWide = true;
  e.beforePoll = "s_sleep 127\n  s_sleep 127";
  e.besidePoll = besidePoll;
  return e;
}

void expectOneThreadClean(const Exchange &e) {
  Options options = withChecks();
  options.threads = 1;
  RunResult result = run(e, options);
  EXPECT_TRUE(result.isRight) << result.error;
}

/// Data loaded beside the flag may be older than it: what is issued together is done in any order.
TEST(RaceGlobal, TheFlagMustHaveReturnedBeforeDataAreLoaded) {
  std::string load = "global_load_dwordx4 v[12:15], v1, s[8:9] sc1";
  for (unsigned waves : {1u, 4u}) {
    expectRace(lateConsumer(waves, load), "this device-scope read and the device-scope write",
               /*oneThread=*/true);
    expectOneThreadClean(lateConsumer(waves, waitVmem + "\n  " + load));
  }
}

/// At a barrier the other waves learn of what has returned, and a wave whose own load is still out
/// learns it from them.
TEST(RaceGlobal, TheFlagMustHaveReturnedBeforeTheBarrier) {
  expectRace(lateConsumer(4, "s_barrier"), "this device-scope read and the device-scope write",
             /*oneThread=*/true);
  expectOneThreadClean(lateConsumer(4, waitVmem + "\n  s_barrier"));
  Exchange e = deviceScope(4);
  e.isWide = true;
  e.consumerBarrier = "global_load_dword v10, v9, s[10:11] sc1\n  s_barrier";
  expectClean(e);
}

/// Only the wave that polled, and those behind a barrier, know that the flag is up.
TEST(RaceGlobal, WavesLearnThroughTheBarrierOnly) {
  Exchange e = releaseAcquire(4);
  e.consumerBarrier = "";
  Options options = withChecks();
  options.threads = 1;
  std::string text = run(e, options).error;
  EXPECT_NE(text.find("global race at byte"), std::string::npos) << text;
}

TEST(RaceGlobal, ReportNamesBothAccesses) {
  Exchange e = releaseAcquire();
  e.acquire = "";
  Options options = withChecks();
  options.threads = 1;
  std::string text = run(e, options).error;
  EXPECT_NE(text.find("workgroup (1, 0, 0), wave 0, pc 0x"), std::string::npos) << text;
  EXPECT_NE(text.find("global_load_dword v4, v1, s[8:9]: global race at byte 0 of 'data' (rank 0): "
                      "this plain read and the plain write by rank 0, kernel 'k', workgroup "
                      "(0, 0, 0), wave 0, pc 0x"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(": global_store_dword v1, v4, s[8:9] are not ordered"), std::string::npos)
      << text;
}

TEST(RaceGlobal, LastBlockReduction) {
  expectClean(lastBlockReduction(writeBack, "buffer_inv sc1"));
  expectRace(lastBlockReduction(waitVmem, "buffer_inv sc1"), "buffer_wbl2 sc1");
  expectRace(lastBlockReduction(writeBack, ""), "buffer_inv sc1");
}

TEST(RaceGlobal, GridBarrier) {
  expectClean(gridBarrier(writeBack, "buffer_inv sc1"));
  expectRace(gridBarrier(waitVmem, "buffer_inv sc1"), "buffer_wbl2 sc1");
  expectRace(gridBarrier(writeBack, ""), "buffer_inv sc1");
}

TEST(RaceGlobal, AtomicsDoNotRaceAmongThemselves) { expectClean(atomicCounters()); }

TEST(RaceGlobal, TaggedWordsOfEightBytesNeedNothingElse) {
  for (bool acrossRanks : {false, true})
    EXPECT_TRUE(runTagged(2, withChecks(), "sc0 sc1", acrossRanks).isRight);
  EXPECT_TRUE(runTagged(2, withChecks(), "sc1").isRight);
  // 16 bytes are not single-copy atomic.
  EXPECT_NE(runTagged(4, withChecks()).error.find("global race at byte"), std::string::npos);
  EXPECT_TRUE(runTagged(4, withChecks("-global-race")).isRight);
}

/// At 4 modulo 8 the tag may arrive before the payload, wherever the lines lie.
TEST(RaceGlobal, TaggedWordsMustBeAligned) {
  EXPECT_TRUE(runTagged(2, withChecks(), "sc1", false, 8).isRight);
  std::string text = runTagged(2, withChecks(), "sc1", false, 4).error;
  EXPECT_NE(text.find("global race at byte 4 of 'mail'"), std::string::npos) << text;
  EXPECT_TRUE(runTagged(2, withChecks("-global-race"), "sc1", false, 4).isRight);
}

TEST(RaceGlobal, RanksNeedSystemScope) {
  std::string text = runTagged(2, withChecks(), "sc1", true).error;
  EXPECT_NE(text.find("device-scope"), std::string::npos) << text;
  EXPECT_TRUE(runTagged(2, withChecks("-global-race"), "sc1", true).isRight);
}

/// Two workgroups write one byte of a dword each: no race; the same byte: a race, even of equal
/// values.
TEST(RaceGlobal, BytesCountNotDwords) {
  auto text = [](const char *shift) {
    TestMachine m(AsmKernel{.body = std::string(R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_lshr_b32 s10, s2, )") + shift + R"(
  v_add_u32_e32 v1, s10, v1
  s_waitcnt lgkmcnt(0)
  global_store_byte v1, v0, s[8:9])"});
    return m.run({m.output(64)}, {2, 1, 1});
  };
  EXPECT_EQ(text("0"), "");
  EXPECT_NE(text("1").find("this plain write and the plain write"), std::string::npos);
}

/// Memory of the host may begin anywhere in a line.
TEST(RaceGlobal, HostMemoryInsideALine) {
  const std::string head = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_lshl_b32 s4, s2, 2\n"
                           "  v_mov_b32_e32 v1, 0\n  v_mov_b32_e32 v2, s4\n"
                           "  s_waitcnt lgkmcnt(0)\n";
  alignas(128) uint32_t words[64] = {};
  auto runOn = [&](const std::string &store, unsigned first, unsigned count) {
    TestMachine m(AsmKernel{.body = head + store}, 1, withChecks());
    EXPECT_EQ(errorText(m.machine.mapHost(words + first, 4 * count, "host")), "");
    return m.run({reinterpret_cast<uint64_t>(words + first)}, {2, 1, 1}, {1, 1, 1});
  };
  for (unsigned first : {9u, 31u}) {
    std::string text = runOn("  global_store_dword v1, v2, s[8:9] offset:4\n", first, 12);
    EXPECT_NE(text.find("global race at byte 4 of 'host'"), std::string::npos) << text;
    EXPECT_EQ(runOn("  global_store_dword v2, v2, s[8:9]\n", first, 12), "");
  }
}

/// What the detector remembers takes memory too.
TEST(RaceGlobalDeathTest, HostWithoutRoomForTheShadow) {
  if (!canLimitMemory())
    GTEST_SKIP() << "sanitizers map the address space themselves";
  auto store = [] {
    TestMachine m(AsmKernel{.body = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_mov_b32_e32 v1, 0\n"
                                    "  s_waitcnt lgkmcnt(0)\n"
                                    "  global_store_dword v1, v1, s[8:9]\n"},
                  1, withChecks());
    DevicePtr much = m.output(uint64_t(4) << 30, "much");
    limitMemory(uint64_t(1) << 30);
    std::fprintf(stderr, "%s", m.run({much}, {2, 1, 1}).c_str());
    _exit(0);
  };
  EXPECT_EXIT(store(), testing::ExitedWithCode(0),
              "the host has no memory to check 'much' .17179869184 bytes. for races; without the "
              "check race-global");
}

/// Workgroup 0 writes words 0 to 15, 1 words 8 to 23, of two mappings in one line.
TEST(RaceGlobal, TwoMappingsInALine) {
  alignas(128) uint32_t words[32] = {};
  for (unsigned split : {8u, 12u}) {
    TestMachine m(AsmKernel{.body = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  s_lshl_b32 s4, s2, 3\n"
                                    "  v_add_u32_e32 v1, s4, v0\n  v_lshlrev_b32_e32 v1, 2, v1\n"
                                    "  s_waitcnt lgkmcnt(0)\n"
                                    "  global_store_dword v1, v0, s[8:9]\n"},
                  1, withChecks());
    EXPECT_EQ(errorText(m.machine.mapHost(words, 4 * split, "one")), "");
    EXPECT_EQ(errorText(m.machine.mapHost(words + split, 4 * (24 - split), "other")), "");
    std::string text = m.run({reinterpret_cast<uint64_t>(words)}, {2, 1, 1}, {16, 1, 1});
    std::string where = split == 8 ? "byte 0 of 'other'" : "byte 32 of 'one'";
    EXPECT_NE(text.find("global race at " + where), std::string::npos) << text;
  }
}

/// A workgroup may not overwrite what another still reads.
TEST(RaceGlobal, WriteAfterRead) {
  TestMachine m(AsmKernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 .Lwrite
  global_load_dword v2, v1, s[8:9]
  s_endpgm
.Lwrite:
  global_store_dword v1, v0, s[8:9])"},
                1, withChecks());
  std::string text = m.run({m.buffer(std::vector<uint32_t>(64))}, {2, 1, 1});
  EXPECT_NE(text.find("global race at byte 0 of 'in'"), std::string::npos) << text;
}

/// The scalar cache is never coherent with stores of the launch, whatever the fences.
TEST(RaceGlobal, ScalarLoadOfWhatTheLaunchWrites) {
  Exchange e = deviceScope();
  e.acquire = "buffer_inv sc1\n  s_load_dword s21, s[8:9], 0x0\n  s_waitcnt lgkmcnt(0)";
  expectRace(e, "the scalar cache is not coherent within a launch");
}

/// Launches of one rank are ordered, with all caches written back between.
TEST(RaceGlobal, LaunchesAreOrdered) {
  TestMachine m(countUp(), 1, withChecks());
  DevicePtr data = m.buffer(std::vector<uint32_t>(8 * 64));
  std::vector<Launch> launches;
  for (uint64_t x : {0, 3, 5})
    launches.push_back(m.launch({data, x}, {8, 1, 1}));
  EXPECT_EQ(errorText(m.machine.run(launches)), "");
  EXPECT_EQ(m.read(data, 8 * 64), std::vector<uint32_t>(8 * 64, 3));
}

} // namespace
