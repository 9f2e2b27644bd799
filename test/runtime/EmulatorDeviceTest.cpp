// What the emulated devices refuse, with the whole message.
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"
#include "runtime/KernelMetadata.h"
#include "test/runtime/ExchangeKernel.h"

#include <gtest/gtest.h>

using namespace mono;
using namespace mono::test;

namespace {

class EmulatorDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    auto made = EmulatorNode::create(exchangeRanks);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    node = std::move(*made);
  }
  Device &device() { return *node->devices()[0]; }
  template <typename T> static std::string errorOf(llvm::Expected<T> result) {
    return result ? "" : llvm::toString(result.takeError());
  }
  std::unique_ptr<EmulatorNode> node;
};

TEST_F(EmulatorDeviceTest, NodesHaveOneToEightRanks) {
  EXPECT_EQ(errorOf(EmulatorNode::create(0)), "expected 1 to 8 ranks, but got 0");
  EXPECT_EQ(errorOf(EmulatorNode::create(9)), "expected 1 to 8 ranks, but got 9");
}

TEST_F(EmulatorDeviceTest, LaunchesAreChecked) {
  auto code = device().load(exchangeCodeObject());
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto kernel = (*code)->kernel("exchange");
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  std::vector<uint8_t> arguments(44);
  LaunchConfig config{.kernel = *kernel, .threads = {64, 1, 1}, .kernargs = arguments};
  int stream = 0;
  EXPECT_EQ(llvm::toString(device().launch(config, &stream)),
            "the emulator has no streams, expected a null stream");
  config.dynamicLdsBytes = 163841;
  EXPECT_EQ(errorOf(device().prepare(config)),
            "expected at most 163840 bytes of dynamic LDS, but got 163841");
  config.kernel = nullptr;
  EXPECT_EQ(errorOf(device().prepare(config)), "expected a kernel to launch, but got none");
}

TEST_F(EmulatorDeviceTest, MemoryOfPeersIsTold) {
  auto local = DeviceBuffer::allocate(device(), 64, "local", MemoryKind::Local);
  ASSERT_TRUE(bool(local));
  EXPECT_EQ(llvm::toString(device().checkPeerVisible(local->ptr(), 64)),
            fmt::format("expected 64 bytes of peer-visible memory at {:#x}, but rank 0 has none "
                        "there",
                        local->ptr()));
}

TEST_F(EmulatorDeviceTest, ProcessesCannotShareThem) {
  const char *text = "an emulated device lives in one process: ranks in several need HIP";
  EXPECT_EQ(errorOf(device().exportMemory(0)), text);
  EXPECT_EQ(errorOf(device().importMemory({})), text);
  EXPECT_EQ(llvm::toString(device().releaseImported(0)), text);
}

TEST_F(EmulatorDeviceTest, SlotsOfMailboxesAreCounted) {
  auto group = Group::create(node->devices(), exchangeCodeObject());
  ASSERT_TRUE(bool(group)) << llvm::toString(group.takeError());
  EXPECT_EQ(errorOf(group->readSlot(0, "parts", 2)),
            "mailbox 'parts': expected a slot below 2, but got 2");
  EXPECT_EQ(errorOf(group->readSlot(0, "part", 0)),
            "kernel 'exchange' has no mailbox 'part'; it has parts");
}

// ---- code objects as the runtime reads them ----------------------------------------------------

TEST_F(EmulatorDeviceTest, MetadataAreFound) {
  EXPECT_EQ(errorOf(readKernelMetadata(exchangeCodeObject(), "exchanges")),
            "the code object has no metadata of a kernel 'exchanges'");
  // The note's name of 6 letters and 0, padded to 8, and then the document.
  std::vector<uint8_t> file = exchangeCodeObject();
  const std::string name("AMDGPU\0\0", 8);
  auto note = std::search(file.begin(), file.end(), name.begin(), name.end());
  ASSERT_NE(note, file.end());
  note[8] = 0xC1; // the one byte that begins nothing (MessagePack specification, "never used")
  EXPECT_EQ(errorOf(readKernelMetadata(file, "exchange")),
            "broken code object: it has no readable metadata note");
}

} // namespace
