// The checkpoint tensors of one GLM-5 layer: names, element types, shapes.
#pragma once

#include "models/Checkpoint.h"
#include "models/glm5/LayerSizes.h"

namespace mono::models::glm5 {

enum class Projection { Gate, Up, Down };

/// Catalogue of model.layers.LAYER. Matrices are [outputs, inputs].
struct LayerTensors {
  LayerTensors(const LayerDims &dims, unsigned layer);

  CheckpointTensor inputNorm, qA, qANorm, qB, kvA, kvANorm, kvB, outProj;
  CheckpointTensor indexQ, indexK, indexNormWeight, indexNormBias, indexWeights;
  CheckpointTensor postNorm, gate, bias;

  /// Packed E2M1, U8 [outputs, inputs / 2], and E8M0 scales, U8 [outputs, inputs / 32], of an
  /// expert; number EXPERTS is the shared one.
  CheckpointTensor expert(size_t index, Projection projection) const;
  CheckpointTensor expertScale(size_t index, Projection projection) const;

  /// All of them; without the indexer's if the layer has none.
  std::vector<CheckpointTensor> all(bool indexer) const;

private:
  CheckpointTensor expertTensor(size_t index, Projection projection, llvm::StringRef suffix,
                                size_t elementsPerByte) const;

  LayerDims dims;
  std::string prefix;
};

} // namespace mono::models::glm5
