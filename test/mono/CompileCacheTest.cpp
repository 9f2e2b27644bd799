// Compiling through the cache: what is a hit, what is not, and what it costs.
#include "mono/jit.h"
#include "test/mono/Schedules.h"
#include "test/mono/TemporaryDirectory.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace mono::jit;
using namespace mono::test;
namespace fs = std::filesystem;

namespace {

/// A schedule that imports a routine, and the routine: y = FACTOR x.
const char *const kWithImport = R"(mono.import "lib/times.mlir"
mono.schedule @scale target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  mono.stage "scale" (%t) tasks [1] base [0] {
    %row = mono.load %x[0] [64] : tensor<64xf32>
    %scaled = mono.call @times(%row) : (tensor<64xf32>) -> tensor<64xf32>
    mono.store %scaled, %y[0] : tensor<64xf32>
  }
}
)";

std::string routine(const std::string &factor) {
  return "mono.import \"inner.mlir\"\n"
         "mono.routine @times(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
         "  %factor = arith.constant dense<" +
         factor +
         "> : tensor<64xf32>\n"
         "  %y = arith.mulf %x, %factor : tensor<64xf32>\n"
         "  mono.yield %y : tensor<64xf32>\n"
         "}\n";
}

void writeText(const fs::path &path, const std::string &text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::trunc) << text;
}

class CompileCacheTest : public testing::Test {
protected:
  CompileOptions options(int64_t rows = 4) const {
    CompileOptions result;
    result.parameters = {{"ROWS", rows}};
    result.cacheDirectory = cache();
    return result;
  }
  CompileOptions withoutParameters() const {
    CompileOptions result;
    result.cacheDirectory = cache();
    return result;
  }
  std::string cache() const { return directory.path() + "/cache"; }

  /// Compiles; whether it was a hit.
  bool hit(const std::string &text, const CompileOptions &options,
           const std::string &name = "schedule.mlir", const std::string &folder = "") {
    auto kernel = Kernel::compileText(text, options, name, folder);
    if (!kernel) {
      ADD_FAILURE() << kernel.error().text();
      return false;
    }
    EXPECT_STREQ(kernel->info().cache_note, "");
    last.assign(kernel->codeObject().begin(), kernel->codeObject().end());
    return kernel->info().from_cache != 0;
  }

  TemporaryDirectory directory;
  std::vector<uint8_t> last; ///< code object of the last hit()
};

TEST_F(CompileCacheTest, HitsTheSecondTimeWithTheSameResult) {
  EXPECT_FALSE(hit(scaleSchedule(), options()));
  std::vector<uint8_t> compiled = last;
  EXPECT_TRUE(hit(scaleSchedule(), options()));
  EXPECT_EQ(last, compiled);
}

TEST_F(CompileCacheTest, IgnoresTheOrderOfParameters) {
  std::string text = scaleSchedule();
  text.insert(text.find('\n') + 1, "  %UNUSED = mono.param \"UNUSED\" in [1 to 9]\n");
  CompileOptions one = options(), other = options();
  one.parameters = {{"ROWS", 4}, {"UNUSED", 5}};
  other.parameters = {{"UNUSED", 5}, {"ROWS", 4}};
  EXPECT_FALSE(hit(text, one));
  EXPECT_TRUE(hit(text, other));
  other.parameters = {{"UNUSED", 4}, {"ROWS", 5}};
  EXPECT_FALSE(hit(text, other));
}

TEST_F(CompileCacheTest, MissesOnEveryPartOfTheKey) {
  ASSERT_FALSE(hit(scaleSchedule(), options()));
  EXPECT_FALSE(hit(scaleSchedule("3.0"), options())) << "text";
  EXPECT_FALSE(hit(scaleSchedule() + "\n", options())) << "text, by a blank line";
  EXPECT_FALSE(hit(scaleSchedule(), options(5))) << "parameters";
  EXPECT_FALSE(hit(scaleSchedule(), options(), "other.mlir")) << "name, which is in the manifest";
  EXPECT_FALSE(hit(scaleSchedule(), options(), "schedule.mlir", "folder")) << "folder of imports";
  // All of them are there now.
  EXPECT_TRUE(hit(scaleSchedule(), options()));
  EXPECT_TRUE(hit(scaleSchedule("3.0"), options()));
  EXPECT_TRUE(hit(scaleSchedule(), options(5)));
}

