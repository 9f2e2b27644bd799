// The changes.
#include "test/mutation/Legal.h"

#include "lowering/Check/Boxes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono::test {
namespace {

/// Offsets of an op that are affine in arguments: the name of the attribute, and the arguments.
struct Offsets {
  StringRef attribute;
  MutableOperandRange args;
};

SmallVector<Offsets> offsetsOf(Operation *op) {
  using List = SmallVector<Offsets>;
  return llvm::TypeSwitch<Operation *, List>(op)
      .Case<LoadOp, StoreOp, ScatterOp, StreamOp, ContractOp, PostOp, ReceiveOp>(
          [](auto o) { return List{{"offsets", o.getOffsetArgsMutable()}}; })
      .Case<ProductOp>([](ProductOp o) {
        return List{{"a_offsets", o.getAOffsetArgsMutable()},
                    {"b_offsets", o.getBOffsetArgsMutable()}};
      })
      .Default([](Operation *) { return List(); });
}

AffineMap mapOf(Operation *op, StringRef attribute) {
  return op->getAttrOfType<AffineMapAttr>(attribute).getAffineMap();
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

/// Lets the offsets count from `first` wherever they count the task.
void shiftTask(Operation *op, const Offsets &offsets, Value task, int64_t first) {
  AffineMap map = mapOf(op, offsets.attribute);
  SmallVector<AffineExpr> dims, symbols;
  for (auto [index, arg] : llvm::enumerate(OperandRange(offsets.args))) {
    bool isDim = index < map.getNumDims();
    AffineExpr expr = isDim ? getAffineDimExpr(index, op->getContext())
                            : getAffineSymbolExpr(index - map.getNumDims(), op->getContext());
    (isDim ? dims : symbols).push_back(arg == task ? expr + first : expr);
  }
  op->setAttr(offsets.attribute, AffineMapAttr::get(map.replaceDimsAndSymbols(
                                     dims, symbols, map.getNumDims(), map.getNumSymbols())));
}

void setConstant(StageOp stage, StringRef attribute, int64_t value) {
  stage->setAttr(attribute,
                 AffineMapAttr::get(AffineMap::getConstantMap(value, stage.getContext())));
}

/// Cuts a stage in front of task `first`.
void split(StageOp stage, int64_t first) {
  OpBuilder builder(stage);
  builder.setInsertionPointAfter(stage);
  auto rest = cast<StageOp>(builder.clone(*stage));
  int64_t ctas = stage->getParentOfType<ScheduleOp>().getCtas();
  rest.setName((stage.getName() + ".rest").str());
  setConstant(rest, "tasks", taskCount(stage) - first);
  setConstant(rest, "base", (baseOf(stage) + first) % ctas);
  setConstant(stage, "tasks", first);

  Value task = rest.getBody().getArgument(0);
  llvm::SmallPtrSet<OpOperand *, 16> inOffsets;
  rest.getBody().walk([&](Operation *op) {
    for (const Offsets &offsets : offsetsOf(op)) {
      shiftTask(op, offsets, task, first);
      for (OpOperand &use : MutableOperandRange(offsets.args))
        inOffsets.insert(&use);
    }
  });
  builder.setInsertionPointToStart(&rest.getBody().front());
  Value constant = arith::ConstantIndexOp::create(builder, rest.getLoc(), first);
  Value shifted = arith::AddIOp::create(builder, rest.getLoc(), task, constant);
  task.replaceUsesWithIf(shifted, [&](OpOperand &use) {
    return use.getOwner() != shifted.getDefiningOp() && !inOffsets.contains(&use);
  });
}

//===----------------------------------------------------------------------===//
// Widening
//===----------------------------------------------------------------------===//

/// Moves the box of a post or receive to the part of its rank: `size` further on axis 0 for each.
void moveToPartOfRank(Operation *op, Value rank, int64_t size) {
  Offsets offsets = offsetsOf(op).front();
  AffineMap map = mapOf(op, offsets.attribute);
  SmallVector<AffineExpr> exprs(map.getResults());
  exprs.front() = exprs.front() + getAffineSymbolExpr(map.getNumSymbols(), op->getContext()) * size;
  op->setAttr(offsets.attribute,
              AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols() + 1, exprs,
                                                op->getContext())));
  offsets.args.append(rank);
}

/// False if the mailbox has to stay as it is.
bool widen(MailboxOp mailbox, int64_t ranks, Value rank) {
  SmallVector<Operation *> users(mailbox->getUsers());
  if (mailbox.getScope() == Scope::Peers ||
      !llvm::all_of(users, [](Operation *user) { return isa<PostOp, ReceiveOp>(user); }))
    return false;
  mailbox.setScope(Scope::Peers);
  if (ranks == 1)
    return true;
  SmallVector<AffineExpr> shape(mailbox.getShape().getResults());
  int64_t size = cast<AffineConstantExpr>(shape.front()).getValue();
  shape.front() = shape.front() * ranks;
  mailbox.setShape(AffineMap::get(0, 0, shape, mailbox.getContext()));
  for (Operation *user : users)
    moveToPartOfRank(user, rank, size);
  return true;
}

