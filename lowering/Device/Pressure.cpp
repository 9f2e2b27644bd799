// Lifetimes of tensors in the stages of a schedule.
#include "lowering/Device/Pressure.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Device/Distribution.h"
#include "lowering/Device/LoadsAhead.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mono {

/// Tiles of 16 rows a wavefront multiplies at a step.
static int64_t rowTilesOf(StreamOp op, int64_t threads) {
  int64_t waves = threads / gfx950::kWaveSize;
  return op.getRowCount() / gfx950::kMfmaM / (waves / op.getSplitK());
}

/// A lane holds 16 bytes of weights or four sums of a tile.
static constexpr int64_t kRegistersOfTile = 4;

/// Registers of what a stream has in flight. A step of codes is deeper than one of bf16, so that
/// where there are few steps this is more than there is.
static int64_t registersInFlight(StreamOp op, int64_t threads) {
  int64_t rowTiles = rowTilesOf(op, threads);
  int64_t steps = op.getDepth() * op.getGroupCount() / gfx950::kMfmaK / op.getSplitK();
  return kRegistersOfTile * rowTiles * stepsInFlight(std::max<int64_t>(steps, 1), rowTiles);
}

int64_t registersOf(RankedTensorType type, int64_t threads) {
  Distribution d(type, threads);
  int64_t bits = elementInLds(type.getElementType()).getIntOrFloatBitWidth();
  return d.chunks * llvm::divideCeil(d.width * bits, 32);
}

/// Registers a thread needs for a value; none for scalars, and for tensors of one number.
static int64_t registersOf(Value value, int64_t threads) {
  if (auto stream = value.getDefiningOp<StreamOp>())
    return registersInFlight(stream, threads);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || !op || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, tensor::SplatOp>(op))
    return 0;
  return registersOf(type, threads);
}

/// True if a value of the stage is used by `op` or one behind it.
static bool isUsedFrom(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBody = op->getBlock()->findAncestorOpInBlock(*user);
    return inBody && (inBody == op || op->isBeforeInBlock(inBody));
  });
}

SmallVector<int64_t> registersByOp(StageOp stage) {
  int64_t threads = stage->getParentOfType<ScheduleOp>().getThreads();
  SmallVector<int64_t> held;
  SmallVector<Value> living;
  for (Operation &op : stage.getBody().front()) {
    llvm::erase_if(living, [&](Value value) { return !isUsedFrom(&op, value); });
    llvm::append_range(living, op.getResults());
    int64_t registers = 0;
    if (auto contract = dyn_cast<ContractOp>(op))
      registers =
          kRegistersOfTile * rowTilesOf(contract.getWeights().getDefiningOp<StreamOp>(), threads);
    for (Value value : living)
      registers += registersOf(value, threads);
    held.push_back(registers);
  }
  return held;
}

RegisterDemand largestRegisterDemand(ScheduleOp schedule) {
  RegisterDemand most{schedule.getLoc()};
  for (auto stage : schedule.getBody().front().getOps<StageOp>()) {
    LoadsAhead ahead(stage);
    for (auto [op, registers] : llvm::zip_equal(stage.getBody().front(), ahead.registers()))
      if (registers > most.registers)
        most = {op.getLoc(), stage.getName().str(), registers};
  }
  return most;
}

} // namespace mono
