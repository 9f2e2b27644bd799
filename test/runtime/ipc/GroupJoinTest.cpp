// Groups of one rank a process, with threads in place of processes and the stub in place of HIP:
// all ranks have a group or none has.
#include "runtime/Group.h"
#include "runtime/ipc/GroupCard.h"
#include "test/runtime/ExchangeKernel.h"
#include "test/runtime/hip-device/StubFixture.h"
#include "test/runtime/ipc/Ranks.h"

using namespace mono;
using namespace mono::test;

namespace {

class GroupJoinTest : public StubHipTest {
protected:
  /// Only its folder and threads are wanted.
  struct Ranks : RanksTest {
    using RanksTest::onRanks;
    using RanksTest::options;
    using RanksTest::SetUp;
    using RanksTest::TearDown;
    void TestBody() override {}
  };
  void SetUp() override {
    StubHipTest::SetUp();
    ranks.SetUp();
  }
  void TearDown() override {
    ranks.TearDown();
    StubHipTest::TearDown();
  }

  using Check = llvm::function_ref<void(unsigned rank, Group &group)>;
  /// Every rank joins with its code object; the messages of the ranks.
  std::vector<std::string> join(const std::vector<uint8_t> (&code)[2], Check check) {
    return ranks.onRanks(2, [&](unsigned rank) -> llvm::Error {
      hip::HipSelection selection;
      selection.first = rank;
      auto node = open(selection);
      auto meeting = ipc::Rendezvous::create(ranks.options(rank, 2));
      if (!node || !meeting)
        return llvm::joinErrors(node.takeError(), meeting.takeError());
      auto group = Group::join((*node)->device(0), code[rank], *meeting);
      if (!group)
        return group.takeError();
      check(rank, *group);
      // Nobody unmaps before all have looked.
      return meeting->allGather({}).takeError();
    });
  }
  std::vector<std::string> join(const std::vector<uint8_t> (&code)[2]) {
    return join(code, [](unsigned, Group &) { ADD_FAILURE() << "expected no group"; });
  }

  /// A rank whose first group is there.
  struct Meeting {
    Device &device;
    ipc::Rendezvous &rendezvous;
    const Group *first;

    llvm::Expected<Group> join(const std::vector<uint8_t> &code, GroupOptions options = {}) {
      return Group::join(device, code, rendezvous, std::move(options));
    }
    /// Nobody unmaps before all have looked.
    llvm::Error end() { return rendezvous.allGather({}).takeError(); }
  };
  using Next = llvm::function_ref<llvm::Error(unsigned rank, Meeting &meeting)>;
  /// Every rank joins one group, then goes on; the messages of the ranks.
  std::vector<std::string> joinTwice(const std::vector<uint8_t> &code, Next next) {
    return ranks.onRanks(2, [&](unsigned rank) -> llvm::Error {
      hip::HipSelection selection;
      selection.first = rank;
      auto node = open(selection);
      auto rendezvous = ipc::Rendezvous::create(ranks.options(rank, 2));
      if (!node || !rendezvous)
        return llvm::joinErrors(node.takeError(), rendezvous.takeError());
      auto group = Group::join((*node)->device(0), code, *rendezvous);
      if (!group)
        return group.takeError();
      Meeting meeting{(*node)->device(0), *rendezvous, &*group};
      return next(rank, meeting);
    });
  }

