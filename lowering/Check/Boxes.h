// The boxes a bound schedule touches, task by task: the common ground of the checks.
#pragma once

#include "dialect/Mono.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mono {

/// One execution of an op: the task of its stage and the rank it runs on.
struct Instance {
  int64_t task = 0;
  int64_t rank = 0;
};

/// Number of ranks of a bound schedule.
int64_t rankCount(ScheduleOp schedule);

/// Number of tasks of a bound stage.
int64_t taskCount(StageOp stage);

/// Workgroup of the grid that runs `task`.
int64_t workgroupOf(StageOp stage, int64_t task);

/// Values of the offsets of a mono op of a stage for one instance; fails with a diagnostic on an
/// offset that depends on anything but the task and the rank.
mlir::FailureOr<llvm::SmallVector<int64_t>> offsetsOf(mlir::Operation *op, mlir::AffineMap offsets,
                                                      mlir::OperandRange args,
                                                      const Instance &instance);

/// Visits the row-major indices of the box `offsets`, `sizes` in a memory of the given shape, one
/// run of the last axis at a time: (first index, length).
void forEachRun(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> offsets,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(int64_t first, int64_t length)> visit);

} // namespace mono
