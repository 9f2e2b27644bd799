// Makes a schedule static: every tensor gets its sizes, with the expressions folded to constants.
#include "lowering/Bind/Bind.h"
#include "lowering/Bind/Fold.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "lowering/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono {
namespace {

/// Gives `value` the sizes `shape`; a size that was written down must agree.
LogicalResult setShape(Operation *op, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (failed(verifyCompatibleShape(type.getShape(), shape)))
    return op->emitError() << "expected " << RankedTensorType::get(shape, type.getElementType())
                           << " with these parameters, but got " << type;
  value.setType(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

/// What the parameters are, for sizes that come of them by arithmetic.
void noteParams(InFlightDiagnostic &diag, ScheduleOp schedule) {
  auto params = schedule->getAttrOfType<DictionaryAttr>("mono.params");
  if (!params || params.empty())
    return;
  Diagnostic &note = diag.attachNote(schedule.getLoc()) << "with parameters ";
  llvm::interleaveComma(params, note, [&](NamedAttribute param) {
    note << param.getName().getValue() << " = " << cast<IntegerAttr>(param.getValue()).getInt();
  });
}

/// `tensor.empty` and `tensor.splat`: the sizes are operands.
LogicalResult setSizes(Operation *op, OperandRange sizes) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  auto size = sizes.begin();
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    IntegerAttr value;
    if (!matchPattern(*size++, m_Constant(&value)))
      return op->emitError() << "expected sizes that parameters decide";
    if (value.getInt() < 1) {
      RuleScope rule(op->getContext(), "static");
      InFlightDiagnostic diag = op->emitError() << "expected a positive size on axis " << axis
                                                << " of " << type << ", but got " << value.getInt();
      noteParams(diag, op->getParentOfType<ScheduleOp>());
      return diag;
    }
    extent = value.getInt();
  }
  op->getResult(0).setType(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

/// An op with sizes among its operands, made anew with the sizes that are known as attributes.
SmallVector<OpFoldResult> foldSizes(ArrayRef<OpFoldResult> sizes) {
  return llvm::map_to_vector(sizes, [](OpFoldResult size) -> OpFoldResult {
    Attribute value;
    if (auto dynamic = dyn_cast<Value>(size); dynamic && matchPattern(dynamic, m_Constant(&value)))
      return value;
    return size;
  });
}

LogicalResult replace(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return success();
}

LogicalResult refineSlice(tensor::ExtractSliceOp op) {
  OpBuilder builder(op);
  SmallVector<OpFoldResult> sizes = foldSizes(op.getMixedSizes());
  std::optional<SmallVector<int64_t>> known = getConstantIntValues(sizes);
  if (!known)
    return op.emitError() << "expected sizes that parameters decide";
  // Axes the type drops have size one.
  SmallVector<int64_t> shape;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (auto [axis, size] : llvm::enumerate(*known))
    if (!dropped.test(axis))
      shape.push_back(size);
  auto type = RankedTensorType::get(shape, op.getType().getElementType());
  if (failed(verifyCompatibleShape(op.getType().getShape(), shape)))
    return op.emitError() << "expected " << type << " with these parameters, but got "
                          << op.getType();
  return replace(op, tensor::ExtractSliceOp::create(builder, op.getLoc(), type, op.getSource(),
                                                    foldSizes(op.getMixedOffsets()), sizes,
                                                    foldSizes(op.getMixedStrides())));
}

LogicalResult refineSlice(tensor::InsertSliceOp op) {
  OpBuilder builder(op);
  return replace(op, tensor::InsertSliceOp::create(builder, op.getLoc(), op.getSource(),
                                                   op.getDest(), foldSizes(op.getMixedOffsets()),
                                                   foldSizes(op.getMixedSizes()),
                                                   foldSizes(op.getMixedStrides())));
}

LogicalResult refineReshape(tensor::CollapseShapeOp op) {
  SmallVector<int64_t> shape;
  ArrayRef<int64_t> from = op.getSrcType().getShape();
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    shape.push_back(1);
    for (int64_t axis : group)
      shape.back() *= from[axis];
  }
  return setShape(op, op.getResult(), shape);
}

LogicalResult refineReshape(tensor::ExpandShapeOp op) {
  OpBuilder builder(op);
  SmallVector<OpFoldResult> sizes = foldSizes(op.getMixedOutputShape());
  std::optional<SmallVector<int64_t>> shape = getConstantIntValues(sizes);
  if (!shape)
    return op.emitError() << "expected sizes that parameters decide";
  auto type = RankedTensorType::get(*shape, op.getType().getElementType());
  if (op.getSrcType().getNumElements() != type.getNumElements())
    return op.emitError() << "expected as many elements as " << op.getSrcType() << " has, but got "
                          << type;
  return replace(op, tensor::ExpandShapeOp::create(builder, op.getLoc(), type, op.getSrc(),
                                                   op.getReassociationIndices(), sizes));
}

/// Elementwise ops: all tensors have one shape.
LogicalResult setElementwise(Operation *op) {
  RankedTensorType first;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type)
      continue;
    if (!first)
      first = type;
    if (type.getShape() != first.getShape())
      return op->emitError() << "expected operands of one shape, but got " << first << " and "
                             << type;
  }
  for (Value result : op->getResults())
    if (failed(setShape(op, result, first.getShape())))
      return failure();
  return success();
}

