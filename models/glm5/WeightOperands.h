// The constant operands of glm5_layer, rank by rank: weights cut from the tensors of a checkpoint,
// and the table of rotary angles.
#pragma once

#include "models/glm5/LayerTensors.h"

namespace mono::models::glm5 {

class WeightOperands {
public:
  /// Keeps a reference to the checkpoint, which must have all tensors of the layer.
  WeightOperands(const LayerSizes &sizes, unsigned layer, const Checkpoint &checkpoint)
      : sizes(sizes), tensors(sizes, layer), checkpoint(checkpoint) {}

  /// Whether the operand is constant over launches and made here.
  static bool has(llvm::StringRef operand);

  /// Writes the row-major bytes of a constant operand of rank `rank`: all of it, or expert `slice`
  /// of an operand of all experts. `out` has exactly their bytes, aligned for its elements.
  void fill(unsigned rank, llvm::StringRef operand, size_t slice,
            llvm::MutableArrayRef<uint8_t> out) const;

private:
  using Bytes = llvm::MutableArrayRef<uint8_t>;
  struct Piece {
    unsigned rank;
    size_t slice;
    Bytes out;
  };
  struct Entry;
  static const Entry *find(llvm::StringRef operand);
  /// Whether the operand is a matrix that ATTN=mxfp8 makes MXFP8.
  static bool isAttention(llvm::StringRef operand);
  void codes(const Entry &matrix, const Piece &piece) const;
  void scales(const Entry &matrix, const Piece &piece) const;
  std::vector<double> exactValues(const Entry &matrix, const Piece &piece, size_t elements) const;

  void whole(const CheckpointTensor &tensor, Bytes out) const;
  void rows(const CheckpointTensor &tensor, size_t first, Bytes out) const;
  void rankColumns(const CheckpointTensor &tensor, unsigned rank, Bytes out) const;
  void rankRows(const CheckpointTensor &tensor, unsigned rank, Bytes out) const;

  void angles(Bytes out) const;
  void downProjections(unsigned rank, Bytes out) const;
  void indexQueries(unsigned rank, Bytes out) const;
  void keyExpansion(unsigned rank, Bytes out) const;
  void valueExpansion(unsigned rank, Bytes out) const;
  void gateUp(const Piece &piece, const CheckpointTensor &gate, const CheckpointTensor &up) const;

  LayerSizes sizes;
  LayerTensors tensors;
  const Checkpoint &checkpoint;
};

} // namespace mono::models::glm5
