// How far index arithmetic may reach: binding computes it in 64 bits, a kernel in 32.
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace mono {

/// True when an index op makes of `operands`, integers, what another number of bits would not: a
/// sum, difference, product or shift to the left that `bits` signed bits don't hold, a shift by
/// `bits` and more, or a negative number taken as unsigned.
bool leavesRange(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands, unsigned bits);

/// Affine expressions with values for their arguments. AffineExpr's own folding works on attributes
/// and is a hundred times slower, which counts over a million boxes; and its sums wrap.
struct ExprValues {
  llvm::ArrayRef<std::optional<int64_t>> dims, symbols; ///< none where the value is not known
  int64_t most;                                         ///< magnitude of all steps
  mlir::AffineExpr stuck =
      {}; ///< the first step that leaves `most` or divides by what is not positive

  /// The value of `expr`; none where it is not known or something is stuck.
  std::optional<int64_t> of(mlir::AffineExpr expr);
};

/// Whether an expression adds or multiplies, so that its value can be too large.
bool canLeaveRange(mlir::AffineExpr expr);

} // namespace mono
