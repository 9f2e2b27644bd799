// Operands of a kernel against those a model knows.
#pragma once

#include "runtime/Manifest.h"

#include <cstring>

namespace mono::models {

/// Error when the kernel has no operand of that name, or it has another access, shape or element
/// type.
llvm::Error checkOperand(const Manifest &manifest, llvm::StringRef name, OperandAccess access,
                         const Shape &shape, ElementType element);

/// Reads a compile parameter that is a size; error when there is none or it is negative.
llvm::Error readSizeParam(const Manifest &manifest, llvm::StringRef name, size_t &out);

/// The bytes of values as operands have them.
template <typename T> llvm::ArrayRef<uint8_t> bytesOf(llvm::ArrayRef<T> values) {
  static_assert(llvm::endianness::native == llvm::endianness::little);
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
}

} // namespace mono::models
