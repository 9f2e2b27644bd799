// A group of two ranks on the emulator: launches, repeats, and every way to set it up wrongly.
#include "runtime/Group.h"
#include "runtime/EmulatorDevice.h"
#include "test/runtime/ExchangeKernel.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

#include <type_traits>

using namespace mono;
using namespace mono::test;

static_assert(!std::is_copy_constructible_v<Group> && std::is_nothrow_move_constructible_v<Group>);
static_assert(!std::is_copy_constructible_v<DeviceBuffer>);

namespace {

std::vector<uint8_t> words(uint32_t first, uint32_t step) {
  std::vector<uint8_t> bytes(exchangeElements * 4);
  for (unsigned i = 0; i < exchangeElements; ++i)
    llvm::support::endian::write32le(&bytes[4 * i], first + i * step);
  return bytes;
}

class GroupTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<std::unique_ptr<EmulatorNode>> made = EmulatorNode::create(exchangeRanks);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    node = std::move(*made);
  }
  llvm::Expected<Group> create(const std::vector<uint8_t> &codeObject, GroupOptions options = {}) {
    return Group::create(node->devices(), codeObject, options);
  }
  std::string createError(const std::vector<uint8_t> &codeObject) {
    llvm::Expected<Group> group = create(codeObject);
    return group ? "" : llvm::toString(group.takeError());
  }
  std::unique_ptr<EmulatorNode> node;
};

TEST_F(GroupTest, SumsOverRanksLaunchAfterLaunch) {
  llvm::Expected<Group> group = create(exchangeCodeObject());
  ASSERT_TRUE(bool(group)) << llvm::toString(group.takeError());
  for (uint32_t launch = 0; launch < 5; ++launch) {
    ASSERT_FALSE(bool(group->write(0, "in", words(launch, 3))));
    ASSERT_FALSE(bool(group->write(1, "in", words(100 * launch, 7))));
    ASSERT_EQ(llvm::toString(group->launch()), "");
    for (unsigned rank = 0; rank < exchangeRanks; ++rank) {
      std::vector<uint8_t> out(exchangeElements * 4);
      ASSERT_EQ(llvm::toString(group->read(rank, "out", out)), "");
      EXPECT_EQ(out, words(101 * launch, 10)) << "launch " << launch << ", rank " << rank;
    }
  }
}

/// Mailbox `parts` [2 ranks, 256] of every rank, launch after launch in another slot.
TEST_F(GroupTest, ReadsTheMailboxesOfTheLastLaunch) {
  llvm::Expected<Group> group = create(exchangeCodeObject());
  ASSERT_TRUE(bool(group)) << llvm::toString(group.takeError());
  std::vector<uint8_t> parts(2 * exchangeElements * 4);
  EXPECT_EQ(llvm::toString(group->readMailbox(1, "parts", parts)),
            "mailbox 'parts' of rank 1: expected a finished launch, but there was none");
  EXPECT_EQ(llvm::toString(group->isPosted(0, "parts").takeError()),
            "mailbox 'parts' of rank 0: expected a finished launch, but there was none");
  for (uint32_t launch = 0; launch < 3; ++launch) {
    std::vector<uint8_t> first = words(launch, 3), second = words(100 * launch, 7);
    ASSERT_FALSE(bool(group->write(0, "in", first)));
    ASSERT_FALSE(bool(group->write(1, "in", second)));
    ASSERT_EQ(llvm::toString(group->launch()), "");
    std::vector<uint8_t> posted = first;
    posted.insert(posted.end(), second.begin(), second.end());
    for (unsigned rank = 0; rank < exchangeRanks; ++rank) {
      ASSERT_EQ(llvm::toString(group->readMailbox(rank, "parts", parts)), "");
      EXPECT_EQ(parts, posted) << "launch " << launch << ", rank " << rank;
      EXPECT_TRUE(llvm::cantFail(group->isPosted(rank, "parts")));
    }
  }
}

