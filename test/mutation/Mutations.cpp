// The mistakes.
#include "test/mutation/Mutations.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono::test {
namespace {

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

int64_t pick(Random &random, int64_t count) { return random() % count; }

template <typename T> std::optional<T> pick(Random &random, ArrayRef<T> list) {
  if (list.empty())
    return std::nullopt;
  return list[pick(random, int64_t(list.size()))];
}

template <typename Op> std::optional<Op> pickOp(ScheduleOp schedule, Random &random) {
  SmallVector<Op> ops;
  schedule.walk([&](Op op) { ops.push_back(op); });
  return pick<Op>(random, ops);
}

/// An op that touches memory at an offset.
std::optional<Operation *> pickAccess(ScheduleOp schedule, Random &random) {
  SmallVector<Operation *> ops;
  schedule.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, ScatterOp, StreamOp, ContractOp, PostOp, ReceiveOp>(op))
      ops.push_back(op);
  });
  return pick<Operation *>(random, ops);
}

std::string nameOf(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto name = op->getAttrOfType<StringAttr>("name"))
    text += " '" + name.str() + "'";
  if (auto stage = op->getParentOfType<StageOp>())
    text += " in '" + stage.getName().str() + "'";
  return text;
}

std::string change(Operation *op, StringRef what, int64_t from, int64_t to) {
  return (what + " of " + nameOf(op) + ": " + Twine(from) + " -> " + Twine(to)).str();
}

//===----------------------------------------------------------------------===//
// Posts and waits
//===----------------------------------------------------------------------===//

std::optional<std::string> dropPost(ScheduleOp schedule, Random &random) {
  auto post = pickOp<PostOp>(schedule, random);
  if (!post)
    return std::nullopt;
  std::string text = "dropped " + nameOf(*post);
  post->erase();
  return text;
}

std::optional<std::string> dropWait(ScheduleOp schedule, Random &random) {
  auto receive = pickOp<ReceiveOp>(schedule, random);
  if (!receive)
    return std::nullopt;
  std::string text = "dropped " + nameOf(*receive);
  if (Value result = receive->getResult()) {
    OpBuilder builder(*receive);
    auto type = cast<RankedTensorType>(result.getType());
    auto zero = cast<TypedAttr>(builder.getZeroAttr(type));
    result.replaceAllUsesWith(arith::ConstantOp::create(builder, receive->getLoc(), zero));
  }
  receive->erase();
  return text;
}

std::optional<std::string> repeatPost(ScheduleOp schedule, Random &random) {
  auto post = pickOp<PostOp>(schedule, random);
  if (!post)
    return std::nullopt;
  (*post)->getBlock()->getOperations().insertAfter(post->getOperation()->getIterator(),
                                                   post->getOperation()->clone());
  return "repeated " + nameOf(*post);
}

/// A wait for one rank or row more, or less.
std::optional<std::string> resizeSum(ScheduleOp schedule, Random &random) {
  auto receive = pickOp<ReceiveOp>(schedule, random);
  if (!receive || !receive->getSum())
    return std::nullopt;
  SmallVector<AffineExpr> sizes(receive->getSizes().getResults());
  int64_t from = receive->getStaticSizes().front(), to = from + (pick(random, 2) ? 1 : -1);
  sizes.front() = getAffineConstantExpr(to, schedule.getContext());
  receive->setSizes(AffineMap::get(0, 0, sizes, schedule.getContext()));
  return change(*receive, "terms", from, to);
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

AffineMap offsetsOf(Operation *op) {
  return cast<AffineMapAttr>(op->getAttr("offsets")).getAffineMap();
}

MutableOperandRange offsetArgs(Operation *op) {
  return llvm::TypeSwitch<Operation *, MutableOperandRange>(op)
      .Case<LoadOp, StoreOp, ScatterOp, StreamOp, ContractOp, PostOp, ReceiveOp>(
          [](auto o) { return o.getOffsetArgsMutable(); });
}

std::string text(AffineMap map) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(map.getResults(), os);
  return "[" + result + "]";
}

