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

class JitOnHip : public testing::Test {
protected:
  void SetUp() override {
    setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
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
  void bind(float first) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      std::vector<float> values(64);
      for (size_t i = 0; i < 64; ++i)
        values[i] = first + 10.0f * rank + i;
      x[rank] = *node->allocate(rank, 256);
      y[rank] = *node->allocate(rank, 256);
      ASSERT_EQ(node->write(rank, x[rank], std::span<const float>(values)).text(), "");
      ASSERT_EQ(group->bind(rank, "x", x[rank], 256).text(), "");
      ASSERT_EQ(group->bind(rank, "y", y[rank], 256).text(), "");
    }
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
};

TEST_F(JitOnHip, LaunchesOnItsOwnStreams) {
  bind(3);
  for (int launch = 0; launch < 3; ++launch)
    ASSERT_EQ(group->launch().text(), "");
  ASSERT_EQ(group->synchronize().text(), "");
  expectSums(3);
}

TEST_F(JitOnHip, LaunchesOnStreamsOfTheCaller) {
  Hip hip;
  void *streams[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(hip.call("hipSetDevice", rank), 0);
    ASSERT_EQ(hip.call("hipStreamCreate", &streams[rank]), 0);
  }
  bind(7);
  ASSERT_EQ(group->launch(streams).text(), "");
  for (void *stream : streams)
    ASSERT_EQ(hip.call("hipStreamSynchronize", stream), 0);
  expectSums(7);
}

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

} // namespace
