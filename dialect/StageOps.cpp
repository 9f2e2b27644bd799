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

std::optional<int64_t> mono::mfmaTileDepth(Type element) {
  if (element.isBF16())
    return gfx950::kMfmaK;
  if (isa<Float4E2M1FNType>(element))
    return gfx950::kMfmaMxK;
  if (isa<Float8E4M3FNType>(element))
    return gfx950::kMfmaMxK / 2;
  if (isa<Float8E8M0FNUType>(element)) // those of an f8E4M3FN tile
    return gfx950::kMfmaMxK / 2 / gfx950::kMxBlock;
  return std::nullopt;
}

int64_t mono::elementsOfWord(Type element) { return 32 / element.getIntOrFloatBitWidth(); }

std::optional<Declared> mono::declaredBy(Value handle) {
  return llvm::TypeSwitch<Operation *, std::optional<Declared>>(handle.getDefiningOp())
      .Case<OperandOp>([](auto op) -> std::optional<Declared> {
        if (op.getAlternative())
          return std::nullopt;
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

std::string mono::shapeText(ArrayRef<int64_t> shape) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '[';
  llvm::interleaveComma(shape, os, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      os << '?';
    else
      os << size;
  });
  os << ']';
  return result;
}

/// Whether a value is a task or the rank: what stays when parameters are bound.
static bool staysOpen(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<StageOp>(argument.getOwner()->getParentOp());
  return value.getDefiningOp<RanksOp>();
}

bool mono::isMultiple(AffineMap offsets, OperandRange args, unsigned axis, int64_t step) {
  // An expression says nothing of a symbol's value; that of a task is checked task by task.
  return offsets.getNumSymbols() > 0 || !llvm::all_of(args, staysOpen) ||
         offsets.getResult(axis).isMultipleOf(step);
}

/// An axis on which a box leaves `source`; `offset` is its offset, dynamic if a task's differs from
/// another's. Ends as what the check of all boxes says of single tasks (lowering/Check/Bounds.cpp).
static LogicalResult reportOutside(Operation *op, Value source, size_t axis, int64_t offset,
                                   int64_t size, ArrayRef<int64_t> shape) {
  InFlightDiagnostic diag = op->emitError()
                            << "expected a box inside " << describe(source) << ", but every task";
  if (auto stage = op->getParentOfType<StageOp>())
    diag << " of stage '" << stage.getName() << "'";
  if (ShapedType::isDynamic(offset))
    diag << " takes " << size;
  else
    diag << " covers " << offset << " to " << offset + size;
  diag << " of " << shape[axis] << " on axis " << axis << " [monoc --explain=bounds]";
  diag.attachNote(source.getLoc()) << "declared here with shape " << shapeText(shape);
  return diag;
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
      return reportOutside(op, source, axis, offset, size, shape);
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

} // namespace

LogicalResult mono::verifyRowMajor(Operation *op, Value source) {
  std::optional<Declared> declared = declaredBy(source);
  if (!declared || !declared->layout)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << describe(source) << " in layout #mono.row_major, but "
                            << "got " << declared->layout << " (packed weights go through "
                            << "mono.stream)";
  return noteDeclaration(diag, source);
}

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

int64_t StreamOp::getGroupCount() {
  return getGroups() ? cast<RankedTensorType>(getGroups().getType()).getNumElements() : 1;
}

bool StreamOp::hasBlockScales() {
  std::optional<Declared> scales = getScales() ? declaredBy(getScales()) : std::nullopt;
  return scales && scales->element.isF32();
}

int64_t StreamOp::getDepthGrain() {
  return hasBlockScales() ? kScaleBlock : *mfmaTileDepth(declaredBy(getSource())->element);
}

StringRef StreamOp::getDepthGrainName() {
  return hasBlockScales() ? "a block that shares an f32 scale" : "the tile of #mono.mfma_rows<16>";
}

/// Codes that make numbers together with a scale of 32 of them.
static bool isMxCode(Type element) { return isa<Float4E2M1FNType, Float8E4M3FNType>(element); }

/// The scales of MX weights: an operand of the same shape with one for each 32 elements.
static LogicalResult verifyMxScales(StreamOp op, const Declared &weights, const Declared &scales) {
  SmallVector<int64_t> shape(weights.shape);
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= gfx950::kMxBlock;
  if (isa<Float8E8M0FNUType>(scales.element) && isa_and_nonnull<MfmaRowsAttr>(scales.layout) &&
      succeeded(verifyCompatibleShape(scales.shape, shape)))
    return success();
  InFlightDiagnostic diag = op.emitOpError() << "expected scales of type f8E8M0FNU in layout "
                                                "#mono.mfma_rows<16>, one for each 32 columns of "
                                             << describe(op.getSource()) << ", but "
                                             << describe(op.getScales()) << " is something else";
  return noteDeclaration(diag, op.getScales());
}

/// The scales of blocks: a row-major operand with one for each, the last ones perhaps incomplete.
static LogicalResult verifyBlockScales(StreamOp op, const Declared &weights,
                                       const Declared &scales) {
  if (!isa<Float8E4M3FNType>(weights.element))
    return op.emitOpError() << "expected weights of f8E4M3FN for scales of f32, but "
                            << describe(op.getSource()) << " has " << weights.element;
  SmallVector<int64_t> shape(weights.shape);
  for (int64_t &size : MutableArrayRef(shape).take_back(2))
    if (!ShapedType::isDynamic(size))
      size = llvm::divideCeil(size, kScaleBlock);
  if (op.getScales().getDefiningOp<OperandOp>() && !scales.layout &&
      succeeded(verifyCompatibleShape(scales.shape, shape)))
    return success();
  InFlightDiagnostic diag = op.emitOpError()
                            << "expected a row-major operand "
                            << RankedTensorType::get(shape, scales.element)
                            << ", a scale for each block of 128 x 128 of "
                            << describe(op.getSource()) << ", but " << describe(op.getScales())
                            << " is " << RankedTensorType::get(scales.shape, scales.element);
  return noteDeclaration(diag, op.getScales());
}

static LogicalResult verifyScales(StreamOp op, const Declared &weights) {
  if (!op.getScales())
    return op.emitOpError() << "expected 'scaled' and the operand of the scales for weights of "
                            << weights.element;
  std::optional<Declared> scales = declaredBy(op.getScales());
  if (!scales)
    return success();
  if (auto operand = op.getScales().getDefiningOp<OperandOp>();
      operand && operand.getAccess() != Access::Read) {
    InFlightDiagnostic diag = op.emitOpError() << "expected scales that a launch only reads, but "
                                               << describe(op.getScales()) << " is declared '"
                                               << stringifyAccess(operand.getAccess()) << "'";
    return noteDeclaration(diag, op.getScales());
  }
  return op.hasBlockScales() ? verifyBlockScales(op, weights, *scales)
                             : verifyMxScales(op, weights, *scales);
}

/// Number of axes, scales and groups agree with the element type.
static LogicalResult verifyForm(StreamOp op, const Declared &weights) {
  bool isMx = isMxCode(weights.element);
  if (!isMx && !weights.element.isBF16())
    return op.emitOpError() << "expected weights of bf16, f4E2M1FN or f8E4M3FN, but "
                            << describe(op.getSource()) << " has " << weights.element;
  if (!isMx && (op.getScales() || op.getGroups()))
    return op.emitOpError() << "expected 'scaled' and 'groups' with weights of f4E2M1FN or "
                               "f8E4M3FN only, but "
                            << describe(op.getSource()) << " has " << weights.element
                            << (op.getGroups() ? "; of bf16, stream every matrix on its own and "
                                                 "weigh with 0 what nobody chose"
                                               : "; bf16 has no scales");
  if (isMx && failed(verifyScales(op, weights)))
    return failure();
  size_t axes = op.getGroups() ? 3 : 2;
  if (weights.shape.size() != axes)
    return op.emitOpError() << "expected " << describe(op.getSource()) << " to have " << axes
                            << " axes " << (op.getGroups() ? "with" : "without")
                            << " 'groups', but got " << weights.shape.size();
  if (op.getGroups() && cast<RankedTensorType>(op.getGroups().getType()).getRank() != 1)
    return op.emitOpError() << "expected a list of groups of 1 axis";
  return success();
}

/// A list may name any matrix, so the box of a stream with groups covers all of them.
static LogicalResult verifyGroupAxis(StreamOp op, const Declared &weights) {
  AffineExpr offset = op.getOffsets().getResult(0);
  bool known = isa<AffineConstantExpr>(offset) || llvm::all_of(op.getOffsetArgs(), staysOpen);
  if (known && !(offset == 0))
    return op.emitOpError() << "expected offset 0 on axis 0 with 'groups', as the list says which "
                               "matrices are read, but got "
                            << text(offset);
  int64_t size = op.getStaticSizes().front(), matrices = weights.shape.front();
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(matrices) || size == matrices)
    return success();
  return op.emitOpError() << "expected all " << matrices << " matrices of "
                          << describe(op.getSource())
                          << " on axis 0 with 'groups', as the list may name any, but got " << size;
}

