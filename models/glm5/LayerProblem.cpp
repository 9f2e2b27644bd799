// Cases of glm5_layer and the inputs of their ranks.
#include "models/glm5/LayerProblem.h"
#include "models/HashTensor.h"
#include "models/Operands.h"
#include "models/glm5/LayerCheck.h"
#include "models/glm5/RoundedCheckpoint.h"
#include "models/glm5/WeightOperands.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;

namespace mono::models::glm5 {

/// For layers that are given their tokens: as many of each row as it may have, any of them.
static std::vector<std::vector<int32_t>>
randomSelection(const LayerSizes &sizes, ArrayRef<int32_t> positions, uint64_t seed) {
  std::vector<std::vector<int32_t>> selection;
  for (size_t row = 0; row < sizes.rows; ++row) {
    HashTensor words(fmt::format("selection.{}", row), seed);
    std::vector<double> scores;
    for (int32_t token = 0; token <= positions[row]; ++token)
      scores.push_back(static_cast<double>(words.word(static_cast<uint64_t>(token)) >> 16));
    selection.push_back(selectTop(scores, sizes.topk));
  }
  return selection;
}

LayerCase randomLayerCase(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result{sizes, syntheticParams(sizes.hidden, sizes.moe, seed), {}, std::nullopt};
  std::vector<int32_t> positions = spreadPositions(sizes);
  result.inputs = syntheticInputs(sizes, seed, positions);
  addOutliers(result.inputs, sizes, seed);
  if (!sizes.indexer)
    result.inputs.selection = randomSelection(sizes, positions, seed);
  return result;
}

/// The kernel's sizes must be the case's.
static Error checkCaseSizes(const LayerSizes &kernel, const LayerSizes &wanted) {
  LayerSizes kernelSizes = kernel, wantedSizes = wanted;
  auto kernelParams = dimensionParams(kernelSizes), wantedParams = dimensionParams(wantedSizes);
  kernelParams.emplace_back("S", &kernelSizes.rows);
  wantedParams.emplace_back("S", &wantedSizes.rows);
  for (auto [got, expected] : zip(kernelParams, wantedParams))
    if (*got.second != *expected.second)
      return makeError("the case needs {} = {}, but the kernel was compiled for {}", got.first,
                       *expected.second, *got.second);
  if (kernel.context < wanted.context)
    return makeError("the case needs CTX of at least {}, but the kernel was compiled for {}",
                     wanted.context, kernel.context);
  if (kernel.mxAttention || kernel.mxActivations)
    return makeError(
        "the case needs ATTN = bf16 and ACT = bf16, but the kernel was compiled for {} "
        "and {}",
        kernel.mxAttention ? "mxfp8" : "bf16", kernel.mxActivations ? "mxfp8" : "bf16");
  if (!kernel.indexer)
    return makeError("the case needs INDEXER = 1, but the kernel was compiled for 0");
  return Error::success();
}

Expected<LayerCase> goldenLayerCase(const LayerSizes &sizes, LayerGolden golden) {
  if (Error error = checkCaseSizes(sizes, golden.sizes()))
    return error;
  LayerInputs inputs = syntheticInputs(sizes, golden.synthetic.seed, golden.positions);
  return LayerCase{sizes, golden.synthetic, std::move(inputs), std::move(golden)};
}

namespace {

class LayerProblem : public Problem {
public:
  explicit LayerProblem(LayerCase layerCase)
      : problem(std::move(layerCase)), checkpoint(problem.synthetic, problem.edit),
        weights(problem.sizes, problem.synthetic.layer, checkpoint), selection(paddedSelection()) {}

  void fill(unsigned rank, const Operand &operand, size_t slice,
            MutableArrayRef<uint8_t> out) override {
    if (!WeightOperands::has(operand.name))
      copy(activation(operand.name), out.begin());
    else if (operand.type.shape.size() == 3 && !problem.allExperts && !inReach(slice))
      std::memset(out.data(), 0xFF, out.size()); // codes -6, scales NaN
    else
      weights.fill(rank, operand.name, slice, out);
  }