TEST_F(CompileCacheTest, MissesOnTheWatchdog) {
  CompileOptions watched = options();
  watched.watchdogCycles = 1000000;
  ASSERT_FALSE(hit(scaleSchedule(), options()));
  auto kernel = Kernel::compileText(scaleSchedule(), watched);
  ASSERT_TRUE(bool(kernel)) << kernel.error().text();
  EXPECT_EQ(kernel->info().from_cache, 0);
  EXPECT_TRUE(hit(scaleSchedule(), watched));
  watched.watchdogCycles = 2000000;
  EXPECT_FALSE(hit(scaleSchedule(), watched));
}

TEST_F(CompileCacheTest, KeepsFailuresOut) {
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_FALSE(bool(Kernel::compileText(scaleSchedule(), options(99))));
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(CompileCacheTest, FollowsImports) {
  fs::path lib = fs::path(directory.path()) / "lib";
  writeText(lib / "times.mlir", routine("2.0"));
  writeText(lib / "inner.mlir", "// nothing\n");
  auto compile = [&] { return hit(kWithImport, withoutParameters(), "a.mlir", directory.path()); };
  EXPECT_FALSE(compile());
  std::vector<uint8_t> twice = last;
  EXPECT_TRUE(compile());
  writeText(lib / "times.mlir", routine("3.0"));
  EXPECT_FALSE(compile()) << "an imported file";
  EXPECT_NE(last, twice);
  EXPECT_TRUE(compile());
  writeText(lib / "inner.mlir", "// something\n");
  EXPECT_FALSE(compile()) << "a file imported by an imported file";
  // Back to where it began.
  writeText(lib / "inner.mlir", "// nothing\n");
  writeText(lib / "times.mlir", routine("2.0"));
  EXPECT_TRUE(compile());
  EXPECT_EQ(last, twice);
  fs::remove(lib / "inner.mlir");
  auto kernel = Kernel::compileText(kWithImport, withoutParameters(), "a.mlir", directory.path());
  ASSERT_FALSE(bool(kernel));
  EXPECT_THAT(kernel.error().text(), testing::HasSubstr("inner.mlir' does not exist"));
}

TEST_F(CompileCacheTest, CompilesAgainWhatWasDamaged) {
  ASSERT_FALSE(hit(scaleSchedule(), options()));
  std::vector<uint8_t> good = last;
  size_t entries = 0;
  for (const auto &entry : fs::directory_iterator(cache())) {
    ++entries;
    ASSERT_TRUE(hit(scaleSchedule(), options()));
    fs::resize_file(entry, fs::file_size(entry) - 1);
    EXPECT_FALSE(hit(scaleSchedule(), options())) << entry.path();
    EXPECT_EQ(last, good);
  }
  EXPECT_EQ(entries, 2u) << "the list of imports and the code object";
}

TEST_F(CompileCacheTest, WorksWithoutAPlaceToWrite) {
  CompileOptions blocked = options();
  writeText(directory.path() + "/file", "");
  blocked.cacheDirectory = directory.path() + "/file";
  auto kernel = Kernel::compileText(scaleSchedule(), blocked);
  ASSERT_TRUE(bool(kernel)) << kernel.error().text();
  EXPECT_EQ(kernel->info().from_cache, 0);
  EXPECT_THAT(kernel->info().cache_note, testing::HasSubstr("can't write to the cache directory"));
}

TEST_F(CompileCacheTest, StaysWithinItsSize) {
  CompileOptions small = options();
  small.cacheMaxBytes = 30000;
  for (int64_t rows = 1; rows <= 12; ++rows) {
    small.parameters = {{"ROWS", rows}};
    EXPECT_FALSE(hit(scaleSchedule(), small));
  }
  uint64_t bytes = 0;
  for (const auto &entry : fs::directory_iterator(cache()))
    bytes += fs::file_size(entry);
  EXPECT_LE(bytes, 30000u);
  EXPECT_GT(bytes, 15000u);
  EXPECT_TRUE(hit(scaleSchedule(), small)) << "the youngest";
}

TEST_F(CompileCacheTest, ObeysTheEnvironment) {
  setenv("MONO_CACHE_DIR", cache().c_str(), 1);
  CompileOptions byEnvironment = options();
  byEnvironment.cacheDirectory.reset();
  EXPECT_FALSE(hit(scaleSchedule(), byEnvironment));
  EXPECT_TRUE(hit(scaleSchedule(), byEnvironment));
  EXPECT_TRUE(hit(scaleSchedule(), options()));
  setenv("MONO_CACHE_DIR", "", 1);
  auto kernel = Kernel::compileText(scaleSchedule(), byEnvironment);
  unsetenv("MONO_CACHE_DIR");
  ASSERT_TRUE(bool(kernel));
  EXPECT_EQ(kernel->info().from_cache, 0);
  EXPECT_STREQ(kernel->info().cache_note, "switched off by the environment");
}

/// Compiles ten schedules in a process of its own; 0 if all went well. Never returns.
[[noreturn]] void compileTenAndExit(const std::string &cache) {
  CompileOptions options;
  options.cacheDirectory = cache;
  bool good = true;
  for (int64_t rows = 1; rows <= 10; ++rows) {
    options.parameters = {{"ROWS", rows}};
    auto kernel = Kernel::compileText(scaleSchedule(), options);
    good &= kernel && !*kernel->info().cache_note &&
            kernel->findOperand("x")->bytes == uint64_t(rows) * 64 * 4;
  }
  _exit(good ? 0 : 1);
}

TEST_F(CompileCacheTest, ServesManyProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      compileTenAndExit(cache());
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int64_t rows = 1; rows <= 10; ++rows)
    EXPECT_TRUE(hit(scaleSchedule(), options(rows)));
  for (const auto &entry : fs::directory_iterator(cache()))
    EXPECT_EQ(entry.path().extension(), ".entry") << "left behind: " << entry.path();
}

