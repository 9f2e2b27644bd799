// The pass that runs the checks on a bound schedule.
#include "lowering/Check/Checks.h"
#include "lowering/Passes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace mono {
#define GEN_PASS_DEF_CHECKPASS
#include "lowering/Passes.h.inc"
} // namespace mono

using namespace mono;

namespace {

LogicalResult checkSchedule(ScheduleOp op) {
  if (failed(checkStatic(op)))
    return failure();
  FailureOr<std::vector<MemoryAccess>> accesses = collectAccesses(op);
  if (failed(accesses))
    return failure();
  BoundSchedule schedule{op, rankCount(op), std::move(*accesses)};
  // Each check relies on what the ones before it have shown.
  return failure(failed(checkBounds(schedule)) || failed(checkSlices(schedule)) ||
                 failed(checkIndexValues(schedule)) || failed(checkCoverage(schedule)) ||
                 failed(checkOrder(schedule)) || failed(checkOperands(schedule)) ||
                 failed(checkPlaces(schedule)) || failed(checkRegions(schedule)));
}

struct CheckPass : mono::impl::CheckPassBase<CheckPass> {
  using Base::Base;

  void runOnOperation() override {
    auto schedules = getOperation().getOps<ScheduleOp>();
    if (schedules.empty()) {
      getOperation().emitError() << "expected a mono.schedule in the file";
      return signalPassFailure();
    }
    for (ScheduleOp schedule : schedules)
      if (failed(checkSchedule(schedule)))
        return signalPassFailure();
  }
};

} // namespace
