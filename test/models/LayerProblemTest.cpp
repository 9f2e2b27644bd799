// The glm5_layer problem: a stand-in for the kernel, which knows only operands, must pass on random
// and golden cases, and every kind of wrong output must fail.
#include "models/BFloat16.h"
#include "models/glm5/LayerCheck.h"
#include "models/glm5/LayerVariants.h"
#include "test/models/LayerKernel.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

using Names = std::vector<std::string>;

/// The bad lines of a verdict; fails when their number and Report::good() disagree.
Names faultsOf(Problem &problem, llvm::ArrayRef<RankOutputs> outputs) {
  Report report;
  problem.check(outputs, report);
  Names names;
  for (const Finding &finding : report.findings())
    if (!finding.good)
      names.push_back(finding.what);
  EXPECT_EQ(report.good(), names.empty());
  return names;
}

struct Variant {
  const char *name;
  bool ordered, indexer, sharded = false;
};

class LayerVariant : public testing::TestWithParam<Variant> {};

TEST_P(LayerVariant, PassesAKernelThatKnowsOnlyOperands) {
  LayerSizes sizes = test::smallLayerSizes();
  sizes.indexer = GetParam().indexer;
  sizes.sharded = GetParam().sharded;
  Manifest manifest = test::layerManifest(sizes);
  for (uint64_t seed : {1, 2}) {
    auto problem = GetParam().ordered ? variantOfLayer(manifest, "ordered", seed)
                                      : randomLayer(manifest, seed);
    ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
    EXPECT_EQ(faultsOf(**problem, test::runLayer(manifest, **problem)), Names{}) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerVariant,
                         testing::Values(Variant{"independent", false, true},
                                         Variant{"ordered", true, true},
                                         Variant{"given_tokens", false, false},
                                         Variant{"ordered_given_tokens", true, false},
                                         Variant{"sharded", false, true, true},
                                         Variant{"sharded_given_tokens", false, false, true}),
                         [](const auto &info) { return std::string(info.param.name); });

class TinyGolden : public testing::TestWithParam<const char *> {};

TEST_P(TinyGolden, PassesAKernelThatKnowsOnlyOperands) {
  auto file = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/" + GetParam());
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  const Model *model = findModel("glm5_layer");
  ASSERT_NE(model, nullptr);
  auto params = model->goldenParams(*file);
  ASSERT_TRUE(bool(params)) << llvm::toString(params.takeError());
  LayerSizes sizes = llvm::cantFail(readLayerGolden(*file)).sizes();
  EXPECT_EQ(sizes.ranks, 2u);
  EXPECT_EQ(sizes.context, 256u);
  sizes.page = 16;
  Manifest manifest = test::layerManifest(sizes);
  for (const auto &[name, value] : *params)
    if (name == "SPLITS") // the schedule's own
      EXPECT_EQ(value, 2);
    else
      EXPECT_EQ(*manifest.param(name), value) << name;
  auto problem = model->golden(manifest, *file);
  ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
  EXPECT_EQ(faultsOf(**problem, test::runLayer(manifest, **problem)), Names{});
}

INSTANTIATE_TEST_SUITE_P(Files, TinyGolden,
                         testing::Values("glm5_tiny_s4.safetensors", "glm5_tiny_s8.safetensors"),
                         [](const auto &info) {
                           return std::string(llvm::StringRef(info.param).split('.').first);
                         });

/// Right outputs of a small case, to be spoiled.
class LayerFaults : public testing::Test {
protected:
  void SetUp() override {
    layerCase = randomLayerCase(sizes, 7);
    problem = makeLayerProblem(layerCase);
    outputs = test::runLayer(manifest, *problem);
  }

  template <typename T> T *data(unsigned rank, const char *name) {
    return reinterpret_cast<T *>(outputs[rank][name].bytes.data());
  }
  template <typename T> void change(const char *name, size_t index, T value) {
    for (unsigned rank = 0; rank < outputs.size(); ++rank)
      data<T>(rank, name)[index] = value;
  }
  Names faults() { return faultsOf(*problem, outputs); }
  size_t ownRow(size_t row) {
    return layerCase.inputs.cacheRow(sizes, row,
                                     static_cast<size_t>(layerCase.inputs.positions[row]));
  }

  LayerSizes sizes = test::smallLayerSizes();
  Manifest manifest = test::layerManifest(sizes);
  LayerCase layerCase;
  std::unique_ptr<Problem> problem;
  std::vector<RankOutputs> outputs;
};

TEST_F(LayerFaults, NoneInRightOutputs) { EXPECT_EQ(faults(), Names{}); }

TEST_F(LayerFaults, NanNeverPasses) {
  change<uint16_t>("y", 3, 0x7FC0);
  change<uint16_t>("attn_residual", 3, 0x7FC0);
  EXPECT_EQ(faults(), (Names{"attn_residual", "y"}));
}

TEST_F(LayerFaults, OwnCacheRows) {
  change<uint16_t>("cache_kv", ownRow(0) * sizes.cacheWidth(), 0x4080);
  change<uint16_t>("cache_kv", ownRow(1) * sizes.cacheWidth() + sizes.kvLora, 0x4080);
  change<uint16_t>("cache_index", ownRow(2) * sizes.indexDim, 0x4080);
  EXPECT_EQ(faults(), (Names{"cache_kv, latent", "cache_kv, rope", "cache_index, key"}));
}

TEST_F(LayerFaults, OtherCacheRows) {
  std::set<size_t> own;
  for (size_t row = 0; row < sizes.rows; ++row)
    own.insert(ownRow(row));
  size_t other = 0;
  while (own.count(other))
    ++other;
  change<uint16_t>("cache_kv", other * sizes.cacheWidth(), 0);
  change<uint16_t>("cache_index", other * sizes.indexDim + sizes.indexDim - 1, 0);
  EXPECT_EQ(faults(), (Names{"cache_kv, other rows", "cache_index, other rows"}));
}

TEST_F(LayerFaults, AnUnexplainedToken) {
  // Row 0 is at the last position: 32 tokens, 8 chosen. Put the worst in place of the best.
  Indexing indexing;
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  Glm5Layer layer(sizes, layerCase.synthetic.layer, checkpoint, layerCase.inputs);
  indexing = layer.index(layer.project());
  std::vector<int32_t> tokens = indexing.selection[0];
  auto best = llvm::max_element(
      tokens, [&](int32_t a, int32_t b) { return indexing.scores[0][a] < indexing.scores[0][b]; });
  *best = static_cast<int32_t>(llvm::min_element(indexing.scores[0]) - indexing.scores[0].begin());
  llvm::sort(tokens);
  for (size_t i = 0; i < tokens.size(); ++i)
    change<int32_t>("index_topk", i, tokens[i]);
  EXPECT_EQ(faults(), Names{"index_topk"});
}

TEST_F(LayerFaults, TokensMustBeWellFormed) {
  // Row 1 is at position 0: its one token, then padding.
  ASSERT_EQ(layerCase.inputs.positions[1], 0);
  change<int32_t>("index_topk", sizes.topk + 3, 0);
  EXPECT_EQ(faults(), Names{"index_topk"});
  change<int32_t>("index_topk", sizes.topk + 3, -1);
  change<int32_t>("index_topk", sizes.topk, 1);
  EXPECT_EQ(faults(), Names{"index_topk"});
}

TEST_F(LayerFaults, RanksThatDiffer) {
  outputs[1]["index_topk"].bytes[0] ^= 1;
  EXPECT_EQ(faults(), Names{"ranks bit-equal"});
}

TEST_F(LayerFaults, AMissingExpert) {
  // What is left of y without the shared expert of one rank is not within its tolerance.
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  Glm5Layer layer(sizes, layerCase.synthetic.layer, checkpoint, layerCase.inputs);
  DownProjections down = layer.project();
  Attention attention = layer.attend(down, layer.index(down).selection);
  Experts experts = layer.runExperts(attention, layer.routeTokens(attention));
  for (size_t i = 0; i < experts.y.size(); ++i)
    change<uint16_t>("y", i, toBf16(static_cast<float>(experts.y[i] - experts.shared[i])));
  EXPECT_EQ(faults(), Names{"y"});
}

TEST_F(LayerFaults, ExpertsOutOfReachAreNan) {
  // Each token has its two experts; most of the 16 are nobody's.
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  std::vector<bool> reach = LayerCheck(layerCase, checkpoint).expertsInReach();
  size_t expertBytes = 2 * sizes.moePerRank() * sizes.hidden / 2;
  std::vector<uint8_t> codes = problem->input(0, *manifest.operand("w_gate_up"));
  std::vector<uint8_t> scales = problem->input(1, *manifest.operand("w_down_scale"));
  size_t scaleBytes = sizes.hidden * sizes.moePerRank() / 32, filled = 0;
  for (size_t expert = 0; expert <= sizes.experts; ++expert) {
    bool wanted = expert == sizes.experts || reach[expert];
    filled += wanted;
    EXPECT_EQ(llvm::all_of(llvm::ArrayRef(codes).slice(expert * expertBytes, expertBytes),
                           [](uint8_t code) { return code == 0xFF; }),
              !wanted);
    EXPECT_EQ(scales[expert * scaleBytes] == 0xFF, !wanted);
  }
  EXPECT_LT(filled, sizes.experts);
  for (int32_t id : llvm::ArrayRef(data<int32_t>(0, "topk_ids"), sizes.rows * sizes.chosen))
    EXPECT_TRUE(reach[static_cast<size_t>(id)]);
}

TEST_F(LayerFaults, OfAnotherSize) {
  for (RankOutputs &rank : outputs)
    rank["cache_kv"].bytes.pop_back();
  EXPECT_EQ(faults(), Names{"cache_kv"});
}

} // namespace
