// What the emulated machine offers the HIP library: host memory, copies between any two places,
// memory shared with other processes.
#include "runtime/emulator/Emulator.h"

#include <gtest/gtest.h>

#include <numeric>
#include <sys/mman.h>

using namespace llvm;
using namespace mono::emu;

namespace {

uint64_t addressOf(const void *ptr) { return reinterpret_cast<uint64_t>(ptr); }

std::string text(Error error) { return error ? toString(std::move(error)) : "success"; }

} // namespace

TEST(MachineMemory, HostMappingsMayNotOverlap) {
  Machine machine(1);
  std::vector<char> memory(4096);
  EXPECT_EQ(text(machine.mapHost(memory.data() + 100, 200, "first")), "success");
  EXPECT_TRUE(StringRef(text(machine.mapHost(memory.data(), 101, "second"))).contains("'first'"));
  EXPECT_TRUE(StringRef(text(machine.mapHost(memory.data() + 299, 1, "x"))).contains("overlap"));
  EXPECT_EQ(text(machine.mapHost(memory.data(), 100, "before")), "success");
  EXPECT_EQ(text(machine.mapHost(memory.data() + 300, 100, "behind")), "success");
  EXPECT_EQ(text(machine.mapHost(memory.data() + 500, 0, "empty")),
            "host memory 'empty': expected at least 1 byte, but got 0");
  EXPECT_EQ(text(machine.unmapHost(memory.data() + 100)), "success");
  EXPECT_NE(text(machine.unmapHost(memory.data() + 100)), "success");
  EXPECT_EQ(text(machine.mapHost(memory.data() + 100, 200, "again")), "success");
}

TEST(MachineMemory, CopiesTakeUnwrittenBytesAlong) {
  Machine machine(2);
  constexpr uint64_t bytes = 1000, written = 300;
  DevicePtr from = cantFail(machine.allocate(0, bytes, "from"));
  DevicePtr to = cantFail(machine.allocate(1, bytes, "to"));
  std::vector<uint8_t> host(bytes), back(bytes);
  std::iota(host.begin(), host.end(), 1);
  EXPECT_EQ(text(machine.copy(from + 50, addressOf(host.data()), written)), "success");
  EXPECT_EQ(cantFail(machine.unwrittenBytes(0, from, bytes)), bytes - written);
  EXPECT_EQ(cantFail(machine.unwrittenBytes(0, from + 50, written)), 0u);
  // What was written in the target before and is unwritten in the source is unwritten then.
  EXPECT_EQ(text(machine.fill(1, to, 7, bytes)), "success");
  EXPECT_EQ(text(machine.copy(to + 10, from, 200)), "success");
  EXPECT_EQ(cantFail(machine.unwrittenBytes(1, to, bytes)), 50u);
  EXPECT_EQ(cantFail(machine.unwrittenBytes(1, to + 10, 50)), 50u);
  EXPECT_EQ(text(machine.copy(addressOf(back.data()), to, bytes)), "success");
  EXPECT_EQ(back[9], 7);
  EXPECT_EQ(back[60], 1);
  EXPECT_EQ(back[209], 150);
  EXPECT_EQ(back[210], 7);
}

TEST(MachineMemory, HostMemoryBelongsToAllRanks) {
  Machine machine(2);
  std::vector<uint8_t> memory(256, 1), bytes(16, 7), back(16);
  EXPECT_EQ(text(machine.mapHost(memory.data(), memory.size(), "host")), "success");
  DevicePtr place = addressOf(memory.data());
  for (unsigned rank : {0u, 1u}) {
    EXPECT_EQ(text(machine.write(rank, place + 16 * rank, bytes)), "success");
    EXPECT_EQ(text(machine.fill(rank, place + 32 + rank, uint8_t(40 + rank), 1)), "success");
    EXPECT_EQ(text(machine.read(rank, place + 16 * rank, back)), "success");
    EXPECT_EQ(back, bytes);
    // It is the caller's to free.
    EXPECT_TRUE(StringRef(text(machine.free(rank, place))).contains("not the start"));
    EXPECT_NE(text(machine.write(rank, place + 250, bytes)), "success");
  }
  EXPECT_EQ(memory[31], 7);
  EXPECT_EQ(memory[32], 40);
  EXPECT_EQ(memory[33], 41);
}

