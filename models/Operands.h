// Operands of a kernel against those a model knows.
#pragma once

#include "runtime/Manifest.h"

#include <cstring>

namespace mono::models {

/// An operand as a schedule declares it; the memory layout is the schedule's own affair.
struct OperandSpec {
  std::string name;
  OperandAccess access;
  ElementType element;
  Shape shape;
};

/// Collects the operands of a schedule.
class OperandList {
public:
  void add(OperandAccess access, llvm::StringRef name, ElementType element,
           std::initializer_list<size_t> shape) {
    operands.push_back({name.str(), access, element, Shape(shape.begin(), shape.end())});
  }
  std::vector<OperandSpec> operands;
};

/// Error when the kernel has not exactly these operands.
llvm::Error checkOperands(const Manifest &manifest, llvm::ArrayRef<OperandSpec> expected);

/// A size that must be a multiple of another one that is not 0, and not 0 itself.
struct Division {
  llvm::StringRef what, by; ///< as messages name them
  size_t size, divisor;
};

/// Error naming the first division that does not come out even.
llvm::Error checkDivisions(llvm::ArrayRef<Division> divisions);

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
