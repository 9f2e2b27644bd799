// The plan of loads that do not stand behind waits they do not need.
#include "lowering/Device/LoadsAhead.h"

#include "dialect/Describe.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Device/Pressure.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

SmallVector<Operation *> producersInStage(Operation *op) {
  llvm::SmallSetVector<Operation *, 4> producers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock())
        producers.insert(producer);
  });
  return producers.takeVector();
}

bool hasTwoHalves(Operation *load) {
  auto gather = dyn_cast<GatherOp>(load);
  return gather && (gather.getFresh() || gather.getRegion());
}

/// The operand that `op` loads from, where loads of it may pass a wait; null of other ops.
static OperandOp loadedOperand(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  auto load = dyn_cast<LoadOp>(op);
  if (!gather && !load)
    return {};
  auto operand = (gather ? gather.getSource() : load.getSource()).getDefiningOp<OperandOp>();
  bool isSafe = operand && (operand.getAccess() == Access::Read || (gather && gather.getFresh()));
  return isSafe ? operand : OperandOp();
}

/// What a load brings.
static RankedTensorType typeOf(Operation *load) {
  if (load->getNumResults())
    return cast<RankedTensorType>(load->getResult(0).getType());
  auto gather = cast<GatherOp>(load);
  Declared source = *declaredBy(gather.getSource());
  int64_t count = cast<RankedTensorType>(gather.getRows().getType()).getNumElements();
  return RankedTensorType::get({count, source.shape.back()}, source.element);
}

LoadsAhead::LoadsAhead(StageOp stage)
    : threads(stage->getParentOfType<ScheduleOp>().getThreads()), held(registersByOp(stage)) {
  SmallVector<Operation *> waits;
  for (auto [index, op] : llvm::enumerate(stage.getBody().front())) {
    number[&op] = index;
    if (isa<ReceiveOp, ReceiveRowsOp>(op))
      waits.push_back(&op);
    if (!loadedOperand(&op))
      continue;
    auto wait =
        llvm::find_if(waits, [&](Operation *w) { return mayPass(&op, w) && reserve(&op, w); });
    if (wait == waits.end())
      continue;
    places[&op] = *wait;
    loads[*wait].push_back(&op);
  }
}

ArrayRef<Operation *> LoadsAhead::inFrontOf(Operation *wait) const {
  auto found = loads.find(wait);
  return found == loads.end() ? ArrayRef<Operation *>() : found->second;
}

Operation *LoadsAhead::placeOf(Operation *op) const {
  Operation *wait = places.lookup(op);
  return wait ? wait : op;
}

/// Remembered, since an op whose result is used twice is asked for twice by each use behind it. The
/// answer stays: it rests on ops in front of the load that is planned.
bool LoadsAhead::isKnown(Operation *op, Operation *wait) {
  auto asked = known.find({op, wait});
  return asked != known.end() ? asked->second : known[{op, wait}] = canBeKnown(op, wait);
}

bool LoadsAhead::canBeKnown(Operation *op, Operation *wait) {
  if (op->isBeforeInBlock(wait))
    return true;
  if (Operation *place = places.lookup(op))
    return !hasTwoHalves(op) && (place == wait || place->isBeforeInBlock(wait));
  // What needs LDS of its own stays where that is its own.
  return isMemoryEffectFree(op) && scratchBytes(op) == 0 &&
         llvm::all_of(producersInStage(op),
                      [&](Operation *producer) { return isKnown(producer, wait); });
}

bool LoadsAhead::mayPass(Operation *load, Operation *wait) {
  Value memory = loadedOperand(load).getResult();
  for (Operation *op = wait; op != load; op = op->getNextNode()) {
    auto store = dyn_cast<StoreOp>(op);
    auto scatter = dyn_cast<ScatterOp>(op);
    if ((store && store.getTarget() == memory) || (scatter && scatter.getTarget() == memory))
      return false;
  }
  return llvm::all_of(producersInStage(load),
                      [&](Operation *producer) { return isKnown(producer, wait); });
}

bool LoadsAhead::reserve(Operation *load, Operation *wait) {
  int64_t wavesPerSimd = llvm::divideCeil(threads, gfx950::kWaveSize * gfx950::kSimdsPerCu);
  int64_t room = gfx950::kRegistersPerLane / wavesPerSimd / 2;
  int64_t registers = registersOf(typeOf(load), threads);
  MutableArrayRef<int64_t> passed(held);
  passed = passed.slice(number.lookup(wait), number.lookup(load) - number.lookup(wait));
  if (llvm::any_of(passed, [&](int64_t others) { return others + registers > room; }))
    return false;
  for (int64_t &others : passed)
    others += registers;
  return true;
}

} // namespace mono
