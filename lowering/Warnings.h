// What a schedule does for nobody: a warning, or an error if the user wants it so.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace mono {

/// Warns at `op`. With `asErrors` that is an error, and the result a failure.
inline mlir::LogicalResult warn(mlir::Operation *op, bool asErrors, const llvm::Twine &what) {
  (asErrors ? op->emitError() : op->emitWarning()) << what << (asErrors ? " [-Werror]" : "");
  return mlir::success(!asErrors);
}

} // namespace mono
