// The modelled caches: misses counted by hand from the text of each kernel.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

constexpr uint64_t lineBytes = 128;
/// What stands before every body: its kernel arguments are one line, read by each workgroup.
constexpr uint64_t argumentLines = 1;

Options modelOptions() {
  Options options;
  options.threads = 1;
  options.modelCaches = true;
  options.checks = Checks::defaults();
  options.checks.set(Check::MemUninit, false);
  return options;
}

/// s[8:9] is the memory, v1 the lane's place in it.
AsmKernel kernelOf(const std::string &body, const std::string &shift = "2") {
  return {.body = "  s_load_dwordx2 s[8:9], s[0:1], 0x0\n  v_lshlrev_b32_e32 v1, " + shift +
                  ", v0\n  s_waitcnt lgkmcnt(0)\n" + body + "\n  s_waitcnt vmcnt(0)"};
}

/// Counters without what the kernel arguments add.
struct Counts {
  uint64_t l2Lines, l2Misses, memoryLines, hbmLines;
  bool operator==(const Counts &) const = default;
};

void PrintTo(const Counts &c, std::ostream *out) {
  *out << c.l2Lines << " L2 lines, " << c.l2Misses << " misses, " << c.memoryLines
       << " memory lines, " << c.hbmLines << " HBM lines";
}

/// Runs `workgroups` workgroups on `bytes` bytes of device memory.
Counts countsOf(const AsmKernel &kernel, uint64_t bytes, uint32_t workgroups = 1) {
  TestMachine m(kernel, 1, modelOptions());
  DevicePtr memory = m.output(bytes / 4, "memory");
  EXPECT_EQ(m.run({memory}, {workgroups, 1, 1}), "");
  const CacheTraffic &caches = m.machine.stats(0).caches;
  EXPECT_EQ(caches.hbmBytesRead % lineBytes, 0u);
  uint64_t xcds = std::min<uint64_t>(workgroups, 8);
  uint64_t fromHbm = 0;
  for (const AllocationTraffic &traffic : m.machine.stats(0).traffic)
    if (traffic.name == "memory")
      fromHbm = traffic.bytesFromHbm;
  EXPECT_EQ(caches.hbmBytesRead, fromHbm + argumentLines * lineBytes);
  return {caches.l2Lines - argumentLines * workgroups, caches.l2Misses - argumentLines * xcds,
          caches.memoryLines - argumentLines * xcds, fromHbm / lineBytes};
}

const char *const twice = "  global_load_dword v2, v1, s[8:9]\n  s_waitcnt vmcnt(0)\n"
                          "  global_load_dword v3, v1, s[8:9]";

// 64 lanes of 4 bytes are two lines; the second load finds them in the L2.
TEST(CacheModel, ALineComesFromHbmOnce) {
  EXPECT_EQ(countsOf(kernelOf(twice), 256), (Counts{4, 2, 2, 2}));
}

// 16 workgroups on 8 XCDs: each L2 misses once, the Infinity Cache only at the first of them.
TEST(CacheModel, EachXcdHasAnL2) {
  EXPECT_EQ(countsOf(kernelOf(twice), 256, 16), (Counts{64, 16, 16, 2}));
  EXPECT_EQ(countsOf(kernelOf(twice), 256, 3), (Counts{12, 6, 6, 2}));
}

TEST(CacheModel, DeviceScopeGoesPastTheL2) {
  EXPECT_EQ(countsOf(kernelOf("  global_load_dword v2, v1, s[8:9] sc1\n  s_waitcnt vmcnt(0)\n"
                              "  global_load_dword v3, v1, s[8:9] sc1"),
                     256),
            (Counts{0, 0, 4, 2}));
  // It also takes the line out of the L2.
  EXPECT_EQ(countsOf(kernelOf("  global_load_dword v2, v1, s[8:9]\n  s_waitcnt vmcnt(0)\n"
                              "  global_load_dword v3, v1, s[8:9] sc1\n  s_waitcnt vmcnt(0)\n"
                              "  global_load_dword v3, v1, s[8:9]"),
                     256),
            (Counts{4, 4, 6, 2}));
}

TEST(CacheModel, AtomicsAreServedOnTheMemorysSide) {
  EXPECT_EQ(countsOf(kernelOf("  global_atomic_add v1, v0, s[8:9]"), 256), (Counts{0, 0, 2, 2}));
}

