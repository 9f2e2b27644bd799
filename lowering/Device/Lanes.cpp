// Order of floats as integers; counts, sums and reductions over the lanes of a wavefront.
#include "lowering/Device/Lanes.h"

#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// The values of two lanes that are 16 or 32 apart, the lower lane's first, in both of them: what a
/// swap of rows of 16 lanes, or of halves, makes of two copies (CDNA4 ISA, v_permlane16_swap_b32).
static std::pair<Value, Value> bothRows(ImplicitLocOpBuilder &b, Value value, int64_t distance) {
  Type i32 = b.getI32Type();
  int64_t dwords = value.getType().getIntOrFloatBitWidth() / 32;
  auto split = VectorType::get({dwords}, i32);
  auto pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
  Value bits = LLVM::BitcastOp::create(b, split, value);
  Value lower = LLVM::PoisonOp::create(b, split), upper = lower;
  for (int64_t i = 0; i < dwords; ++i) {
    Value at = constant(b, i), dword = LLVM::ExtractElementOp::create(b, bits, at), swapped;
    if (distance == 16)
      swapped = ROCDL::Permlane16SwapOp::create(b, pair, dword, dword, /*fi=*/false,
                                                /*boundControl=*/false);
    else
      swapped = ROCDL::Permlane32SwapOp::create(b, pair, dword, dword, /*fi=*/false,
                                                /*boundControl=*/false);
    lower =
        LLVM::InsertElementOp::create(b, lower, LLVM::ExtractValueOp::create(b, swapped, 0), at);
    upper =
        LLVM::InsertElementOp::create(b, upper, LLVM::ExtractValueOp::create(b, swapped, 1), at);
  }
  Type type = value.getType();
  return {LLVM::BitcastOp::create(b, type, lower), LLVM::BitcastOp::create(b, type, upper)};
}

/// What the lane whose number differs by the bit `distance`, at most 8, holds. With `groupsAgree`
/// the lanes that differ in lower bits only hold the same.
static Value partner(ImplicitLocOpBuilder &b, Value value, int64_t distance, bool groupsAgree) {
  auto permuted = [&](Value from, amdgpu::DPPPerm kind, Attribute argument) -> Value {
    return amdgpu::DPPOp::create(b, from.getType(), from, from, kind, argument, /*row_mask=*/0xf,
                                 /*bank_mask=*/0xf, /*bound_ctrl=*/true);
  };
  auto quad = [&](ArrayRef<int32_t> from) {
    return permuted(value, amdgpu::DPPPerm::quad_perm, b.getI32ArrayAttr(from));
  };
  switch (distance) {
  case 1:
    return quad({1, 0, 3, 2});
  case 2:
    return quad({2, 3, 0, 1});
  case 4: // The mirror of eight lanes turns the lower bits round, too.
    return permuted(groupsAgree ? value : quad({3, 2, 1, 0}), amdgpu::DPPPerm::row_half_mirror,
                    b.getUnitAttr());
  default:
    return permuted(value, amdgpu::DPPPerm::row_ror, b.getI32IntegerAttr(8));
  }
}

Value combineLanes(ImplicitLocOpBuilder &b, Value value, int64_t first, int64_t end,
                   function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = first; distance < end; distance *= 2) {
    if (distance < 16) {
      value = combine(value, partner(b, value, distance, /*groupsAgree=*/first == 1));
      continue;
    }
    auto [lower, upper] = bothRows(b, value, distance);
    value = combine(lower, upper);
  }
  return value;
}

} // namespace mono
