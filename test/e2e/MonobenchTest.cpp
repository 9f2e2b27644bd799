// The command line of monobench; the numbers themselves are not tested.
#include "test/e2e/Process.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mono::test;

namespace {

using Monobench = ProcessTest;

TEST_F(Monobench, ExitStatuses) {
  fails(MONOBENCH, 2, "unknown option '--fast'", {"--fast"});
  fails(MONOBENCH, 2, "--device: expected emu or hip, but got 'cuda'", {"--device=cuda"});
  fails(MONOBENCH, 2, "no benchmark of that name", {"emulator/nothing"});
}

TEST_F(Monobench, SaysThatThereIsNoGpu) {
  setenv("MONO_HIP_LIBRARY", "/no/such/library.so", 1);
  fails(MONOBENCH, 3, "monobench: error: no such device: no HIP library: ", {"--device=hip"});
  unsetenv("MONO_HIP_LIBRARY");
}

/// The way a benchmark takes on GPUs, on the emulated HIP library.
TEST_F(Monobench, ReplaysGraphsOnHipDevices) {
  setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
  ProcessResult result =
      run(MONOBENCH, {"--device=hip", "hip/all_reduce", "--json=" + path("bench.json")});
  unsetenv("MONO_HIP_LIBRARY");
  ASSERT_EQ(result.status, 0) << result.err;
  auto file = llvm::MemoryBuffer::getFile(path("bench.json"));
  ASSERT_TRUE(bool(file));
  auto json = llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError());
  const llvm::json::Array &runs = *json->getAsObject()->getArray("benchmarks");
  ASSERT_EQ(runs.size(), 1u);
  const llvm::json::Object &all = *runs[0].getAsObject();
  EXPECT_FALSE(all.getBoolean("error_occurred").value_or(false)) << result.out;
  EXPECT_GT(*all.getNumber("fastest_us"), 0);
  EXPECT_GE(*all.getNumber("real_time"), *all.getNumber("fastest_us"));
  EXPECT_LE(*all.getNumber("real_time"), *all.getNumber("slowest_us"));
}

/// What could not be measured is no success: here 8 ranks are wanted, and there are 4 devices.
TEST_F(Monobench, SaysThatABenchmarkFailed) {
  setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
  setenv("MONO_HIP_DEVICES", "4", 1);
  ProcessResult result = run(MONOBENCH, {"--device=hip", "hip/all_reduce"});
  unsetenv("MONO_HIP_DEVICES");
  unsetenv("MONO_HIP_LIBRARY");
  EXPECT_EQ(result.status, 1) << result.out;
  EXPECT_NE(result.err.find("monobench: error: 1 of the benchmarks failed, see above"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("ERROR OCCURRED"), std::string::npos) << result.out;
}

TEST_F(Monobench, WritesJson) {
  ProcessResult result =
      run(MONOBENCH, {"emulator/mfma_bf16/threads:1", "--json=" + path("bench.json")});
  ASSERT_EQ(result.status, 0) << result.err;
  auto file = llvm::MemoryBuffer::getFile(path("bench.json"));
  ASSERT_TRUE(bool(file));
  auto json = llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError());
  const llvm::json::Object &context = *json->getAsObject()->getObject("context");
  EXPECT_TRUE(context.getString("monobench_version"));
  EXPECT_TRUE(context.getString("processor"));
  EXPECT_NE((result.out + result.err).find("processor: "), std::string::npos);
  const llvm::json::Array &runs = *json->getAsObject()->getArray("benchmarks");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_GT(*runs[0].getAsObject()->getNumber("MAC/s"), 0);
}

} // namespace
