// A layer's checkpoint as a kernel with attention weights of MXFP8 sees it: what is left of the
// attention's matrices when they are rounded to MXFP8 where the kernel's products have their depth.
#pragma once

#include "models/glm5/LayerTensors.h"

namespace mono::models::glm5 {

/// Every value of MXFP8 with scales that weights have is a bf16 value, so readers of bf16 read
/// exactly what the kernel multiplies with.
class RoundedCheckpoint : public Checkpoint {
public:
  /// Keeps a reference to the checkpoint. Heads have a multiple of 32 dims without RoPE.
  RoundedCheckpoint(const LayerDims &dims, unsigned layer, const Checkpoint &exact);
  /// Of the attention's matrices, whole blocks of 32 elements; anything of other tensors.
  void read(const CheckpointTensor &tensor, uint64_t offset,
            llvm::MutableArrayRef<uint8_t> out) const override;

private:
  void readExpansion(uint64_t offset, llvm::MutableArrayRef<uint8_t> out) const;
  void roundHead(llvm::MutableArrayRef<uint16_t> rows) const;

  LayerDims dims;
  LayerTensors tensors;
  const Checkpoint &exact;
};

} // namespace mono::models::glm5