std::optional<std::string>
changeOffset(ScheduleOp schedule, Random &random,
             llvm::function_ref<AffineExpr(AffineExpr, Random &)> rewrite) {
  auto op = pickAccess(schedule, random);
  if (!op)
    return std::nullopt;
  AffineMap map = offsetsOf(*op);
  SmallVector<AffineExpr> exprs(map.getResults());
  AffineExpr &expr = exprs[pick(random, int64_t(exprs.size()))];
  expr = rewrite(expr, random);
  AffineMap changed =
      AffineMap::get(map.getNumDims(), map.getNumSymbols(), exprs, map.getContext());
  (*op)->setAttr("offsets", AffineMapAttr::get(changed));
  return "offsets of " + nameOf(*op) + ": " + text(map) + " -> " + text(changed);
}

std::optional<std::string> shiftOffset(ScheduleOp schedule, Random &random) {
  return changeOffset(schedule, random, [](AffineExpr expr, Random &random) {
    static constexpr int64_t steps[] = {1, 2, 8, 16, 32, 64, 128};
    int64_t step = steps[pick(random, std::size(steps))];
    return expr + (pick(random, 2) ? step : -step);
  });
}

std::optional<std::string> scaleOffset(ScheduleOp schedule, Random &random) {
  return changeOffset(schedule, random, [](AffineExpr expr, Random &random) {
    switch (pick(random, 4)) {
    case 0:
      return expr * 2;
    case 1:
      return expr.floorDiv(2);
    case 2:
      return (expr + 1) % 2;
    default:
      return (expr + 1) % 3;
    }
  });
}

/// The rank or the task of an offset becomes a constant.
std::optional<std::string> fixOffset(ScheduleOp schedule, Random &random) {
  auto op = pickAccess(schedule, random);
  if (!op)
    return std::nullopt;
  AffineMap map = offsetsOf(*op);
  MutableOperandRange args = offsetArgs(*op);
  if (args.empty())
    return std::nullopt;
  SmallVector<Attribute> constants(args.size());
  constants[pick(random, int64_t(args.size()))] = Builder(schedule).getIndexAttr(pick(random, 2));
  SmallVector<unsigned> kept;
  AffineMap changed = bindConstants(map, constants, kept);
  SmallVector<Value> rest;
  for (unsigned index : kept)
    rest.push_back(args[index].get());
  args.assign(rest);
  (*op)->setAttr("offsets", AffineMapAttr::get(changed));
  return "offsets of " + nameOf(*op) + ": " + text(map) + " -> " + text(changed);
}

/// The rank where the task was meant, or the other way round.
std::optional<std::string> swapTaskAndRank(ScheduleOp schedule, Random &random) {
  auto op = pickAccess(schedule, random);
  auto ranks = pickOp<RanksOp>(schedule, random);
  if (!op || !ranks)
    return std::nullopt;
  MutableOperandRange args = offsetArgs(*op);
  if (args.empty())
    return std::nullopt;
  Value task = (*op)->getParentOfType<StageOp>().getBody().getArgument(0);
  OpOperand &arg = args[pick(random, int64_t(args.size()))];
  bool wasTask = arg.get() == task;
  arg.set(wasTask ? ranks->getRank() : task);
  return (wasTask ? "rank for task in " : "task for rank in ") + nameOf(*op);
}

