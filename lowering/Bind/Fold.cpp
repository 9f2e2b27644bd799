// Folding of index arithmetic and of expressions in brackets.
#include "lowering/Bind/Fold.h"

#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/VerifyBox.h"
#include "lowering/IndexRange.h"
#include "lowering/Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono {
namespace {

/// The step of a bracketed expression list that 64 bits don't hold; null if there is none.
AffineExpr tooWide(AffineMap map, ArrayRef<Attribute> constants) {
  auto args = llvm::map_to_vector(constants, [](Attribute constant) {
    auto value = dyn_cast_or_null<IntegerAttr>(constant);
    return value ? std::optional(value.getInt()) : std::nullopt;
  });
  ExprValues values{ArrayRef(args).take_front(map.getNumDims()),
                    ArrayRef(args).drop_front(map.getNumDims()),
                    std::numeric_limits<int64_t>::max()};
  for (AffineExpr expr : map.getResults())
    if (!values.of(expr) && values.stuck && canLeaveRange(values.stuck))
      return values.stuck;
  return {};
}

/// Folds the known arguments of one bracketed expression list into its map. Says in `wide` what 64
/// bits don't hold.
AffineMapAttr fold(MutableOperandRange args, AffineMap map, AffineExpr &wide) {
  SmallVector<Attribute> constants;
  for (OpOperand &arg : args) {
    Attribute value;
    matchPattern(arg.get(), m_Constant(&value));
    constants.push_back(value);
  }
  if (AffineExpr found = tooWide(map, constants))
    wide = found;
  SmallVector<unsigned> kept;
  AffineMap bound = bindConstants(map, constants, kept);
  SmallVector<Value> rest;
  for (unsigned index : kept)
    rest.push_back(args[index].get());
  args.assign(rest);
  return AffineMapAttr::get(bound);
}

LogicalResult foldExprs(Operation *op) {
  AffineExpr wide;
  llvm::TypeSwitch<Operation *>(op)
      .Case<RanksOp>([&](auto o) { o.setCountAttr(fold(o.getArgsMutable(), o.getCount(), wide)); })
      .Case<OperandOp, MailboxOp, RegionOp>(
          [&](auto o) { o.setShapeAttr(fold(o.getArgsMutable(), o.getShape(), wide)); })
      .Case<StageOp>([&](StageOp o) {
        o.setTasksAttr(fold(o.getTaskArgsMutable(), o.getTasks(), wide));
        o.setBaseAttr(fold(o.getBaseArgsMutable(), o.getBase(), wide));
      })
      .Case<LoadOp, StreamOp, ContractOp, ReceiveOp>([&](auto o) {
        o.setOffsetsAttr(fold(o.getOffsetArgsMutable(), o.getOffsets(), wide));
        o.setSizesAttr(fold(o.getSizeArgsMutable(), o.getSizes(), wide));
      })
      .Case<SelectOp>([&](SelectOp o) { o.setKAttr(fold(o.getKArgsMutable(), o.getK(), wide)); })
      .Case<ProductOp>([&](ProductOp o) {
        o.setAOffsetsAttr(fold(o.getAOffsetArgsMutable(), o.getAOffsets(), wide));
        o.setASizesAttr(fold(o.getASizeArgsMutable(), o.getASizes(), wide));
        o.setBOffsetsAttr(fold(o.getBOffsetArgsMutable(), o.getBOffsets(), wide));
        o.setBSizesAttr(fold(o.getBSizeArgsMutable(), o.getBSizes(), wide));
      })
      .Case<StoreOp, PostOp, ScatterOp>(
          [&](auto o) { o.setOffsetsAttr(fold(o.getOffsetArgsMutable(), o.getOffsets(), wide)); });
  if (!wide)
    return success();
  RuleScope rule(op->getContext(), "bounds");
  return op->emitError() << "expected expressions of parameters that 64 signed bits hold, but "
                         << text(wide) << " leaves them";
}

/// A choice that parameters make: of a size, of the rank or a fixed one, of a mailbox.
bool foldChoice(Operation *op) {
  auto choice = dyn_cast<arith::SelectOp>(op);
  llvm::APInt condition;
  if (!choice || !matchPattern(choice.getCondition(), m_ConstantInt(&condition)))
    return false;
  choice.replaceAllUsesWith(condition.isOne() ? choice.getTrueValue() : choice.getFalseValue());
  choice.erase();
  return true;
}

/// What an op uses, if all of it is constant.
std::optional<SmallVector<Attribute>> constantOperands(Operation *op) {
  SmallVector<Attribute> constants;
  for (Value operand : op->getOperands()) {
    Attribute value;
    if (!matchPattern(operand, m_Constant(&value)))
      return std::nullopt;
    constants.push_back(value);
  }
  return constants;
}

/// Arithmetic on parameters that 64 bits don't hold.
LogicalResult checkRange(Operation *op) {
  std::optional<SmallVector<Attribute>> constants = constantOperands(op);
  if (!constants || !leavesRange(op, *constants, 64))
    return success();
  RuleScope rule(op->getContext(), "bounds");
  InFlightDiagnostic diag = op->emitError() << "expected arithmetic on parameters that 64 signed "
                                               "bits hold, but '"
                                            << op->getName() << "' leaves them with ";
  llvm::interleave(
      *constants, diag, [&](Attribute value) { diag << cast<IntegerAttr>(value).getInt(); },
      " and ");
  return diag;
}

/// Arithmetic on parameters: folds `op` away when all it uses is constant.
bool foldIndexOp(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || op->hasTrait<OpTrait::ConstantLike>() ||
      op->getDialect()->getNamespace() == "mono")
    return false;
  Type type = op->getResult(0).getType();
  if (!type.isIndex() && !type.isInteger(1))
    return false;
  std::optional<SmallVector<Attribute>> constants = constantOperands(op);
  if (!constants)
    return false;
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(*constants, folded)) || folded.size() != 1)
    return false;
  OpBuilder builder(op);
  if (auto same = dyn_cast<Value>(folded.front())) // x / 1 is x
    op->getResult(0).replaceAllUsesWith(same);
  else if (auto value = dyn_cast<IntegerAttr>(cast<Attribute>(folded.front())))
    op->getResult(0).replaceAllUsesWith(
        arith::ConstantOp::create(builder, op->getLoc(), type, value));
  else
    return false;
  op->erase();
  return true;
}

} // namespace

FailureOr<bool> foldParams(Operation *op) {
  if (failed(checkRange(op)))
    return failure();
  if (foldChoice(op) || foldIndexOp(op))
    return true;
  if (failed(foldExprs(op)))
    return failure();
  return false;
}

} // namespace mono
