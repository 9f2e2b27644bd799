// The exact value of index arithmetic beside the bits there are for it.
#include "lowering/IndexRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

bool leavesRange(Operation *op, ArrayRef<Attribute> operands, unsigned bits) {
  auto first = operands.empty() ? IntegerAttr() : dyn_cast<IntegerAttr>(operands[0]);
  if (isa<arith::IndexCastUIOp, index::CastUOp>(op))
    return first && op->getOperand(0).getType().isIndex() && first.getValue().isNegative();
  if (operands.size() != 2 || op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return false;
  auto second = dyn_cast<IntegerAttr>(operands[1]);
  if (!first || !second)
    return false;
  // Wide enough for a product of two, and for a shift by less than their width.
  APInt a = first.getValue().sextOrTrunc(128), b = second.getValue().sextOrTrunc(128);
  auto leaves = [&](const APInt &exact) { return !exact.isSignedIntN(bits); };
  bool isTooFar = b.isNegative() || b.uge(bits);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp, index::AddOp>([&](Operation *) { return leaves(a + b); })
      .Case<arith::SubIOp, index::SubOp>([&](Operation *) { return leaves(a - b); })
      .Case<arith::MulIOp, index::MulOp>([&](Operation *) { return leaves(a * b); })
      .Case<arith::ShLIOp, index::ShlOp>([&](Operation *) { return isTooFar || leaves(a.shl(b)); })
      .Case<arith::ShRSIOp, index::ShrSOp>([&](Operation *) { return isTooFar; })
      .Case<arith::ShRUIOp, index::ShrUOp>([&](Operation *) { return isTooFar || a.isNegative(); })
      .Case<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, index::DivUOp, index::CeilDivUOp,
            index::RemUOp>([&](Operation *) { return a.isNegative() || b.isNegative(); })
      .Default([](Operation *) { return false; });
}

/// None on a division by what is not positive, and past 64 bits.
static std::optional<int64_t> compute(AffineExprKind kind, int64_t lhs, int64_t rhs) {
  int64_t value;
  switch (kind) {
  case AffineExprKind::Add:
    return llvm::AddOverflow(lhs, rhs, value) ? std::nullopt : std::optional(value);
  case AffineExprKind::Mul:
    return llvm::MulOverflow(lhs, rhs, value) ? std::nullopt : std::optional(value);
  default:
    break;
  }
  if (rhs <= 0)
    return std::nullopt;
  return kind == AffineExprKind::FloorDiv  ? llvm::divideFloorSigned(lhs, rhs)
         : kind == AffineExprKind::CeilDiv ? llvm::divideCeilSigned(lhs, rhs)
                                           : llvm::mod(lhs, rhs);
}

std::optional<int64_t> ExprValues::of(AffineExpr expr) {
  std::optional<int64_t> value;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    value = constant.getValue();
  } else if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    std::optional<int64_t> lhs = of(binary.getLHS()), rhs = of(binary.getRHS());
    if (!lhs || !rhs)
      return std::nullopt;
    value = compute(binary.getKind(), *lhs, *rhs);
  } else {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    value = dim ? dims[dim.getPosition()] : symbols[cast<AffineSymbolExpr>(expr).getPosition()];
    if (!value)
      return std::nullopt;
  }
  if (value && *value >= -most && *value <= most)
    return value;
  if (!stuck)
    stuck = expr;
  return std::nullopt;
}

bool canLeaveRange(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || binary.getKind() == AffineExprKind::Add ||
         binary.getKind() == AffineExprKind::Mul;
}

} // namespace mono
