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

TEST_F(GroupTest, AFailedCreationLeavesNothing) {
  // More peer mailbox memory than the emulated HBM or the host has: the last allocations fail.
  std::string text = exchangeManifest();
  text.replace(text.find("\"peers\": 8192}"), 14, "\"peers\": 1099511627776}");
  EXPECT_NE(createError(exchangeCodeObject(text)), "");
  EXPECT_EQ(createError(exchangeCodeObject()), "");
}

} // namespace
