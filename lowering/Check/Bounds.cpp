// Bounds of every box.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"

using namespace mlir;

namespace mono {

static std::string text(ArrayRef<int64_t> values) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(values, os);
  return result;
}

static LogicalResult checkBox(const MemoryAccess &access, int64_t task, int64_t rank) {
  std::optional<SmallVector<int64_t>> offsets = access.offsetsOf(task, rank);
  if (!offsets)
    return access.op->emitError() << "expected offsets with a value (division by zero?)";
  for (auto [axis, offset, size, extent] : llvm::enumerate(*offsets, access.sizes, access.shape)) {
    if (offset >= 0 && offset + size <= extent)
      continue;
    InFlightDiagnostic diag = access.op->emitError()
                              << "expected a box inside " << describe(access.memory)
                              << ", but task " << task << " of stage '" << access.stage.getName()
                              << "' covers " << offset << " to " << offset + size << " of "
                              << extent << " on axis " << axis;
    diag.attachNote(access.memory.getLoc())
        << "declared here with shape [" << text(access.shape) << "]";
    return diag;
  }
  return success();
}

LogicalResult checkBounds(const BoundSchedule &schedule) {
  for (const MemoryAccess &access : schedule.accesses) {
    int64_t ranks = access.dependsOnRank() ? schedule.ranks : 1;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t task = 0, tasks = taskCount(access.stage); task < tasks; ++task)
        if (failed(checkBox(access, task, rank)))
          return failure();
  }
  return success();
}

} // namespace mono
