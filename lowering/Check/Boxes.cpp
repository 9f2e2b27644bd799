// Evaluation of offsets for a task and rank, and walking of boxes.
#include "lowering/Check/Boxes.h"

#include "dialect/Exprs.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mono {

int64_t rankCount(ScheduleOp schedule) {
  auto ranks = schedule.getBody().front().getOps<RanksOp>();
  return ranks.empty() ? 1 : staticValues((*ranks.begin()).getCount()).front();
}

int64_t taskCount(StageOp stage) { return staticValues(stage.getTasks()).front(); }

int64_t workgroupOf(StageOp stage, int64_t task) {
  int64_t ctas = stage->getParentOfType<ScheduleOp>().getCtas();
  return (staticValues(stage.getBase()).front() + task) % ctas;
}

FailureOr<SmallVector<int64_t>> offsetsOf(Operation *op, AffineMap offsets, OperandRange args,
                                          const Instance &instance) {
  Builder builder(op->getContext());
  SmallVector<Attribute> values;
  for (Value arg : args) {
    if (isa<BlockArgument>(arg))
      values.push_back(builder.getIndexAttr(instance.task));
    else if (arg.getDefiningOp<RanksOp>())
      values.push_back(builder.getIndexAttr(instance.rank));
    else
      return op->emitError() << "expected offsets that depend on the task, the rank and parameters "
                                "only";
  }
  SmallVector<Attribute> results;
  if (failed(offsets.constantFold(values, results)))
    return op->emitError() << "expected offsets with a value (division by zero?)";
  return llvm::map_to_vector(results, [](Attribute a) { return cast<IntegerAttr>(a).getInt(); });
}

void forEachRun(ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                function_ref<void(int64_t, int64_t)> visit) {
  int64_t rank = shape.size();
  SmallVector<int64_t> index(rank, 0);
  for (;;) {
    int64_t first = 0;
    for (int64_t axis = 0; axis < rank; ++axis)
      first = first * shape[axis] + offsets[axis] + index[axis];
    visit(first, sizes.back());
    int64_t axis = rank - 2;
    for (; axis >= 0; --axis) {
      if (++index[axis] < sizes[axis])
        break;
      index[axis] = 0;
    }
    if (axis < 0)
      return;
  }
}

} // namespace mono