/// Each rank takes the parts of a collective, or the ranks it speaks to, in another order: one that
/// begins with its own number, or the opposite one.
std::optional<std::string> reorderCollective(ScheduleOp schedule, Random &random) {
  auto ranks = pickOp<RanksOp>(schedule, random);
  if (!ranks)
    return std::nullopt;
  SmallVector<Operation *> ops;
  schedule.walk([&](Operation *op) {
    if (!isa<PostOp, ReceiveOp>(op))
      return;
    auto mailbox = op->getOperand(isa<PostOp>(op) ? 1 : 0).getDefiningOp<MailboxOp>();
    if (mailbox && mailbox.getScope() == Scope::Peers && !offsetArgs(op).empty())
      ops.push_back(op);
  });
  auto op = pick<Operation *>(random, ops);
  if (!op)
    return std::nullopt;
  MutableOperandRange args = offsetArgs(*op);
  unsigned index = pick(random, int64_t(args.size()));
  bool isRank = args[index].get() == ranks->getRank();
  int64_t count =
      staticValues(isRank ? ranks->getCount() : (*op)->getParentOfType<StageOp>().getTasks())
          .front();

  AffineMap map = offsetsOf(*op);
  MLIRContext *context = map.getContext();
  AffineExpr turn = getAffineSymbolExpr(map.getNumSymbols(), context); // the rank
  bool backwards = pick(random, 2);
  auto reordered = [&](AffineExpr expr) {
    return backwards ? count - 1 - expr
                     : (expr + (isRank ? getAffineConstantExpr(1, context) : turn)) % count;
  };
  SmallVector<AffineExpr> dims, symbols;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    dims.push_back(i == index ? reordered(getAffineDimExpr(i, context))
                              : getAffineDimExpr(i, context));
  for (unsigned i = 0; i < map.getNumSymbols(); ++i) {
    AffineExpr expr = getAffineSymbolExpr(i, context);
    symbols.push_back(map.getNumDims() + i == index ? reordered(expr) : expr);
  }
  AffineMap changed =
      map.replaceDimsAndSymbols(dims, symbols, map.getNumDims(), map.getNumSymbols() + 1);
  args.append(ranks->getRank());
  (*op)->setAttr("offsets", AffineMapAttr::get(changed));
  return "order of " + nameOf(*op) + ": " + text(map) + " -> " + text(changed);
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

std::optional<std::string> changeSlots(ScheduleOp schedule, Random &random) {
  auto mailbox = pickOp<MailboxOp>(schedule, random);
  if (!mailbox)
    return std::nullopt;
  int64_t from = mailbox->getSlots(), to = 1 + pick(random, 4);
  if (to == from)
    return std::nullopt;
  mailbox->setSlots(to);
  return change(*mailbox, "slots", from, to);
}

std::optional<std::string> changeScope(ScheduleOp schedule, Random &random) {
  auto mailbox = pickOp<MailboxOp>(schedule, random);
  if (!mailbox)
    return std::nullopt;
  Scope to = mailbox->getScope() == Scope::Peers ? Scope::Device : Scope::Peers;
  mailbox->setScope(to);
  return ("scope of " + nameOf(*mailbox) + ": " + stringifyScope(to)).str();
}

std::optional<std::string> changeShape(ScheduleOp schedule, Random &random) {
  SmallVector<Operation *> ops;
  schedule.walk([&](Operation *op) {
    if (isa<OperandOp, MailboxOp, RegionOp>(op))
      ops.push_back(op);
  });
  auto op = pick<Operation *>(random, ops);
  if (!op)
    return std::nullopt;
  SmallVector<int64_t> shape = declaredBy((*op)->getResult(0))->shape;
  int64_t axis = pick(random, int64_t(shape.size()));
  int64_t from = shape[axis];
  static constexpr int64_t steps[] = {-64, -32, -16, -2, -1, 1, 2, 16, 32, 64};
  shape[axis] += steps[pick(random, std::size(steps))];
  SmallVector<AffineExpr> exprs = llvm::map_to_vector(
      shape, [&](int64_t size) { return getAffineConstantExpr(size, schedule.getContext()); });
  (*op)->setAttr("shape", AffineMapAttr::get(AffineMap::get(0, 0, exprs, schedule.getContext())));
  return change(*op, "axis " + std::to_string(axis), from, shape[axis]);
}

std::optional<std::string> moveRegion(ScheduleOp schedule, Random &random) {
  auto region = pickOp<RegionOp>(schedule, random);
  if (!region)
    return std::nullopt;
  int64_t offset = 16 * pick(random, 1024) + (pick(random, 8) == 0 ? 8 : 0);
  region->setOffset(offset);
  return nameOf(*region) + " at " + std::to_string(offset);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

std::optional<std::string> swapStages(ScheduleOp schedule, Random &random) {
  auto a = pickOp<StageOp>(schedule, random), b = pickOp<StageOp>(schedule, random);
  if (!a || *a == *b)
    return std::nullopt;
  (*a)->moveBefore(*b);
  return nameOf(*a) + " in front of " + nameOf(*b);
}

/// Sets an attribute of one constant, `tasks` or `base`.
std::string setStage(StageOp stage, StringRef what, int64_t from, int64_t to) {
  stage->setAttr(what, AffineMapAttr::get(AffineMap::getConstantMap(to, stage.getContext())));
  return change(stage, what, from, to);
}

std::optional<std::string> changeBase(ScheduleOp schedule, Random &random) {
  auto stage = pickOp<StageOp>(schedule, random);
  if (!stage)
    return std::nullopt;
  return setStage(*stage, "base", staticValues(stage->getBase()).front(),
                  pick(random, schedule.getCtas()));
}

std::optional<std::string> changeTasks(ScheduleOp schedule, Random &random) {
  auto stage = pickOp<StageOp>(schedule, random);
  if (!stage)
    return std::nullopt;
  int64_t from = staticValues(stage->getTasks()).front();
  int64_t to[] = {from - 1, from + 1, from * 2, from / 2};
  return setStage(*stage, "tasks", from, to[pick(random, 4)]);
}

/// Another number of workgroups: tasks come to lie on other ones.
std::optional<std::string> changeGrid(ScheduleOp schedule, Random &random) {
  int64_t from = schedule.getCtas(), to = 1 + pick(random, 2 * from);
  schedule.setCtas(to);
  return change(schedule, "workgroups", from, to);
}

/// More or fewer threads: tensors come to lie in other registers.
std::optional<std::string> changeThreads(ScheduleOp schedule, Random &random) {
  int64_t from = schedule.getThreads(), to = 64 * (1 + pick(random, 8));
  schedule.setThreads(to);
  return change(schedule, "threads", from, to);
}

std::optional<std::string> moveOp(ScheduleOp schedule, Random &random) {
  auto op = pickAccess(schedule, random);
  if (!op)
    return std::nullopt;
  SmallVector<Operation *> others;
  for (Operation &other : *(*op)->getBlock())
    if (&other != *op)
      others.push_back(&other);
  auto target = pick<Operation *>(random, others);
  if (!target)
    return std::nullopt;
  (*op)->moveBefore(*target);
  return nameOf(*op) + " in front of " + nameOf(*target);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// Other data says which rows an op is about: an earlier tensor of as many indices.
std::optional<std::string> exchangeRows(ScheduleOp schedule, Random &random) {
  SmallVector<OpOperand *> uses;
  schedule.walk([&](Operation *op) {
    if (!isa<GatherOp, ScatterOp, ReceiveRowsOp, DistinctOp>(op))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (type && type.getElementType().isInteger(32))
        uses.push_back(&operand);
    }
  });
  auto use = pick<OpOperand *>(random, uses);
  if (!use)
    return std::nullopt;
  Operation *op = (*use)->getOwner();
  SmallVector<Value> others;
  for (Operation &earlier : llvm::make_range(op->getBlock()->begin(), op->getIterator()))
    for (Value result : earlier.getResults())
      if (result.getType() == (*use)->get().getType() && result != (*use)->get())
        others.push_back(result);
  auto other = pick<Value>(random, others);
  if (!other)
    return std::nullopt;
  (*use)->set(*other);
  return "rows of " + nameOf(op) + " from " + nameOf(other->getDefiningOp());
}

struct Mutation {
  StringRef name;
  std::optional<std::string> (*make)(ScheduleOp, Random &);
};

constexpr Mutation mutations[] = {
    {"post dropped", dropPost},
    {"wait dropped", dropWait},
    {"post repeated", repeatPost},
    {"terms of a sum changed", resizeSum},
    {"range shifted", shiftOffset},
    {"range scaled", scaleOffset},
    {"range fixed", fixOffset},
    {"task and rank exchanged", swapTaskAndRank},
    {"collective of a rank reordered", reorderCollective},
    {"slots changed", changeSlots},
    {"scope changed", changeScope},
    {"shape changed", changeShape},
    {"region moved", moveRegion},
    {"stages swapped", swapStages},
    {"base of a stage changed", changeBase},
    {"tasks changed", changeTasks},
    {"workgroups changed", changeGrid},
    {"threads changed", changeThreads},
    {"op moved", moveOp},
    {"rows exchanged", exchangeRows},
};

} // namespace

size_t mutationKinds() { return std::size(mutations); }

StringRef mutationName(size_t kind) { return mutations[kind].name; }

std::optional<std::string> mutate(ScheduleOp schedule, size_t kind, Random &random) {
  return mutations[kind].make(schedule, random);
}

} // namespace mono::test
