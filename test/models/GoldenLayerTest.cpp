// The double-precision layer against the public implementation's float32 results, small and real
// dimensions: the independent check of the reference itself.
#include "models/Compare.h"
#include "models/glm5/Layer.h"
#include "models/glm5/LayerGolden.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

// Sums of thousands of products in float32 are off by about 2^-24 times the square root of their
// length, a few times in a row: 2^-24 * sqrt(6144) = 4.7e-6. An outlier among 48 rows may double
// it.
constexpr double f32Error = 1e-5;

/// What float32 does to a rotated vector of `rope` values: the angle position * frequency of a pair
/// is off by about 2^-24 of itself (two roundings of at most 2^-24, of random sign).
double angleError(int32_t position, size_t rope) {
  double squares = 0;
  for (size_t i = 0; i < rope; i += 2) {
    double angle = position * std::pow(ropeTheta, -static_cast<double>(i) / rope);
    squares += angle * angle * 0x1p-48;
  }
  return std::sqrt(2 * squares / rope);
}

class GoldenLayer : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto file = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/" + GetParam());
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    auto read = readLayerGolden(*file);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    golden = std::move(*read);
    sizes = golden.sizes();
    inputs = syntheticInputs(sizes, golden.synthetic.seed, golden.positions);
    checkpoint = std::make_unique<SyntheticCheckpoint>(golden.synthetic);
    rotated = f32Error + angleError(*llvm::max_element(golden.positions), sizes.rope);
  }

  double error(const std::vector<double> &out, const std::vector<double> &ref) const {
    return maxRelativeL2(out, ref, sizes.rows);
  }

  LayerGolden golden;
  LayerSizes sizes;
  LayerInputs inputs;
  std::unique_ptr<SyntheticCheckpoint> checkpoint;
  double rotated = 0; ///< error of what depends on rotated vectors
};

TEST_P(GoldenLayer, EveryStageAgrees) {
  Glm5Layer layer(sizes, golden.synthetic.layer, *checkpoint, inputs);
  DownProjections down = layer.project();
  EXPECT_LT(error(down.latent, golden.latent), f32Error);
  EXPECT_LT(error(down.rope, golden.rope), rotated);
  EXPECT_LT(error(down.indexKey, golden.indexKey), rotated);

  Indexing indexing = layer.index(down);
  for (size_t row = 0; row < sizes.rows; ++row) {
    EXPECT_LT(maxRelativeL2(indexing.scores[row], golden.scores[row], 1), rotated) << row;
    EXPECT_EQ(indexing.selection[row], golden.selection[row]) << row;
  }

  Attention attention = layer.attend(down, indexing.selection);
  EXPECT_LT(error(attention.residual, golden.attnResidual), rotated);

  // The form by which kernels are judged is the same function.
  Attention absorbed = layer.attend(down, indexing.selection, AttentionForm::Absorbed);
  EXPECT_LT(error(absorbed.heads, attention.heads), 1e-12);
  EXPECT_LT(error(absorbed.residual, attention.residual), 1e-12);

  Routing routing = layer.routeTokens(attention);
  EXPECT_LT(error(routing.logits, golden.routing.logits), rotated);
  EXPECT_EQ(routing.ids, golden.routing.ids);
  EXPECT_LT(error(routing.weights, golden.routing.weights), rotated);

  EXPECT_LT(error(layer.runExperts(attention, routing).y, golden.y), rotated);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLayer,
                         testing::Values("glm5_tiny_s4.safetensors", "glm5_tiny_s8.safetensors",
                                         "glm5_full_s4.safetensors", "glm5_full_s8.safetensors"),
                         [](const auto &info) {
                           return std::string(llvm::StringRef(info.param).split('.').first);
                         });

} // namespace
