// Progress as it is told: on a terminal, in a log, and not at all.
#include "models/tools/Progress.h"
#include "models/tools/LaunchProgress.h"

#include <gtest/gtest.h>

#include <future>
#include <regex>

using namespace mono::tools;
using namespace std::chrono_literals;

namespace {

/// What is told when it is asked for twice, with so much time between the times of its own that
/// there is none.
std::string told(unsigned columns, bool detailed) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Progress progress(&out, {.columns = columns, .every = 1h});
  progress.step("launch 1 of 2");
  if (detailed)
    progress.detail("37% posted");
  progress.tell();
  progress.tell();
  progress.finish();
  progress.tell();
  return std::regex_replace(text, std::regex("\\d+ s:"), "N s:");
}

TEST(Progress, IsALineEachTimeInALog) {
  EXPECT_EQ(told(0, true), "N s: launch 1 of 2, 37% posted\nN s: launch 1 of 2, 37% posted\n");
}

TEST(Progress, IsOneLineOnATerminalAndClearedAtTheEnd) {
  EXPECT_EQ(told(80, false), "\rN s: launch 1 of 2\x1b[K\rN s: launch 1 of 2\x1b[K\r\x1b[K");
}

TEST(Progress, FitsTheTerminal) {
  EXPECT_EQ(told(10, true), "\rN s: laun\x1b[K\rN s: laun\x1b[K\r\x1b[K");
}

/// Fulfils a promise when something is told.
class FirstWords : public llvm::raw_ostream {
public:
  explicit FirstWords(std::promise<std::string> &words) : words(words) {}
  ~FirstWords() override { flush(); }

private:
  void write_impl(const char *text, size_t size) override {
    if (position == 0)
      words.set_value(std::string(text, size));
    position += size;
  }
  uint64_t current_pos() const override { return position; }
  std::promise<std::string> &words;
  uint64_t position = 0;
};

TEST(Progress, IsToldByItself) {
  std::promise<std::string> words;
  FirstWords out(words);
  Progress progress(&out, {.columns = 0, .every = 1ms});
  progress.step("launch 1 of 2");
  auto first = words.get_future();
  ASSERT_EQ(first.wait_for(60s), std::future_status::ready);
  EXPECT_NE(first.get().find(" s: launch 1 of 2\n"), std::string::npos);
}

TEST(Progress, OfShortRunsIsNotTold) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Progress progress(&out, {.columns = 0, .every = 1h});
  progress.tell(); // there is no step yet
  progress.step("launch 1 of 2");
  progress.finish();
  EXPECT_EQ(text, "");
}

TEST(Progress, IsToldNobody) {
  Progress progress(nullptr, {.every = 1ms});
  progress.step("nothing");
  progress.tell();
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