/// Wavefronts share rows and depth in whole tiles.
static LogicalResult verifyShares(StreamOp op, Type element) {
  auto schedule = op->getParentOfType<ScheduleOp>();
  if (!schedule)
    return success();
  int64_t waves = schedule.getThreads() / gfx950::kWaveSize, splitK = op.getSplitK();
  if (waves % splitK != 0)
    return op.emitOpError() << "expected split_k to divide the " << waves
                            << " wavefronts of the workgroup, but got " << splitK;
  bool isMx = isMxCode(element);
  int64_t rowUnit = gfx950::kMfmaM * (waves / splitK);
  int64_t depthUnit = isMx ? op.getDepthGrain() : gfx950::kMfmaK * splitK;
  int64_t rows = op.getRowCount(), depth = op.getDepth();
  if (!ShapedType::isDynamic(rows) && rows % rowUnit != 0)
    return op.emitOpError() << "expected a multiple of " << rowUnit << " rows (16 for each of "
                            << waves / splitK << " wavefronts that share them), but got " << rows;
  if (ShapedType::isDynamic(depth) || depth % depthUnit == 0)
    return success();
  if (op.hasBlockScales())
    return op.emitOpError() << "expected a depth that is a multiple of " << depthUnit << ", "
                            << op.getDepthGrainName() << ", but got " << depth;
  if (isMx)
    return op.emitOpError() << "expected a depth that is a multiple of " << depthUnit
                            << ", the tile of " << element << " weights, but got " << depth;
  return op.emitOpError() << "expected a depth that is a multiple of " << depthUnit
                          << " (32 for each of " << splitK << " wavefronts that share it), but got "
                          << depth;
}

