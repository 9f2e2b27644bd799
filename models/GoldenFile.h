// Typed access to the results of a golden case.
#pragma once

#include "runtime/Safetensors.h"

#include <cstring>

namespace mono::models {

/// A number among the metadata; error when the key is missing, is no number or above `most`.
llvm::Expected<uint64_t> caseNumber(const SafetensorsFile &file, llvm::StringRef key,
                                    uint64_t most = UINT64_MAX);

/// A tensor of a file, which must have this dtype and shape.
llvm::Expected<const TensorView *> caseTensor(const SafetensorsFile &file, llvm::StringRef name,
                                              DType dtype, const Shape &shape);

/// The values of a tensor whose elements are of type T.
template <typename T>
llvm::Expected<std::vector<T>> tensorValues(const SafetensorsFile &file, llvm::StringRef name,
                                            DType dtype, const Shape &shape) {
  llvm::Expected<const TensorView *> view = caseTensor(file, name, dtype, shape);
  if (!view)
    return view.takeError();
  std::vector<T> values((*view)->data.size() / sizeof(T));
  std::memcpy(values.data(), (*view)->data.data(), (*view)->data.size());
  return values;
}

/// The values of an F32 tensor.
llvm::Expected<std::vector<double>> caseValues(const SafetensorsFile &file, llvm::StringRef name,
                                               const Shape &shape);

} // namespace mono::models