/// Compiles with a comgr of this version in a process of its own, since a process keeps the one it
/// found. 1 for a hit, 0 for a miss.
int hitWithComgr(const std::string &version, const CompileOptions &options) {
  pid_t child = fork();
  if (child == 0) {
    setenv("FAKE_COMGR", version.c_str(), 1);
    auto kernel = Kernel::compileText(scaleSchedule(), options);
    _exit(kernel && !*kernel->info().cache_note ? kernel->info().from_cache : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(CompileCacheTest, MissesOnTheVersionOfComgr) {
  ASSERT_FALSE(hit(scaleSchedule(), options()));
  std::string image = directory.path() + "/image";
  std::ofstream(image, std::ios::binary)
      .write(reinterpret_cast<const char *>(last.data()), last.size());
  setenv("MONO_COMGR_LIBRARY", FAKE_COMGR, 1);
  setenv("FAKE_COMGR_IMAGE", image.c_str(), 1);
  CompileOptions comgr = options();
  comgr.linker = "comgr";
  EXPECT_EQ(hitWithComgr("3.0", comgr), 0);
  EXPECT_EQ(hitWithComgr("3.0", comgr), 1);
  EXPECT_EQ(hitWithComgr("3.1", comgr), 0);
  EXPECT_EQ(hitWithComgr("3.1", comgr), 1);
  EXPECT_EQ(hitWithComgr("3.0", comgr), 1);
  EXPECT_EQ(hitWithComgr("2.9", comgr), 2) << "not even from the cache";
  unsetenv("MONO_COMGR_LIBRARY");
  unsetenv("FAKE_COMGR_IMAGE");
}

/// The bar of docs: a hit costs under 5 ms. The best of some, since other tests run at the same
/// time.
TEST_F(CompileCacheTest, HitsWithinFiveMilliseconds) {
  CompileOptions layer = options();
  layer.parameters = {{"S", 4}, {"TP", 8}};
  std::string file = MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir";
  auto first = Kernel::compileFile(file, layer);
  ASSERT_TRUE(bool(first)) << first.error().text();
  double best = 1e9, sum = 0;
  for (int i = 0; i < 50; ++i) {
    auto begin = std::chrono::steady_clock::now();
    auto kernel = Kernel::compileFile(file, layer);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(kernel && kernel->info().from_cache);
    best = std::min(best, took.count());
    sum += took.count() / 50;
  }
  RecordProperty("best_ms", std::to_string(best));
  std::printf("a hit of %zu bytes: best %.2f ms, mean %.2f ms\n", first->codeObject().size(), best,
              sum);
  EXPECT_LT(best, 5.0);
}

} // namespace