LogicalResult StreamOp::verify() {
  if (int64_t splitK = getSplitK(); splitK < 1)
    return emitOpError() << "expected split_k of at least 1, but got " << splitK;
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
  if (failed(verifyForm(*this, *declared)) ||
      failed(verifyBox(*this, getSource(), getOffsets(), getStaticSizes())) ||
      (getGroups() && failed(verifyGroupAxis(*this, *declared))))
    return failure();
  unsigned depthAxis = declared->shape.size() - 1;
  for (auto [axis, step, name] :
       {std::tuple{depthAxis - 1, gfx950::kMfmaM, StringRef("the tile of #mono.mfma_rows<16>")},
        std::tuple{depthAxis, getDepthGrain(), getDepthGrainName()}})
    if (!isMultiple(getOffsets(), getOffsetArgs(), axis, step))
      return emitOpError() << "expected an offset on axis " << axis << " that is a multiple of "
                           << step << ", " << name << ", but got "
                           << text(getOffsets().getResult(axis));
  return verifyShares(*this, declared->element);
}

SmallVector<int64_t> ContractOp::getStaticSizes() { return staticValues(getSizes()); }

/// Columns of activations that share a scale; those of MX where the weights are not known.
static int64_t scaledColumns(ContractOp op) {
  auto stream = op.getWeights().getDefiningOp<StreamOp>();
  return stream && stream.hasBlockScales() ? kScaleBlock : gfx950::kMxBlock;
}

int64_t ContractOp::getDepthGrain() { return getScales() ? scaledColumns(*this) : 8; }

