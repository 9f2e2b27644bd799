// Verification of the ops on rows that a tensor of indices names.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/VerifyBox.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mono;

namespace {

LogicalResult verifyIndices(Operation *op, Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  if (type.getRank() == 1)
    return success();
  return op->emitOpError() << "expected indices of 1 axis, but got " << type.getRank();
}

/// Places are compared with each other, or with every index, in registers.
LogicalResult verifyPlaces(Operation *op, Value places) {
  constexpr int64_t most = 256;
  if (failed(verifyIndices(op, places)))
    return failure();
  int64_t count = cast<RankedTensorType>(places.getType()).getShape().front();
  if (ShapedType::isDynamic(count) || count <= most)
    return success();
  return op->emitOpError() << "expected at most " << most << " places, but got " << count;
}

/// Rows of a memory: all axes but the last, counted together; `?` where a parameter decides.
int64_t rowsOf(const Declared &memory) {
  int64_t rows = 1;
  for (int64_t size : ArrayRef(memory.shape).drop_back()) {
    if (ShapedType::isDynamic(size))
      return size;
    rows *= size;
  }
  return rows;
}

/// The region after 'or' has rows like those of `source`, and a place for each.
LogicalResult verifyFresh(GatherOp op, const Declared &source) {
  if (static_cast<bool>(op.getFresh()) != static_cast<bool>(op.getPlaces()))
    return op.emitOpError() << "expected a region of rows and their places, or neither";
  std::optional<Declared> fresh = op.getFresh() ? declaredBy(op.getFresh()) : std::nullopt;
  if (!fresh)
    return success();
  if (!op.getFresh().getDefiningOp<RegionOp>() || fresh->element != source.element ||
      failed(verifyCompatibleShape(fresh->shape.back(), source.shape.back())))
    return op.emitOpError() << "expected a region with rows like those of "
                            << describe(op.getSource()) << " after 'or', but got "
                            << describe(op.getFresh());
  if (failed(verifyPlaces(op, op.getPlaces())))
    return failure();
  int64_t rows = rowsOf(*fresh),
          places = cast<RankedTensorType>(op.getPlaces().getType()).getShape().front();
  if (failed(verifyCompatibleShape(rows, places)))
    return op.emitOpError() << "expected a place for each row of " << describe(op.getFresh())
                            << ", but got " << places << " for " << rows;
  return success();
}

/// Region `into` takes as many rows as there are indices, each as long as a row of `source`.
LogicalResult verifyRowsInto(Operation *op, const Declared &source, Value rows, Value into) {
  std::optional<Declared> region = declaredBy(into);
  if (!region)
    return success();
  if (!into.getDefiningOp<RegionOp>())
    return op->emitOpError() << "expected a region after 'into', but got " << describe(into);
  if (region->element != source.element)
    return op->emitOpError() << "expected " << source.element << " in " << describe(into)
                             << ", but got " << region->element;
  int64_t count = cast<RankedTensorType>(rows.getType()).getShape().front();
  if (region->shape.size() == 2 &&
      succeeded(verifyCompatibleShape(region->shape, {count, source.shape.back()})))
    return success();
  return op->emitOpError() << "expected a region of one row for each index, but " << describe(into)
                           << " has another shape";
}

} // namespace

LogicalResult GatherOp::verify() {
  if (failed(verifyIndices(*this, getRows())) || failed(verifyRowMajor(*this, getSource())))
    return failure();
  if (static_cast<bool>(getRegion()) == static_cast<bool>(getResult()))
    return emitOpError() << "expected either a result or 'into'";
  std::optional<Declared> source = declaredBy(getSource());
  if (!source)
    return success();
  if (auto operand = getSource().getDefiningOp<OperandOp>();
      operand && operand.getAccess() == Access::Write)
    return emitOpError() << "expected an operand that may be read, but " << describe(getSource())
                         << " is declared 'write'";
  if (failed(verifyFresh(*this, *source)))
    return failure();
  if (getRegion())
    return verifyRowsInto(*this, *source, getRows(), getRegion());
  auto rows = cast<RankedTensorType>(getRows().getType());
  SmallVector<int64_t> shape(rows.getShape());
  if (cast<RankedTensorType>(getResult().getType()).getRank() > 1)
    shape.push_back(source->shape.back());
  else if (getFresh())
    return emitOpError() << "expected whole rows with 'or', but got a result of 1 axis";
  return verifyResult(*this, getResult().getType(), shape, source->element);
}

LogicalResult DistinctOp::verify() { return verifyPlaces(*this, getValues()); }

LogicalResult ScatterOp::verify() {
  if (failed(verifyIndices(*this, getRows())) || failed(verifyRowMajor(*this, getTarget())))
    return failure();
  auto value = cast<RankedTensorType>(getValue().getType());
  auto rows = cast<RankedTensorType>(getRows().getType());
  if (value.getRank() != 2 ||
      failed(verifyCompatibleShape(value.getShape().front(), rows.getShape().front())))
    return emitOpError() << "expected a value of 2 axes with one row for each index, but got "
                         << value;
  std::optional<Declared> target = declaredBy(getTarget());
  if (!target)
    return success();
  auto operand = getTarget().getDefiningOp<OperandOp>();
  if (!operand || operand.getAccess() != Access::Update)
    return emitOpError() << "expected an operand declared 'update', but got "
                         << describe(getTarget());
  if (value.getElementType() != target->element)
    return emitOpError() << "expected " << target->element << " for " << describe(getTarget())
                         << ", but got " << value.getElementType();
  if (getOffsets().getNumResults() != 1)
    return emitOpError() << "expected one offset, the first column, but got "
                         << getOffsets().getNumResults();
  int64_t column = staticValues(getOffsets()).front(), width = value.getShape().back(),
          columns = target->shape.back();
  if (!ShapedType::isDynamic(column) && !ShapedType::isDynamic(width) &&
      !ShapedType::isDynamic(columns) && (column < 0 || column > columns - width))
    return emitOpError() << "expected columns inside " << describe(getTarget()) << ", but got "
                         << column << " to " << column + width << " of " << columns;
  return success();
}

LogicalResult ReceiveRowsOp::verify() {
  if (failed(verifyIndices(*this, getRows())))
    return failure();
  std::optional<Declared> mailbox = declaredBy(getSource());
  if (!mailbox)
    return success();
  // A bf16 row is even: its mailbox says so.
  return verifyRowsInto(*this, *mailbox, getRows(), getRegion());
}
