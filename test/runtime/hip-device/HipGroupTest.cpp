// Groups over HIP devices: what a launch costs in calls and memory, and that no failure leaves a
// half.
#include "runtime/Error.h"
#include "runtime/Group.h"
#include "runtime/hip/HipGraph.h"
#include "test/runtime/ExchangeKernel.h"
#include "test/runtime/hip-device/StubFixture.h"

#include <fstream>
#include <unistd.h>

using namespace mono;
using namespace mono::hip;
using namespace mono::test;

namespace {

class HipGroupTest : public StubHipTest {
protected:
  void SetUp() override {
    StubHipTest::SetUp();
    opened = node(exchangeRanks);
    code = exchangeCodeObject();
    idle = alive();
  }
  void TearDown() override {
    opened.reset();
    StubHipTest::TearDown();
  }
  llvm::Expected<Group> create(GroupOptions options = {}) {
    return Group::create(opened->devices(), code, options);
  }
  std::string createError(GroupOptions options = {}) {
    auto group = create(std::move(options));
    stub->failAtCall = 0; // what follows is clean-up
    return group ? "" : llvm::toString(group.takeError());
  }
  /// A group with all operands bound.
  Group bound() {
    auto group = create();
    EXPECT_TRUE(bool(group)) << llvm::toString(group.takeError());
    std::vector<uint8_t> bytes(exchangeElements * 4);
    for (unsigned rank : {0, 1})
      EXPECT_EQ(llvm::toString(group->write(rank, "in", bytes)), "");
    return std::move(*group);
  }