  void check(ArrayRef<RankOutputs> outputs, Report &report) override {
    reference().check(outputs, report);
  }

private:
  const LayerCheck &reference() {
    if (!lazyReference) {
      if (problem.sizes.mxAttention)
        rounded.emplace(problem.sizes, problem.synthetic.layer, checkpoint);
      const Checkpoint &weightsAsRead =
          rounded ? static_cast<const Checkpoint &>(*rounded) : checkpoint;
      lazyReference = std::make_unique<LayerCheck>(problem, weightsAsRead);
    }
    return *lazyReference;
  }

  bool inReach(size_t expert) {
    if (reach.empty()) {
      reach = reference().expertsInReach();
      reach.push_back(true); // the shared expert
    }
    return reach[expert];
  }

  std::vector<int32_t> paddedSelection() const {
    std::vector<int32_t> padded(problem.sizes.rows * problem.sizes.topk, -1);
    for (size_t row = 0; row < problem.inputs.selection.size(); ++row)
      copy(problem.inputs.selection[row],
           padded.begin() + static_cast<ptrdiff_t>(row * problem.sizes.topk));
    return padded;
  }

  ArrayRef<uint8_t> activation(StringRef operand) const {
    const LayerInputs &inputs = problem.inputs;
    if (operand == "x")
      return bytesOf<uint16_t>(inputs.x);
    if (operand == "positions")
      return bytesOf<int32_t>(inputs.positions);
    if (operand == "block_table")
      return bytesOf<int32_t>(inputs.blockTable);
    if (operand == "cache_kv")
      return bytesOf<uint16_t>(inputs.cacheKv);
    if (operand == "cache_index")
      return bytesOf<uint16_t>(inputs.cacheIndex);
    return bytesOf<int32_t>(selection); // index_topk of a layer without indexer
  }

  LayerCase problem;
  SyntheticCheckpoint checkpoint;
  std::optional<RoundedCheckpoint> rounded; ///< if the kernel's attention weights are
  WeightOperands weights;
  std::vector<int32_t> selection;
  std::unique_ptr<LayerCheck> lazyReference;
  std::vector<bool> reach;
};

} // namespace

std::unique_ptr<Problem> makeLayerProblem(LayerCase layerCase) {
  return std::make_unique<LayerProblem>(std::move(layerCase));
}

Expected<std::unique_ptr<Problem>> randomLayer(const Manifest &manifest, uint64_t seed) {
  Expected<LayerSizes> sizes = readLayerSizes(manifest);
  if (!sizes)
    return sizes.takeError();
  return makeLayerProblem(randomLayerCase(*sizes, seed));
}

Expected<std::unique_ptr<Problem>> goldenLayer(const Manifest &manifest,
                                               const SafetensorsFile &file) {
  Expected<LayerSizes> sizes = readLayerSizes(manifest);
  if (!sizes)
    return sizes.takeError();
  Expected<LayerGolden> golden = readLayerGolden(file);
  if (!golden)
    return golden.takeError();
  Expected<LayerCase> layerCase = goldenLayerCase(*sizes, std::move(*golden));
  if (!layerCase)
    return layerCase.takeError();
  return makeLayerProblem(std::move(*layerCase));
}

Expected<Params> goldenParamsOfLayer(const SafetensorsFile &file) {
  Expected<LayerGolden> golden = readLayerGolden(file);
  if (!golden)
    return golden.takeError();
  LayerSizes sizes = golden->sizes();
  auto number = [](size_t value) { return static_cast<int64_t>(value); };
  Params params = {{"S", number(sizes.rows)},
                   {"TP", number(sizes.ranks)},
                   {"CTX", number(sizes.context)},
                   {"INDEXER", 1},
                   // A task of the attention takes at least 32 tokens, the depth of an MFMA.
                   {"SPLITS", number(std::clamp<size_t>(llvm::bit_floor(sizes.topk / 32), 1, 32))}};
  for (auto [name, value] : dimensionParams(sizes))
    params.emplace_back(name.str(), number(*value));
  return params;
}

} // namespace mono::models::glm5