  Ranks ranks;
};

/// The exchange kernel, whose ranks hear from each other.
std::vector<uint8_t> sharingCodeObject() {
  std::string manifest = exchangeManifest();
  manifest.replace(manifest.find("\"epoch_bytes\""), 13, "\"hears_all\": true, \"epoch_bytes\"");
  return exchangeCodeObject(manifest);
}

TEST_F(GroupJoinTest, EveryRankReachesTheMailboxesOfAll) {
  std::vector<uint8_t> code = exchangeCodeObject();
  std::vector<std::string> errors = join({code, code}, [&](unsigned rank, Group &group) {
    EXPECT_EQ(group.ranks(), 2u);
    EXPECT_TRUE(group.isLocal(rank));
    EXPECT_FALSE(group.isLocal(1 - rank));
    std::vector<uint8_t> bytes(1024);
    EXPECT_EQ(llvm::toString(group.write(rank, "in", bytes)), "");
    EXPECT_EQ(llvm::toString(group.write(1 - rank, "in", bytes)),
              "rank " + std::to_string(1 - rank) + " lives in another process");
    EXPECT_EQ(llvm::toString(group.launch()), "");
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  EXPECT_EQ(stub->launches, 2);
}

TEST_F(GroupJoinTest, KernelsTakeTurnsOnOneSetOfMailboxes) {
  std::vector<uint8_t> code = sharingCodeObject();
  std::vector<std::string> errors = joinTwice(code, [&](unsigned rank, Meeting &meeting) {
    auto second = meeting.join(code, {.sharedWith = meeting.first});
    if (!second)
      return second.takeError();
    std::vector<uint8_t> bytes(1024);
    EXPECT_EQ(llvm::toString(second->write(rank, "in", bytes)), "");
    EXPECT_EQ(llvm::toString(second->launch()), "");
    EXPECT_EQ(second->slotMemory(rank, second->manifest().mailboxes[0], 1),
              meeting.first->slotMemory(rank, meeting.first->manifest().mailboxes[0], 1));
    return meeting.end();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST_F(GroupJoinTest, AllRanksShareTheSameGroup) {
  std::vector<uint8_t> code = sharingCodeObject();
  std::vector<std::string> errors = joinTwice(code, [&](unsigned rank, Meeting &meeting) {
    auto second = meeting.join(code);
    if (!second)
      return second.takeError();
    const Group *other = rank == 0 ? meeting.first : &*second;
    return meeting.join(code, {.sharedWith = other}).takeError();
  });
  EXPECT_EQ(errors, std::vector<std::string>(
                        2, "rank 1 uses other mailboxes than rank 0: expected all ranks to share "
                           "those of the same group, or none"));
  errors = joinTwice(code, [&](unsigned rank, Meeting &meeting) {
    return meeting.join(code, {.sharedWith = rank == 0 ? nullptr : meeting.first}).takeError();
  });
  EXPECT_EQ(errors[0].find("rank 1 uses other mailboxes than rank 0"), 0u) << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
}

TEST_F(GroupJoinTest, AGroupOfOneProcessIsNotShared) {
  std::vector<uint8_t> code = sharingCodeObject();
  hip::HipSelection both;
  both.count = 2;
  auto node = open(both);
  ASSERT_TRUE(bool(node)) << llvm::toString(node.takeError());
  auto local = Group::create((*node)->devices(), code);
  ASSERT_TRUE(bool(local)) << llvm::toString(local.takeError());
  std::vector<std::string> errors = ranks.onRanks(2, [&](unsigned rank) -> llvm::Error {
    auto meeting = ipc::Rendezvous::create(ranks.options(rank, 2));
    if (!meeting)
      return meeting.takeError();
    return Group::join((*node)->device(rank), code, *meeting, {.sharedWith = &*local}).takeError();
  });
  EXPECT_EQ(errors, std::vector<std::string>(
                        2, "rank 0: kernel 'exchange' is to share the mailboxes of a group of one "
                           "process: expected one that was joined by all ranks"));
}

TEST_F(GroupJoinTest, OtherCodeOnOneRankIsAnErrorOnAll) {
  std::vector<std::string> errors = join({exchangeCodeObject(), exchangeCodeObject(2)});
  for (const std::string &error : errors)
    EXPECT_EQ(error.find("rank 1 runs other code than rank 0: SHA-256 "), 0u) << error;
}

TEST_F(GroupJoinTest, AnotherParameterOnOneRankIsAnErrorOnAll) {
  std::string manifest = exchangeManifest();
  manifest.replace(manifest.find("\"S\": 4"), 6, "\"S\": 5");
  std::vector<std::string> errors = join({exchangeCodeObject(), exchangeCodeObject(manifest)});
  EXPECT_EQ(errors, std::vector<std::string>(
                        2, "rank 1 was compiled for S = 5, TP = 2, but rank 0 for S = 4, TP = 2"));
}

TEST_F(GroupJoinTest, ABrokenCodeObjectOnOneRankIsAnErrorOnAll) {
  std::vector<std::string> errors = join({exchangeCodeObject(), {1, 2, 3}});
  for (const std::string &error : errors)
    EXPECT_EQ(error.find("rank 1: not a code object"), 0u) << error;
}

TEST_F(GroupJoinTest, AFaultInMappingOneRankIsAnErrorOnAll) {
  stub->failing = "hipIpcOpenMemHandle";
  std::vector<uint8_t> code = exchangeCodeObject();
  std::vector<std::string> errors = join({code, code});
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[0].find("hipIpcOpenMemHandle: HIP error (999)"), std::string::npos) << errors[0];
}

/// Rank 1, played by hand, agrees and is gone before it could use what it agreed to.
TEST_F(GroupJoinTest, ARankThatLeavesBeforeItConfirmsIsAnErrorOnAll) {
  std::vector<uint8_t> code = exchangeCodeObject();
  std::vector<std::string> errors = ranks.onRanks(2, [&](unsigned rank) -> llvm::Error {
    hip::HipSelection selection;
    selection.first = rank;
    auto node = llvm::cantFail(open(selection));
    auto meeting = llvm::cantFail(ipc::Rendezvous::create(ranks.options(rank, 2)));
    Device &device = node->device(0);
    if (rank == 0)
      return Group::join(device, code, meeting).takeError();
    Manifest manifest = llvm::cantFail(readManifest(code));
    DeviceBuffer mailboxes = llvm::cantFail(DeviceBuffer::allocate(
        device, manifest.peerMailboxBytes, "mailboxes", MemoryKind::PeerVisible));
    ipc::GroupCard card = ipc::describeGroup(manifest, code);
    card.mailboxes = llvm::cantFail(device.exportMemory(mailboxes.ptr()));
    llvm::cantFail(meeting.allGather(ipc::encodeCard(card)));
    return meeting.allGather({}).takeError();
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 1: it has left", ""}));
}

TEST_F(GroupJoinTest, CoarseMailboxesOnOneRankAreAnErrorOnAll) {
  stub->givesCoarse = true;
  std::vector<uint8_t> code = exchangeCodeObject();
  for (const std::string &error : join({code, code}))
    EXPECT_NE(error.find("rank 0: "), std::string::npos) << error;
}

} // namespace
