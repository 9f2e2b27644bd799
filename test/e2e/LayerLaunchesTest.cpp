// Launches of the GLM-5 layer one after the other: a group that goes on and on does what fresh
// groups do, and kernels for different numbers of rows do not disturb each other.
#include "models/Compare.h"
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
  bool ordered;
  std::vector<int32_t> start; ///< positions of the first launch
  int32_t step;
};

void PrintTo(const Advance &advance, std::ostream *out) { *out << advance.name; }

class LayerLaunches : public testing::TestWithParam<Advance> {};

TEST_P(LayerLaunches, TenInARowEqualTenSingleOnes) {
  const auto &[name, ordered, start, step] = GetParam();
  auto code = compileLayer(tinyLayer(static_cast<int64_t>(start.size()), /*ranks=*/2));
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto lasting = LayerOnEmulator::create(*code);
  ASSERT_TRUE(bool(lasting)) << llvm::toString(lasting.takeError());
  LayerSizes sizes = lasting->sizes;
  sizes.ordered = ordered;
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
                         testing::Values(Advance{"independent", false, {58, 0, 120, 246}, 1},
                                         Advance{"ordered", true, {40, 41, 42, 43}, 4}),
                         [](const auto &info) { return std::string(info.param.name); });

/// Relative difference of rows of a bf16 output.
double distance(const Outputs &a, const Outputs &b, const char *name, size_t rows) {
  return maxRelativeL2(a[0].lookup(name).values(), b[0].lookup(name).values(), rows);
}

/// Projections that each rank computes for itself, and the same ones computed once.
TEST(SharedProjections, AgreeWithRepeatedOnes) {
  Outputs outputs[2];
  for (int64_t sharded : {0, 1}) {
    Params params = tinyLayer(4, /*ranks=*/2);
    params.emplace_back("SHARD_A", sharded);
    auto code = compileLayer(params);
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    auto layer = LayerOnEmulator::create(*code);
    ASSERT_TRUE(bool(layer)) << llvm::toString(layer.takeError());
    EXPECT_EQ(layer->sizes.sharded, sharded != 0);
    auto problem = makeLayerProblem(randomLayerCase(layer->sizes, 41));
    provideAll(*layer->group, *problem);
    outputs[sharded] = launch(*layer->group);
    EXPECT_EQ(faultsOf(*problem, outputs[sharded]), std::vector<std::string>{});
  }
  for (const char *name : {"index_topk", "topk_ids"})
    EXPECT_EQ(outputs[0][0].lookup(name).bytes, outputs[1][0].lookup(name).bytes) << name;
  // Only the order of sums in f32 differs: a bf16 value that it moves goes to its neighbour.
  for (const char *name : {"attn_residual", "router_logits", "y"})
    EXPECT_LE(distance(outputs[0], outputs[1], name, 4), 0x1p-8) << name;
}

/// Two kernels that take turns on one set of mailboxes, one for few rows and one for many: what
/// each gives is what it gives alone, whatever the memory does.
class SharedMailboxes : public testing::TestWithParam<uint64_t> {
protected:
  emu::Options options() const {
    emu::Options options;
    if (GetParam() != 0)
      options.coherence = emu::Coherence::adversarial(GetParam());
    options.checks.set(emu::Check::GlobalRace);
    return options;
  }
};

TEST_P(SharedMailboxes, OfFourAndEightRows) {
  std::vector<uint8_t> codes[2];
  for (size_t i : {0, 1}) {
    auto code = compileLayer(tinyLayer(i == 0 ? 8 : 4, /*ranks=*/2));
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    codes[i] = std::move(*code);
  }
  std::unique_ptr<Problem> problems[2];
  Outputs alone[2];
  for (size_t i : {0, 1}) {
    auto layer = LayerOnEmulator::create(codes[i]);
    ASSERT_TRUE(bool(layer)) << llvm::toString(layer.takeError());
    problems[i] = makeLayerProblem(randomLayerCase(layer->sizes, 51 + i));
    provideAll(*layer->group, *problems[i]);
    alone[i] = launch(*layer->group);
    EXPECT_EQ(faultsOf(*problems[i], alone[i]), std::vector<std::string>{});
  }

  auto eight = LayerOnEmulator::create(codes[0], options());
  ASSERT_TRUE(bool(eight)) << llvm::toString(eight.takeError());
  llvm::Expected<Group> four =
      Group::create(eight->node->devices(), codes[1], {.sharedWith = eight->group.get()});
  ASSERT_TRUE(bool(four)) << llvm::toString(four.takeError());
  Group *groups[2] = {eight->group.get(), &*four};
  for (size_t i : {0, 1})
    provideAll(*groups[i], *problems[i]);
  // Each kernel in both slots, after itself and after the other.
  for (size_t i : {0, 1, 0, 0, 1, 1, 0, 1, 0})
    EXPECT_EQ(differences(launch(*groups[i]), alone[i]), std::vector<std::string>{}) << i;
}

INSTANTIATE_TEST_SUITE_P(Memories, SharedMailboxes, testing::Values(0, 1, 2, 3),
                         [](const auto &info) {
                           return info.param ? "adversarial" + std::to_string(info.param) : "fast";
                         });

/// Two kernels on the same devices, each with its own mailboxes and caches.
TEST(AlternatingLayers, AreAsTheyAreAlone) {
  auto codeOfFour = compileLayer(tinyLayer(4, 2)), codeOfEight = compileLayer(tinyLayer(8, 2));
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
