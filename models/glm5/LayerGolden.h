// Golden cases of the whole layer: what they were computed from, and their results.
#pragma once

#include "models/Registry.h"
#include "models/glm5/LayerInputs.h"
#include "models/glm5/Router.h"

namespace mono::models::glm5 {

/// Results of the public implementation, computed in float32 (test/data/README.md).
struct LayerGolden {
  LayerDims dims;
  SyntheticParams synthetic;
  std::vector<int32_t> positions;
  std::vector<double> attnResidual;            ///< [rows, hidden]
  std::vector<double> y;                       ///< [rows, hidden]
  std::vector<std::vector<double>> scores;     ///< a row's tokens 0 .. position
  std::vector<std::vector<int32_t>> selection; ///< a row's tokens, ascending
  Routing routing;
  std::vector<double> latent;   ///< [rows, kvLora]
  std::vector<double> rope;     ///< [rows, rope], interleaved pairs
  std::vector<double> indexKey; ///< [rows, indexDim], interleaved pairs

  /// The launch that computes the case: TP is the largest that leaves a rank at least 128 units of
  /// an expert, CTX the smallest multiple of 64 for a small model and of 1024 for a large one that
  /// fits every position.
  LayerSizes sizes() const;
};

/// Error naming the tensor or metadata key that is missing or has another shape than the others
/// ask.
llvm::Expected<LayerGolden> readLayerGolden(const SafetensorsFile &file);

} // namespace mono::models::glm5
