// Ordinary HIP programs on the emulator's libamdhip64: each checks its own values and says with its
// exit status whether they are right.
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace llvm;

namespace {

struct Outcome {
  int status;
  std::string out, err;
};

std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Runs a program with our library first on the loader's path and more variables set.
Outcome run(const std::string &path, std::vector<std::string> arguments = {},
            std::vector<std::string> variables = {},
            const std::string &libraries = MONO_HIP_LIBRARY_DIR) {
  variables.push_back("LD_LIBRARY_PATH=" + libraries);
  variables.push_back(std::string("PATH=") + std::getenv("PATH"));
  SmallString<128> out, err;
  EXPECT_FALSE(sys::fs::createTemporaryFile("hip", "out", out));
  EXPECT_FALSE(sys::fs::createTemporaryFile("hip", "err", err));
  scope_exit cleanup([&] {
    sys::fs::remove(out);
    sys::fs::remove(err);
  });
  arguments.insert(arguments.begin(), path);
  std::vector<StringRef> argv(arguments.begin(), arguments.end());
  std::vector<StringRef> env(variables.begin(), variables.end());
  constexpr unsigned secondsToWait = 120;
  std::string message;
  int status = sys::ExecuteAndWait(path, argv, ArrayRef(env), {std::nullopt, out.str(), err.str()},
                                   secondsToWait, 0, &message);
  return {status, readFile(out), readFile(err) + message};
}

std::string programPath(const std::string &name) {
  return std::string(MONO_HIP_PROGRAM_DIR) + "/" + name;
}

void expectGood(const std::string &name, std::vector<std::string> arguments = {},
                std::vector<std::string> variables = {}) {
  Outcome outcome = run(programPath(name), std::move(arguments), std::move(variables));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

} // namespace

TEST(HipProgram, VectorAdd) { expectGood("vector_add"); }
TEST(HipProgram, ReductionFromCompressedBundle) { expectGood("reduction"); }
TEST(HipProgram, StreamsAndEvents) { expectGood("streams_events"); }
TEST(HipProgram, Symbols) { expectGood("symbols"); }
TEST(HipProgram, Graphs) { expectGood("graphs"); }
TEST(HipProgram, CooperativeLaunch) { expectGood("cooperative"); }
TEST(HipProgram, ManagedPinnedAndRegisteredMemory) { expectGood("host_memory"); }
TEST(HipProgram, CopiesAndFills) { expectGood("copies"); }
TEST(HipProgram, StreamOrderedAllocation) { expectGood("pools"); }
TEST(HipProgram, MemoryOfAnotherProcess) { expectGood("ipc"); }
TEST(HipProgram, DevicesWaitForEachOther) {
  // On a busy machine the host threads of the program can be far apart.
  expectGood("peers", {}, {"MONO_HIP_GATHER_MS=1000"});
}

TEST(HipProgram, ModulesFromElfAndBundles) {
  expectGood("module", {programPath("plain.hsaco"), programPath("bundle.hipfb"),
                        programPath("compressed.hipfb")});
}

TEST(HipProgram, DeviceQueries) {
  expectGood("device_queries", {"8"});
  expectGood("device_queries", {"3"}, {"MONO_HIP_DEVICES=3"});
}

TEST(HipProgram, ErrorsAreReportedAndUnsupportedCallsNamedOnce) {
  Outcome outcome = run(programPath("errors"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  StringRef err = outcome.err;
  EXPECT_EQ(err.count("hip-emulator: hipMallocArray is not supported"), 1u) << outcome.err;
  EXPECT_EQ(err.count("kernel failed: "), 3u) << outcome.err;
  EXPECT_TRUE(err.contains("out-of-bounds access")) << outcome.err;
  EXPECT_TRUE(err.contains("read of memory nobody wrote")) << outcome.err;
  EXPECT_TRUE(err.contains("deadlock")) << outcome.err;
}

/// What a program does, and why the library says it refused something, with MONO_HIP_LOG.
void expectLogged(const std::string &name, const std::vector<std::string> &reasons,
                  std::vector<std::string> arguments = {}) {
  Outcome outcome = run(programPath(name), std::move(arguments), {"MONO_HIP_LOG=1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string &reason : reasons)
    EXPECT_TRUE(StringRef(outcome.err).contains(reason)) << reason << " in\n" << outcome.err;
}

TEST(HipProgram, ReasonsAreInTheLog) {
  expectLogged("errors",
               {": not a stream", ": not the address of a kernel",
                "expected at most 309237645312 bytes, what rank 0 has left of 309237645312, "
                "but got ",
                " is no device memory", " is not inside one allocation",
                "': expected at most 1024 work-items per workgroup, but got 2048 x 1 x 1",
                ": not the start of such an allocation",
                "1 waves wait and memory has not changed for 64 rounds of polling"});
  expectLogged("cooperative",
               {"': cooperative launch of 513 workgroups, but only 512 can be resident"});
  expectLogged("copies", {"expected a pitch of at least 40 bytes, those of a row, but got 16",
                          "for 1 rows of 1 bytes, 16 bytes apart, but got 0",
                          "fill of elements of 4 bytes at "});
  expectLogged("graphs", {" nodes form a cycle"});
  expectLogged("ipc", {"IPC handle: opened in the process that made it"});
  expectLogged("symbols", {": not the address of a device variable",
                           "copy of 16 bytes at 4 of a device variable of 16 bytes"});
  expectLogged(
      "module",
      {"no global variable 'tables' in the code object",
       "no kernel 'scales' in the code object; there are: scale",
       "launch: expected workgroups of at least one work-item, but got 0"},
      {programPath("plain.hsaco"), programPath("bundle.hipfb"), programPath("compressed.hipfb")});
}

TEST(HipProgram, RefusalsHaveReasons) {
  expectLogged(
      "refusals",
      {" is device memory, but the direction says host", "3D copy: arrays are not supported",
       ": the host has no 429496729600 bytes", ": not a stream",
       "': expected fewer than 2^32 workgroups, but got 65536 x 65536 x 1",
       " VGPRs does not fit a compute unit", "': expected 1 arguments, but got none",
       "': the pointer to argument 0 is null", ": not a kernel function",
       "launch: entry 0 of 'extra' is no known marker",
       "launch of 'scale': both kernelParams and extra are given",
       "graph: a dependency is not a node of the graph", "allocation in a capturing stream",
       "IPC handle: process 2147483647 no longer has the memory"},
      {programPath("plain.hsaco")});
}

TEST(HipProgram, BadEnvironmentIsSaid) {
  Outcome outcome = run(programPath("vector_add"), {}, {"MONO_HIP_DEVICES=many"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(StringRef(outcome.err)
                  .contains("MONO_HIP_DEVICES: expected a number from 1 to 64, but got 'many'"))
      << outcome.err;
  outcome = run(programPath("vector_add"), {}, {"MONO_HIP_CHECKS=no-such-check"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(StringRef(outcome.err).contains("unknown check 'no-such-check'")) << outcome.err;
}

TEST(HipProgram, RuntimeProbeFindsTheLibrary) {
  Outcome outcome = run(MONO_BINARY_DIR "/hip_probe_program", {}, {"MONO_HIP_DEVICES=5"});
  EXPECT_EQ(outcome.out, "libamdhip64.so.7 5\n") << outcome.err;
}

/// The names of HIP 5, 6 and 7, each where there is no newer one.
TEST(HipProgram, RuntimeProbeKnowsTheNamesOfAllVersions) {
  SmallString<128> folder;
  ASSERT_FALSE(sys::fs::createUniqueDirectory("hip", folder));
  scope_exit cleanup([&] { sys::fs::remove_directories(folder); });
  for (const char *version : {"5", "6", "7"}) {
    std::string name = std::string("libamdhip64.so.") + version;
    ASSERT_FALSE(sys::fs::create_link(MONO_HIP_LIBRARY_DIR "/" + name, folder + "/" + name));
    Outcome outcome =
        run(MONO_BINARY_DIR "/hip_probe_program", {}, {"MONO_HIP_DEVICES=3"}, folder.str().str());
    EXPECT_EQ(outcome.out, name + " 3\n") << outcome.err;
  }
}