/// `rows(%map)`: a row for each group of the weights.
static LogicalResult verifyRowMap(ContractOp op) {
  auto map = cast<RankedTensorType>(op.getRows().getType());
  if (map.getRank() != 2)
    return op.emitOpError() << "expected 'rows' of 2 axes (groups, rows), but got "
                            << map.getRank();
  auto stream = op.getWeights().getDefiningOp<StreamOp>();
  if (!stream)
    return success();
  if (!stream.getGroups())
    return op.emitOpError() << "expected weights with 'groups' for 'rows'";
  auto list = cast<RankedTensorType>(stream.getGroups().getType());
  if (succeeded(verifyCompatibleShape(list.getShape().front(), map.getShape().front())))
    return success();
  return op.emitOpError() << "expected 'rows' for each of " << list.getShape().front()
                          << " groups, but got " << map.getShape().front();
}

/// Codes of activations: a matrix in a region, and a region with a scale for 32 of its columns, or
/// for 128 where the weights have scales of blocks.
static LogicalResult verifyCodes(ContractOp op, const Declared &codes) {
  std::optional<Declared> scales = declaredBy(op.getScales());
  if (!scales)
    return success();
  if (!isa<Float8E4M3FNType>(codes.element) || codes.shape.size() != 2 ||
      !op.getSource().getDefiningOp<RegionOp>())
    return op.emitOpError() << "expected a region with a matrix of f8E4M3FN for 'scaled', but "
                            << describe(op.getSource()) << " has " << codes.shape.size()
                            << " axes of " << codes.element;
  SmallVector<int64_t> shape(codes.shape);
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= scaledColumns(op);
  if (!scales->element.isF32() || !op.getScales().getDefiningOp<RegionOp>() ||
      failed(verifyCompatibleShape(scales->shape, shape))) {
    InFlightDiagnostic diag = op.emitOpError()
                              << "expected a region of f32 with a scale for each "
                              << scaledColumns(op) << " columns of " << describe(op.getSource())
                              << ", but " << describe(op.getScales()) << " is something else";
    return noteDeclaration(diag, op.getScales());
  }
  int64_t depth = op.getStaticSizes().back();
  if (!ShapedType::isDynamic(depth) && depth % gfx950::kMfmaMxK != 0)
    return op.emitOpError() << "expected a depth that is a multiple of " << gfx950::kMfmaMxK
                            << " (MFMA 16x16x128) for scaled activations, but got " << depth;
  auto stream = op.getWeights().getDefiningOp<StreamOp>();
  std::optional<Declared> weights = stream ? declaredBy(stream.getSource()) : std::nullopt;
  if (weights && !isMxCode(weights->element))
    return op.emitOpError() << "expected weights of f4E2M1FN or f8E4M3FN for scaled activations, "
                               "but "
                            << describe(stream.getSource()) << " has " << weights->element;
  return success();
}

LogicalResult ContractOp::verify() {
  std::optional<Declared> memory = declaredBy(getSource());
  if (!memory)
    return success();
  if (getScales() && failed(verifyCodes(*this, *memory)))
    return failure();
  if (!getScales() && (!memory->element.isBF16() || memory->shape.size() != 2))
    return emitOpError() << "expected a bf16 matrix of activations, but " << describe(getSource())
                         << " has " << memory->shape.size() << " axes of " << memory->element;
  SmallVector<int64_t> sizes = getStaticSizes();
  if (failed(verifyRowMajor(*this, getSource())) ||
      failed(verifyBox(*this, getSource(), getOffsets(), sizes)) ||
      (getRows() && failed(verifyRowMap(*this))))
    return failure();
  int64_t rows = getRowCount();
  if (!ShapedType::isDynamic(rows) && rows > gfx950::kMfmaN)
    return emitOpError() << "expected at most " << gfx950::kMfmaN
                         << " activation rows (the N side of MFMA 16x16x32), but got " << rows;
  auto stream = getWeights().getDefiningOp<StreamOp>();
  if (!stream)
    return success();
  if (stream.getStaticSizes().size() < 2)
    return success(); // the stream itself is wrong and says so
  if (stream.getScales() && getSource().getDefiningOp<OperandOp>())
    return emitOpError() << "expected activations in a region for weights with scales, but got "
                         << describe(getSource());
  int64_t depth = stream.getDepth();
  if (!ShapedType::isDynamic(sizes[1]) && !ShapedType::isDynamic(depth) && sizes[1] != depth) {
    InFlightDiagnostic diag = emitOpError() << "expected a depth of " << depth
                                            << ", that of the weights, but got " << sizes[1];
    diag.attachNote(getWeights().getLoc()) << "weights come from here";
    return diag;
  }
  if (!isMultiple(getOffsets(), getOffsetArgs(), 1, getDepthGrain()))
    return emitOpError() << "expected a depth offset that is a multiple of " << getDepthGrain()
                         << " elements (" << (getScales() ? "a scale" : "16-byte loads")
                         << "), but got " << text(getOffsets().getResult(1));
  return verifyResult(*this, getType(), {rows, stream.getRowCount()},
                      Float32Type::get(getContext()));
}