/// Fixes an element type that a parameter decides.
LogicalResult choose(OperandOp op) {
  if (!op.getAlternative())
    return success();
  IntegerAttr choice;
  if (!matchPattern(op.getChoice(), m_Constant(&choice)))
    return op.emitError() << "expected an element type that parameters decide";
  if (choice.getInt() != 0)
    op.setElement(*op.getAlternative());
  op.removeAlternativeAttr();
  op.getChoiceMutable().clear();
  return success();
}

/// The size of what is declared above.
LogicalResult replaceSize(SizeOp op) {
  std::optional<Declared> declared = declaredBy(op.getMemory());
  int64_t size = declared ? declared->shape[op.getAxis()] : ShapedType::kDynamic;
  if (ShapedType::isDynamic(size))
    return op.emitError() << "expected an operand, mailbox or region with a size that parameters "
                             "decide";
  OpBuilder builder(op);
  return replace(op, arith::ConstantIndexOp::create(builder, op.getLoc(), size));
}

/// What parameters have to keep.
LogicalResult judge(RequireOp op) {
  RuleScope rule(op.getContext(), "require");
  llvm::APInt condition;
  if (!matchPattern(op.getCondition(), m_ConstantInt(&condition)))
    return op.emitError() << "expected a condition that parameters decide";
  if (condition.isZero())
    return op.emitError() << op.getText();
  op.erase();
  return success();
}

/// True for an operand, mailbox or region that has no elements with these parameters.
bool isEmpty(Value declared) { return llvm::is_contained(declaredBy(declared)->shape, 0); }

