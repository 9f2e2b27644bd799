// The steps of binding, each over a whole module.
#pragma once

#include "lowering/Bind/Imports.h"
#include "mlir/IR/BuiltinOps.h"

namespace mono {

/// Replaces every `mono.import` by the routines of the file it names, transitively. Appends the
/// files it read to `files` if that is given.
mlir::LogicalResult loadImports(mlir::ModuleOp module, std::vector<ImportedFile> *files = nullptr);

/// Inlines every `mono.call` of the schedules and drops the routines.
mlir::LogicalResult inlineCalls(mlir::ModuleOp module);

/// Folds the expressions of the schedules to constants where they are, makes every tensor static
/// and judges what mono.require asks of the parameters.
mlir::LogicalResult refineShapes(mlir::ModuleOp module);

/// Moves pure ops that make tensors outside the stages into each stage that uses them.
void sinkTensors(mlir::ModuleOp module);

/// Warns of declarations that nothing uses, mailboxes that nobody receives, regions that nobody
/// reads and weights that nobody contracts, in a module that is not bound yet: what some parameters
/// switch off is used there. Fails if the warnings are errors and there is one.
mlir::LogicalResult warnOfUnused(mlir::ModuleOp module, bool asErrors);

} // namespace mono