TEST_F(GroupTest, MailboxFaultsAreNamed) {
  auto faultOf = [&](const std::string &from, const std::string &to, unsigned launches,
                     const char *name, size_t bytes) {
    std::string text = exchangeManifest();
    if (!from.empty())
      text.replace(text.find(from), from.size(), to);
    llvm::Expected<Group> group = create(exchangeCodeObject(text));
    EXPECT_TRUE(bool(group));
    for (unsigned rank : {0, 1})
      EXPECT_FALSE(bool(group->write(rank, "in", words(0, 1))));
    while (launches-- > 0)
      EXPECT_EQ(llvm::toString(group->launch()), "");
    std::vector<uint8_t> parts(bytes);
    return llvm::toString(group->readMailbox(0, name, parts));
  };
  EXPECT_EQ(faultOf("", "", 0, "part", 2048),
            "kernel 'exchange' has no mailbox 'part'; it has parts");
  EXPECT_EQ(faultOf("", "", 1, "parts", 2044),
            "mailbox 'parts': expected 2048 bytes (i32 [2, 256], row_major), but got 2044");
  EXPECT_EQ(faultOf("tagged", "counted", 1, "parts", 2048),
            "mailbox 'parts': expected a tagged mailbox, but it is counted");
  // A manifest that lies about the slots: one of both ranks' size holds the words of two launches.
  const char *two = R"("slots": 2, "shape": [2, 256])", *one = R"("slots": 1, "shape": [4, 256])";
  EXPECT_EQ(faultOf(two, one, 1, "parts", 4096),
            "mailbox 'parts' of rank 0: expected element 0 to be of launch 1, but it is of none");
  EXPECT_EQ(
      faultOf(two, one, 2, "parts", 4096),
      "mailbox 'parts' of rank 0: expected element 512 to be of launch 2, but it is of launch "
      "1");
}

TEST_F(GroupTest, RepeatsWithoutAnyReset) {
  llvm::Expected<Group> group = create(exchangeCodeObject());
  ASSERT_TRUE(bool(group));
  ASSERT_FALSE(bool(group->write(0, "in", words(1, 1))));
  ASSERT_FALSE(bool(group->write(1, "in", words(2, 2))));
  for (int launch = 0; launch < 4; ++launch)
    ASSERT_EQ(llvm::toString(group->launch()), "");
  std::vector<uint8_t> out(exchangeElements * 4);
  ASSERT_FALSE(bool(group->read(0, "out", out)));
  EXPECT_EQ(out, words(3, 3));
}

TEST_F(GroupTest, FindsAnOutputNobodyWrote) {
  llvm::Expected<Group> group = create(exchangeCodeObject(/*skipWorkgroup=*/2));
  ASSERT_TRUE(bool(group));
  for (unsigned rank : {0, 1})
    ASSERT_FALSE(bool(group->write(rank, "in", words(0, 1))));
  ASSERT_EQ(llvm::toString(group->launch()), "");
  std::vector<uint8_t> out(exchangeElements * 4);
  std::string error = llvm::toString(group->read(1, "out", out));
  EXPECT_EQ(error.find("operand 'out' of rank 1: "), 0u) << error;
}

TEST_F(GroupTest, TakesTheCallersMemory) {
  llvm::Expected<Group> group = create(exchangeCodeObject());
  ASSERT_TRUE(bool(group));
  std::vector<DeviceBuffer> inputs;
  for (unsigned rank : {0, 1}) {
    Device &device = *node->devices()[rank];
    inputs.push_back(std::move(
        *DeviceBuffer::allocate(device, exchangeElements * 4, "mine", MemoryKind::Local)));
    ASSERT_FALSE(bool(device.write(inputs.back().ptr(), words(5 + rank, 1))));
    ASSERT_FALSE(bool(group->bind(rank, "in", inputs.back().ptr(), inputs.back().bytes())));
  }
  ASSERT_EQ(llvm::toString(group->launch()), "");
  std::vector<uint8_t> out(exchangeElements * 4);
  ASSERT_FALSE(bool(group->read(1, "out", out)));
  EXPECT_EQ(out, words(11, 2));
}

