// Evaluation of offsets for a task and rank, and walking of boxes.
#include "lowering/Check/Boxes.h"
#include "lowering/IndexRange.h"
#include "lowering/Rules.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;

namespace mono {

int64_t rankCount(ScheduleOp schedule) {
  auto ranks = schedule.getBody().front().getOps<RanksOp>();
  return ranks.empty() ? 1 : staticValues((*ranks.begin()).getCount()).front();
}

int64_t taskCount(StageOp stage) { return staticValues(stage.getTasks()).front(); }

int64_t baseOf(StageOp stage) { return staticValues(stage.getBase()).front(); }

int64_t slotTurn(ScheduleOp schedule) {
  int64_t turn = 1;
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>())
    if (mailbox.getScope() == Scope::Peers && turn <= kMaxIndex)
      turn = std::lcm(turn, int64_t(mailbox.getSlots())); // below 64 * 2^31
  return turn;
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> MemoryAccess::offsetsOf(int64_t task, int64_t rank,
                                                            AffineExpr *stuck) const {
  auto args = llvm::map_to_vector(argIsTask,
                                  [&](bool isTask) { return std::optional(isTask ? task : rank); });
  ExprValues values{ArrayRef(args).take_front(offsets.getNumDims()),
                    ArrayRef(args).drop_front(offsets.getNumDims()), kMaxIndex};
  SmallVector<int64_t> result;
  for (AffineExpr expr : offsets.getResults()) {
    std::optional<int64_t> value = values.of(expr);
    if (!value) {
      if (stuck)
        *stuck = values.stuck;
      return std::nullopt;
    }
    result.push_back(*value);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

namespace {

/// What an op touches, before its offsets are looked at.
struct Raw {
  Value memory;
  bool writes;
  AffineMap offsets;
  ValueRange args;
  SmallVector<int64_t> sizes;
};

/// The box a store or post fills: the tensor's shape behind ones.
SmallVector<int64_t> writtenBox(Value value, AffineMap offsets) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> sizes(offsets.getNumResults() - shape.size(), 1);
  llvm::append_range(sizes, shape);
  return sizes;
}

SmallVector<Raw, 2> rawAccesses(Operation *op) {
  using List = SmallVector<Raw, 2>;
  return llvm::TypeSwitch<Operation *, List>(op)
      .Case<LoadOp, StreamOp, ContractOp, ReceiveOp>([](auto o) {
        return List{
            Raw{o.getSource(), false, o.getOffsets(), o.getOffsetArgs(), o.getStaticSizes()}};
      })
      .Case<ProductOp>([](ProductOp o) {
        return List{Raw{o.getA(), false, o.getAOffsets(), o.getAOffsetArgs(), o.getStaticASizes()},
                    Raw{o.getB(), false, o.getBOffsets(), o.getBOffsetArgs(), o.getStaticBSizes()}};
      })
      .Case<StoreOp>([](StoreOp o) {
        return List{Raw{o.getTarget(), true, o.getOffsets(), o.getOffsetArgs(),
                        writtenBox(o.getValue(), o.getOffsets())}};
      })
      .Case<PostOp>([](PostOp o) {
        return List{Raw{o.getMailbox(), true, o.getOffsets(), o.getOffsetArgs(),
                        writtenBox(o.getValue(), o.getOffsets())}};
      })
      .Default([](Operation *) { return List(); });
}

/// An access to all of a memory.
Raw wholeAccess(Value memory, bool writes) {
  SmallVector<int64_t> shape = declaredBy(memory)->shape;
  SmallVector<AffineExpr> zeros(shape.size(), getAffineConstantExpr(0, memory.getContext()));
  return {memory, writes, AffineMap::get(0, 0, zeros, memory.getContext()), {}, shape};
}

/// The columns a scatter writes, of the first row: which rows is known at run time only.
Raw scatteredColumns(ScatterOp op) {
  SmallVector<int64_t> sizes(declaredBy(op.getTarget())->shape.size(), 1);
  sizes.back() = cast<RankedTensorType>(op.getValue().getType()).getShape().back();
  SmallVector<AffineExpr> exprs(sizes.size(), getAffineConstantExpr(0, op.getContext()));
  AffineMap column = op.getOffsets();
  exprs.back() = column.getResult(0);
  return {op.getTarget(), true,
          AffineMap::get(column.getNumDims(), column.getNumSymbols(), exprs, op.getContext()),
          op.getOffsetArgs(), sizes};
}

/// The scales of the activations that a contraction takes as codes.
Raw scalesOf(ContractOp op) {
  int64_t columns = op.getDepthGrain();
  AffineMap offsets = op.getOffsets();
  SmallVector<int64_t> sizes = op.getStaticSizes();
  return {op.getScales(),
          false,
          AffineMap::get(offsets.getNumDims(), offsets.getNumSymbols(),
                         {offsets.getResult(0), offsets.getResult(1).floorDiv(columns)},
                         op.getContext()),
          op.getOffsetArgs(),
          {sizes[0], sizes[1] / columns}};
}

/// What an op touches besides the box it names: the region after `into`, and whatever rows that are
/// known at run time only may name. The scales of a stream are an operand that nobody writes.
SmallVector<Raw> furtherAccesses(Operation *op) {
  SmallVector<Raw> result;
  llvm::TypeSwitch<Operation *>(op)
      .Case<ReceiveOp>([&](ReceiveOp o) {
        if (o.getRegion())
          result.push_back(wholeAccess(o.getRegion(), /*writes=*/true));
      })
      .Case<ReceiveRowsOp>([&](ReceiveRowsOp o) {
        result.push_back(wholeAccess(o.getSource(), /*writes=*/false));
        result.push_back(wholeAccess(o.getRegion(), /*writes=*/true));
      })
      .Case<ContractOp>([&](ContractOp o) {
        if (o.getScales())
          result.push_back(scalesOf(o));
      })
      .Case<ScatterOp>([&](ScatterOp o) { result.push_back(scatteredColumns(o)); })
      .Case<GatherOp>([&](GatherOp o) {
        result.push_back(wholeAccess(o.getSource(), /*writes=*/false));
        if (o.getFresh())
          result.push_back(wholeAccess(o.getFresh(), /*writes=*/false));
        if (o.getRegion())
          result.push_back(wholeAccess(o.getRegion(), /*writes=*/true));
      });
  return result;
}

} // namespace

/// Adds the accesses of one stage.
static LogicalResult collectStage(StageOp stage, int64_t stageIndex,
                                  std::vector<MemoryAccess> &accesses) {
  int64_t ctas = stage->getParentOfType<ScheduleOp>().getCtas(), base = baseOf(stage),
          tasks = taskCount(stage);
  for (auto [opIndex, op] : llvm::enumerate(stage.getBody().front())) {
    SmallVector<Raw> touched(rawAccesses(&op));
    llvm::append_range(touched, furtherAccesses(&op));
    for (const Raw &raw : touched) {
      if (llvm::is_contained(raw.sizes, ShapedType::kDynamic))
        return op.emitError() << "expected sizes that parameters decide";
      MemoryAccess access{&op,
                          stage,
                          stageIndex,
                          int64_t(opIndex),
                          tasks,
                          base,
                          ctas,
                          raw.memory,
                          raw.writes,
                          raw.offsets,
                          {},
                          raw.sizes,
                          declaredBy(raw.memory)->shape};
      for (Value arg : raw.args) {
        bool isTask = isa<BlockArgument>(arg);
        if (!isTask && !arg.getDefiningOp<RanksOp>()) {
          InFlightDiagnostic diag =
              op.emitError() << "expected offsets made of the task, the rank and parameters, but "
                                "one is a result of '"
                             << arg.getDefiningOp()->getName()
                             << "'; write its expression between the brackets";
          diag.attachNote(arg.getLoc()) << "made here";
          return diag;
        }
        access.argIsTask.push_back(isTask);
      }
      accesses.push_back(std::move(access));
    }
  }
  return success();
}

FailureOr<std::vector<MemoryAccess>> collectAccesses(ScheduleOp schedule) {
  RuleScope rule(schedule.getContext(), "static");
  std::vector<MemoryAccess> accesses;
  for (auto [index, stage] : llvm::enumerate(schedule.getBody().front().getOps<StageOp>()))
    if (failed(collectStage(stage, index, accesses)))
      return failure();
  return accesses;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void forEachRun(ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                function_ref<void(int64_t, int64_t)> visit) {
  // Trailing axes that the box fills join the run of the axis before them.
  int64_t runAxis = int64_t(shape.size()) - 1, inner = 1;
  for (; runAxis > 0 && sizes[runAxis] == shape[runAxis]; --runAxis)
    inner *= shape[runAxis];
  SmallVector<int64_t> index(offsets);
  for (;;) {
    int64_t first = 0;
    for (int64_t axis = 0; axis <= runAxis; ++axis)
      first = first * shape[axis] + index[axis];
    visit(first * inner, (first + sizes[runAxis]) * inner);
    int64_t axis = runAxis - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < offsets[axis] + sizes[axis])
        break;
      index[axis] = offsets[axis];
    }
    if (axis < 0)
      return;
  }
}

void Execution::forEachRun(function_ref<void(int64_t, int64_t)> visit) const {
  mono::forEachRun(access->shape, *access->offsetsOf(task, rank), access->sizes, visit);
}

void forEachExecution(const MemoryAccess &access, int64_t ranks,
                      function_ref<void(const Execution &)> visit) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (int64_t task = 0; task < access.tasks; ++task)
      visit({&access, task, rank});
}

std::string indexText(ArrayRef<int64_t> shape, int64_t element) {
  SmallVector<int64_t> index(shape.size());
  for (int64_t axis = int64_t(shape.size()) - 1; axis >= 0; --axis) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(index, os);
  return text;
}

std::string taskText(const Execution &execution, bool namesRank) {
  std::string text =
      ("task " + Twine(execution.task) + " of stage '" + execution.access->stage.getName() +
       "' on workgroup " + Twine(execution.workgroup()))
          .str();
  return namesRank ? text + " of rank " + std::to_string(execution.rank) : text;
}

} // namespace mono
