// Eight processes over the emulated HIP library, one of which goes wrong: no other hangs, each says
// what it waited for or why there is no group, and all can make a new one.
#include "runtime/Error.h"
#include "test/e2e/Process.h"
#include "test/runtime/faults/RankProcess.h"
#include "test/runtime/faults/SumKernel.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gmock/gmock.h>

#include <cstdlib>

using namespace mono::test;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr unsigned odd = 6;           ///< the rank that goes wrong
constexpr int64_t budget = 4'000'000; ///< cycles; about 40,000 polls, seconds on a busy host

class ProcessFaults : public ProcessTest {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
    setenv("MONO_HIP_THREADS", "1", 1);
    // The kernels are to find out themselves, not the emulator.
    setenv("MONO_HIP_PATIENCE_MS", "100000", 1);
    code = put("code", sumCodeObject(2, budget));
  }

  llvm::sys::ProcessInfo start(unsigned rank, const std::string &codeFile,
                               const std::string &fault) {
    std::string program = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
    std::string number = std::to_string(rank), out = path("out." + number);
    std::string folder = path("");
    return llvm::sys::ExecuteNoWait(program, {program, "--rank", number, codeFile, folder, fault},
                                    std::nullopt,
                                    {llvm::StringRef(""), llvm::StringRef(out), std::nullopt});
  }

  /// All ranks, the odd one with its fault and code; what each printed.
  std::vector<std::string> runRanks(const std::string &fault, const std::string &oddCode) {
    std::vector<llvm::sys::ProcessInfo> children;
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      children.push_back(start(rank, rank == odd ? oddCode : code, rank == odd ? fault : everyone));
    if (fault == "killed") {
      llvm::sys::Wait(children[odd], std::nullopt);
      children[odd] = start(odd, code, "replacement");
    }
    std::vector<std::string> texts;
    for (unsigned rank = 0; rank < sumRanks; ++rank) {
      std::string message;
      llvm::sys::ProcessInfo ended =
          llvm::sys::Wait(children[rank], /*SecondsToWait=*/300, &message);
      EXPECT_EQ(ended.ReturnCode, 0) << "rank " << rank << ": " << message;
      auto file = llvm::MemoryBuffer::getFile(path("out." + std::to_string(rank)));
      texts.push_back(file ? (*file)->getBuffer().str() : "");
    }
    return texts;
  }
  std::vector<std::string> runRanks(const std::string &fault) { return runRanks(fault, code); }

  /// Ranks that were left alone by the odd one say so and recover.
  void expectAllWaitedForOdd(const std::vector<std::string> &texts) {
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      if (rank != odd)
        EXPECT_THAT(texts[rank], AllOf(ContainsRegex("^" + waitedFor(rank, odd, budget, 1, 0)),
                                       EndsWith("\nrecovered\n")));
    EXPECT_THAT(texts[odd], EndsWith("recovered\n"));
  }

  std::string code;
  std::string everyone = "none"; ///< what the other ranks do
};

TEST_F(ProcessFaults, ARankThatIsKilledIsNamed) { expectAllWaitedForOdd(runRanks("killed")); }

TEST_F(ProcessFaults, ARankThatIsTooLateIsNamed) { expectAllWaitedForOdd(runRanks("too-late")); }

TEST_F(ProcessFaults, ARankMayBeLate) {
  code = put("code", sumCodeObject(2, int64_t(1) << 40));
  for (const std::string &text : runRanks("late"))
    EXPECT_EQ(text, "good\n");
}

TEST_F(ProcessFaults, KernelsTakeTurnsOnOneSetOfMailboxes) {
  code = put("code", sumCodeObject(3, int64_t(1) << 40));
  put("code.second", sumCodeObject(2, int64_t(1) << 40));
  everyone = "shares";
  for (const std::string &text : runRanks("shares"))
    EXPECT_EQ(text, "good\n");
}

/// The others know before anything is launched; the second group fails as the first.
class Mismatch : public ProcessFaults {
protected:
  std::vector<std::string> failures(const std::vector<uint8_t> &other) {
    std::vector<std::string> texts;
    std::vector<llvm::sys::ProcessInfo> children;
    std::string oddCode = put("odd", other);
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      children.push_back(start(rank, rank == odd ? oddCode : code, "none"));
    for (unsigned rank = 0; rank < sumRanks; ++rank) {
      EXPECT_EQ(llvm::sys::Wait(children[rank], /*SecondsToWait=*/300).ReturnCode, 1);
      auto file = llvm::MemoryBuffer::getFile(path("out." + std::to_string(rank)));
      texts.push_back(file ? (*file)->getBuffer().str() : "");
    }
    return texts;
  }
};

TEST_F(Mismatch, OtherCodeOnOneRankIsAnErrorOnAll) {
  for (const std::string &text : failures(sumCodeObject(2, budget + 1)))
    EXPECT_THAT(text, StartsWith("rank 6 runs other code than rank 0: SHA-256 "));
}

TEST_F(Mismatch, AnotherSOnOneRankIsAnErrorOnAll) {
  for (const std::string &text : failures(sumCodeObject(3, budget)))
    EXPECT_EQ(text, "rank 6 was compiled for S = 3, but rank 0 for S = 2\n");
}

} // namespace

int main(int argc, char **argv) {
  unsigned rank = 0;
  if (argc == 6 && llvm::StringRef(argv[1]) == "--rank" &&
      !llvm::StringRef(argv[2]).getAsInteger(10, rank)) {
    llvm::Error error = runRank({rank, argv[3], argv[4], argv[5]});
    if (!error)
      return 0;
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
