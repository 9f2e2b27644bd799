// Addresses of device memory: how they come back, and what the host has no room for.
#include "runtime/emulator/Memory.h"
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include <unistd.h>

using namespace llvm;
using namespace mono::emu;
using namespace mono::emu::test;

/// Far more comes and goes than there are addresses; those of one block come back only when nearly
/// all others have been used.
TEST(Addresses, FreedAddressesComeBackLate) {
  Machine machine(1);
  constexpr uint64_t bytes = uint64_t(64) << 30, used = uint64_t(13) * bytes;
  DevicePtr kept = cantFail(machine.allocate(0, 4096, "kept"));
  DevicePtr first = cantFail(machine.allocate(0, 4096, "first"));
  EXPECT_EQ(errorText(machine.free(0, first)), "");
  uint64_t rounds = 0;
  bool isBack = false;
  for (; rounds < 100; ++rounds) {
    DevicePtr next = cantFail(machine.allocate(0, bytes, "next"));
    EXPECT_FALSE(next <= kept && kept < next + bytes);
    isBack |= next <= first && first < next + bytes;
    EXPECT_FALSE(isBack && rounds * bytes < used) << rounds;
    EXPECT_EQ(errorText(machine.free(0, next)), "");
  }
  EXPECT_TRUE(isBack);
}

/// Gaps are used where they fit, with the guard on both sides.
TEST(Addresses, AllocationsKeepTheirDistance) {
  Machine machine(1);
  constexpr uint64_t large = uint64_t(40) << 30;
  std::vector<std::pair<DevicePtr, uint64_t>> live;
  for (unsigned n = 0; n < 200; ++n) {
    uint64_t bytes = n % 2 ? large - 4096 * n : 1 + 5000 * n;
    DevicePtr ptr = cantFail(machine.allocate(0, bytes, "block"));
    EXPECT_EQ(ptr % 256, 0u);
    for (auto [other, size] : live)
      EXPECT_TRUE(ptr + bytes + AddressSpace::guardBytes <= other ||
                  other + size + AddressSpace::guardBytes <= ptr);
    live.push_back({ptr, bytes});
    if (live.size() > 11) {
      EXPECT_EQ(errorText(machine.free(0, live[5].first)), "");
      live.erase(live.begin() + 5);
    }
  }
}

/// The argument buffers of launches leave the addresses of the program alone, however many they
/// are.
TEST(Addresses, LaunchesHaveAddressesOfTheirOwn) {
  AddressSpace memory(1);
  auto allocate = [&](uint64_t bytes, AddressSpace::Part part) {
    return cantFail(memory.allocate(0, bytes, "block", MemoryKind::Device, part))->base;
  };
  uint64_t before = allocate(4096, AddressSpace::Part::Program);
  uint64_t first = allocate(64, AddressSpace::Part::Launch);
  for (unsigned n = 0; n < 20; ++n)
    EXPECT_EQ(errorText(memory.free(0, allocate(uint64_t(16) << 30, AddressSpace::Part::Launch))),
              "");
  uint64_t behind = allocate(4096, AddressSpace::Part::Program);
  EXPECT_EQ(behind, before + 4096 + AddressSpace::guardBytes);
  EXPECT_TRUE(memory.find(first));
}

/// The host may have room for the data, but not for the bitmap of written bytes.
TEST(AddressesDeathTest, HostWithoutRoomForTheBitmap) {
  if (!canLimitMemory())
    GTEST_SKIP() << "sanitizers map the address space themselves";
  auto allocate = [] {
    Machine machine(1);
    constexpr uint64_t bytes = uint64_t(16) << 30;
    limitMemory(bytes + bytes / 16);
    auto ptr = machine.allocate(0, bytes, "much");
    if (!ptr)
      std::fprintf(stderr, "%s", toString(ptr.takeError()).c_str());
    else
      cantFail(machine.write(0, *ptr, std::vector<uint8_t>(1)));
    _exit(0);
  };
  EXPECT_EXIT(allocate(), testing::ExitedWithCode(0),
              "allocation 'much': the host has no 17179869184 bytes of memory");
}

/// Launches write their arguments to memory of their own.
TEST(Addresses, ARunTakesNoneOfTheProgram) {
  TestMachine m(AsmKernel{.body = "  s_nop 0"});
  DevicePtr before = m.output(1024);
  for (unsigned n = 0; n < 3; ++n)
    EXPECT_EQ(m.run({}), "");
  EXPECT_EQ(m.output(1024), before + 4096 + AddressSpace::guardBytes);
}