/// What others may write is never unwritten.
TEST(MachineMemory, PoisonOfOpenMemoryChangesItsContentOnly) {
  Machine machine(1);
  std::vector<uint8_t> memory(64, 1), back(64);
  EXPECT_EQ(text(machine.mapHost(memory.data(), memory.size(), "host")), "success");
  DevicePtr shared = cantFail(machine.allocate(0, 64, "shared"));
  EXPECT_EQ(text(machine.fill(0, shared, 1, 64)), "success");
  cantFail(machine.share(0, shared));
  for (DevicePtr place : {DevicePtr(addressOf(memory.data())), shared}) {
    EXPECT_EQ(text(machine.poison(0, place, 64)), "success");
    EXPECT_EQ(text(machine.read(0, place, back)), "success");
    EXPECT_EQ(back, std::vector<uint8_t>(64, 0xA5));
  }
}

TEST(MachineMemory, CopyOutsideAnAllocationIsAnError) {
  Machine machine(1);
  DevicePtr place = cantFail(machine.allocate(0, 64, "place"));
  std::vector<uint8_t> host(128);
  EXPECT_TRUE(StringRef(text(machine.copy(place, addressOf(host.data()), 65)))
                  .contains("runs 1 bytes past the end of 'place'"));
  EXPECT_NE(text(machine.copy(addressOf(host.data()), place + 64, 1)), "success");
  EXPECT_EQ(text(machine.copy(place + 64, addressOf(host.data()), 0)), "success");
}

TEST(MachineMemory, SharedMemoryKeepsItsContentAndIsSeenThroughTheFile) {
  Machine machine(1);
  DevicePtr place = cantFail(machine.allocate(0, 5000, "place"));
  EXPECT_EQ(text(machine.fill(0, place, 9, 10)), "success");
  int file = cantFail(machine.share(0, place));
  EXPECT_EQ(cantFail(machine.share(0, place)), file);
  EXPECT_EQ(cantFail(machine.unwrittenBytes(0, place, 5000)), 0u);
  auto *view =
      static_cast<uint8_t *>(mmap(nullptr, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_EQ(view[9], 9);
  EXPECT_EQ(view[10], 0);
  view[4999] = 42;
  uint8_t byte = 0;
  EXPECT_EQ(text(machine.copy(addressOf(&byte), place + 4999, 1)), "success");
  EXPECT_EQ(byte, 42);
  munmap(view, 5000);
  EXPECT_EQ(text(machine.free(0, place)), "success");
}

/// The bitmap of written bytes is filled word by word for long ranges; the count must not care.
TEST(MachineMemory, WrittenBytesAreCountedForEveryAlignment) {
  for (uint64_t begin : {0u, 1u, 63u, 64u, 65u, 127u})
    for (uint64_t length : {0u, 1u, 62u, 63u, 64u, 65u, 128u, 129u, 200u}) {
      Machine machine(1);
      DevicePtr place = cantFail(machine.allocate(0, 512, "place"));
      std::vector<uint8_t> host(length);
      EXPECT_EQ(text(machine.write(0, place + begin, host)), "success");
      EXPECT_EQ(cantFail(machine.unwrittenBytes(0, place, 512)), 512 - length);
      EXPECT_EQ(cantFail(machine.unwrittenBytes(0, place, begin)), begin);
      EXPECT_EQ(text(machine.fill(0, place, 1, 512)), "success");
      EXPECT_EQ(cantFail(machine.unwrittenBytes(0, place, 512)), 0u);
    }
}
