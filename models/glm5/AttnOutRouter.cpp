// Inputs of attn_out_router: random ones, and those of golden cases.
#include "models/glm5/AttnOutRouter.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"
#include "models/glm5/AttnOutRouterProblem.h"

#include <cmath>
#include <cstring>

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

template <typename T>
static Expected<std::vector<T>> tensorValues(const SafetensorsFile &file, StringRef name,
                                             DType dtype, size_t rows, size_t columns) {
  Expected<const TensorView *> view = file.get(name, dtype, 2);
  if (!view)
    return view.takeError();
  Shape shape = {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  if ((*view)->shape != shape)
    return makeError("tensor '{}': expected shape {}, but got {}", name, formatShape(shape),
                     (*view)->describe());
  std::vector<T> values(rows * columns);
  std::memcpy(values.data(), (*view)->data.data(), (*view)->data.size());
  return values;
}

static Expected<uint64_t> caseNumber(const SafetensorsFile &file, StringRef key) {
  Expected<StringRef> text = file.metadata(key);
  if (!text)
    return text.takeError();
  uint64_t number = 0;
  if (text->getAsInteger(10, number))
    return makeError("metadata key '{}': expected a number, but got '{}'", key, *text);
  return number;
}

/// The weights of the router as the case defines them.
static Expected<AttnOutRouterInputs> goldenWeights(const SafetensorsFile &file,
                                                   const AttnOutRouterSizes &sizes) {
  Expected<uint64_t> seed = caseNumber(file, "seed"), layer = caseNumber(file, "layer");
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
  auto residual = tensorValues<float>(file, "attn_residual", DType::F32, sizes.rows, sizes.hidden);
  auto logits = tensorValues<float>(file, "router_logits", DType::F32, sizes.rows, sizes.experts);
  auto ids = tensorValues<int32_t>(file, "topk_ids", DType::I32, sizes.rows, sizes.chosen);
  auto weights = tensorValues<float>(file, "topk_weights", DType::F32, sizes.rows, sizes.chosen);
  if (!residual || !logits || !ids || !weights)
    return joinErrors(joinErrors(residual.takeError(), logits.takeError()),
                      joinErrors(ids.takeError(), weights.takeError()));
  AttnOutRouterResults results;
  results.attnResidual.assign(residual->begin(), residual->end());
  results.routing.rows = sizes.rows;
  results.routing.logits.assign(logits->begin(), logits->end());
  results.routing.ids = std::move(*ids);
  results.routing.weights.assign(weights->begin(), weights->end());
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
