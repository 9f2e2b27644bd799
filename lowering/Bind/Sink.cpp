// Moves tensors that a schedule makes outside its stages into the stages that use them: a tensor is
// what one workgroup has in registers and LDS for one task, and nothing outside a stage has a task.
#include "lowering/Bind/Bind.h"

#include "dialect/Mono.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace mono {
namespace {

/// An op of a schedule whose tensors every stage can make for itself: it reads nothing that
/// changes.
bool canSink(Operation *op) {
  return op && isa<ScheduleOp>(op->getParentOp()) && isMemoryEffectFree(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// The ops outside `stage` that make its tensors, also those that are used by another one only.
llvm::SetVector<Operation *> makersFor(StageOp stage) {
  llvm::SetVector<Operation *> makers;
  auto add = [&](Operation *user) {
    user->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (canSink(operand.getDefiningOp()))
          makers.insert(operand.getDefiningOp());
    });
  };
  add(stage);
  for (size_t next = 0; next < makers.size(); ++next)
    add(makers[next]);
  return makers;
}

/// Gives the stage a copy of all that makes its tensors.
void copyInto(StageOp stage) {
  SmallVector<Operation *> makers = makersFor(stage).takeVector();
  llvm::sort(makers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder = OpBuilder::atBlockBegin(&stage.getBody().front());
  IRMapping copies;
  for (Operation *maker : makers)
    builder.clone(*maker, copies);
  stage->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(copies.lookupOrDefault(operand.get()));
  });
}

} // namespace

void sinkTensors(ModuleOp module) {
  for (auto schedule : module.getOps<ScheduleOp>()) {
    Block &body = schedule.getBody().front();
    for (auto stage : body.getOps<StageOp>())
      copyInto(stage);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (canSink(&op) && op.use_empty())
        op.erase();
  }
}

} // namespace mono
