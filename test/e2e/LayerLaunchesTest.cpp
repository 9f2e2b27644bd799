// Launches of the GLM-5 layer one after the other: a group that goes on and on does what fresh
// groups do, and kernels for different numbers of rows do not disturb each other.
#include "models/HashTensor.h"
#include "models/Operands.h"
#include "test/e2e/TinyLayer.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;
using namespace mono::test;

namespace {

using Outputs = std::vector<RankOutputs>;

void provideAll(Group &group, Problem &problem) {
  EXPECT_EQ(llvm::toString(provide(group, problem, OperandAccess::Read)), "");
  EXPECT_EQ(llvm::toString(provide(group, problem, OperandAccess::Update)), "");
}

Outputs launch(Group &group) {
  EXPECT_EQ(llvm::toString(group.launch()), "");
  llvm::Expected<Outputs> outputs = readOutputs(group);
  EXPECT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  return outputs ? std::move(*outputs) : Outputs(group.ranks());
}

/// The names of outputs that differ on some rank.
std::vector<std::string> differences(const Outputs &a, const Outputs &b) {
  std::vector<std::string> names;
  for (size_t rank = 0; rank < a.size(); ++rank)
    for (const auto &entry : a[rank])
      if (entry.second.bytes != b[rank].lookup(entry.first()).bytes)
        names.push_back(entry.first().str());
  return names;
}

std::vector<std::string> faultsOf(Problem &problem, const Outputs &outputs) {
  Report report;
  problem.check(outputs, report);
  std::vector<std::string> faults;
  for (const Finding &finding : report.findings())
    if (!finding.good)
      faults.push_back(finding.what + ": " + finding.measured);
  return faults;
}

/// The next launch of the same sequences: new tokens at later positions, the caches as they are
/// now.
void advance(LayerCase &layerCase, const RankOutputs &now, int32_t step, uint64_t seed) {
  LayerInputs &inputs = layerCase.inputs;
  for (int32_t &position : inputs.positions)
    position += step;
  HashTensor("x", seed).real(1.7320508f, 0, inputs.x);
  auto take = [&](const char *name, std::vector<uint16_t> &cache) {
    const std::vector<uint8_t> bytes = now.lookup(name).bytes;
    ASSERT_EQ(bytes.size(), cache.size() * sizeof(uint16_t));
    std::memcpy(cache.data(), bytes.data(), bytes.size());
  };
  take("cache_kv", inputs.cacheKv);
  take("cache_index", inputs.cacheIndex);
}

struct Advance {
  const char *name;
  int64_t ordered;
  std::vector<int32_t> start; ///< positions of the first launch
  int32_t step;
};

void PrintTo(const Advance &advance, std::ostream *out) { *out << advance.name; }

class LayerLaunches : public testing::TestWithParam<Advance> {};

TEST_P(LayerLaunches, TenInARowEqualTenSingleOnes) {
  const auto &[name, ordered, start, step] = GetParam();
  auto code = compileLayer(tinyLayer(static_cast<int64_t>(start.size()), /*ranks=*/2, ordered));
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto lasting = LayerOnEmulator::create(*code);
  ASSERT_TRUE(bool(lasting)) << llvm::toString(lasting.takeError());
  const LayerSizes &sizes = lasting->sizes;
  LayerCase layerCase{sizes, syntheticParams(sizes.hidden, sizes.moe, 5),
                      syntheticInputs(sizes, 5, start), std::nullopt, /*allExperts=*/true};
  provideAll(*lasting->group, *makeLayerProblem(layerCase));
  for (uint64_t i = 0; i < 10; ++i) {
    for (unsigned rank = 0; rank < sizes.ranks; ++rank) {
      const LayerInputs &inputs = layerCase.inputs;
      Group &group = *lasting->group;
      ASSERT_FALSE(bool(group.write(rank, "x", bytesOf<uint16_t>(inputs.x))));
      ASSERT_FALSE(bool(group.write(rank, "positions", bytesOf<int32_t>(inputs.positions))));
    }
    Outputs outputs = launch(*lasting->group);

    auto single = LayerOnEmulator::create(*code);
    ASSERT_TRUE(bool(single)) << llvm::toString(single.takeError());
    auto problem = makeLayerProblem(layerCase);
    provideAll(*single->group, *problem);
    Outputs expected = launch(*single->group);
    EXPECT_EQ(differences(outputs, expected), std::vector<std::string>{}) << "launch " << i;
    EXPECT_EQ(faultsOf(*problem, expected), std::vector<std::string>{}) << "launch " << i;
    advance(layerCase, expected[0], step, 100 + i);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerLaunches,
                         testing::Values(Advance{"independent", 0, {58, 0, 120, 246}, 1},
                                         Advance{"ordered", 1, {40, 41, 42, 43}, 4}),
                         [](const auto &info) { return std::string(info.param.name); });

/// Two kernels on the same devices, each with its own mailboxes and caches.
TEST(AlternatingLayers, AreAsTheyAreAlone) {
  auto codeOfFour = compileLayer(tinyLayer(4, 2, 0)),
       codeOfEight = compileLayer(tinyLayer(8, 2, 0));
  ASSERT_TRUE(codeOfFour && codeOfEight);
  auto four = LayerOnEmulator::create(*codeOfFour);
  ASSERT_TRUE(bool(four)) << llvm::toString(four.takeError());
  llvm::Expected<Group> eight = Group::create(four->node->devices(), *codeOfEight);
  ASSERT_TRUE(bool(eight)) << llvm::toString(eight.takeError());
  LayerSizes sizesOfEight = llvm::cantFail(readLayerSizes(eight->manifest()));
  auto problemOfFour = makeLayerProblem(randomLayerCase(four->sizes, 31));
  auto problemOfEight = makeLayerProblem(randomLayerCase(sizesOfEight, 32));
  provideAll(*four->group, *problemOfFour);
  provideAll(*eight, *problemOfEight);
  Outputs firstOfFour = launch(*four->group), firstOfEight = launch(*eight);
  EXPECT_EQ(faultsOf(*problemOfFour, firstOfFour), std::vector<std::string>{});
  EXPECT_EQ(faultsOf(*problemOfEight, firstOfEight), std::vector<std::string>{});
  // The caches now have the new tokens, which the same launch writes again.
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(differences(launch(*four->group), firstOfFour), std::vector<std::string>{});
    EXPECT_EQ(differences(launch(*eight), firstOfEight), std::vector<std::string>{});
  }
}

} // namespace
