// What a text must not have for MLIR's parser, which recurses, to come back from it.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace mono {

/// Checks that brackets are nested at most 256 deep, that an index expression has at most 256
/// operators, which become a tree as deep, and that no `permutation` is empty. What is wrong is
/// reported at its place in `file`.
mlir::LogicalResult checkSourceLimits(llvm::StringRef text, llvm::StringRef file,
                                      mlir::MLIRContext &context);

} // namespace mono
