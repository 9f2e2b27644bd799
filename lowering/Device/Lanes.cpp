// Order of floats as integers, counts and sums over the lanes of a wavefront.
#include "lowering/Device/Lanes.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace mono {

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}

Value selectableBits(ImplicitLocOpBuilder &b, Value f32) {
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), f32);
  // Flip all bits of negative floats and the sign of the others: unsigned order is float order.
  Value sign = arith::ShRSIOp::create(b, bits, constant(b, 31));
  Value flip = arith::OrIOp::create(b, sign, constant(b, int32_t(0x80000000)));
  Value ordered = arith::XOrIOp::create(b, bits, flip);
  constexpr int32_t kMinusInfinity = 0x007FFFFF; // ~0xFF800000
  Value selectable =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, ordered, constant(b, kMinusInfinity));
  return arith::SelectOp::create(b, selectable, ordered, constant(b, 0));
}

Value addLowerLanes(ImplicitLocOpBuilder &b, Value flag, Value base) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value mask = ROCDL::BallotOp::create(b, i64, flag);
  Value low = arith::TruncIOp::create(b, i32, mask);
  Value shift = arith::ConstantIntOp::create(b, i64, 32);
  Value high = arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, mask, shift));
  Value sum = ROCDL::MbcntLoOp::create(b, i32, low, base, ArrayAttr(), ArrayAttr());
  return ROCDL::MbcntHiOp::create(b, i32, high, sum, ArrayAttr(), ArrayAttr());
}

Value inclusiveSum(ImplicitLocOpBuilder &b, Value i32) {
  Value zero = constant(b, 0), sum = i32;
  // Lanes without a source, and rows of 16 that are masked out, add the zero.
  auto addFrom = [&](amdgpu::DPPPerm kind, Attribute argument, unsigned rowMask) {
    Value other = amdgpu::DPPOp::create(b, sum.getType(), zero, sum, kind, argument, rowMask);
    sum = arith::AddIOp::create(b, sum, other);
  };
  for (int32_t distance : {1, 2, 4, 8})
    addFrom(amdgpu::DPPPerm::row_shr, b.getI32IntegerAttr(distance), 0xf);
  // The last lane of row 0 to row 1 and of row 2 to row 3, then lane 31 to rows 2 and 3.
  addFrom(amdgpu::DPPPerm::row_bcast_15, b.getUnitAttr(), 0xa);
  addFrom(amdgpu::DPPPerm::row_bcast_31, b.getUnitAttr(), 0xc);
  return sum;
}

} // namespace mono
