// Values that MLIR leaves undefined become some value.
#include "lowering/Device/Defined.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mono {
namespace {

constexpr unsigned kIndexBits = 32; ///< of a kernel

unsigned bitsOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? kIndexBits : element.getIntOrFloatBitWidth();
}

/// The integer that all elements are, in the bits the kernel has for it.
std::optional<APInt> constantOf(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.trunc(std::min(constant.getBitWidth(), bitsOf(value.getType())));
}

Value splat(ImplicitLocOpBuilder &b, Type type, const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  unsigned storage = element.isIndex() ? IndexType::kInternalStorageBitWidth : bitsOf(type);
  TypedAttr attr = b.getIntegerAttr(element, value.sextOrTrunc(storage));
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

/// A flag is a promise about values, and what breaks it is undefined.
void dropPromises(Operation *op) {
  MLIRContext *context = op->getContext();
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op);
      math && math.getFastMathFlagsAttr()) {
    auto kept = arith::bitEnumClear(math.getFastMathFlagsAttr().getValue(),
                                    arith::FastMathFlags::nnan | arith::FastMathFlags::ninf);
    op->setAttr(math.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, kept));
  }
  if (auto integers = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    op->setAttr(integers.getIntegerOverflowAttrName(),
                arith::IntegerOverflowFlagsAttr::get(context, arith::IntegerOverflowFlags::none));
  for (StringRef flag : {"isExact", "nonNeg"})
    op->removeAttr(flag);
}

/// Of the distance the bits that the machine takes, too.
void wrapDistance(Operation *shift) {
  Value distance = shift->getOperand(1);
  unsigned bits = bitsOf(distance.getType());
  if (std::optional<APInt> known = constantOf(distance); known && known->ult(bits))
    return;
  ImplicitLocOpBuilder b(shift->getLoc(), shift);
  Value mask = splat(b, distance.getType(), APInt(64, bits - 1));
  shift->setOperand(1, arith::AndIOp::create(b, distance, mask));
}

/// Divides by 1 instead of by 0, and where the quotient of signed numbers is one too many.
void avoidDivisors(Operation *division, bool isSigned) {
  Value dividend = division->getOperand(0), divisor = division->getOperand(1);
  std::optional<APInt> known = constantOf(divisor);
  if (known && !known->isZero() && !(isSigned && known->isAllOnes()))
    return;
  ImplicitLocOpBuilder b(division->getLoc(), division);
  Type type = divisor.getType();
  auto equals = [&](Value value, const APInt &number) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, splat(b, type, number));
  };
  unsigned bits = bitsOf(type);
  Value avoided = equals(divisor, APInt(bits, 0));
  if (isSigned) {
    Value least = equals(dividend, APInt::getSignedMinValue(bits));
    Value minusOne = equals(divisor, APInt::getAllOnes(bits));
    avoided = arith::OrIOp::create(b, avoided, arith::AndIOp::create(b, least, minusOne));
  }
  Value one = splat(b, type, APInt(64, 1));
  division->setOperand(1, arith::SelectOp::create(b, avoided, one, divisor));
}

void freezeResult(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  b.setInsertionPointAfter(op);
  auto frozen = LLVM::FreezeOp::create(b, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(frozen, frozen);
}

void define(Operation *op) {
  dropPromises(op);
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp, index::ShlOp, index::ShrUOp,
          index::ShrSOp>(op))
    wrapDistance(op);
  else if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, index::DivUOp, index::RemUOp,
               index::CeilDivUOp>(op))
    avoidDivisors(op, /*isSigned=*/false);
  else if (isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
               index::DivSOp, index::RemSOp, index::CeilDivSOp, index::FloorDivSOp>(op))
    avoidDivisors(op, /*isSigned=*/true);
  else if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    freezeResult(op);
}

} // namespace

void defineValues(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa_and_present<arith::ArithDialect, math::MathDialect, index::IndexDialect>(
            op->getDialect()))
      ops.push_back(op);
  });
  llvm::for_each(ops, define);
}

} // namespace mono