  std::unique_ptr<HipNode> opened;
  std::vector<uint8_t> code;
  long idle = 0; ///< what is alive without a group
};

TEST_F(HipGroupTest, AFailureAtAnyCallLeavesNothing) {
  long call = 0;
  std::string error;
  do {
    stub->failAtCall = ++call;
    error = createError();
    EXPECT_EQ(alive(), idle) << "after a failure at call " << call << ": " << error;
  } while (!error.empty());
  // Two ranks of six allocations, each with several calls.
  EXPECT_GT(call, 24);
}

TEST_F(HipGroupTest, StartsEveryRankOnItsStream) {
  Group group = bound();
  int streams[2];
  ASSERT_EQ(llvm::toString(group.enqueue({&streams[0], &streams[1]})), "");
  EXPECT_EQ(stub->launches, 2);
  EXPECT_EQ(stub->lastStream, &streams[1]);
  EXPECT_EQ(stub->lastDevice, 1);
  ASSERT_EQ(llvm::toString(group.enqueue(0, &streams[0])), "");
  EXPECT_EQ(stub->lastStream, &streams[0]);
  EXPECT_EQ(llvm::toString(group.enqueue({&streams[0]})),
            "expected 2 streams, one per rank of this process, but got 1");
  EXPECT_EQ(llvm::toString(group.enqueue(2, nullptr)), "expected a rank below 2, but got 2");
}

/// Get the device, set it where it is another, launch, set it back: nothing else.
TEST_F(HipGroupTest, ALaunchMakesNoOtherCalls) {
  Group group = bound();
  ASSERT_EQ(llvm::toString(group.prepare()), "");
  long memory = stub->allocations, before = stub->calls;
  int streams[2];
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(llvm::toString(group.enqueue({&streams[0], &streams[1]})), "");
  EXPECT_EQ(stub->calls - before, 10 * (2 + 4));
  EXPECT_EQ(stub->allocations, memory);
}

TEST_F(HipGroupTest, NothingStartsBeforeAllAreBound) {
  auto group = create();
  ASSERT_TRUE(bool(group));
  std::vector<uint8_t> bytes(exchangeElements * 4);
  ASSERT_EQ(llvm::toString(group->write(0, "in", bytes)), "");
  int streams[2];
  EXPECT_EQ(llvm::toString(group->enqueue({&streams[0], &streams[1]})),
            "operand 'in' of rank 1 is not bound");
  EXPECT_EQ(stub->launches, 0);
}

TEST_F(HipGroupTest, AFailedLaunchBreaksTheGroup) {
  Group group = bound();
  ASSERT_EQ(llvm::toString(group.launch()), "");
  // The first two waits after this are those of the fills that forget the outputs.
  stub->failing = "hipModuleLaunchKernel";
  EXPECT_EQ(llvm::toString(group.launch()),
            "rank 0: hipModuleLaunchKernel: HIP error (999): no description");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(llvm::toString(group.launch()),
              "the group is broken by an earlier launch and must be made anew: "
              "rank 0: hipModuleLaunchKernel: HIP error (999): no description");
  EXPECT_EQ(createError(), "");
}

// ---- memory of the caller ----------------------------------------------------------------------

class HipWorkspaceTest : public HipGroupTest {
protected:
  DeviceBuffer buffer(unsigned rank, uint64_t bytes, MemoryKind kind) {
    auto made = DeviceBuffer::allocate(opened->device(rank), bytes, "workspace", kind);
    EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
    return std::move(*made);
  }
};

TEST_F(HipWorkspaceTest, IsUsedInsteadOfAllocations) {
  auto manifest = readManifest(code);
  ASSERT_TRUE(bool(manifest));
  WorkspaceSize size = workspaceSize(*manifest);
  // No device mailboxes, four epoch words and two peers: one unit of 256 bytes each.
  EXPECT_EQ(size.local, 3u * 256);
  EXPECT_EQ(size.peers, 8192u);
  std::vector<DeviceBuffer> buffers;
  GroupOptions options;
  for (unsigned rank : {0, 1}) {
    buffers.push_back(buffer(rank, size.local, MemoryKind::Local));
    buffers.push_back(buffer(rank, size.peers, MemoryKind::PeerVisible));
    options.workspaces.push_back({buffers[2 * rank].ptr(), buffers[2 * rank + 1].ptr()});
  }
  long before = stub->allocations;
  auto group = create(options);
  ASSERT_TRUE(bool(group)) << llvm::toString(group.takeError());
  // Only the output of each rank.
  EXPECT_EQ(stub->allocations - before, 2);
  // The stub's memory is the host's: the peer table of rank 1 names both peer workspaces.
  auto *table = reinterpret_cast<uint64_t *>(options.workspaces[1].local + 512);
  EXPECT_EQ(table[0], options.workspaces[0].peers);
  EXPECT_EQ(table[1], options.workspaces[1].peers);
  for (uint64_t word = 0; word < size.peers / 8; ++word)
    ASSERT_EQ(reinterpret_cast<uint64_t *>(options.workspaces[0].peers)[word], 0u);
}

TEST_F(HipWorkspaceTest, FaultsAreNamed) {
  DeviceBuffer plain = buffer(0, 8192, MemoryKind::Local);
  DeviceBuffer small = buffer(0, 8191, MemoryKind::PeerVisible);
  auto error = [&](Workspace first) {
    GroupOptions options;
    options.workspaces = {first, first};
    return createError(options);
  };
  EXPECT_EQ(error({}), "rank 0: expected a workspace at a multiple of 256 bytes, but got 0x0");
  EXPECT_NE(error({plain.ptr() + 8, plain.ptr()}).find("at a multiple of 256 bytes"),
            std::string::npos);
  EXPECT_NE(error({plain.ptr(), plain.ptr()}).find("but got coarse-grained memory"),
            std::string::npos);
  EXPECT_NE(
      error({plain.ptr(), small.ptr()}).find("rank 0: workspace: expected at most 8191 bytes"),
      std::string::npos);
  GroupOptions one;
  one.workspaces = {{plain.ptr(), plain.ptr()}};
  EXPECT_EQ(createError(one), "expected no workspaces or 2, one per device, but got 1");
}

/// Rank 0 runs and waits for rank 1: it gets zeros with the tag of the first launch, 1, in its
/// slot.
TEST_F(HipWorkspaceTest, AreReleasedWhenALaterRankCannotStart) {
  std::vector<DeviceBuffer> buffers;
  GroupOptions options;
  for (unsigned rank : {0, 1}) {
    buffers.push_back(buffer(rank, 3 * 256, MemoryKind::Local));
    buffers.push_back(buffer(rank, 8192, MemoryKind::PeerVisible));
    options.workspaces.push_back({buffers[2 * rank].ptr(), buffers[2 * rank + 1].ptr()});
  }
  auto group = create(options);
  ASSERT_TRUE(bool(group)) << llvm::toString(group.takeError());
  std::vector<uint8_t> bytes(exchangeElements * 4);
  for (unsigned rank : {0, 1})
    ASSERT_EQ(llvm::toString(group->write(rank, "in", bytes)), "");
  ASSERT_EQ(llvm::toString(group->prepare()), "");
  // Get the device and launch; get it, set it and launch.
  ASSERT_EQ(library->functions().hipSetDevice(0), api::Success);
  stub->failAtCall = 5;
  int streams[2];
  EXPECT_EQ(llvm::toString(group->enqueue({&streams[0], &streams[1]})),
            "rank 1: hipModuleLaunchKernel: HIP error (999): no description");
  EXPECT_EQ(stub->launches, 1);
  for (unsigned rank : {0, 1}) {
    auto *words = reinterpret_cast<const uint64_t *>(options.workspaces[rank].peers);
    for (unsigned word = 0; word < 1024; ++word)
      ASSERT_EQ(words[word], word < 512 ? 0 : uint64_t(1) << 32) << "word " << word;
  }
}

// ---- many --------------------------------------------------------------------------------------

long residentBytes() {
  long pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST_F(HipGroupTest, AThousandGroupsDoNotGrow) {
  long before = 0;
  for (int i = 0; i < 1000; ++i) {
    // What the allocator keeps settles in the first rounds.
    if (i == 100)
      before = residentBytes();
    Group group = bound();
    ASSERT_EQ(llvm::toString(group.launch()), "");
  }
  EXPECT_EQ(alive(), idle);
  // A leak of one mailbox or module a round would be megabytes.
  EXPECT_LT(residentBytes() - before, 2 << 20);
}

} // namespace
