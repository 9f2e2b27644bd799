// The boxes a bound schedule touches, task by task and rank by rank: the common ground of the
// checks.
#pragma once

#include "dialect/Mono.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <limits>
#include <string>

namespace mono {

/// Largest magnitude of an index in a kernel, which computes them in 32 bits (Pipeline.cpp).
inline constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();

/// Number of ranks of a bound schedule.
int64_t rankCount(ScheduleOp schedule);

/// Number of tasks of a bound stage.
int64_t taskCount(StageOp stage);

/// Launches after which all peers mailboxes are at slot 0 again: the least common multiple of their
/// slots. At most kMaxIndex where the checks have passed, and more than it where it would be more.
int64_t slotTurn(ScheduleOp schedule);

/// Workgroup of the grid that runs task 0 of a bound stage; the next task runs on the next one.
int64_t baseOf(StageOp stage);

/// One op of a stage that touches an operand, a region or a mailbox.
struct MemoryAccess {
  mlir::Operation *op;
  mutable StageOp stage; // op handles have no const accessors
  int64_t stageIndex;    ///< position of the stage in the file
  int64_t opIndex;       ///< position of the op in its stage
  int64_t tasks;         ///< of the stage
  int64_t base;          ///< of the stage: the workgroup of task 0
  int64_t ctas;          ///< workgroups of the grid
  mlir::Value memory;
  bool writes;
  mlir::AffineMap offsets;
  llvm::SmallVector<bool> argIsTask; ///< for each argument of `offsets`: the task, or the rank
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> shape; ///< of the memory

  bool dependsOnRank() const { return llvm::is_contained(argIsTask, false); }
  /// The rank's offsets for one task. None where a step of them, then in `stuck`, divides by what
  /// is not positive or leaves kMaxIndex.
  std::optional<llvm::SmallVector<int64_t>> offsetsOf(int64_t task, int64_t rank,
                                                      mlir::AffineExpr *stuck = nullptr) const;
};

/// All accesses of the schedule in file order; fails with a diagnostic on offsets that depend on
/// anything but the task, the rank and parameters.
mlir::FailureOr<std::vector<MemoryAccess>> collectAccesses(ScheduleOp schedule);

/// Visits the row-major indices of the box `offsets`, `sizes` in a memory of the given shape as
/// runs of neighbours, in rising order: [first, end).
void forEachRun(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> offsets,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(int64_t first, int64_t end)> visit);

/// One execution of an access: by a task, on a rank.
struct Execution {
  const MemoryAccess *access = nullptr;
  int64_t task = 0;
  int64_t rank = 0;

  int64_t workgroup() const { return (access->base + task) % access->ctas; }
  /// Visits what the execution touches, as forEachRun() does. The offsets must have values.
  void forEachRun(llvm::function_ref<void(int64_t first, int64_t end)> visit) const;
};

/// Visits the executions of an access, ranks outermost.
void forEachExecution(const MemoryAccess &access, int64_t ranks,
                      llvm::function_ref<void(const Execution &)> visit);

/// "1, 0, 4" for a message: the index, axis by axis, of a row-major element.
std::string indexText(llvm::ArrayRef<int64_t> shape, int64_t element);

/// "task 3 of stage 'reduce' on workgroup 195", and " of rank 2" where that matters.
std::string taskText(const Execution &execution, bool namesRank);

} // namespace mono
