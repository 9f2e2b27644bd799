// Whole-tensor reads.
#include "models/Checkpoint.h"

#include <cassert>

using namespace llvm;

namespace mono::models {

size_t CheckpointTensor::elements() const {
  size_t count = 1;
  for (int64_t dimension : shape)
    count *= static_cast<size_t>(dimension);
  return count;
}

template <typename T>
static std::vector<T> readAll(const Checkpoint &checkpoint, const CheckpointTensor &tensor) {
  static_assert(llvm::endianness::native == llvm::endianness::little);
  std::vector<T> values(tensor.elements());
  checkpoint.read(
      tensor, 0,
      MutableArrayRef(reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(T)));
  return values;
}

std::vector<uint16_t> Checkpoint::bf16(const CheckpointTensor &tensor) const {
  assert(tensor.dtype == DType::BF16);
  return readAll<uint16_t>(*this, tensor);
}

std::vector<float> Checkpoint::f32(const CheckpointTensor &tensor) const {
  assert(tensor.dtype == DType::F32);
  return readAll<float>(*this, tensor);
}

} // namespace mono::models