TEST_F(GroupTest, BindingFaultsAreNamed) {
  llvm::Expected<Group> group = create(exchangeCodeObject());
  ASSERT_TRUE(bool(group));
  std::vector<uint8_t> bytes(1024);
  llvm::ArrayRef<uint8_t> shorter = llvm::ArrayRef(bytes).drop_back(24);
  EXPECT_EQ(llvm::toString(group->write(0, "in", shorter)),
            "operand 'in': expected 1024 bytes (i32 [4, 64], row_major), but got 1000");
  EXPECT_EQ(llvm::toString(group->write(2, "in", bytes)), "expected a rank below 2, but got 2");
  EXPECT_EQ(llvm::toString(group->write(0, "w", bytes)),
            "kernel 'exchange' has no operand 'w'; it has in, out");
  EXPECT_EQ(llvm::toString(group->read(0, "in", bytes)), "operand 'in' of rank 0 is not bound");
  EXPECT_EQ(llvm::toString(group->bind(1, "in", 0, 1024)),
            "operand 'in' of rank 1: expected device memory, but got a null address");
  ASSERT_FALSE(bool(group->write(0, "in", bytes)));
  EXPECT_EQ(llvm::toString(group->launch()), "operand 'in' of rank 1 is not bound");
}

TEST_F(GroupTest, CreationFaultsAreNamed) {
  auto edited = [](const std::string &from, const std::string &to) {
    std::string text = exchangeManifest();
    return exchangeCodeObject(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_EQ(createError(edited("\"ranks\": 2", "\"ranks\": 4")),
            "kernel 'exchange' was compiled for 4 ranks, but the group has 2 devices");
  std::string text = exchangeManifest();
  text.replace(text.find("\"ctas\": 4"), 9, "\"ctas\": 257");
  text.replace(text.find("\"epoch_bytes\": 16"), 17, "\"epoch_bytes\": 1028");
  EXPECT_EQ(createError(exchangeCodeObject(text)),
            "kernel 'exchange' needs 257 resident workgroups, but the device has 256 compute "
            "units");
  EXPECT_NE(createError(exchangeCodeObject("", 44)).find("no manifest"), std::string::npos);
  EXPECT_NE(createError({1, 2, 3}).find("not a code object"), std::string::npos);
}

/// The exchange manifest with replacements, and the kernel for it; its ranks hear from each other.
std::vector<uint8_t>
sharing(std::initializer_list<std::pair<const char *, const char *>> edits = {}) {
  std::string text = exchangeManifest();
  auto replace = [&](llvm::StringRef from, const char *to) {
    text.replace(text.find(from.str()), from.size(), to);
  };
  replace("\"epoch_bytes\"", "\"hears_all\": true, \"epoch_bytes\"");
  for (auto [from, to] : edits)
    replace(from, to);
  return exchangeCodeObject(text);
}

TEST_F(GroupTest, KernelsTakeTurnsOnOneSetOfMailboxes) {
  llvm::Expected<Group> first = create(sharing());
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  llvm::Expected<Group> second = create(sharing(), {.sharedWith = &*first});
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  std::optional<Group> kept(std::move(*first));
  uint32_t number = 0;
  auto sums = [&](Group &group) {
    ++number;
    EXPECT_FALSE(bool(group.write(0, "in", words(number, 3))));
    EXPECT_FALSE(bool(group.write(1, "in", words(100 * number, 7))));
    EXPECT_EQ(llvm::toString(group.launch()), "");
    std::vector<uint8_t> out(exchangeElements * 4);
    EXPECT_FALSE(bool(group.read(1, "out", out)));
    return out == words(101 * number, 10);
  };
  EXPECT_TRUE(sums(*kept));
  EXPECT_TRUE(sums(*second));
  EXPECT_TRUE(sums(*second));
  EXPECT_TRUE(sums(*kept));
  // Launches are counted together.
  std::vector<uint8_t> parts(2 * exchangeElements * 4);
  EXPECT_EQ(llvm::toString(second->readMailbox(1, "parts", parts)), "");
  // The mailboxes live as long as anybody uses them.
  kept.reset();
  EXPECT_TRUE(sums(*second));
}

TEST_F(GroupTest, SharingFaultsAreNamed) {
  llvm::Expected<Group> first = create(sharing());
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  auto faultOf = [&](const std::vector<uint8_t> &code, GroupOptions options = {}) {
    options.sharedWith = &*first;
    llvm::Expected<Group> group = create(code, options);
    return group ? "" : llvm::toString(group.takeError());
  };
  EXPECT_EQ(
      faultOf(sharing({{"true", "false"}})),
      "kernel 'exchange' can't share mailboxes with others: expected a schedule in which every "
      "rank receives something from every other one in each launch");
  EXPECT_EQ(
      faultOf(sharing({{R"("slots": 2, "shape": [2,)", R"("slots": 1, "shape": [4,)"}})),
      "kernel 'exchange' can't share mailboxes with others: expected at least 2 slots, and as "
      "many in all peers mailboxes, but 'parts' has 1");
  EXPECT_EQ(faultOf(sharing({{"\"ctas\": 4", "\"ctas\": 8"}, {"bytes\": 16", "bytes\": 32"}})),
            "kernel 'exchange' has 8 workgroups, but kernel 'exchange', whose mailboxes it is to "
            "share, has 4");
  EXPECT_EQ(
      faultOf(sharing({{"\"slots\": 2", "\"slots\": 4"},
                       {"\"bytes\": 8192", "\"bytes\": 16384"},
                       {"\"peers\": 8192", "\"peers\": 16384"}})),
      "kernel 'exchange' has 4 slots of peers mailboxes, but kernel 'exchange', whose mailboxes "
      "it is to share, has 2");
  EXPECT_EQ(
      faultOf(sharing({{"\"device\": 0", "\"device\": 64"}})),
      "rank 0: kernel 'exchange' needs 64 bytes of device mailboxes, but those of kernel "
      "'exchange', which it is to share, have 0; make the group of the kernel that needs most "
      "first");
  EXPECT_EQ(faultOf(sharing({{"\"peers\": 8192", "\"peers\": 8448"}})),
            "rank 0: kernel 'exchange' needs 4224 bytes of a slot of peers mailboxes, but those of "
            "kernel 'exchange', which it is to share, have 4096; make the group of the kernel that "
            "needs most first");
  EXPECT_EQ(faultOf(sharing(), {.workspaces = std::vector<Workspace>(2)}),
            "expected no workspaces for a group that shares those of another");
  auto other = EmulatorNode::create(exchangeRanks);
  ASSERT_TRUE(bool(other));
  EXPECT_EQ(
      llvm::toString(
          Group::create((*other)->devices(), sharing(), {.sharedWith = &*first}).takeError()),
      "rank 0: expected the device on which kernel 'exchange', whose mailboxes it is to share, "
      "has this rank");
  EXPECT_EQ(faultOf(sharing()), "");
}

/// Ranks that may be at different launches are of no use to the other kernel either.
TEST_F(GroupTest, AFailureBreaksAllThatShare) {
  llvm::Expected<Group> first = create(sharing());
  ASSERT_TRUE(bool(first));
  llvm::Expected<Group> second = create(sharing(), {.sharedWith = &*first});
  ASSERT_TRUE(bool(second));
  std::vector<uint8_t> bytes = words(0, 1);
  for (unsigned rank : {0, 1})
    for (Group *group : {&*first, &*second})
      ASSERT_FALSE(bool(group->write(rank, "in", bytes)));
  // An operand that is no memory.
  ASSERT_FALSE(bool(first->bind(0, "in", 64, bytes.size())));
  std::string failure = llvm::toString(first->launch());
  EXPECT_NE(failure, "");
  EXPECT_EQ(llvm::toString(second->launch()),
            "the group is broken by an earlier launch and must be made anew: " + failure);
}

TEST_F(GroupTest, AFailedCreationLeavesNothing) {
  // More peer mailbox memory than the emulated HBM or the host has: the last allocations fail.
  std::string text = exchangeManifest();
  text.replace(text.find("\"peers\": 8192}"), 14, "\"peers\": 1099511627776}");
  EXPECT_NE(createError(exchangeCodeObject(text)), "");
  EXPECT_EQ(createError(exchangeCodeObject()), "");
}

} // namespace
