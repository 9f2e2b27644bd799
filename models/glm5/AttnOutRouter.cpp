// Inputs of attn_out_router: random ones, and those of golden cases.
#include "models/glm5/AttnOutRouter.h"
#include "models/BFloat16.h"
#include "models/GoldenFile.h"
#include "models/HashTensor.h"
#include "models/glm5/AttnOutRouterProblem.h"

#include <cmath>

using namespace llvm;

namespace mono::models::glm5 {

static std::vector<uint16_t> real(StringRef name, uint64_t seed, size_t count, double scale,
                                  float center = 0) {
  std::vector<uint16_t> values(count);
  HashTensor(name, seed).real(static_cast<float>(scale), center, values);
  return values;
}

/// One channel in 128 is 16 times larger, as activations of real models have them. A power of two
/// keeps the values exact.
static void addOutliers(std::vector<uint16_t> &matrix, size_t width, StringRef name,
                        uint64_t seed) {
  HashTensor choice(name, seed);
  for (size_t i = 0; i < matrix.size(); ++i)
    if (choice.word(i % width) % 128 == 0)
      matrix[i] = toBf16(toFloat(matrix[i]) * 16);
}

static std::vector<float> correctionBias(StringRef name, uint64_t seed, size_t experts) {
  std::vector<float> bias(experts);
  HashTensor(name, seed).f32(0.05f, 10.0f, bias);
  return bias;
}

// Uniform in [-sqrt 3, sqrt 3) has variance 1; weights of scale c sqrt(3 / n) over n such inputs
// give outputs of variance c^2.
static double weightScale(double gain, size_t inner) { return gain * std::sqrt(3.0 / inner); }
static constexpr double unitScale = 1.7320508;

Expected<std::unique_ptr<Problem>> randomAttnOutRouter(const Manifest &manifest, uint64_t seed) {
  Expected<AttnOutRouterSizes> sizes = checkAttnOutRouter(manifest);
  if (!sizes)
    return sizes.takeError();
  AttnOutRouterInputs inputs;
  inputs.h = real("random.h", seed, sizes->rows * sizes->inner, unitScale);
  addOutliers(inputs.h, sizes->inner, "random.h.outliers", seed);
  inputs.x = real("random.x", seed, sizes->rows * sizes->hidden, unitScale);
  addOutliers(inputs.x, sizes->hidden, "random.x.outliers", seed);
  inputs.outProj =
      real("random.w_o", seed, sizes->hidden * sizes->inner, weightScale(4, sizes->inner));
  inputs.normWeight = real("random.w_post", seed, sizes->hidden, 0.25, 1);
  inputs.gate =
      real("random.w_gate", seed, sizes->experts * sizes->hidden, weightScale(1.5, sizes->hidden));
  inputs.bias = correctionBias("random.bias", seed, sizes->experts);
  return makeAttnOutRouterProblem(*sizes, std::move(inputs), std::nullopt);
}

/// The weights of the router as the case defines them.
static Expected<AttnOutRouterInputs> goldenWeights(const SafetensorsFile &file,
                                                   const AttnOutRouterSizes &sizes) {
  Expected<uint64_t> seed = caseNumber(file, "seed"), layer = caseNumber(file, "layer", UINT32_MAX);
  if (!seed || !layer)
    return joinErrors(seed.takeError(), layer.takeError());
  std::string prefix = fmt::format("model.layers.{}.", *layer);
  AttnOutRouterInputs inputs;
  inputs.normWeight =
      real(prefix + "post_attention_layernorm.weight", *seed, sizes.hidden, 0.25, 1);
  inputs.gate = real(prefix + "mlp.gate.weight", *seed, sizes.experts * sizes.hidden,
                     weightScale(1.5, sizes.hidden));
  inputs.bias = correctionBias(prefix + "mlp.gate.e_score_correction_bias", *seed, sizes.experts);
  return inputs;
}

static Expected<AttnOutRouterResults> goldenResults(const SafetensorsFile &file,
                                                    const AttnOutRouterSizes &sizes) {
  auto shape = [&](size_t columns) {
    return Shape{static_cast<int64_t>(sizes.rows), static_cast<int64_t>(columns)};
  };
  auto residual = caseValues(file, "attn_residual", shape(sizes.hidden));
  auto logits = caseValues(file, "router_logits", shape(sizes.experts));
  auto ids = tensorValues<int32_t>(file, "topk_ids", DType::I32, shape(sizes.chosen));
  auto weights = caseValues(file, "topk_weights", shape(sizes.chosen));
  if (!residual || !logits || !ids || !weights)
    return joinErrors(joinErrors(residual.takeError(), logits.takeError()),
                      joinErrors(ids.takeError(), weights.takeError()));
  AttnOutRouterResults results;
  results.attnResidual = std::move(*residual);
  results.routing = {sizes.rows, std::move(*logits), std::move(*ids), std::move(*weights)};
  return results;
}

Expected<std::unique_ptr<Problem>> goldenAttnOutRouter(const Manifest &manifest,
                                                       const SafetensorsFile &file) {
  Expected<AttnOutRouterSizes> sizes = checkAttnOutRouter(manifest);
  if (!sizes)
    return sizes.takeError();
  Expected<AttnOutRouterResults> results = goldenResults(file, *sizes);
  if (!results)
    return results.takeError();
  Expected<AttnOutRouterInputs> inputs = goldenWeights(file, *sizes);
  if (!inputs)
    return inputs.takeError();
  inputs->h.assign(sizes->rows * sizes->inner, 0);
  inputs->outProj.assign(sizes->hidden * sizes->inner, 0);
  for (double value : results->attnResidual)
    inputs->x.push_back(toBf16(static_cast<float>(value)));
  return makeAttnOutRouterProblem(*sizes, std::move(*inputs), std::move(*results));
}

Expected<Params> goldenParamsOfAttnOutRouter(const SafetensorsFile &file) {
  Expected<const TensorView *> residual = file.get("attn_residual", DType::F32, 2);
  if (!residual)
    return residual.takeError();
  return Params{{"S", (*residual)->shape[0]}, {"TP", 8}};
}

} // namespace mono::models::glm5
