// That the variants of the layer's random case are what their names say.
#include "models/glm5/LayerVariants.h"
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/Registry.h"
#include "models/glm5/LayerCheck.h"
#include "test/models/LayerKernel.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

LayerSizes sizesOf() {
  LayerSizes sizes = test::smallLayerSizes();
  sizes.hidden = 256;
  sizes.chosen = 4;
  sizes.rows = 4;
  return sizes;
}

LayerCase variant(const char *name) { return llvm::cantFail(layerVariant(name, sizesOf(), 3)); }

/// The experts each row chooses.
std::vector<std::vector<int32_t>> choices(const LayerCase &layerCase) {
  const LayerSizes &sizes = layerCase.sizes;
  SyntheticCheckpoint checkpoint(layerCase.synthetic, layerCase.edit);
  Glm5Layer layer(sizes, layerCase.synthetic.layer, checkpoint, layerCase.inputs);
  DownProjections down = layer.project();
  Routing routing = layer.routeTokens(layer.attend(down, layer.index(down).selection));
  std::vector<std::vector<int32_t>> rows;
  for (size_t row = 0; row < sizes.rows; ++row)
    rows.push_back(llvm::ArrayRef(routing.ids).slice(row * sizes.chosen, sizes.chosen).vec());
  return rows;
}

TEST(LayerVariants, Routing) {
  for (const std::vector<int32_t> &row : choices(variant("same-experts")))
    EXPECT_EQ(row, (std::vector<int32_t>{0, 1, 2, 3}));
  std::set<int32_t> all;
  for (const std::vector<int32_t> &row : choices(variant("different-experts")))
    all.insert(row.begin(), row.end());
  EXPECT_EQ(all.size(), 16u);
}

TEST(LayerVariants, Numbers) {
  LayerCase plain = randomLayerCase(sizesOf(), 3);
  EXPECT_EQ(toFloat(variant("large").inputs.x[9]), 4096 * toFloat(plain.inputs.x[9]));
  LayerCase zeros = variant("zero-rows");
  for (size_t row = 0; row < 4; ++row)
    EXPECT_EQ(llvm::all_of(llvm::ArrayRef(zeros.inputs.x).slice(row * 256, 256),
                           [](uint16_t value) { return value == 0; }),
              row % 2 == 0);
  CheckpointTensor scale = LayerTensors(sizesOf(), 3).expertScale(2, Projection::Up);
  std::vector<uint8_t> before(scale.elements()), after(scale.elements());
  SyntheticCheckpoint(plain.synthetic).read(scale, 0, before);
  SyntheticCheckpoint(plain.synthetic, variant("scales").edit).read(scale, 0, after);
  size_t zero = 0, larger = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    zero += after[i] == 0;
    larger += after[i] == before[i] + 16;
  }
  EXPECT_EQ(after.size(), 1024u);
  EXPECT_NEAR(static_cast<double>(zero), 128, 4 * 11); // four deviations of sqrt(1024 / 8 * 7 / 8)
  EXPECT_NEAR(static_cast<double>(larger), 16, 4 * 4); // and of sqrt(1024 / 64)
  EXPECT_GT(larger, 0u);
}

TEST(LayerVariants, Positions) {
  using Positions = std::vector<int32_t>;
  EXPECT_EQ(variant("lengths").inputs.positions, (Positions{31, 1, 29, 3}));
  EXPECT_EQ(variant("ordered-lengths").inputs.positions, (Positions{0, 1, 2, 3}));
  EXPECT_EQ(variant("borders").inputs.positions, (Positions{0, 8, 7, 31}));
  EXPECT_EQ(variant("ordered-borders").inputs.positions, (Positions{28, 29, 30, 31}));
  LayerSizes sizes = sizesOf();
  sizes.rows = 7;
  EXPECT_EQ(llvm::cantFail(layerVariant("borders", sizes, 1)).inputs.positions,
            (Positions{0, 8, 7, 31, 6, 9, 1}));
}

TEST(LayerVariants, UnknownOnesAreNamed) {
  Manifest manifest = test::layerManifest(sizesOf());
  const Model *model = findModel("glm5_layer");
  EXPECT_EQ(llvm::toString(model->variant(manifest, "small", 1).takeError()),
            "schedule 'glm5_layer' has no variant 'small'; it has same-experts, different-experts, "
            "large, zero-rows, scales, lengths, borders, ordered");
}

/// Where few weights count: the reference that rounds activations, what a kernel may be off, and
/// those that must not pass for one.
class FewWeights : public testing::Test {
protected:
  FewWeights()
      : checkpoint(layerCase.synthetic, layerCase.edit),
        layer(layerCase.sizes, layerCase.synthetic.layer, checkpoint, layerCase.inputs) {
    DownProjections down = layer.project();
    attention = layer.attend(down, layer.index(down).selection);
    routing = layer.routeTokens(attention);
    bound = layer.reachOfCodes(attention, routing);
  }
  double ofReach(llvm::ArrayRef<double> y) const {
    return maxOfReach(y, bound.values, bound.reach);
  }

  LayerCase layerCase = variant("scales");
  SyntheticCheckpoint checkpoint;
  Glm5Layer layer;
  Attention attention;
  Routing routing;
  Reach bound;
};

TEST_F(FewWeights, BoundIsAboutTheRoundedReference) {
  EXPECT_TRUE(layerCase.fewWeights);
  EXPECT_EQ(layer.outputOfCodes(attention, routing), bound.values);
}

TEST_F(FewWeights, BoundCoversResidualsAsCloseAsBf16) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> within(-0x1p-9, 0x1p-9);
  double worst = 0;
  for (int draw = 0; draw < 20; ++draw) {
    Attention other = attention;
    for (double &value : other.residual)
      value *= 1 + within(random);
    worst = std::max(worst, ofReach(layer.outputOfCodes(other, routing)));
  }
  EXPECT_LE(worst, 1);
  EXPECT_GT(worst, 0.1); // codes beside a border do become others
}

/// None of the experts is small enough to hide in it.
TEST_F(FewWeights, BoundDoesNotCoverAMissingExpert) {
  for (double &weight : routing.weights) {
    double kept = std::exchange(weight, 0);
    EXPECT_GT(ofReach(layer.outputOfCodes(attention, routing)), 1);
    weight = kept;
  }
}

} // namespace
