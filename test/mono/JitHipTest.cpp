// The public interface on HIP devices, with streams of the host application: the emulated HIP
// library takes the place of ROCm.
#include "mono/jit.h"
#include "test/mono/Schedules.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <dlfcn.h>

using namespace mono::jit;
using namespace mono::test;

namespace {

/// The few HIP functions a host application would call.
struct Hip {
  Hip() : library(dlopen(MONO_EMULATED_HIP, RTLD_NOW | RTLD_LOCAL)) {}
  template <typename... Args> int call(const char *name, Args... args) const {
    auto function = reinterpret_cast<int (*)(Args...)>(library ? dlsym(library, name) : nullptr);
    return function ? function(args...) : -1;
  }
  void *library;
};

/// A stream of the application on each of two devices.
struct CallerStreams {
  CallerStreams() {
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(hip.call("hipSetDevice", rank), 0);
      EXPECT_EQ(hip.call("hipStreamCreate", &all[rank]), 0);
    }
  }
  ~CallerStreams() {
    for (void *stream : all)
      hip.call("hipStreamDestroy", stream);
  }
  void synchronize() const {
    for (void *stream : all)
      EXPECT_EQ(hip.call("hipStreamSynchronize", stream), 0);
  }
  Hip hip;
  void *all[2] = {};
};

class JitOnHip : public testing::Test {
protected:
  void SetUp() override {
    setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
    setenv("MONO_HIP_THREADS", "1", 1); // waits are not as long as the host keeps a thread waiting
    CompileOptions options;
    options.cacheDirectory = "";
    auto compiled = Kernel::compileText(kSumSchedule, options);
    ASSERT_TRUE(bool(compiled)) << compiled.error().text();
    kernel.emplace(std::move(*compiled));
    auto opened = Node::hip(0, 2);
    ASSERT_TRUE(bool(opened)) << opened.error().text();
    node.emplace(std::move(*opened));
    auto made = Group::create(*kernel, *node);
    ASSERT_TRUE(bool(made)) << made.error().text();
    group.emplace(std::move(*made));
  }

  /// Rank r gets x[i] = 10 r + i + first.
  void fill(float first) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      std::vector<float> values(64);
      for (size_t i = 0; i < 64; ++i)
        values[i] = first + 10.0f * rank + i;
      ASSERT_EQ(node->write(rank, x[rank], std::span<const float>(values)).text(), "");
    }
  }
  void bind(float first) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      x[rank] = *node->allocate(rank, 256);
      y[rank] = *node->allocate(rank, 256);
      ASSERT_EQ(group->bind(rank, "x", x[rank], 256).text(), "");
      ASSERT_EQ(group->bind(rank, "y", y[rank], 256).text(), "");
    }
    fill(first);
  }

  void expectSums(float first) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      std::vector<float> sums(64);
      ASSERT_EQ(node->read(rank, std::span(sums), y[rank]).text(), "");
      for (size_t i = 0; i < 64; ++i)
        EXPECT_EQ(sums[i], 2 * first + 10.0f + 2.0f * i);
    }
  }

  std::optional<Kernel> kernel;
  std::optional<Node> node;
  std::optional<Group> group;
  void *x[2], *y[2];
  Hip hip;
};

TEST_F(JitOnHip, LaunchesOnItsOwnStreams) {
  bind(3);
  for (int launch = 0; launch < 3; ++launch)
    ASSERT_EQ(group->launch().text(), "");
  ASSERT_EQ(group->synchronize().text(), "");
  expectSums(3);
}

TEST_F(JitOnHip, LaunchesOnStreamsOfTheCaller) {
  CallerStreams streams;
  bind(7);
  ASSERT_EQ(group->launch(streams.all).text(), "");
  streams.synchronize();
  EXPECT_EQ(group->check().text(), "");
  expectSums(7);
}

/// The application captures what the library starts, and replays it.
TEST_F(JitOnHip, LaunchesIntoGraphsOfTheCaller) {
  CallerStreams streams;
  bind(2);
  ASSERT_EQ(group->launch(streams.all).text(), ""); // after binding, before capturing
  streams.synchronize();
  void *graphs[2] = {}, *instances[2] = {};
  constexpr int threadLocal = 1;
  for (void *stream : streams.all)
    ASSERT_EQ(hip.call("hipStreamBeginCapture", stream, threadLocal), 0);
  ASSERT_EQ(group->launch(streams.all).text(), "");
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(hip.call("hipStreamEndCapture", streams.all[rank], &graphs[rank]), 0);
    ASSERT_EQ(hip.call("hipGraphInstantiate", &instances[rank], graphs[rank], nullptr, nullptr,
                       size_t(0)),
              0);
  }
  for (float first : {5.0f, 6.0f, 7.0f}) {
    fill(first);
    for (int rank = 0; rank < 2; ++rank)
      ASSERT_EQ(hip.call("hipGraphLaunch", instances[rank], streams.all[rank]), 0);
    streams.synchronize();
    expectSums(first);
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(hip.call("hipGraphExecDestroy", instances[rank]), 0);
    EXPECT_EQ(hip.call("hipGraphDestroy", graphs[rank]), 0);
  }
}

