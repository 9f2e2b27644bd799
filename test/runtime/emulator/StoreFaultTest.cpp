// Planted faults: a store that is lost, bits that change on their way, and that each happens once.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

using namespace mono::emu;
using namespace mono::emu::test;

/// Lane l stores the dwords l and 0x100 + l.
static const char *const storePairs = R"(
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0
  v_mov_b32_e32 v2, v0
  v_add_u32_e32 v3, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v1, v[2:3], s[8:9])";

static std::vector<uint32_t> pairs() {
  std::vector<uint32_t> values;
  for (uint32_t lane = 0; lane < 64; ++lane)
    values.insert(values.end(), {lane, 0x100 + lane});
  return values;
}

TEST(StoreFault, HappensOnceToTheStoreThatCoversTheByte) {
  TestMachine m(AsmKernel{.body = storePairs});
  DevicePtr out = m.buffer(std::vector<uint32_t>(128, 7));
  m.machine.inject({out + 8 * 3 + 5});        // inside the pair of lane 3
  m.machine.inject({out + 8 * 63 + 5, 0x81}); // second byte of the second dword of lane 63
  m.machine.inject({out + 8 * 64});           // nobody stores there
  EXPECT_EQ(m.machine.faultsWaiting(), 3u);
  ASSERT_EQ(m.run({out}), "");
  std::vector<uint32_t> wanted = pairs();
  wanted[6] = wanted[7] = 7;
  wanted[127] = 0x13f ^ 0x8100;
  EXPECT_EQ(m.read(out, 128), wanted);
  EXPECT_EQ(m.machine.faultsWaiting(), 1u);
  ASSERT_EQ(m.run({out}), "");
  EXPECT_EQ(m.read(out, 128), pairs());
}

TEST(StoreFault, AlsoWhenMemoryIsAdversarial) {
  Options options = testOptions();
  options.coherence = Coherence::adversarial(1);
  TestMachine m(AsmKernel{.body = storePairs}, 1, options);
  DevicePtr out = m.buffer(std::vector<uint32_t>(128, 7));
  m.machine.inject({out});
  ASSERT_EQ(m.run({out}), "");
  std::vector<uint32_t> wanted = pairs();
  wanted[0] = wanted[1] = 7;
  EXPECT_EQ(m.read(out, 128), wanted);
}
