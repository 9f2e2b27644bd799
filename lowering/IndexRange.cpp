// The exact value of index arithmetic beside the bits there are for it.
#include "lowering/IndexRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mono {

bool leavesRange(Operation *op, ArrayRef<Attribute> operands, unsigned bits) {
  if (operands.size() != 2 || op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return false;
  auto first = dyn_cast<IntegerAttr>(operands[0]), second = dyn_cast<IntegerAttr>(operands[1]);
  if (!first || !second)
    return false;
  // Wide enough for a product of two, and for a shift by less than their width.
  APInt a = first.getValue().sextOrTrunc(128), b = second.getValue().sextOrTrunc(128);
  auto leaves = [&](const APInt &exact) { return !exact.isSignedIntN(bits); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp, index::AddOp>([&](Operation *) { return leaves(a + b); })
      .Case<arith::SubIOp, index::SubOp>([&](Operation *) { return leaves(a - b); })
      .Case<arith::MulIOp, index::MulOp>([&](Operation *) { return leaves(a * b); })
      .Case<arith::ShLIOp, index::ShlOp>(
          [&](Operation *) { return b.isNegative() || b.uge(bits) || leaves(a.shl(b)); })
      .Case<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, arith::ShRUIOp>(
          [&](Operation *) { return a.isNegative() || b.isNegative(); })
      .Default([](Operation *) { return false; });
}

} // namespace mono
