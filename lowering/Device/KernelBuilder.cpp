// Arithmetic on indices, and LDS with its barriers.
#include "lowering/Device/KernelBuilder.h"

#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t axis = int64_t(shape.size()) - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value KernelBuilder::constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value KernelBuilder::constantI32(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}
Value KernelBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value KernelBuilder::add(Value x, int64_t y) { return y == 0 ? x : add(x, constant(y)); }
Value KernelBuilder::mul(Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::MulIOp>(x, constant(y));
}
Value KernelBuilder::divide(Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::DivUIOp>(x, constant(y));
}
Value KernelBuilder::modulo(Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(x, constant(y));
}
Value KernelBuilder::lessThan(Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(y));
}
Value KernelBuilder::toI32(Value index) {
  return arith::IndexCastUIOp::create(b, b.getI32Type(), index);
}
Value KernelBuilder::toI64(Value index) {
  return arith::IndexCastUIOp::create(b, b.getI64Type(), index);
}
Value KernelBuilder::readFirstLane(Value i32) {
  return ROCDL::ReadfirstlaneOp::create(b, b.getI32Type(), i32);
}

Value KernelBuilder::frozen(Value scalar) { return LLVM::FreezeOp::create(b, scalar); }

Value KernelBuilder::single(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({1}, scalar.getType()), scalar);
}

Value KernelBuilder::hidden(Value value, StringRef constraints, const Twine &text) {
  SmallString<32> assembly;
  return LLVM::InlineAsmOp::create(
             b, value.getType(), ValueRange{value}, text.toStringRef(assembly), constraints,
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

void KernelBuilder::guard(Value condition, function_ref<void()> body) {
  auto ifOp = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

SmallVector<Value> KernelBuilder::unflatten(Value linear, ArrayRef<int64_t> shape) {
  SmallVector<Value> index(shape.size());
  for (int64_t axis = int64_t(shape.size()) - 1; axis > 0; --axis) {
    index[axis] = modulo(linear, shape[axis]);
    linear = divide(linear, shape[axis]);
  }
  if (!shape.empty())
    index[0] = linear;
  return index;
}

Value KernelBuilder::address(ArrayRef<Value> offsets, ArrayRef<Value> index,
                             ArrayRef<int64_t> strides) {
  Value sum = constant(0);
  for (auto [offset, stride] : llvm::zip(offsets, strides)) // no offsets: the whole memory
    sum = add(sum, mul(offset, stride));
  for (auto [i, stride] : llvm::zip_equal(index, strides.take_back(index.size())))
    sum = add(sum, mul(i, stride));
  return sum;
}

//===----------------------------------------------------------------------===//
// LDS
//===----------------------------------------------------------------------===//

Value KernelBuilder::ldsView(int64_t offset, Type element, int64_t count) {
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({count}, element, MemRefLayoutAttrInterface{}, space);
  return memref::ViewOp::create(b, type, arena, constant(offset), ValueRange{});
}

/// A vector with elements of another type, that of its tensor or that in LDS.
static Value withElements(ImplicitLocOpBuilder &b, Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  VectorType to = type.clone(element);
  if (type == to)
    return vector;
  if (type.getElementType().isIndex() || element.isIndex())
    return arith::IndexCastUIOp::create(b, to, vector);
  if (element.isInteger(1))
    return arith::TruncIOp::create(b, to, vector);
  return arith::ExtUIOp::create(b, to, vector);
}

/// Bytes an access of `width` elements at a multiple of `width` is aligned to.
static int64_t accessAlignment(Type element, int64_t width) {
  return std::min<int64_t>(16, width * element.getIntOrFloatBitWidth() / 8);
}

Value KernelBuilder::ldsLoad(int64_t offset, Type element, int64_t count, Value index,
                             int64_t width) {
  Type stored = elementInLds(element);
  Value loaded = vector::LoadOp::create(
      b, VectorType::get({width}, stored), ldsView(offset, stored, count), ValueRange{index},
      /*nontemporal=*/false, llvm::MaybeAlign(accessAlignment(stored, width)));
  return withElements(b, loaded, element);
}

void KernelBuilder::ldsStore(int64_t offset, int64_t count, Value index, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type element = elementInLds(type.getElementType());
  vector::StoreOp::create(
      b, withElements(b, vector, element), ldsView(offset, element, count), ValueRange{index},
      /*nontemporal=*/false, llvm::MaybeAlign(accessAlignment(element, type.getNumElements())));
}

void KernelBuilder::willTouch(ArrayRef<LdsRange> reads, ArrayRef<LdsRange> writes) {
  auto conflict = [&](bool write) {
    return [&, write](LdsRange range) { return hazards.conflicts({range, write}); };
  };
  if (llvm::any_of(reads, conflict(/*write=*/false)) ||
      llvm::any_of(writes, conflict(/*write=*/true)))
    barrier();
  for (LdsRange range : reads)
    hazards.record({range, /*write=*/false});
  for (LdsRange range : writes)
    hazards.record({range, /*write=*/true});
}

/// s_waitcnt with lgkmcnt(0) and the other counters at their most (CDNA4 ISA 4.4: lgkmcnt is bits
/// 11:8, vmcnt 15:14 and 3:0, expcnt 6:4).
static constexpr int32_t kWaitForLds = 0xC07F;

void KernelBuilder::emitBarrier() {
  // The barrier's own fence asks LLVM (22.1) for this wait, too, but may lose it: at the head of a
  // loop it is dropped while nothing is known to be pending, and is not made anew when the end of
  // the loop turns out to leave a store behind (SIInsertWaitcnts, soft waits). One that is written
  // down stays. The fence keeps the stores in front of it.
  auto fence = LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release, "workgroup");
  fence->setDiscardableAttr(
      LLVM::LLVMDialect::getMmraAttrName(),
      LLVM::MMRATagAttr::get(b.getContext(), "amdgpu-synchronize-as", "local"));
  ROCDL::SWaitcntOp::create(b, kWaitForLds);
  amdgpu::LDSBarrierOp::create(b);
}

void KernelBuilder::barrier() {
  bool receives = hazards.waiting();
  if (barriersToSkip-- != 0)
    emitBarrier();
  hazards.barrier();
  if (receives)
    behindReceives();
}

} // namespace mono
