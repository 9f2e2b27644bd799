// The router's maths on hand-computed numbers and on the golden cases.
#include "models/glm5/Router.h"
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/HashTensor.h"
#include "runtime/Safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

TEST(RmsNorm, ByHand) {
  std::vector<uint16_t> weight = {toBf16(1), toBf16(-2)};
  // Mean squares (9 + 16) / 2 and (0 + 2) / 2.
  std::vector<double> y = rmsNorm(std::vector<double>{3, 4, 0, std::sqrt(2.0)}, 2, weight);
  EXPECT_NEAR(y[0], 3 / std::sqrt(12.50001), 1e-15);
  EXPECT_NEAR(y[1], -8 / std::sqrt(12.50001), 1e-15);
  EXPECT_EQ(y[2], 0);
  EXPECT_NEAR(y[3], -2 * std::sqrt(2.0) / std::sqrt(1.00001), 1e-15);
}

TEST(SelectTop, LowestIndexWinsTies) {
  EXPECT_EQ(selectTop({1, 2, 2, 0, 2}, 2), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(selectTop({1, 1, 1}, 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(selectTop({0, 3, 1, 9}, 3), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(selectTop({std::nan(""), 1, 2}, 2), (std::vector<int32_t>{1, 2}));
}

// sigmoid(ln 3) = 3/4, sigmoid(0) = 1/2, sigmoid(-ln 3) = 1/4.
TEST(ExpertWeights, BiasChoosesButDoesNotWeigh) {
  std::vector<double> logits = {std::log(3.0), 0, -std::log(3.0)};
  std::vector<float> bias = {0, 0, 1};
  std::vector<double> scores = expertScores(logits, bias);
  EXPECT_NEAR(scores[0], 0.75, 1e-15);
  EXPECT_NEAR(scores[2], 1.25, 1e-15);
  std::vector<int32_t> ids = selectTop(scores, 2);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 2}));
  std::vector<double> weights = expertWeights(logits, ids);
  EXPECT_NEAR(weights[0], 2.5 * 0.75, 1e-15);
  EXPECT_NEAR(weights[1], 2.5 * 0.25, 1e-15);
}

TEST(Route, ByHand) {
  // The norm makes (1, 1) of (2, 2) up to eps; the gate's rows give logits 2, 0, -1.
  std::vector<uint16_t> norm(2, toBf16(1)), gate;
  for (float value : {1.f, 1.f, 1.f, -1.f, -0.5f, -0.5f})
    gate.push_back(toBf16(value));
  std::vector<float> bias = {0, 0, 10};
  Routing routing = route(std::vector<double>{2, 2}, 1, norm, gate, bias, 2);
  EXPECT_NEAR(routing.logits[0], 2, 1e-5);
  EXPECT_NEAR(routing.logits[1], 0, 1e-15);
  EXPECT_NEAR(routing.logits[2], -1, 1e-5);
  EXPECT_EQ(routing.ids, (std::vector<int32_t>{0, 2}));
  double a = 1 / (1 + std::exp(-2.0)), b = 1 / (1 + std::exp(1.0));
  EXPECT_NEAR(routing.weights[0], 2.5 * a / (a + b), 1e-5);
  EXPECT_NEAR(routing.weights[1], 2.5 * b / (a + b), 1e-5);
}

class GoldenRouter : public testing::TestWithParam<const char *> {
protected:
  std::vector<double> floats(const char *name) {
    const TensorView &view = **file->get(name, DType::F32, 2);
    std::vector<float> values(view.data.size() / 4);
    std::memcpy(values.data(), view.data.data(), view.data.size());
    return {values.begin(), values.end()};
  }
  std::optional<SafetensorsFile> file;
};

/// The golden results were computed in f32, so they agree with double precision to f32's error:
/// about 2^-24 times the square root of the 6144 terms of a sum.
TEST_P(GoldenRouter, AgreesInDoublePrecision) {
  auto opened = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/" + GetParam());
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  file = std::move(*opened);
  uint64_t seed = 0;
  ASSERT_FALSE(file->metadata("seed")->getAsInteger(10, seed));
  std::vector<uint16_t> norm(6144), gate(256 * 6144);
  std::vector<float> bias(256);
  HashTensor("model.layers.3.post_attention_layernorm.weight", seed).real(0.25f, 1, norm);
  HashTensor("model.layers.3.mlp.gate.weight", seed)
      .real(static_cast<float>(1.5 * std::sqrt(3.0 / 6144)), 0, gate);
  HashTensor("model.layers.3.mlp.gate.e_score_correction_bias", seed).f32(0.05f, 10, bias);

  size_t rows = (*file->get("topk_ids", DType::I32, 2))->shape[0];
  Routing routing = route(floats("attn_residual"), rows, norm, gate, bias, 8);
  EXPECT_LT(maxRelativeL2(routing.logits, floats("router_logits"), rows), 5e-6);
  EXPECT_LT(maxRelativeL2(routing.weights, floats("topk_weights"), rows), 5e-6);
  const TensorView &ids = **file->get("topk_ids", DType::I32, 2);
  EXPECT_EQ(std::memcmp(ids.data.data(), routing.ids.data(), ids.data.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenRouter,
                         testing::Values("glm5_full_s4.safetensors", "glm5_full_s8.safetensors"));

} // namespace
