// The constant operands of a decoder layer, rank by rank: weights cut from the tensors of a
// checkpoint, and the table of rotary angles.
#pragma once

#include "models/decoder/DecoderTensors.h"

namespace mono::models::decoder {

class DecoderWeights {
public:
  /// Keeps references to the model and the checkpoint, which must have all tensors of the layer.
  DecoderWeights(const DecoderModel &model, const DecoderSizes &sizes, unsigned layer,
                 const Checkpoint &checkpoint)
      : model(model), sizes(sizes), tensors(sizes, layer), checkpoint(checkpoint) {}

  /// Whether the operand is constant over launches and made here.
  static bool has(llvm::StringRef operand);

  /// Writes the row-major bytes of a constant operand of rank `rank`: all of it, or expert `slice`
  /// of an operand of all experts. `out` has exactly their bytes, aligned for its elements.
  void fill(unsigned rank, llvm::StringRef operand, size_t slice,
            llvm::MutableArrayRef<uint8_t> out) const;

private:
  void heads(unsigned rank, llvm::MutableArrayRef<uint8_t> out) const;
  void gateUp(unsigned rank, const CheckpointTensor &gate, const CheckpointTensor &up,
              llvm::MutableArrayRef<uint8_t> out) const;
  void down(unsigned rank, const CheckpointTensor &tensor, llvm::MutableArrayRef<uint8_t> out,
            uint8_t filler) const;
  void expert(unsigned rank, llvm::StringRef operand, size_t index,
              llvm::MutableArrayRef<uint8_t> out) const;

  const DecoderModel &model;
  DecoderSizes sizes;
  DecoderTensors tensors;
  const Checkpoint &checkpoint;
};

} // namespace mono::models::decoder
