// The adversarial memory model: what is right stays right for every seed, what only works on a
// coherent machine goes wrong for some.
#include "test/runtime/emulator/ExchangeKernels.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

constexpr uint64_t seeds = 50;
const std::string waitVmem = "s_waitcnt vmcnt(0)";
const std::string writeBack = "buffer_wbl2 sc1\n  s_waitcnt vmcnt(0)";

/// Right for all seeds, with all checks.
void expectRight(const std::function<RunResult(const Options &)> &run) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    RunResult result = run(adversarial(seed));
    EXPECT_TRUE(result.isRight) << "seed " << seed << ": " << result.error;
  }
}

/// Right on coherent memory without checks, but not for every seed: a wrong result, or no end.
void expectWrong(const std::function<RunResult(const Options &)> &run) {
  const std::string checks = "none,deadlock,bounds";
  RunResult fast = run(withChecks(checks));
  EXPECT_TRUE(fast.isRight) << fast.error;
  unsigned wrong = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    wrong += !run(adversarial(seed, checks)).isRight;
  EXPECT_GT(wrong, 0u);
}

template <typename Kernel> auto runner(const Kernel &kernel) {
  return [kernel](const Options &options) { return run(kernel, options); };
}

TEST(Coherence, ReleaseAndAcquire) {
  expectRight(runner(releaseAcquire(1)));
  expectRight(runner(releaseAcquire(4)));
  expectRight(runner(deviceScope(1)));
  expectRight(runner(deviceScope(4)));
}

/// The compiler's trap: no wait for vmcnt before the barrier, and a relaxed flag.
TEST(Coherence, FlagOvertakesTheDataOfOtherWaves) {
  Exchange e = deviceScope(4);
  e.waitBeforeBarrier = "";
  expectWrong(runner(e));
  e.release = writeBack;
  expectRight(runner(e));
}

TEST(Coherence, PlainExchangeAcrossXcds) {
  Exchange e = {.waitBeforeBarrier = waitVmem, .flagBits = "", .pollBits = ""};
  expectWrong(runner(e));
}

TEST(Coherence, DataStayInTheWritersCache) {
  Exchange e = releaseAcquire();
  e.release = waitVmem;
  expectWrong(runner(e));
}

TEST(Coherence, ReadersCacheIsStale) {
  Exchange e = releaseAcquire();
  e.acquire = "";
  expectWrong(runner(e));
}

TEST(Coherence, LastBlockReduction) {
  expectRight(runner(lastBlockReduction(writeBack, "buffer_inv sc1")));
  expectWrong(runner(lastBlockReduction(waitVmem, "buffer_inv sc1")));
}

TEST(Coherence, GridBarrier) {
  expectRight(runner(gridBarrier(writeBack, "buffer_inv sc1")));
  expectWrong(runner(gridBarrier(waitVmem, "buffer_inv sc1")));
}

TEST(Coherence, AtomicCounters) { expectRight(runner(atomicCounters())); }

TEST(Coherence, TaggedWordsTearFromSixteenBytesOn) {
  auto tagged = [](unsigned dwords, const char *bits, bool acrossRanks) {
    return [=](const Options &options) { return runTagged(dwords, options, bits, acrossRanks); };
  };
  expectRight(tagged(2, "sc1", false));
  expectRight(tagged(2, "sc0 sc1", true));
  expectWrong(tagged(4, "sc1", false));
  expectWrong(tagged(4, "sc0 sc1", true));
}

