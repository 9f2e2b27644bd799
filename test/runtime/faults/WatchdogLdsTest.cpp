// Watchdog builds where one wavefront of a workgroup waits in vain and the others go on with what
// it should have brought to LDS: they may not compute with that, let alone post it.
#include "lowering/Compile.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"

#include <gmock/gmock.h>

using namespace mono;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

/// Workgroup 0 posts to "box", `handOn` brings that to "out" by way of LDS, and workgroup 0 stores
/// it.
std::string scheduleWith(llvm::StringRef handOn) {
  return R"(
mono.schedule @through_lds target("gfx950") grid(2 x 256) {
  %x = mono.operand "x" read [512] : f32
  %y = mono.operand "y" write [512] : f32
  %box = mono.mailbox "box" tagged scope(device) slots(1) [512] : f32
  %out = mono.mailbox "out" tagged scope(device) slots(1) [512] : f32
  %r = mono.region "r" [512] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %x[0] [512] : tensor<512xf32>
    mono.post %v to %box[0] : tensor<512xf32>
  }
)" + handOn.str() +
         R"(
  mono.stage "end" (%t) tasks [1] base [0] {
    %v = mono.receive %out[0] [512] : tensor<512xf32>
    mono.store %v, %y[0] : tensor<512xf32>
  }
}
)";
}

constexpr const char *oneTask = R"(
  mono.stage "hand_on" (%t) tasks [1] base [1] {
    mono.receive %box[0] [512] into %r
    %v = mono.load %r[0] [512] : tensor<512xf32>
    mono.post %v to %out[0] : tensor<512xf32>
  })";

/// Two tasks for each workgroup: what one misses the next would post.
constexpr const char *manyTasks = R"(
  mono.stage "hand_on" (%t) tasks [4] base [0] {
    mono.receive %box[0] [512] into %r
    %v = mono.load %r[%t * 128] [128] : tensor<128xf32>
    mono.post %v to %out[%t * 128] : tensor<128xf32>
  })";

/// The barrier behind the wait is that of another stage, which workgroup 0 has no task of.
constexpr const char *nextStage = R"(
  mono.stage "take" (%t) tasks [1] base [1] {
    mono.receive %box[0] [512] into %r
  }
  mono.stage "hand_on" (%t) tasks [1] base [1] {
    %v = mono.load %r[0] [512] : tensor<512xf32>
    mono.post %v to %out[0] : tensor<512xf32>
  })";

/// How words are handed on, the seed of the memory (0: a plain one), and the launch in which a word
/// is lost.
using Case = std::tuple<const char *, uint64_t, unsigned>;

class WatchdogLds : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    auto [handOn, seed, launch] = GetParam();
    CompileOptions options;
    options.watchdogCycles = 20'000;
    auto result = compile(
        llvm::MemoryBuffer::getMemBufferCopy(scheduleWith(handOn), "through_lds.mlir"), options);
    ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
    code = std::move(result->output);
    manifest = llvm::cantFail(readManifest(code));
    emu::Options machine;
    machine.deadlockRounds = 1'000'000; // the kernel is to find out itself
    machine.threads = 1;
    machine.checks = emu::Checks::thorough();
    if (seed)
      machine.coherence = emu::Coherence::adversarial(seed);
    node = llvm::cantFail(EmulatorNode::create(1, machine));
    WorkspaceSize size = workspaceSize(manifest);
    local = llvm::cantFail(
        DeviceBuffer::allocate(device(), size.local, "workspace", MemoryKind::Local));
    peers = llvm::cantFail(
        DeviceBuffer::allocate(device(), size.peers, "workspace", MemoryKind::PeerVisible));
  }
  Device &device() { return *node->devices()[0]; }
  DevicePtr word(llvm::StringRef mailbox, unsigned element) {
    return local.ptr() + llvm::cantFail(manifest.findMailbox(mailbox))->offset + 8 * element;
  }
  Group group() {
    GroupOptions options;
    options.workspaces.push_back({local.ptr(), peers.ptr()});
    Group made = llvm::cantFail(Group::create(node->devices(), code, options));
    std::vector<uint8_t> x(512 * 4);
    for (unsigned i = 0; i < 512; ++i)
      llvm::support::endian::write32le(&x[4 * i], llvm::bit_cast<uint32_t>(float(i)));
    llvm::cantFail(made.write(0, "x", x));
    return made;
  }

  std::vector<uint8_t> code;
  Manifest manifest;
  std::unique_ptr<EmulatorNode> node;
  DeviceBuffer local, peers;
};

TEST_P(WatchdogLds, NobodyHandsOnWhatDidNotCome) {
  unsigned lastLaunch = std::get<2>(GetParam());
  // Words of different wavefronts, whichever way they are dealt out.
  for (unsigned lost : {0u, 130u, 511u}) {
    Group broken = group();
    for (unsigned launch = 1; launch < lastLaunch; ++launch)
      ASSERT_EQ(llvm::toString(broken.launch()), "");
    node->machine().inject({word("box", lost)});
    std::string error = llvm::toString(broken.launch());
    EXPECT_EQ(node->machine().faultsWaiting(), 0u);
    EXPECT_THAT(error, StartsWith("watchdog: workgroup "));
    EXPECT_THAT(error, Not(HasSubstr("nobody wrote")));
    for (unsigned element = 0; element < 512; ++element) {
      uint8_t bytes[8];
      ASSERT_EQ(llvm::toString(device().read(word("out", element), bytes)), "");
      ASSERT_LT(llvm::support::endian::read32le(bytes + 4), lastLaunch)
          << "element " << element << " was posted, lost was " << lost;
    }
  }
  Group whole = group();
  EXPECT_EQ(llvm::toString(whole.launch()), "");
}

INSTANTIATE_TEST_SUITE_P(Schedules, WatchdogLds,
                         testing::Combine(testing::Values(oneTask, manyTasks, nextStage),
                                          testing::Values(0, 1, 2, 3), testing::Values(1, 3)),
                         [](const auto &info) { return "Case" + std::to_string(info.index); });

} // namespace
