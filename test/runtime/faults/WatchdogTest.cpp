// Watchdog builds on emulated devices in one process: each fault becomes an error that names who
// waited for what, the group is broken, and a new one works.
#include "runtime/EmulatorDevice.h"
#include "test/runtime/faults/SumKernel.h"

#include <gmock/gmock.h>

using namespace mono;
using namespace mono::test;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

constexpr int64_t budget = 20'000; // cycles; about 200 polls
constexpr unsigned rows = 2;

class WatchdogTest : public testing::Test {
protected:
  void SetUp() override {
    emu::Options options;
    options.deadlockRounds = 1'000'000; // the kernels are to find out themselves
    options.threads = 1; // with more, a wait is as long as the host keeps a thread from running
    start(options, budget);
  }
  void start(const emu::Options &options, int64_t cycles) {
    auto made = EmulatorNode::create(sumRanks, options);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    node = std::move(*made);
    code = sumCodeObject(rows, cycles);
    WorkspaceSize size = workspaceSize(llvm::cantFail(readManifest(code)));
    for (Device *device : node->devices()) {
      buffers.push_back(allocate(*device, size.local, MemoryKind::Local));
      buffers.push_back(allocate(*device, size.peers, MemoryKind::PeerVisible));
    }
  }
  static DeviceBuffer allocate(Device &device, uint64_t bytes, MemoryKind kind) {
    return llvm::cantFail(DeviceBuffer::allocate(device, bytes, "workspace", kind));
  }

  /// A group on memory whose addresses are known here.
  Group group() {
    GroupOptions options;
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      options.workspaces.push_back({buffers[2 * rank].ptr(), buffers[2 * rank + 1].ptr()});
    return llvm::cantFail(Group::create(node->devices(), code, options));
  }
  /// Where element [from, row, column] of the slot with this tag lies in the mailbox of `rank`.
  DevicePtr word(unsigned rank, unsigned tag, unsigned from, unsigned row, unsigned column) const {
    uint64_t slot = tag % 2 * sumRanks * rows * sumColumns;
    return buffers[2 * rank + 1].ptr() + 8 * (slot + (from * rows + row) * sumColumns + column);
  }
  static void writeAll(Group &group, unsigned launch) {
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      llvm::cantFail(writeTerms(group, rank, launch));
  }
  static void expectGood(Group &group, unsigned launches) {
    for (unsigned launch = 0; launch < launches; ++launch) {
      writeAll(group, launch);
      ASSERT_EQ(llvm::toString(group.launch()), "");
      for (unsigned rank = 0; rank < sumRanks; ++rank)
        ASSERT_EQ(llvm::toString(checkSums(group, rank, launch)), "");
    }
  }
  /// The group stays broken, and a new one on the same memory works.
  void expectBroken(Group &broken, const std::string &error) {
    EXPECT_EQ(llvm::toString(broken.launch()),
              "the group is broken by an earlier launch and must be made anew: " + error);
    Group next = group();
    expectGood(next, 2);
  }

  std::unique_ptr<EmulatorNode> node;
  std::vector<uint8_t> code;
  std::vector<DeviceBuffer> buffers; ///< local and peers of each rank
};

TEST_F(WatchdogTest, SaysNothingWhenAllIsWell) {
  Group good = group();
  expectGood(good, 4);
  EXPECT_EQ(llvm::toString(good.check()), "");
}

/// Ranks drift apart and stores arrive late, but they arrive.
TEST_F(WatchdogTest, SaysNothingWhenRanksAreLateInTime) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    buffers.clear();
    emu::Options options;
    options.coherence = emu::Coherence::adversarial(seed);
    start(options, 1'000'000);
    Group late = group();
    expectGood(late, 3);
  }
}

TEST_F(WatchdogTest, EveryRankNamesARankThatNeverStarts) {
  constexpr unsigned dead = 5;
  Group partial = group();
  writeAll(partial, 0);
  for (unsigned rank = 0; rank < sumRanks; ++rank)
    if (rank != dead)
      ASSERT_EQ(llvm::toString(partial.enqueue(rank, nullptr)), "");
  ASSERT_EQ(llvm::toString(node->devices()[0]->synchronize()), "");
  std::string error = llvm::toString(partial.check());
  for (unsigned rank = 0; rank < sumRanks; ++rank)
    if (rank != dead)
      EXPECT_THAT(error, ContainsRegex(waitedFor(rank, dead, budget, 1, 0)));
  EXPECT_THAT(error, Not(HasSubstr("of rank 5 waited")));
  expectBroken(partial, error);
}

TEST_F(WatchdogTest, NamesAStoreThatWasLost) {
  Group lossy = group();
  expectGood(lossy, 2);
  writeAll(lossy, 2);
  node->machine().inject({word(/*rank=*/3, /*tag=*/3, /*from=*/6, /*row=*/1, /*column=*/70)});
  std::string error = llvm::toString(lossy.launch());
  EXPECT_EQ(node->machine().faultsWaiting(), 0u);
  // The slot was used by the first launch. Columns 64 to 127 are workgroup 1's.
  EXPECT_EQ(error, "watchdog: workgroup 1 of rank 3 waited in stage 'sum' for element [6, 1, 70] "
                   "of mailbox 'parts' longer than 20000 cycles: expected tag 3, but saw 1");
  expectBroken(lossy, error);
}

TEST_F(WatchdogTest, NamesATagThatChangedOnItsWay) {
  Group damaged = group();
  writeAll(damaged, 0);
  node->machine().inject({word(/*rank=*/0, /*tag=*/1, /*from=*/2, /*row=*/0, /*column=*/255) + 4,
                          /*flips=*/0x10});
  std::string error = llvm::toString(damaged.launch());
  EXPECT_EQ(error, "watchdog: workgroup 3 of rank 0 waited in stage 'sum' for element [2, 0, 255] "
                   "of mailbox 'parts' longer than 20000 cycles: expected tag 1, but saw 17");
  expectBroken(damaged, error);
}

/// The ranks of a group that was carried on with after some launched and others did not.
TEST_F(WatchdogTest, NamesARankThatIsALaunchAhead) {
  Group torn = group();
  expectGood(torn, 1);
  uint8_t two[16] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0}; // epoch words
  DevicePtr epochs = buffers[2 * 4].ptr() + 256; // behind the device mailboxes, of which are none
  ASSERT_EQ(llvm::toString(node->devices()[4]->write(epochs, two)), "");
  std::string error = llvm::toString(torn.launch());
  EXPECT_THAT(error, ContainsRegex(waitedFor(0, 4, budget, 2, 0)));
  EXPECT_THAT(error, ContainsRegex(waitedFor(4, 0, budget, 3, 1)));
  expectBroken(torn, error);
}

TEST_F(WatchdogTest, AnOperandThatWasFreedIsAnError) {
  Group group = this->group();
  writeAll(group, 0);
  {
    uint64_t bytes = group.manifest().operand("x")->type.bytes();
    DeviceBuffer x = allocate(*node->devices()[2], bytes, MemoryKind::Local);
    ASSERT_EQ(llvm::toString(group.bind(2, "x", x.ptr(), bytes)), "");
  }
  std::string error = llvm::toString(group.launch());
  EXPECT_THAT(error, AllOf(HasSubstr("rank 2"), HasSubstr("out-of-bounds access")));
  expectBroken(group, error);
}

} // namespace
