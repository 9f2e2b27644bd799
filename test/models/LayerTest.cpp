// Parts of the layer's reference on numbers worked out by hand, and the bound on what rounding does
// to the indexer's scores.
#include "models/glm5/Layer.h"
#include "models/BFloat16.h"
#include "models/glm5/LayerProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

TEST(RotatePairs, ByHand) {
  // Frequencies 1 and 1e6^(-1/2) = 1e-3.
  std::vector<double> v = {1, 0, 0, 2};
  rotatePairs(v, 3);
  EXPECT_NEAR(v[0], std::cos(3.0), 1e-15);
  EXPECT_NEAR(v[1], std::sin(3.0), 1e-15);
  EXPECT_NEAR(v[2], -2 * std::sin(0.003), 1e-15);
  EXPECT_NEAR(v[3], 2 * std::cos(0.003), 1e-15);
  std::vector<double> still = {1, 2, 3, 4};
  rotatePairs(still, 0);
  EXPECT_EQ(still, (std::vector<double>{1, 2, 3, 4}));
}

TEST(LayerNorm, ByHand) {
  // Mean 2, variance 1.
  std::vector<double> y = layerNorm(std::vector<double>{1, 3, 1, 3}, std::vector<float>{1, 2},
                                    std::vector<float>{0.5, -1});
  double unit = 1 / std::sqrt(1 + 1e-6);
  EXPECT_NEAR(y[0], 0.5 - unit, 1e-15);
  EXPECT_NEAR(y[1], 2 * unit - 1, 1e-15);
  EXPECT_EQ(y[2], y[0]);
}

/// A layer with many tokens and the indexer's real dimensions.
class ScoreTolerance : public testing::Test {
protected:
  ScoreTolerance() {
    sizes.hidden = 256;
    sizes.heads = 2;
    sizes.ranks = 1;
    sizes.qLora = 256;
    sizes.kvLora = 32;
    sizes.nope = sizes.vDim = 16;
    sizes.topk = 64;
    sizes.experts = sizes.chosen = 1;
    sizes.moe = 32;
    sizes.rows = 2;
    sizes.context = 2048;
    layerCase = randomLayerCase(sizes, 11);
  }
  static void round(std::vector<double> &values) {
    for (double &value : values)
      value = toFloat(toBf16(static_cast<float>(value)));
  }

  LayerSizes sizes;
  LayerCase layerCase;
};

/// Rounds what a kernel keeps in bf16 between its stages and looks at the scores.
TEST_F(ScoreTolerance, CoversWhatRoundingDoes) {
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  Glm5Layer layer(sizes, 3, checkpoint, layerCase.inputs);
  DownProjections exact = layer.project(), rounded = exact;
  Indexing expected = layer.index(exact);
  auto tolerance = layer.scoreTolerance(exact, expected);
  round(rounded.q);
  round(rounded.indexKey);
  round(rounded.indexWeights);
  Indexing indexing = layer.index(rounded);
  double squares = 0, worst = 0, count = 0;
  for (size_t row = 0; row < sizes.rows; ++row)
    for (size_t t = 0; t < expected.scores[row].size(); ++t) {
      double part = std::abs(indexing.scores[row][t] - expected.scores[row][t]) / tolerance[row][t];
      worst = std::max(worst, part);
      squares += part * part;
      ++count;
    }
  EXPECT_LT(worst, 1);
  // Four deviations, for all roundings and not only these: the bound is no blank cheque either.
  EXPECT_GT(std::sqrt(squares / count), 0.05);
}

/// Scores of other maths are far outside: an index query that is not rotated.
TEST_F(ScoreTolerance, DoesNotCoverMistakes) {
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  Glm5Layer layer(sizes, 3, checkpoint, layerCase.inputs);
  DownProjections down = layer.project();
  Indexing expected = layer.index(down);
  auto tolerance = layer.scoreTolerance(down, expected);
  LayerInputs elsewhere = layerCase.inputs;
  elsewhere.positions[0] -= 1;
  Glm5Layer shifted(sizes, 3, checkpoint, elsewhere);
  Indexing indexing = shifted.index(down);
  size_t outside = 0, count = indexing.scores[0].size();
  for (size_t t = 0; t < count; ++t)
    outside += std::abs(indexing.scores[0][t] - expected.scores[0][t]) > tolerance[0][t];
  EXPECT_GT(outside, count / 2);
}

TEST(Glm5Layer, OneTokenAttendsToItself) {
  // At position 0 there is nothing but the token itself: softmax is 1 and a head's output is its
  // value expansion of the new latent.
  LayerSizes sizes;
  sizes.hidden = 64;
  sizes.heads = 2;
  sizes.ranks = 1;
  sizes.qLora = sizes.kvLora = 32;
  sizes.nope = sizes.vDim = 16;
  sizes.experts = sizes.chosen = 1;
  sizes.moe = 32;
  sizes.context = 64;
  LayerCase layerCase{
      sizes, syntheticParams(sizes.hidden, sizes.moe, 1), syntheticInputs(sizes, 1, {0}), {}};
  SyntheticCheckpoint checkpoint(layerCase.synthetic);
  Glm5Layer layer(sizes, 3, checkpoint, layerCase.inputs);
  DownProjections down = layer.project();
  EXPECT_EQ(layer.index(down).selection, TokenLists{{0}});
  Attention attention = layer.attend(down, {{0}});
  std::vector<uint16_t> kvB = checkpoint.bf16(LayerTensors(sizes, 3).kvB);
  for (size_t head = 0; head < 2; ++head)
    for (size_t v = 0; v < 16; ++v) {
      double sum = 0;
      for (size_t c = 0; c < 32; ++c)
        sum += down.latent[c] * toFloat(kvB[(head * 32 + 16 + v) * 32 + c]);
      EXPECT_NEAR(attention.heads[head * 16 + v], sum, 1e-12);
    }
}

} // namespace
