// Type inference and verification of the ops of a stage body.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/VerifyBox.h"

#include "dialect/target/Gfx950.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mono;

std::string mono::describe(Value value) {
  Operation *op = value.getDefiningOp();
  StringRef kind = isa<MailboxType>(value.getType())  ? "mailbox"
                   : isa_and_nonnull<RegionOp>(op)    ? "region"
                   : isa_and_nonnull<OperandOp>(op)   ? "operand"
                   : isa<BufferType>(value.getType()) ? "buffer"
                                                      : "value";
  auto name = op ? op->getAttrOfType<StringAttr>("name") : StringAttr();
  return name ? (kind + " '" + name.getValue() + "'").str() : kind.str();
}

std::optional<Declared> mono::declaredBy(Value handle) {
  return llvm::TypeSwitch<Operation *, std::optional<Declared>>(handle.getDefiningOp())
      .Case<OperandOp>([](auto op) {
        Attribute layout = op.getLayoutAttr();
        if (isa_and_nonnull<RowMajorAttr>(layout))
          layout = {};
        return Declared{staticValues(op.getShape()), op.getElement(), layout};
      })
      .Case<MailboxOp, RegionOp>(
          [](auto op) { return Declared{staticValues(op.getShape()), op.getElement(), {}}; })
      .Default([](Operation *) { return std::nullopt; });
}

std::string mono::text(AffineExpr expr) {
  std::string result;
  llvm::raw_string_ostream(result) << expr;
  return result;
}

bool mono::isMultiple(AffineMap offsets, unsigned axis, int64_t step) {
  return offsets.getNumSymbols() > 0 || offsets.getResult(axis).isMultipleOf(step);
}

LogicalResult mono::verifyBox(Operation *op, Value source, AffineMap offsets,
                              ArrayRef<int64_t> sizes) {
  std::optional<Declared> declared = declaredBy(source);
  if (!declared)
    return success(); // an argument of a routine: checked where it is inlined
  ArrayRef<int64_t> shape = declared->shape;
  if (offsets.getNumResults() != shape.size())
    return op->emitOpError() << "expected " << shape.size() << " offsets into " << describe(source)
                             << ", but got " << offsets.getNumResults();
  if (sizes.size() != shape.size())
    return op->emitOpError() << "expected " << shape.size() << " sizes for " << describe(source)
                             << ", but got " << sizes.size();
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    if (ShapedType::isDynamic(size))
      continue;
    if (size < 1)
      return op->emitOpError() << "expected a positive size on axis " << axis << ", but got "
                               << size;
    int64_t offset = staticValues(offsets)[axis], extent = shape[axis];
    if (ShapedType::isDynamic(extent))
      continue;
    int64_t first = ShapedType::isDynamic(offset) ? 0 : offset;
    if (first < 0 || first + size > extent)
      return op->emitOpError() << "expected a box inside " << describe(source) << ", but axis "
                               << axis << " covers " << first << " to " << first + size << " of "
                               << extent;
  }
  return success();
}

namespace {

/// Sizes of the box that a tensor of lower rank fills: ones in front.
SmallVector<int64_t> boxOf(RankedTensorType tensor, size_t rank) {
  SmallVector<int64_t> sizes(rank - std::min<size_t>(rank, tensor.getRank()), 1);
  llvm::append_range(sizes, tensor.getShape());
  return sizes;
}

LogicalResult verifyWrite(Operation *op, Value target, RankedTensorType value, AffineMap offsets) {
  std::optional<Declared> memory = declaredBy(target);
  if (!memory)
    return success();
  if (value.getElementType() != memory->element)
    return op->emitOpError() << "expected " << memory->element << " for " << describe(target)
                             << ", but got " << value.getElementType();
  if (value.getRank() > static_cast<int64_t>(memory->shape.size()))
    return op->emitOpError() << "expected at most " << memory->shape.size() << " axes for "
                             << describe(target) << ", but got " << value.getRank();
  return verifyBox(op, target, offsets, boxOf(value, memory->shape.size()));
}

InFlightDiagnostic &noteDeclaration(InFlightDiagnostic &diag, Value source) {
  diag.attachNote(source.getLoc()) << "declared here";
  return diag;
}

/// Row-major operands can be read element by element; packed ones can't.
LogicalResult verifyRowMajor(Operation *op, Value source) {
  std::optional<Declared> declared = declaredBy(source);
  if (!declared || !declared->layout)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << describe(source) << " in layout #mono.row_major, but "
                            << "got " << declared->layout << " (packed weights go through "
                            << "mono.stream)";
  return noteDeclaration(diag, source);
}

} // namespace

