// A launch that can't be started on one device after others run, without a watchdog: what runs
// comes to an end, on the emulated HIP library, whose launches are carried out.
#include "runtime/Error.h"
#include "runtime/hip/HipGraph.h"
#include "runtime/hip/HipNode.h"
#include "test/runtime/faults/SumKernel.h"

#include <gmock/gmock.h>

using namespace mono;
using namespace mono::hip;
using namespace mono::test;

namespace {

class LaunchFailure : public testing::Test {
protected:
  void SetUp() override {
    HipSelection selection;
    selection.count = sumRanks;
    node = llvm::cantFail(
        HipNode::create(llvm::cantFail(HipLibrary::open(MONO_EMULATED_HIP)), selection));
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      streams.push_back(llvm::cantFail(HipStream::create(node->device(rank))));
  }
  Group group() {
    return llvm::cantFail(Group::create(node->devices(), sumCodeObject(1, /*watchdogCycles=*/0)));
  }
  std::vector<StreamHandle> handles() const {
    std::vector<StreamHandle> all;
    for (const HipStream &stream : streams)
      all.push_back(stream.handle());
    return all;
  }
  std::string synchronize() const {
    llvm::Error error = llvm::Error::success();
    for (const HipStream &stream : streams)
      error = llvm::joinErrors(std::move(error), stream.synchronize());
    return llvm::toString(std::move(error));
  }
  void expectGood(Group &group, unsigned launch) {
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      llvm::cantFail(writeTerms(group, rank, launch));
    ASSERT_EQ(llvm::toString(group.enqueue(handles())), "");
    ASSERT_EQ(synchronize(), "");
    for (unsigned rank = 0; rank < sumRanks; ++rank)
      ASSERT_EQ(llvm::toString(checkSums(group, rank, launch)), "");
  }

  std::unique_ptr<HipNode> node;
  std::vector<HipStream> streams;
};

TEST_F(LaunchFailure, LetsTheRanksThatRunEnd) {
  for (unsigned failing : {1u, sumRanks - 1})
    for (unsigned launches : {0u, 3u}) {
      Group torn = group();
      for (unsigned launch = 0; launch < launches; ++launch)
        expectGood(torn, launch);
      if (launches == 0)
        for (unsigned rank = 0; rank < sumRanks; ++rank)
          llvm::cantFail(writeTerms(torn, rank, 0));
      int none = 0;
      std::vector<StreamHandle> wrong = handles();
      wrong[failing] = &none; // no stream of HIP's
      std::string error = llvm::toString(torn.enqueue(wrong));
      EXPECT_THAT(error,
                  testing::StartsWith(fmt::format("rank {}: hipModuleLaunchKernel: ", failing)));
      EXPECT_EQ(synchronize(), "") << "rank " << failing << ", " << launches << " launches before";
      EXPECT_EQ(llvm::toString(torn.enqueue(handles())),
                "the group is broken by an earlier launch and must be made anew: " + error);
    }
  Group next = group();
  expectGood(next, 0);
}

/// Nothing runs yet, so nothing is broken.
TEST_F(LaunchFailure, OfTheFirstRankChangesNothing) {
  Group whole = group();
  expectGood(whole, 0);
  int none = 0;
  std::vector<StreamHandle> wrong = handles();
  wrong[0] = &none;
  EXPECT_THAT(llvm::toString(whole.enqueue(wrong)),
              testing::StartsWith("rank 0: hipModuleLaunchKernel: "));
  expectGood(whole, 1);
}

} // namespace