//===----------------------------------------------------------------------===//
// Reordering
//===----------------------------------------------------------------------===//

/// What a stage touches, but for operands that are only read.
llvm::SetVector<Value> sharedMemories(StageOp stage) {
  llvm::SetVector<Value> memories;
  stage.getBody().walk([&](Operation *op) {
    for (Value value : op->getOperands()) {
      auto operand = value.getDefiningOp<OperandOp>();
      if (isa<BufferType, MailboxType>(value.getType()) &&
          !(operand && operand.getAccess() == Access::Read))
        memories.insert(value);
    }
  });
  return memories;
}

/// Whether a stage has an op of those kinds on a mailbox.
template <typename... Ops> bool has(StageOp stage, Value mailbox) {
  return llvm::any_of(mailbox.getUsers(), [&](Operation *user) {
    return isa<Ops...>(user) && user->getParentOfType<StageOp>() == stage;
  });
}

/// Whether two stages touch a memory that one of them changes; receiving leaves a mailbox as it is.
bool disagree(StageOp first, StageOp second) {
  llvm::SetVector<Value> ofSecond = sharedMemories(second);
  return llvm::any_of(sharedMemories(first), [&](Value memory) {
    bool readOnly = isa<MailboxType>(memory.getType()) && !has<PostOp>(first, memory) &&
                    !has<PostOp>(second, memory);
    return ofSecond.contains(memory) && !readOnly;
  });
}

bool isPeers(Value memory) {
  auto mailbox = memory.getDefiningOp<MailboxOp>();
  return mailbox && mailbox.getScope() == Scope::Peers;
}

/// Whether all words the stage waits for are posted by itself or by stages before it.
bool waitsForEarlierStages(StageOp stage) {
  for (Value memory : sharedMemories(stage))
    for (Operation *user : memory.getUsers()) {
      auto poster = isa<PostOp>(user) ? user->getParentOfType<StageOp>() : StageOp();
      if (poster && has<ReceiveOp, ReceiveRowsOp>(stage, memory) && stage->isBeforeInBlock(poster))
        return false;
    }
  return true;
}

/// Whether a stage has no region that other stages use, whose life another order could stretch
/// until the LDS is full.
bool hasOwnRegionsOnly(StageOp stage) {
  return llvm::all_of(sharedMemories(stage), [&](Value memory) {
    return !memory.getDefiningOp<RegionOp>() ||
           llvm::all_of(memory.getUsers(),
                        [&](Operation *user) { return user->getParentOfType<StageOp>() == stage; });
  });
}

} // namespace

void rename(ScheduleOp schedule) {
  int64_t number = 0;
  for (Operation &op : schedule.getBody().front())
    if (isa<StageOp, MailboxOp, RegionOp>(op))
      op.setAttr("name", StringAttr::get(op.getContext(), "n" + Twine(number++)));
}

void addSlots(ScheduleOp schedule) {
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>())
    mailbox.setSlots(mailbox.getSlots() + 1);
}

int64_t widenScopes(ScheduleOp schedule) {
  Block &body = schedule.getBody().front();
  auto ranks = body.getOps<RanksOp>();
  Value rank = ranks.empty() ? Value() : (*ranks.begin()).getRank();
  return llvm::count_if(body.getOps<MailboxOp>(), [&](MailboxOp mailbox) {
    return widen(mailbox, rankCount(schedule), rank);
  });
}

int64_t splitStages(ScheduleOp schedule) {
  int64_t count = 0;
  for (StageOp stage : llvm::make_early_inc_range(schedule.getBody().front().getOps<StageOp>())) {
    if (taskCount(stage) < 2)
      continue;
    split(stage, taskCount(stage) / 2);
    ++count;
  }
  return count;
}

SmallVector<std::pair<StageOp, StageOp>> independentNeighbours(ScheduleOp schedule) {
  SmallVector<std::pair<StageOp, StageOp>> pairs;
  SmallVector<StageOp> stages(schedule.getBody().front().getOps<StageOp>());
  // Where a stage waits for a later one, what a stage depends on can't be seen from its mailboxes.
  if (!llvm::all_of(stages, waitsForEarlierStages))
    return pairs;
  for (auto [first, second] : llvm::zip(stages, llvm::drop_begin(stages))) {
    // Slots of peers may lean on the order of stages.
    bool local = llvm::none_of(sharedMemories(first), isPeers) &&
                 llvm::none_of(sharedMemories(second), isPeers);
    if (local && hasOwnRegionsOnly(first) && hasOwnRegionsOnly(second) && !disagree(first, second))
      pairs.push_back({first, second});
  }
  return pairs;
}

} // namespace mono::test
