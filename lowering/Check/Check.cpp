// The pass that runs the checks on a bound schedule.
#include "dialect/Exprs.h"
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

/// A size that is still open depends on something that is no parameter.
LogicalResult checkStatic(ScheduleOp schedule) {
  for (Operation &op : schedule.getBody().front()) {
    AffineMap map;
    if (auto declaration = op.getAttrOfType<AffineMapAttr>("shape"))
      map = declaration.getAffineMap();
    else if (auto stage = dyn_cast<StageOp>(op))
      map = stage.getTasks();
    if (map && llvm::is_contained(staticValues(map), ShapedType::kDynamic))
      return op.emitError() << "expected sizes that parameters decide";
    if (auto stage = dyn_cast<StageOp>(op);
        stage && ShapedType::isDynamic(staticValues(stage.getBase()).front()))
      return op.emitError() << "expected a base that parameters decide";
  }
  if (schedule.getBody().front().getOps<StageOp>().empty())
    return schedule.emitError() << "expected at least one stage";
  return success();
}

LogicalResult checkSchedule(ScheduleOp op) {
  if (failed(checkStatic(op)))
    return failure();
  FailureOr<std::vector<MemoryAccess>> accesses = collectAccesses(op);
  if (failed(accesses))
    return failure();
  BoundSchedule schedule{op, rankCount(op), std::move(*accesses)};
  // Each check relies on what the ones before it have shown.
  return failure(failed(checkBounds(schedule)) || failed(checkCoverage(schedule)) ||
                 failed(checkOrder(schedule)) || failed(checkOperands(schedule)) ||
                 failed(checkRegions(schedule)));
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
