// Tensors as a checkpoint has them, wherever they come from: generated from their names or read
// from files.
#pragma once

#include "runtime/Safetensors.h"

#include <string>

namespace mono::models {

/// What a model expects a checkpoint to hold under a name.
struct CheckpointTensor {
  std::string name;
  DType dtype = DType::BF16;
  Shape shape;

  /// Elements of the last dimension.
  size_t columns() const { return static_cast<size_t>(shape.back()); }
  size_t rows() const { return elements() / columns(); }
  size_t elements() const;
  size_t rowBytes() const { return columns() * dtypeBytes(dtype); }
};

/// The tensors of one layer. Whoever makes a checkpoint has checked that it has all tensors its
/// readers ask for, so that reading cannot fail.
class Checkpoint {
public:
  virtual ~Checkpoint() = default;
  /// Bytes [offset, offset + out.size()) of the row-major tensor, whole elements. Callable from
  /// several threads.
  virtual void read(const CheckpointTensor &tensor, uint64_t offset,
                    llvm::MutableArrayRef<uint8_t> out) const = 0;

  /// All elements of a BF16 or F32 tensor.
  std::vector<uint16_t> bf16(const CheckpointTensor &tensor) const;
  std::vector<float> f32(const CheckpointTensor &tensor) const;
};

} // namespace mono::models