/// A wave sees its own stores, of any width, at once and in order, whatever is under way.
TEST(Coherence, AWaveSeesItsOwnStores) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 4, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v4, 1
  v_mov_b32_e32 v5, 2
  v_mov_b32_e32 v6, 3
  v_mov_b32_e32 v7, 4
  v_mov_b32_e32 v8, 5
  v_mov_b32_e32 v9, 6
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[4:7], s[8:9]
  global_store_short v1, v8, s[8:9] offset:6 sc1
  global_store_dword v1, v9, s[8:9] offset:8
  global_atomic_add v1, v9, s[8:9] offset:12
  global_load_dwordx4 v[12:15], v1, s[8:9]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v12, v12, v13
  v_add3_u32 v12, v12, v14, v15
  global_store_dword v2, v12, s[10:11])"};
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    TestMachine m(kernel, 1, adversarial(seed));
    DevicePtr data = m.output(256, "data"), out = m.output(64);
    ASSERT_EQ(m.run({data, out}), "");
    // 1, 2 with 5 in its upper half, 6, 4 + 6.
    EXPECT_EQ(m.read(out, 64), std::vector<uint32_t>(64, 1 + (2 + (5u << 16)) + 6 + 10)) << seed;
  }
}

/// Memory of the host begins and ends anywhere in a line, and two mappings may share one.
TEST(Coherence, HostMemoryInsideALine) {
  AsmKernel kernel{.body = R"(
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_load_dwordx2 s[12:13], s[0:1], 0x10
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  s_mov_b64 s[18:19], exec
  s_movk_i32 s16, 0xfff
  s_mov_b32 s17, 0
  s_waitcnt lgkmcnt(0)
  s_load_dword s14, s[10:11], 0x0
  s_mov_b64 exec, s[16:17]
  global_load_dword v2, v1, s[8:9]
  s_mov_b32 s16, -1
  s_mov_b32 s17, 0xfffffff
  s_mov_b64 exec, s[16:17]
  global_load_dword v3, v1, s[10:11]
  s_mov_b64 exec, s[18:19]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add3_u32 v2, v2, v3, s14
  global_store_dword v1, v2, s[12:13])"};
  alignas(128) uint32_t words[96];
  std::iota(words, words + 96, 0);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    TestMachine m(kernel, 1, adversarial(seed));
    EXPECT_EQ(errorText(m.machine.mapHost(words + 9, 12 * 4, "one")), "");
    EXPECT_EQ(errorText(m.machine.mapHost(words + 24, 60 * 4, "other")), "");
    DevicePtr out = m.output(64);
    auto address = [](const uint32_t *p) { return reinterpret_cast<uint64_t>(p); };
    ASSERT_EQ(m.run({address(words + 9), address(words + 24), out}), "");
    std::vector<uint32_t> got = m.read(out, 64);
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(got[lane], (lane < 12 ? 9 + lane : 0) + (lane < 60 ? 24 + lane : 0) + 24) << lane;
  }
}

/// Down to how often the reader polled, whatever the number of threads asked for.
TEST(Coherence, TheSameSeedIsTheSameRun) {
  std::set<uint64_t> different;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Options one = adversarial(seed), three = one;
    one.threads = 1;
    three.threads = 3;
    GridKernel kernel = gridBarrier(writeBack, "buffer_inv sc1");
    RunResult a = run(kernel, one), b = run(kernel, three);
    EXPECT_TRUE(a.isRight) << a.error;
    EXPECT_EQ(a.instructions, b.instructions);
    different.insert(a.instructions);
  }
  EXPECT_GT(different.size(), 5u);
}

/// The end of a launch writes everything back, for the host and for the next launch.
TEST(Coherence, LaunchesEndWithCleanCaches) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    TestMachine m(countUp(), 1, adversarial(seed));
    DevicePtr data = m.buffer(std::vector<uint32_t>(16 * 64));
    std::vector<Launch> launches;
    for (uint64_t x : {0, 3, 5, 9})
      launches.push_back(m.launch({data, x}, {16, 1, 1}));
    EXPECT_EQ(errorText(m.machine.run(launches)), "");
    EXPECT_EQ(m.read(data, 16 * 64), std::vector<uint32_t>(16 * 64, 4)) << seed;
  }
}

TEST(Coherence, DeadlocksAreStillFound) {
  Exchange e = deviceScope();
  e.flagBits = "offset:4 sc1"; // another word
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Options options = adversarial(seed, "none,deadlock");
    std::string text = run(e, options).error;
    EXPECT_NE(text.find("deadlock: 1 waves wait"), std::string::npos) << text;
  }
}

} // namespace
