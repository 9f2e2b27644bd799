// Arithmetic on parameters becomes constants.
#pragma once

#include "mlir/IR/Operation.h"

namespace mono {

/// Folds `op` away if it computes an index or a condition of constants alone, or chooses by one;
/// the result says whether it is gone. Otherwise folds the constants among the arguments of its
/// bracketed expressions. Fails with a diagnostic on a step that 64 bits don't hold.
mlir::FailureOr<bool> foldParams(mlir::Operation *op);

} // namespace mono