// ---- watchdogs ---------------------------------------------------------------------------------

/// A kernel whose waits are bounded, on workspaces whose epoch words can be reached: rank 1 is made
/// to believe that it is three launches ahead, so that both ranks wait for what never comes.
class JitWatchdog : public JitOnHip {
protected:
  void SetUp() override {
    JitOnHip::SetUp();
    CompileOptions options;
    options.cacheDirectory = "";
    options.watchdogCycles = 3000; // before the emulator calls it a deadlock
    auto compiled = Kernel::compileText(kSumSchedule, options);
    ASSERT_TRUE(bool(compiled)) << compiled.error().text();
    kernel.emplace(std::move(*compiled));
    remake();
    uint32_t launches = 3;
    ASSERT_EQ(node->write(1, epochsOf(1), std::span<const uint32_t>(&launches, 1)).text(), "");
  }
  /// A new group, on memory that it shares with nobody.
  void remake() {
    group.reset();
    const mono_workspace_size &size = kernel->info().workspace;
    std::vector<mono_workspace> memory;
    for (uint32_t rank = 0; rank < 2; ++rank)
      memory.push_back({*node->allocate(rank, size.local_bytes),
                        *node->allocate(rank, size.peer_bytes, MONO_PEER_VISIBLE)});
    auto made = Group::create(*kernel, *node, memory);
    ASSERT_TRUE(bool(made)) << made.error().text();
    group.emplace(std::move(*made));
    workspaces = memory;
    bind(1);
  }
  /// Behind the device mailboxes, of which there are none, in a unit of their own.
  void *epochsOf(uint32_t rank) const {
    return static_cast<char *>(workspaces[rank].local) + kernel->info().workspace.alignment;
  }
  void expectBroken(const Error &error) {
    EXPECT_EQ(error.status(), MONO_DEVICE_ERROR);
    EXPECT_THAT(error.text(),
                testing::HasSubstr("watchdog: workgroup 0 of rank 0 waited in stage 'sum' for "
                                   "element [1, 0] of mailbox 'parts' longer than 3000 cycles: "
                                   "expected tag 1, but saw 0"));
    EXPECT_THAT(error.text(),
                testing::HasSubstr("watchdog: workgroup 0 of rank 1 waited in stage 'sum' for "
                                   "element [0, 0] of mailbox 'parts' longer than 3000 cycles: "
                                   "expected tag 4, but saw 0"));
    EXPECT_EQ(group->launch().text(),
              "the group is broken by an earlier launch; make a new one: " + error.text());
    remake();
    ASSERT_EQ(group->launch().text(), "");
    ASSERT_EQ(group->synchronize().text(), "");
    expectSums(1);
  }

  std::vector<mono_workspace> workspaces;
};

TEST_F(JitWatchdog, IsHeardOnTheNodesStreams) {
  ASSERT_EQ(group->launch().text(), "");
  expectBroken(group->synchronize());
}

TEST_F(JitWatchdog, IsHeardOnStreamsOfTheCaller) {
  CallerStreams streams;
  ASSERT_EQ(group->launch(streams.all).text(), "");
  streams.synchronize();
  expectBroken(group->check());
}

// ---- refusals ----------------------------------------------------------------------------------

TEST_F(JitOnHip, RefusesHostMappings) {
  alignas(16) float memory[64];
  EXPECT_EQ(node->mapHost(memory, sizeof memory).text(),
            "host memory can be mapped on emulated devices only");
}

TEST_F(JitOnHip, SaysHowManyDevicesThereAre) {
  auto many = Node::hip(0, 100);
  ASSERT_FALSE(bool(many));
  EXPECT_EQ(many.error().status(), MONO_NO_DEVICE);
  EXPECT_THAT(many.error().text(), testing::HasSubstr("100"));
}

// ---- faults ------------------------------------------------------------------------------------

/// The last tests: after a fault HIP gives the process up.
class JitHipFault : public JitOnHip {};

/// HIP tells whoever waits that something has failed.
TEST_F(JitHipFault, IsHeardByTheGroupWhoseLaunchItWas) {
  auto bad = Group::create(*kernel, *node);
  ASSERT_TRUE(bool(bad)) << bad.error().text();
  for (uint32_t rank = 0; rank < 2; ++rank)
    for (const char *operand : {"x", "y"}) // x has never been written
      ASSERT_EQ(bad->bind(rank, operand, *node->allocate(rank, 256), 256).text(), "");
  ASSERT_EQ(bad->launch().text(), "");
  EXPECT_EQ(group->synchronize().text(), "");
  Error failure = bad->synchronize();
  EXPECT_EQ(failure.status(), MONO_DEVICE_ERROR);
  EXPECT_THAT(failure.text(), testing::HasSubstr("hipStreamSynchronize: hipErrorLaunchFailure"));
  EXPECT_EQ(bad->launch().text(),
            "the group is broken by an earlier launch; make a new one: " + failure.text());
}

} // namespace