LogicalResult refine(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<OperandOp>([](OperandOp o) { return choose(o); })
      .Case<RequireOp>([](RequireOp o) { return judge(o); })
      .Case<SizeOp>([](SizeOp o) { return replaceSize(o); })
      .Case<StreamOp>([](StreamOp o) {
        if (o.getScales() && isEmpty(o.getScales()))
          o.getScalesMutable().clear();
        return success();
      })
      .Case<LoadOp>([](LoadOp o) { return setShape(o, o.getResult(), o.getStaticSizes()); })
      .Case<ReceiveOp>([](ReceiveOp o) {
        if (!o.getResult())
          return success();
        SmallVector<int64_t> sizes = o.getStaticSizes();
        return setShape(o, o.getResult(), ArrayRef(sizes).drop_front(o.getSum() ? 1 : 0));
      })
      .Case<GatherOp>([](GatherOp o) {
        if (!o.getResult())
          return success();
        SmallVector<int64_t> shape(cast<RankedTensorType>(o.getRows().getType()).getShape());
        if (cast<RankedTensorType>(o.getResult().getType()).getRank() > 1)
          shape.push_back(declaredBy(o.getSource())->shape.back());
        return setShape(o, o.getResult(), shape);
      })
      .Case<ContractOp>([](ContractOp o) -> LogicalResult {
        auto stream = o.getWeights().getDefiningOp<StreamOp>();
        if (!stream)
          return o.emitError() << "expected weights from a mono.stream of the same task";
        return setShape(o, o.getResult(), {o.getRowCount(), stream.getRowCount()});
      })
      .Case<ProductOp>([](ProductOp o) { return setShape(o, o.getResult(), o.getResultShape()); })
      .Case<SelectOp>([](SelectOp o) -> LogicalResult {
        int64_t rows = cast<RankedTensorType>(o.getKey().getType()).getShape().front();
        SmallVector<int64_t> shape{rows, o.getStaticK()};
        if (ShapedType::isDynamic(shape[1]))
          return o.emitError() << "expected a k that parameters decide";
        if (failed(setShape(o, o.getIndices(), shape)))
          return failure();
        return o.getValues() ? setShape(o, o.getValues(), shape) : success();
      })
      .Case<arith::ScalingTruncFOp, DistinctOp>([](Operation *o) { return setElementwise(o); })
      .Case<tensor::EmptyOp>([](tensor::EmptyOp o) {
        if (failed(setSizes(o, o.getDynamicSizes())))
          return failure();
        o->setOperands({});
        return success();
      })
      .Case<tensor::SplatOp>([](tensor::SplatOp o) {
        if (failed(setSizes(o, o.getDynamicSizes())))
          return failure();
        o->setOperands({o.getInput()});
        return success();
      })
      .Case<tensor::GenerateOp>([](tensor::GenerateOp o) {
        if (failed(setSizes(o, o.getDynamicExtents())))
          return failure();
        o->setOperands({});
        return success();
      })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp>([](auto o) { return refineSlice(o); })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>([](auto o) { return refineReshape(o); })
      .Case<linalg::ReduceOp, linalg::BroadcastOp, linalg::TransposeOp>([](auto o) {
        return setShape(o, o->getResult(0),
                        cast<RankedTensorType>(o.getDpsInits().front().getType()).getShape());
      })
      .Default([](Operation *o) -> LogicalResult {
        if (llvm::none_of(o->getResultTypes(), llvm::IsaPred<RankedTensorType>))
          return success();
        if (o->hasTrait<OpTrait::Elementwise>() && o->getNumOperands() > 0)
          return setElementwise(o);
        if (o->hasTrait<OpTrait::ConstantLike>())
          return success();
        return o->emitError()
               << "'" << o->getName() << "' is not supported in a stage; tensors come from "
               << "elementwise arith and math ops, linalg.reduce, .broadcast and .transpose, "
               << "tensor.splat, .empty, .generate, .extract_slice, .insert_slice, .collapse_shape "
               << "and .expand_shape, arith.constant and mono ops";
      });
}

/// True for a stage without tasks: parameters can switch a stage off.
bool isSwitchedOff(Operation &op) {
  auto stage = dyn_cast<StageOp>(op);
  return stage && staticValues(stage.getTasks()) == SmallVector<int64_t>{0};
}

/// Drops operands, mailboxes and regions that have no elements with these parameters, which no
/// stage that is left may use, and mailboxes that only stages without tasks use.
LogicalResult dropEmpty(ScheduleOp schedule) {
  for (Operation &op : llvm::make_early_inc_range(schedule.getBody().front())) {
    if (isa<MailboxOp>(op) && op.use_empty()) {
      op.erase();
      continue;
    }
    if (!isa<OperandOp, MailboxOp, RegionOp>(op) || !isEmpty(op.getResult(0)))
      continue;
    if (!op.use_empty()) {
      InFlightDiagnostic diag = (*op.user_begin())->emitError()
                                << "uses " << describe(op.getResult(0))
                                << ", which has no elements with these parameters";
      diag.attachNote(op.getLoc()) << "declared here; a stage that uses it needs 0 tasks then";
      return diag;
    }
    op.erase();
  }
  return success();
}

LogicalResult refineBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    FailureOr<bool> isGone = foldParams(&op);
    if (failed(isGone))
      return failure();
    if (*isGone)
      continue;
    if (isSwitchedOff(op)) {
      op.erase();
      continue;
    }
    if (failed(refine(&op)))
      return failure();
    if (auto stage = dyn_cast<StageOp>(op))
      if (failed(refineBlock(stage.getBody().front())))
        return failure();
  }
  return success();
}

} // namespace

LogicalResult refineShapes(ModuleOp module) {
  for (auto schedule : module.getOps<ScheduleOp>())
    if (failed(refineBlock(schedule.getBody().front())) || failed(dropEmpty(schedule)))
      return failure();
  return success();
}

} // namespace mono
