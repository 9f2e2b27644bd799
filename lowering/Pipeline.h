// The order of the pass groups: the one place that knows it.
#pragma once

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include <string>

namespace mono {

/// What the pass groups turn a schedule file into, in order.
enum class Step {
  Bound,   ///< parameters, routines and shapes fixed
  Checked, ///< found safe
  Placed,  ///< LDS and mailboxes have addresses
  Device,  ///< one gpu.func of per-thread code
  Rocdl,   ///< LLVM and ROCDL dialects
};

struct PipelineParams {
  llvm::SmallVector<std::string> params; ///< NAME=INT each
  int64_t watchdogCycles = 0;            ///< budget of a wait; 0: for ever
  bool markers = false;                  ///< say which task begins, for traces
};

/// Adds the groups from `first` to `last`, both included.
void buildPipeline(mlir::OpPassManager &pm, const PipelineParams &params, Step first, Step last);

/// Dialects and interfaces the pipeline needs.
void registerDialects(mlir::DialectRegistry &registry);

/// Passes and pipelines for command lines: every pass of ours and `--mono-pipeline`.
void registerPipelines();

} // namespace mono