// What a kernel has written it does not fetch, wherever it is read.
TEST(CacheModel, StoresBringNothing) {
  EXPECT_EQ(countsOf(kernelOf("  global_store_dword v1, v0, s[8:9]\n  s_waitcnt vmcnt(0)\n"
                              "  global_load_dword v2, v1, s[8:9]"),
                     256),
            (Counts{2, 0, 0, 0}));
  EXPECT_EQ(countsOf(kernelOf("  global_store_dword v1, v0, s[8:9] sc1\n  s_waitcnt vmcnt(0)\n"
                              "  global_load_dword v2, v1, s[8:9]"),
                     256),
            (Counts{2, 2, 2, 0}));
}

// Lines 4 MiB / 16 ways apart share a set of the L2: 17 of them push each other out.
TEST(CacheModel, AnL2Has16Ways) {
  std::string seventeen = "  s_mov_b64 exec, 0x1ffff\n", sixteen = "  s_mov_b64 exec, 0xffff\n";
  constexpr uint64_t apart = 1 << 18;
  EXPECT_EQ(countsOf(kernelOf(sixteen + twice, "18"), 17 * apart), (Counts{32, 16, 16, 16}));
  EXPECT_EQ(countsOf(kernelOf(seventeen + twice, "18"), 17 * apart), (Counts{34, 34, 34, 17}));
}

// Of the Infinity Cache 256 MiB / 16 ways; such lines share a set of the L2 too.
TEST(CacheModel, TheInfinityCacheHas16Ways) {
  std::string seventeen = "  s_mov_b64 exec, 0x1ffff\n", sixteen = "  s_mov_b64 exec, 0xffff\n";
  constexpr uint64_t apart = 1 << 24;
  EXPECT_EQ(countsOf(kernelOf(sixteen + twice, "24"), 17 * apart), (Counts{32, 16, 16, 16}));
  EXPECT_EQ(countsOf(kernelOf(seventeen + twice, "24"), 17 * apart), (Counts{34, 34, 34, 34}));
}

// An element of 16 bytes that begins 8 bytes before the end of a line.
TEST(CacheModel, AnAccessOverTheEndOfALineIsTwo) {
  EXPECT_EQ(countsOf(kernelOf("  s_mov_b64 exec, 1\n"
                              "  global_load_dwordx4 v[4:7], v1, s[8:9] offset:120"),
                     256),
            (Counts{2, 2, 2, 2}));
}

// What a rank sends lies at the receiver's memory, so that it does not come from HBM.
TEST(CacheModel, PeersHaveMemoriesOfTheirOwn) {
  TestMachine m(kernelOf("  global_store_dword v1, v0, s[8:9] sc0 sc1"), 2, modelOptions());
  DevicePtr mailbox = m.buffer(std::vector<uint32_t>(64), "mailbox", 1, MemoryKind::PeerVisible);
  ASSERT_EQ(m.run({mailbox}), "");
  EXPECT_EQ(m.machine.stats(0).caches.hbmBytesRead, argumentLines * lineBytes);
  EXPECT_EQ(m.machine.stats(1).caches.hbmBytesRead, 0u);
}

TEST(CacheModel, MemoryOfTheHostIsInNoHbm) {
  TestMachine m(kernelOf(twice), 1, modelOptions());
  alignas(128) uint32_t words[64] = {};
  ASSERT_EQ(errorText(m.machine.mapHost(words, sizeof(words), "host")), "");
  ASSERT_EQ(m.run({reinterpret_cast<uint64_t>(words)}), "");
  EXPECT_EQ(m.machine.stats(0).caches.hbmBytesRead, argumentLines * lineBytes);
}

TEST(CacheModel, EveryRunStartsCold) {
  TestMachine m(kernelOf(twice), 1, modelOptions());
  DevicePtr memory = m.output(64);
  ASSERT_EQ(m.run({memory}), "");
  ASSERT_EQ(m.run({memory}), "");
  EXPECT_EQ(m.machine.stats(0).caches.hbmBytesRead, 2 * (2 + argumentLines) * lineBytes);
}

TEST(CacheModel, IsOffUnlessAskedFor) {
  Options options = modelOptions();
  options.modelCaches = false;
  TestMachine m(kernelOf(twice), 1, options);
  DevicePtr memory = m.output(64);
  ASSERT_EQ(m.run({memory}), "");
  EXPECT_EQ(m.machine.stats(0).caches.l2Lines, 0u);
  EXPECT_EQ(m.machine.stats(0).caches.hbmBytesRead, 0u);
}

} // namespace
