// Many compilations at once, and many groups one after another.
#include "mono/jit.h"
#include "test/mono/Schedules.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <thread>
#include <unistd.h>

using namespace mono::jit;
using namespace mono::test;

namespace {

CompileOptions withoutCache(int64_t rows) {
  CompileOptions options;
  options.parameters = {{"ROWS", rows}};
  options.cacheDirectory = "";
  return options;
}

std::vector<uint8_t> compiled(int64_t rows) {
  auto kernel = Kernel::compileText(scaleSchedule(), withoutCache(rows));
  if (!kernel)
    return {};
  return {kernel->codeObject().begin(), kernel->codeObject().end()};
}

TEST(Threads, CompileAtOnce) {
  constexpr int64_t kThreads = 8, kEach = 6;
  std::map<int64_t, std::vector<uint8_t>> alone;
  for (int64_t rows = 1; rows <= kThreads; ++rows)
    alone[rows] = compiled(rows);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t thread = 1; thread <= kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < kEach; ++i) {
        int64_t rows = (thread + i) % kThreads + 1;
        std::vector<uint8_t> code = compiled(rows);
        wrong += code.empty() || code != alone.at(rows);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, GetTheirOwnDiagnostics) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t rows = 100 + thread; rows < 200; rows += 8) {
        auto kernel = Kernel::compileText(scaleSchedule(), withoutCache(rows));
        wrong += kernel || kernel.error().text().find("but got " + std::to_string(rows) + "\n") ==
                               std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// Empty if all went well.
std::string runOnce(const Kernel &kernel) {
  auto node = Node::emulator(1);
  if (!node)
    return node.error().text();
  auto group = Group::create(kernel, *node);
  if (!group)
    return group.error().text();
  alignas(16) float x[256], y[256];
  for (int i = 0; i < 256; ++i)
    x[i] = static_cast<float>(i);
  for (Error error :
       {node->mapHost(x, sizeof x), node->mapHost(y, sizeof y), group->bind(0, "x", x, sizeof x),
        group->bind(0, "y", y, sizeof y), group->launch(), group->synchronize()})
    if (error)
      return error.text();
  return y[255] == 510 ? "" : "y[255] = " + std::to_string(y[255]);
}

TEST(Threads, RunGroupsOnNodesOfTheirOwn) {
  auto kernel = Kernel::compileText(scaleSchedule(), withoutCache(4));
  ASSERT_TRUE(bool(kernel));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i)
        wrong += runOnce(*kernel) != "";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

/// Resident memory of this process, from /proc/self/statm.
int64_t residentBytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// A leak of the smallest page per cycle would be 3.6 MB.
TEST(Cycles, DoNotGrow) {
  auto kernel = Kernel::compileText(scaleSchedule(), withoutCache(4));
  ASSERT_TRUE(bool(kernel));
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(runOnce(*kernel), "");
  int64_t before = residentBytes();
  for (int i = 0; i < 900; ++i)
    ASSERT_EQ(runOnce(*kernel), "");
  int64_t growth = residentBytes() - before;
  std::printf("900 cycles after 100: resident memory went from %lld by %lld KiB\n",
              static_cast<long long>(before >> 10), static_cast<long long>(growth >> 10));
  EXPECT_LT(growth, 2 << 20);
}

/// A node outlives the kernels that are loaded on it: each of these is another one, of which the
/// emulator would keep a megabyte.
TEST(Cycles, OfKernelsOnOneNodeDoNotGrow) {
  auto node = Node::emulator(1);
  ASSERT_TRUE(bool(node)) << node.error().text();
  auto load = [&](int number) {
    auto kernel =
        Kernel::compileText(scaleSchedule(std::to_string(number) + ".0"), withoutCache(4));
    ASSERT_TRUE(bool(kernel)) << kernel.error().text();
    auto group = Group::create(*kernel, *node);
    ASSERT_TRUE(bool(group)) << group.error().text();
  };
  for (int number = 0; number < 20; ++number)
    load(number);
  int64_t before = residentBytes();
  for (int number = 20; number < 70; ++number)
    load(number);
  int64_t growth = residentBytes() - before;
  std::printf("50 kernels on one node after 20: resident memory grew by %lld KiB\n",
              static_cast<long long>(growth >> 10));
  EXPECT_LT(growth, 16 << 20);
}

TEST(Cycles, OfCompilationDoNotGrow) {
  for (int i = 0; i < 10; ++i)
    ASSERT_FALSE(compiled(1 + i % 8).empty());
  int64_t before = residentBytes();
  for (int i = 0; i < 50; ++i)
    ASSERT_FALSE(compiled(1 + i % 8).empty());
  int64_t growth = residentBytes() - before;
  std::printf("50 compilations after 10: resident memory grew by %lld KiB\n",
              static_cast<long long>(growth >> 10));
  EXPECT_LT(growth, 8 << 20);
}

} // namespace
