// Loads and stores of operands and regions.
#include "lowering/Device/Emitter.h"

#include "dialect/Exprs.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;

namespace mono {

llvm::MaybeAlign alignmentOf(AffineMap map, ArrayRef<int64_t> strides, Type element,
                             int64_t width) {
  int64_t elements = width;
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides)) {
    int64_t divisor = expr.getLargestKnownDivisor();
    elements = std::gcd(elements, divisor * stride);
  }
  for (int64_t stride : strides.drop_back())
    elements = std::gcd(elements, stride);
  return llvm::MaybeAlign(std::min<int64_t>(16, elements * element.getIntOrFloatBitWidth() / 8));
}

SmallVector<int64_t> memoryStrides(Value memory) {
  if (auto operand = memory.getDefiningOp<OperandOp>())
    return stridesOf(staticValues(operand.getShape()));
  auto region = memory.getDefiningOp<RegionOp>();
  SmallVector<int64_t> padded = staticValues(region.getShape());
  padded.back() = region.getRowStride();
  return stridesOf(padded);
}

LogicalResult Emitter::emitLoad(LoadOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  Distribution d = distributionOf(type);
  SmallVector<int64_t> strides = memoryStrides(op.getSource());
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  auto region = op.getSource().getDefiningOp<RegionOp>();
  if (region)
    willRead(rangeOf(region));
  SmallVector<Value> chunks;
  llvm::MaybeAlign alignment = alignmentOf(op.getOffsets(), strides, element, d.width);
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    // Threads without elements load nothing: every byte of an operand is read once.
    auto load = [&](Value first) -> SmallVector<Value> {
      Value at = address(offsets, unflatten(first, type.getShape()), strides);
      Value memory = region ? ldsView(*region.getOffset(), element,
                                      region.getBytes() * 8 / element.getIntOrFloatBitWidth())
                            : operandMemory(op.getSource().getDefiningOp<OperandOp>());
      return {vector::LoadOp::create(b, chunkType(type), memory, ValueRange{at},
                                     /*nontemporal=*/false, alignment)};
    };
    llvm::append_range(chunks, ownersOrZero(d, chunk, {chunkType(type)}, load));
  }
  setTile(op.getResult(), std::move(chunks));
  return success();
}

LogicalResult Emitter::emitStore(StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  Type element = type.getElementType();
  Distribution d = distributionOf(type);
  SmallVector<int64_t> strides = memoryStrides(op.getTarget());
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  SmallVector<Value> chunks(inRegisters(op.getValue()));
  auto region = op.getTarget().getDefiningOp<RegionOp>();
  if (region)
    willWrite(rangeOf(region));
  for (auto [chunk, value] : llvm::enumerate(chunks))
    forOwners(d, chunk, [&, value = value](Value first) {
      Value at = address(offsets, unflatten(first, type.getShape()), strides);
      Value memory = region ? ldsView(*region.getOffset(), element,
                                      region.getBytes() * 8 / element.getIntOrFloatBitWidth())
                            : operandMemory(op.getTarget().getDefiningOp<OperandOp>());
      vector::StoreOp::create(b, value, memory, ValueRange{at}, /*nontemporal=*/false,
                              alignmentOf(op.getOffsets(), strides, element, d.width));
    });
  return success();
}

} // namespace mono
