// Progress as it is told: on a terminal, in a log, and not at all.
#include "models/tools/Progress.h"
#include "models/tools/LaunchProgress.h"

#include <gtest/gtest.h>

using namespace mono::tools;
using namespace std::chrono_literals;

namespace {

/// What is told while `step` is done for some time.
std::string told(ProgressStyle style, bool detailed) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Progress progress(&out, style);
  progress.step("launch 1 of 2");
  if (detailed)
    progress.detail("37% posted");
  std::this_thread::sleep_for(100ms);
  progress.finish();
  return text;
}

TEST(Progress, IsALineEachTimeInALog) {
  std::string text = told({.columns = 0, .every = 5ms}, true);
  EXPECT_TRUE(llvm::StringRef(text).starts_with("0 s: launch 1 of 2, 37% posted\n0 s: launch"))
      << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, IsOneLineOnATerminalAndClearedAtTheEnd) {
  std::string text = told({.columns = 80, .every = 5ms}, false);
  EXPECT_TRUE(llvm::StringRef(text).starts_with("\r0 s: launch 1 of 2\x1b[K\r0 s: ")) << text;
  EXPECT_TRUE(llvm::StringRef(text).ends_with("\r\x1b[K")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Progress, FitsTheTerminal) {
  std::string text = told({.columns = 10, .every = 5ms}, true);
  EXPECT_TRUE(llvm::StringRef(text).starts_with("\r0 s: laun\x1b[K")) << text;
}

TEST(Progress, OfShortRunsIsNotTold) { EXPECT_EQ(told({.columns = 0, .every = 1h}, true), ""); }

TEST(Progress, IsToldNobody) {
  Progress progress(nullptr, {.every = 1ms});
  progress.step("nothing");
  std::this_thread::sleep_for(10ms);
  progress.finish();
  progress.finish();
}

TEST(Progress, SaysWhichStageARankHasReached) {
  std::vector<std::string> stages = {"o_proj", "reduce"};
  EXPECT_EQ(describeStages({0}, stages), "ranks 0 at 'o_proj'");
  EXPECT_EQ(describeStages({1, 1, 0, -1}, stages),
            "ranks 0-1 at 'reduce', 2 at 'o_proj', 3 at the begin");
}

} // namespace
