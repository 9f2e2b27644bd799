// Bounds of slices of tensors whose offsets depend on the task or the rank.
#include "lowering/Check/Checks.h"
#include "lowering/IndexRange.h"
#include "lowering/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {
namespace {

/// Integer values of a stage for one task on one rank; what depends on data has none.
class TaskValues {
public:
  TaskValues(StageOp stage, int64_t task, int64_t rank)
      : taskArgument(stage.getBody().getArgument(0)), task(task), rank(rank) {}

  std::optional<int64_t> of(Value value) {
    auto attribute = dyn_cast_or_null<IntegerAttr>(fold(value));
    return attribute ? std::optional(attribute.getInt()) : std::nullopt;
  }

  /// Because of which op a value is none: 32 bits don't hold its value, or the checks don't know it
  /// though they know its operands. Null if there was no such op.
  Operation *tooWide() const { return wideOp; }
  Operation *notKnown() const { return unknownOp; }

private:
  Attribute fold(Value value) {
    auto known = folded.find(value);
    return known != folded.end() ? known->second : folded[value] = foldIn32Bits(value);
  }

  /// The value as the kernel computes it.
  Attribute foldIn32Bits(Value value) {
    Attribute result = foldExactly(value);
    auto index = dyn_cast_or_null<IntegerAttr>(result);
    if (!index || !value.getType().isIndex() ||
        (index.getInt() >= -kMaxIndex && index.getInt() <= kMaxIndex))
      return result;
    wideOp = value.getDefiningOp();
    return {};
  }

  Attribute foldExactly(Value value) {
    Builder builder(value.getContext());
    if (value == taskArgument)
      return builder.getIndexAttr(task);
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    if (isa<RanksOp>(op))
      return builder.getIndexAttr(rank);
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? Attribute() : fold(operand));
      if (!operands.back())
        return {};
    }
    if (leavesRange(op, operands, 32)) {
      wideOp = op;
      return {};
    }
    SmallVector<OpFoldResult> results;
    if (!isExact(op) || failed(op->fold(operands, results)) || results.size() != 1) {
      unknownOp = op;
      return {};
    }
    if (auto same = dyn_cast<Value>(results.front())) // x + 0
      return fold(same);
    return cast<Attribute>(results.front());
  }

  /// Whether what an op folds to is what a kernel computes. Floats are not: a host's functions
  /// round in another way. Nor is what counts the bits of an index, of which a kernel has fewer.
  static bool isExact(Operation *op) {
    auto isInteger = [](Type type) { return type.isIntOrIndex(); };
    return isa<arith::ArithDialect, index::IndexDialect>(op->getDialect()) &&
           llvm::all_of(op->getOperandTypes(), isInteger) &&
           llvm::all_of(op->getResultTypes(), isInteger);
  }

  Value taskArgument;
  int64_t task, rank;
  Operation *wideOp = nullptr, *unknownOp = nullptr;
  llvm::DenseMap<Value, Attribute> folded; ///< null: none
};

/// An offset without a value.
LogicalResult reportNoValue(Operation *slice, const TaskValues &values, StageOp stage,
                            int64_t task) {
  InFlightDiagnostic diag = slice->emitError();
  if (Operation *op = values.tooWide()) {
    diag << "expected offsets whose every step is within " << kMaxIndex
         << ", as a kernel computes them in 32 bits, but task " << task << " of stage '"
         << stage.getName() << "' leaves it";
    diag.attachNote(op->getLoc()) << "here: '" << op->getName()
                                  << "' gives another number in 32 bits";
    return diag;
  }
  diag << "expected offsets that depend on the task, the rank and parameters only";
  if (Operation *op = values.notKnown()) {
    diag << ", by integer operations with a value for each task";
    diag.attachNote(op->getLoc()) << "'" << op->getName() << "' has none that is known for task "
                                  << task << " of stage '" << stage.getName() << "'";
  }
  return diag;
}

/// Where `size` elements end, `stride` apart and the first at `first`; as far as it goes.
int64_t endOf(int64_t first, int64_t size, int64_t stride) {
  int64_t reach, end;
  if (llvm::MulOverflow(size - 1, stride, reach) || llvm::AddOverflow(first, reach, end) ||
      end == INT64_MAX)
    return INT64_MAX;
  return end + 1;
}

/// The box of `slice` inside `type`, for one task.
LogicalResult checkSlice(OffsetSizeAndStrideOpInterface slice, RankedTensorType type, StageOp stage,
                         int64_t task, int64_t rank, bool namesRank) {
  TaskValues values(stage, task, rank);
  for (auto [axis, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    std::optional<int64_t> first = value ? values.of(value) : getConstantIntValue(offset);
    if (!first)
      return reportNoValue(slice, values, stage, task);
    int64_t end = endOf(*first, slice.getStaticSize(axis), slice.getStaticStride(axis));
    if (*first < 0 || end > type.getDimSize(axis))
      return slice->emitError() << "expected a slice inside " << type << ", but task " << task
                                << " of stage '" << stage.getName() << "' covers " << *first
                                << " to " << end << " on axis " << axis
                                << (namesRank ? " on rank " + std::to_string(rank) : "");
  }
  return success();
}

/// Sizes and strides of a slice, the same for all tasks.
LogicalResult checkForm(OffsetSizeAndStrideOpInterface slice) {
  if (llvm::is_contained(slice.getStaticSizes(), ShapedType::kDynamic))
    return slice->emitError() << "expected sizes that parameters decide";
  for (int64_t stride : slice.getStaticStrides()) {
    if (ShapedType::isDynamic(stride))
      return slice->emitError() << "expected strides that parameters decide";
    if (stride < 1)
      return slice->emitError() << "expected strides of at least 1, but got " << stride;
  }
  return success();
}

LogicalResult checkStage(StageOp stage, int64_t ranks) {
  for (Operation &op : stage.getBody().front()) {
    auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
    if (!slice)
      continue;
    if (failed(checkForm(slice)))
      return failure();
    // An insertion moves in what it is inserted into.
    auto insertion = dyn_cast<tensor::InsertSliceOp>(op);
    auto type = cast<RankedTensorType>(insertion ? insertion.getDest().getType()
                                                 : op.getOperand(0).getType());
    bool isSameForAll = llvm::none_of(slice.getMixedOffsets(), llvm::IsaPred<Value>);
    for (int64_t rank = 0; rank < (isSameForAll ? 1 : ranks); ++rank)
      for (int64_t task = 0; task < (isSameForAll ? 1 : taskCount(stage)); ++task)
        if (failed(checkSlice(slice, type, stage, task, rank, !isSameForAll && ranks > 1)))
          return failure();
  }
  return success();
}

} // namespace

LogicalResult checkSlices(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op->getContext(), "bounds");
  ScheduleOp op = schedule.op;
  for (auto stage : op.getBody().front().getOps<StageOp>())
    if (failed(checkStage(stage, schedule.ranks)))
      return failure();
  return success();
}

} // namespace mono