LogicalResult mono::verifyResult(Operation *op, Type type, ArrayRef<int64_t> shape, Type element) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getElementType() == element &&
      succeeded(verifyCompatibleShape(tensor.getShape(), shape)))
    return success();
  return op->emitOpError() << "expected result type " << RankedTensorType::get(shape, element)
                           << ", but got " << type;
}

//===----------------------------------------------------------------------===//
// Load, store
//===----------------------------------------------------------------------===//

SmallVector<int64_t> LoadOp::getStaticSizes() { return staticValues(getSizes()); }

LogicalResult LoadOp::verify() {
  if (failed(verifyRowMajor(*this, getSource())))
    return failure();
  if (auto operand = getSource().getDefiningOp<OperandOp>();
      operand && operand.getAccess() == Access::Write)
    return emitOpError() << "expected an operand that may be read, but " << describe(getSource())
                         << " is declared 'write'";
  SmallVector<int64_t> sizes = getStaticSizes();
  std::optional<Declared> declared = declaredBy(getSource());
  if (!declared)
    return success();
  if (failed(verifyBox(*this, getSource(), getOffsets(), sizes)))
    return failure();
  return verifyResult(*this, getType(), sizes, declared->element);
}

LogicalResult StoreOp::verify() {
  if (failed(verifyRowMajor(*this, getTarget())))
    return failure();
  if (auto operand = getTarget().getDefiningOp<OperandOp>();
      operand && operand.getAccess() == Access::Read)
    return emitOpError() << "expected an operand that may be written, but " << describe(getTarget())
                         << " is declared 'read'";
  return verifyWrite(*this, getTarget(), cast<RankedTensorType>(getValue().getType()),
                     getOffsets());
}

//===----------------------------------------------------------------------===//
// Stream, contract
//===----------------------------------------------------------------------===//

SmallVector<int64_t> StreamOp::getStaticSizes() { return staticValues(getSizes()); }

LogicalResult StreamOp::verify() {
  std::optional<Declared> declared = declaredBy(getSource());
  if (!declared)
    return success();
  if (!isa_and_nonnull<MfmaRowsAttr>(declared->layout)) {
    InFlightDiagnostic diag = emitOpError()
                              << "expected " << describe(getSource())
                              << " in layout #mono.mfma_rows<16>, but got "
                              << (declared->layout ? declared->layout
                                                   : Attribute(RowMajorAttr::get(getContext())));
    return noteDeclaration(diag, getSource());
  }
  SmallVector<int64_t> sizes = getStaticSizes();
  if (failed(verifyBox(*this, getSource(), getOffsets(), sizes)))
    return failure();
  for (auto [axis, step] : {std::pair{0, gfx950::kMfmaM}, std::pair{1, gfx950::kMfmaK}})
    if (!isMultiple(getOffsets(), axis, step))
      return emitOpError() << "expected an offset on axis " << axis << " that is a multiple of "
                           << step << ", the tile of #mono.mfma_rows<16>, but got "
                           << text(getOffsets().getResult(axis));
  auto schedule = (*this)->getParentOfType<ScheduleOp>();
  if (!schedule)
    return success();
  int64_t waves = schedule.getThreads() / gfx950::kWaveSize, splitK = getSplitK();
  if (waves % splitK != 0)
    return emitOpError() << "expected split_k to divide the " << waves
                         << " wavefronts of the workgroup, but got " << splitK;
  int64_t rowUnit = gfx950::kMfmaM * (waves / splitK), depthUnit = gfx950::kMfmaK * splitK;
  if (!ShapedType::isDynamic(sizes[0]) && sizes[0] % rowUnit != 0)
    return emitOpError() << "expected a multiple of " << rowUnit << " rows (16 for each of "
                         << waves / splitK << " wavefronts that share them), but got " << sizes[0];
  if (!ShapedType::isDynamic(sizes[1]) && sizes[1] % depthUnit != 0)
    return emitOpError() << "expected a depth that is a multiple of " << depthUnit
                         << " (32 for each of " << splitK << " wavefronts that share it), but got "
                         << sizes[1];
  return success();
}

SmallVector<int64_t> ContractOp::getStaticSizes() { return staticValues(getSizes()); }

