// Launch numbers where 32 bits begin again: words of launches before are not taken for new ones,
// and slots follow each other as ever.
#include "lowering/Compile.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"
#include "runtime/Manifest.h"
#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace mono;
using Numbers = std::vector<uint32_t>;

namespace {

constexpr unsigned kRanks = 2, kCtas = 2;

/// Each rank hears from both, through mailboxes of 2 and of 3 slots.
const char *schedule = R"(mono.schedule @epochs target("gfx950") grid(2 x 64) {
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [64] : i32
  %y = mono.operand "y" write [2, 2, 64] : i32
  %two = mono.mailbox "two" tagged scope(peers) slots(2) [2, 64] : i32
  %three = mono.mailbox "three" tagged scope(peers) slots(3) [2, 64] : i32
  mono.stage "s" (%t) tasks [1] base [1] {
    %v = mono.load %x[0] [64] : tensor<64xi32>
    mono.post %v to %two[%rank, 0] : tensor<64xi32>
    mono.post %v to %three[%rank, 0] : tensor<64xi32>
    %a = mono.receive %two[0, 0] [2, 64] : tensor<2x64xi32>
    mono.store %a, %y[0, 0, 0] : tensor<2x64xi32>
    %b = mono.receive %three[0, 0] [2, 64] : tensor<2x64xi32>
    mono.store %b, %y[1, 0, 0] : tensor<2x64xi32>
  }
})";

/// The largest multiple of 2 and of 3 that 32 bits hold.
constexpr uint32_t kLast = 0xFFFFFFFE - 0xFFFFFFFE % 6;

class Epochs : public testing::Test {
protected:
  void SetUp() override {
    auto compiled = compile(llvm::MemoryBuffer::getMemBufferCopy(schedule, "epochs.mlir"), {});
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    Manifest manifest = llvm::cantFail(readManifest(compiled->output));
    node = llvm::cantFail(EmulatorNode::create(kRanks));
    GroupOptions options;
    WorkspaceSize size = workspaceSize(manifest);
    for (Device *device : node->devices()) {
      local.push_back(
          llvm::cantFail(DeviceBuffer::allocate(*device, size.local, "local", MemoryKind::Local)));
      peers.push_back(llvm::cantFail(
          DeviceBuffer::allocate(*device, size.peers, "peers", MemoryKind::PeerVisible)));
      options.workspaces.push_back({local.back().ptr(), peers.back().ptr()});
    }
    // No mailboxes of the device: the epoch words come next.
    ASSERT_EQ(manifest.deviceMailboxBytes, 0u);
    auto made = Group::create(node->devices(), compiled->output, options);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    group.emplace(std::move(*made));
  }

  DevicePtr epochsOf(unsigned rank) const { return local[rank].ptr() + WorkspaceSize::alignment; }

  void setFinished(uint32_t launches) {
    uint8_t words[4 * kCtas];
    for (unsigned cta = 0; cta < kCtas; ++cta)
      llvm::support::endian::write32le(&words[4 * cta], launches);
    for (unsigned rank = 0; rank < kRanks; ++rank)
      llvm::cantFail(node->devices()[rank]->write(epochsOf(rank), words));
  }

  uint32_t finished(unsigned rank) {
    uint8_t word[4];
    llvm::cantFail(node->devices()[rank]->read(epochsOf(rank), word));
    return llvm::support::endian::read32le(word);
  }

  /// Tags of the first words of all slots of a mailbox.
  Numbers tagsOf(const char *mailbox, unsigned slots) {
    Numbers tags;
    for (unsigned slot = 0; slot < slots; ++slot)
      tags.push_back(llvm::cantFail(group->readSlot(1, mailbox, slot)).tags.front());
    return tags;
  }

  /// Launches with inputs of their own, which must arrive.
  void launch(uint32_t number) {
    Numbers expected;
    for (unsigned rank = 0; rank < kRanks; ++rank) {
      Numbers x(64);
      std::iota(x.begin(), x.end(), 1000 * number + 100 * rank);
      expected.insert(expected.end(), x.begin(), x.end());
      llvm::cantFail(group->write(rank, "x", {reinterpret_cast<uint8_t *>(x.data()), 256}));
    }
    expected.insert(expected.end(), expected.begin(), expected.end());
    ASSERT_FALSE(bool(group->launch()));
    for (unsigned rank = 0; rank < kRanks; ++rank) {
      Numbers y(256);
      llvm::cantFail(group->read(rank, "y", {reinterpret_cast<uint8_t *>(y.data()), 1024}));
      EXPECT_EQ(y, expected) << "launch " << number << ", rank " << rank;
    }
  }

  std::unique_ptr<EmulatorNode> node;
  std::vector<DeviceBuffer> local, peers;
  std::optional<Group> group; ///< gone before its memory
};

TEST_F(Epochs, SlotsFollowEachOtherAcrossTheLast) {
  setFinished(kLast - 3);
  Numbers tags = {kLast - 2, kLast - 1, kLast, 1, 2, 3, 4};
  Numbers two(2), three(3);
  for (uint32_t i = 0; i < tags.size(); ++i) {
    launch(i);
    for (unsigned rank = 0; rank < kRanks; ++rank)
      EXPECT_EQ(finished(rank), tags[i]);
    // Whatever it counts, launch i takes the slot after that of launch i - 1.
    two[(uint64_t(kLast) - 2 + i) % 2] = tags[i];
    three[(uint64_t(kLast) - 2 + i) % 3] = tags[i];
    EXPECT_EQ(tagsOf("two", 2), two) << "launch " << i;
    EXPECT_EQ(tagsOf("three", 3), three) << "launch " << i;
  }
}

} // namespace
