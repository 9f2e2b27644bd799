// The checkpoint tensors of one decoder layer: Hugging Face's names, element types, shapes.
#pragma once

#include "models/Checkpoint.h"
#include "models/decoder/DecoderSizes.h"

namespace mono::models::decoder {

/// Catalogue of model.layers.LAYER. Matrices are [outputs, inputs].
struct DecoderTensors {
  DecoderTensors(const DecoderSizes &sizes, unsigned layer);

  CheckpointTensor inputNorm, query, key, value, queryNorm, keyNorm, outProj, postNorm;
  CheckpointTensor gate, up, down; ///< dense MLP
  CheckpointTensor router;

  enum class Projection { Gate, Up, Down };
  /// Packed E2M1, U8 [outputs, inputs / 2], and E8M0 scales, U8 [outputs, inputs / 32], of an
  /// expert.
  CheckpointTensor expert(size_t index, Projection projection) const;
  CheckpointTensor expertScale(size_t index, Projection projection) const;

private:
  CheckpointTensor expertTensor(size_t index, Projection projection, llvm::StringRef suffix,
                                size_t elementsPerByte) const;

  DecoderSizes sizes;
  std::string prefix;
};

} // namespace mono::models::decoder