LogicalResult ContractOp::verify() {
  std::optional<Declared> memory = declaredBy(getSource());
  if (!memory)
    return success();
  if (!memory->element.isBF16() || memory->shape.size() != 2)
    return emitOpError() << "expected a bf16 matrix of activations, but " << describe(getSource())
                         << " has " << memory->shape.size() << " axes of " << memory->element;
  SmallVector<int64_t> sizes = getStaticSizes();
  if (failed(verifyRowMajor(*this, getSource())) ||
      failed(verifyBox(*this, getSource(), getOffsets(), sizes)))
    return failure();
  if (!ShapedType::isDynamic(sizes[0]) && sizes[0] > gfx950::kMfmaN)
    return emitOpError() << "expected at most " << gfx950::kMfmaN
                         << " activation rows (the N side of MFMA 16x16x32), but got " << sizes[0];
  auto stream = getWeights().getDefiningOp<StreamOp>();
  if (!stream)
    return success();
  SmallVector<int64_t> weightSizes = stream.getStaticSizes();
  if (weightSizes.size() != 2)
    return success(); // the stream itself is wrong and says so
  int64_t depth = weightSizes[1];
  if (!ShapedType::isDynamic(sizes[1]) && !ShapedType::isDynamic(depth) && sizes[1] != depth) {
    InFlightDiagnostic diag = emitOpError() << "expected a depth of " << depth
                                            << ", that of the weights, but got " << sizes[1];
    diag.attachNote(getWeights().getLoc()) << "weights come from here";
    return diag;
  }
  if (!isMultiple(getOffsets(), 1, 8))
    return emitOpError() << "expected a depth offset that is a multiple of 8 elements (16-byte "
                            "loads), but got "
                         << text(getOffsets().getResult(1));
  return verifyResult(*this, getType(), {sizes[0], weightSizes[0]}, Float32Type::get(getContext()));
}

//===----------------------------------------------------------------------===//
// Post, receive
//===----------------------------------------------------------------------===//

LogicalResult PostOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  if (failed(verifyWrite(*this, getMailbox(), value, getOffsets())))
    return failure();
  if (value.getElementType().isBF16() &&
      !isMultiple(getOffsets(), getOffsets().getNumResults() - 1, 2))
    return emitOpError() << "expected an even offset on the last axis (two bf16 share a tagged "
                            "word), but got "
                         << text(getOffsets().getResult(getOffsets().getNumResults() - 1));
  int64_t last = value.getShape().back();
  if (value.getElementType().isBF16() && !ShapedType::isDynamic(last) && last % 2 != 0)
    return emitOpError() << "expected an even last axis (two bf16 share a tagged word), but got "
                         << last;
  return success();
}

SmallVector<int64_t> ReceiveOp::getStaticSizes() { return staticValues(getSizes()); }

/// `receive ... into`: the box and the region agree.
static LogicalResult verifyInto(ReceiveOp op, const Declared &mailbox, ArrayRef<int64_t> sizes) {
  if (op.getSum())
    return op.emitOpError() << "expected either 'sum' or 'into', but got both";
  if (op.getResult())
    return op.emitOpError() << "expected either a result or 'into', but got both";
  std::optional<Declared> region = declaredBy(op.getRegion());
  if (!region)
    return success();
  if (!op.getRegion().getDefiningOp<RegionOp>())
    return op.emitOpError() << "expected a region after 'into', but got "
                            << describe(op.getRegion());
  if (region->element != mailbox.element)
    return op.emitOpError() << "expected " << mailbox.element << " in " << describe(op.getRegion())
                            << ", but got " << region->element;
  if (failed(verifyCompatibleShape(sizes, region->shape)))
    return op.emitOpError() << "expected a box of the shape of " << describe(op.getRegion());
  return success();
}

LogicalResult ReceiveOp::verify() {
  SmallVector<int64_t> sizes = getStaticSizes();
  if (failed(verifyBox(*this, getSource(), getOffsets(), sizes)))
    return failure();
  std::optional<Declared> mailbox = declaredBy(getSource());
  if (!mailbox)
    return success();
  int64_t rank = mailbox->shape.size();
  if (mailbox->element.isBF16() &&
      (!isMultiple(getOffsets(), rank - 1, 2) ||
       (!ShapedType::isDynamic(sizes.back()) && sizes.back() % 2 != 0)))
    return emitOpError() << "expected an even offset and size on the last axis (two bf16 share a "
                            "tagged word)";
  if (getSum() && (rank < 2 || mailbox->element.isInteger(32)))
    return emitOpError() << "expected a float mailbox of at least 2 axes to sum over, but "
                         << describe(getSource()) << " has " << rank << " axes of "
                         << mailbox->element;
  if (getRegion())
    return verifyInto(*this, *mailbox, sizes);
  if (!getResult())
    return emitOpError() << "expected a result or 'into'";
  if (getSum())
    return verifyResult(*this, getResult().getType(), ArrayRef(sizes).drop_front(),
                        Float32Type::get(getContext()));
  return verifyResult(*this, getResult().getType(), sizes, mailbox->element);
}
