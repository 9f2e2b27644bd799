// The test problem of the schedule glm5_layer: inputs of all ranks, reference, judgement.
#pragma once

#include "models/Registry.h"
#include "models/glm5/Layer.h"
#include "models/glm5/LayerGolden.h"

#include <optional>

namespace mono::models::glm5 {

/// One launch of the layer.
struct LayerCase {
  LayerSizes sizes;
  SyntheticParams synthetic;
  LayerInputs inputs;
  std::optional<LayerGolden> golden; ///< takes the reference's place where it can
  bool allExperts = false;           ///< every expert has weights, see makeLayerProblem()
  TensorEdit edit = nullptr;         ///< of the weights
  bool fewWeights = false;           ///< outweigh all others, so that errors do not average out
};

/// Random inputs under a seed: outlier channels, positions at every border (spreadPositions), pages
/// in shuffled order.
LayerCase randomLayerCase(const LayerSizes &sizes, uint64_t seed);
/// The inputs of a golden case. Error when the kernel has other dimensions or rows, or no room for
/// its positions.
llvm::Expected<LayerCase> goldenLayerCase(const LayerSizes &sizes, LayerGolden golden);

/// The problem of a case. Unless the case wants all experts, only those that a token chose or
/// nearly chose have weights; the others are NaN (scale 0xFF), so that reading a wrong one shows.
std::unique_ptr<Problem> makeLayerProblem(LayerCase layerCase);

/// How the registry makes them from a kernel's manifest; errors as in readLayerSizes().
llvm::Expected<std::unique_ptr<Problem>> randomLayer(const Manifest &manifest, uint64_t seed);
llvm::Expected<std::unique_ptr<Problem>> goldenLayer(const Manifest &manifest,
                                                     const SafetensorsFile &file);
/// S, TP, CTX, INDEXER and all dimensions of a golden case (LayerGolden::sizes).
llvm::Expected<Params> goldenParamsOfLayer(const SafetensorsFile &file);

} // namespace mono::models::glm5