//===----------------------------------------------------------------------===//
// Post, receive
//===----------------------------------------------------------------------===//

LogicalResult PostOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  if (value.getRank() == 0 || getOffsets().getNumResults() == 0)
    return emitOpError() << "expected a tensor and offsets of at least 1 axis, but got " << value
                         << " and " << getOffsets().getNumResults() << " offsets";
  if (failed(verifyWrite(*this, getMailbox(), value, getOffsets())))
    return failure();
  Type element = value.getElementType();
  int64_t last = value.getShape().back(), share = elementsOfWord(element);
  unsigned axis = getOffsets().getNumResults() - 1;
  if (!isMultiple(getOffsets(), getOffsetArgs(), axis, share))
    return emitOpError() << "expected an offset on the last axis that is a multiple of " << share
                         << " (as many " << element << " share a tagged word), but got "
                         << text(getOffsets().getResult(axis));
  if (!ShapedType::isDynamic(last) && last % share != 0)
    return emitOpError() << "expected a last axis that is a multiple of " << share << " (as many "
                         << element << " share a tagged word), but got " << last;
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
  // Axes of one element count for nothing: a head of a [rows, heads, columns] mailbox fills a
  // [rows, columns] region.
  auto squeezed = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(shape);
    llvm::erase(result, 1);
    return result;
  };
  bool known = !ShapedType::isDynamicShape(sizes) && !ShapedType::isDynamicShape(region->shape);
  if (known && squeezed(sizes) != squeezed(region->shape))
    return op.emitOpError() << "expected a box of the shape of " << describe(op.getRegion()) << ", "
                            << shapeText(region->shape) << " but for axes of 1, but got "
                            << shapeText(sizes);
  return success();
}

LogicalResult ReceiveOp::verify() {
  SmallVector<int64_t> sizes = getStaticSizes();
  if (failed(verifyBox(*this, getSource(), getOffsets(), sizes)))
    return failure();
  std::optional<Declared> mailbox = declaredBy(getSource());
  if (!mailbox)
    return success();
  int64_t rank = mailbox->shape.size(), share = elementsOfWord(mailbox->element);
  if (!isMultiple(getOffsets(), getOffsetArgs(), rank - 1, share) ||
      (!ShapedType::isDynamic(sizes.back()) && sizes.back() % share != 0))
    return emitOpError() << "expected an offset and size on the last axis that are multiples of "
                         << share << " (as many " << mailbox->element << " share a tagged word)";
  if (getSum() && (rank < 2 || !(mailbox->element.isBF16() || mailbox->element.isF32())))
    return emitOpError() << "expected a mailbox of bf16 or f32 of at least 2 axes to sum over, but "
                         << describe(getSource()) << " has " << rank << " axes of "
                         << mailbox->element;
  if (getRegion())
    return verifyInto(*this, *mailbox, sizes);
  if (!getResult())
    return emitOpError() << "expected a result or 'into'";
  if (isMxCode(mailbox->element))
    return emitOpError() << "expected 'into' a region for a mailbox of " << mailbox->element;
  if (getSum())
    return verifyResult(*this, getResult().getType(), ArrayRef(sizes).drop_front(),
                        Float32Type::get(getContext()));
  return verifyResult(*this, getResult().getType(), sizes, mailbox->element);
}
