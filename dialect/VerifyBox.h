// What the verifiers of ops on memory share.
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace mono {

/// An offset as messages show it.
std::string text(mlir::AffineExpr expr);

/// A shape as messages show it: "[4, 64]", with a ? where a parameter decides.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Whether an offset is a multiple of `step` for every task. What parameters still decide counts as
/// one: binding makes them constants and verifies again.
bool isMultiple(mlir::AffineMap offsets, mlir::OperandRange args, unsigned axis, int64_t step);

/// Checks that `[offsets] [sizes]` fits what is known of the shape of `source`. Offsets that depend
/// on the task are bounded when the schedule is bound.
mlir::LogicalResult verifyBox(mlir::Operation *op, mlir::Value source, mlir::AffineMap offsets,
                              llvm::ArrayRef<int64_t> sizes);

/// Checks that a memory is row-major: an operand that can be read element by element, not a packed
/// one.
mlir::LogicalResult verifyRowMajor(mlir::Operation *op, mlir::Value source);

/// Checks that a result is a tensor of that shape and element type; sizes that a parameter decides
/// agree with any.
mlir::LogicalResult verifyResult(mlir::Operation *op, mlir::Type type,
                                 llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace mono
