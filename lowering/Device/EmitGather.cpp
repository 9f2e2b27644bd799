// Rows and elements that a tensor of indices names: gather, scatter, and the places of rows.
#include "lowering/Device/Emitter.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

int64_t rowsOf(Value memory) {
  return llvm::product_of(ArrayRef(declaredBy(memory)->shape).drop_back());
}

std::pair<Value, Value> Emitter::rowAndColumn(Value first, int64_t columns, int64_t indices,
                                              int64_t count) {
  Value loaded = ldsLoad(indices, b.getI32Type(), count, divide(first, columns), 1);
  return {frozen(vector::ExtractOp::create(b, loaded, int64_t(0))), modulo(first, columns)};
}

Value Emitter::loadOrZero(Value valid, VectorType type, function_ref<Value()> load) {
  return scf::IfOp::create(
             b, valid, [&](OpBuilder &, Location) { scf::YieldOp::create(b, load()); },
             [&](OpBuilder &, Location) {
               Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
               scf::YieldOp::create(b, zero);
             })
      .getResult(0);
}

void Emitter::storeToRegion(RegionOp region, Value first, Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  int64_t elements = region.getBytes() * 8 / region.getElement().getIntOrFloatBitWidth();
  SmallVector<int64_t> shape = staticValues(region.getShape());
  SmallVector<int64_t> strides = memoryStrides(region.getResult());
  auto store = [&](Value linear, Value some) {
    ldsStore(*region.getOffset(), elements, address({}, unflatten(linear, shape), strides), some);
  };
  // What follows each other in a box of fewer axes may be in several rows here.
  if (shape.back() % width == 0)
    return store(first, vector);
  for (int64_t i = 0; i < width; ++i)
    store(add(first, i), single(vector::ExtractOp::create(b, vector, i)));
}

void Emitter::storeToRegion(RegionOp region, const Distribution &d, ArrayRef<Value> chunks) {
  willWrite(rangeOf(region));
  for (auto [chunk, value] : llvm::enumerate(chunks))
    forOwners(d, chunk, [&, value = value](Value first) { storeToRegion(region, first, value); });
}

Value Emitter::firstEqual(Value indices, int64_t places, int64_t count, int64_t base,
                          Value otherwise) {
  Type type = indices.getType();
  auto splat = [&](Value scalar) { return vector::BroadcastOp::create(b, type, scalar); };
  willRead({places, count * 4});
  Value result = otherwise;
  // Backwards, so that the first stays.
  for (int64_t end = count; end > 0;) {
    int64_t width = end % 4 ? 1 : 4, begin = end - width;
    Value some = ldsLoad(places, b.getI32Type(), count, constant(begin), width);
    for (; end > begin; --end) {
      Value place = vector::ExtractOp::create(b, some, end - 1 - begin);
      Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, indices, splat(place));
      result = arith::SelectOp::create(b, isHere, splat(constantI32(base + end - 1)), result);
    }
  }
  return result;
}

int64_t Emitter::indicesWithPlaces(GatherOp op) {
  auto type = cast<RankedTensorType>(op.getRows().getType());
  int64_t scratch = scratchOf(op);
  int64_t rows = rowsOf(op.getSource()), fresh = rowsOf(op.getFresh());
  SmallVector<Value> chunks(inRegisters(op.getRows()));
  int64_t places =
      inLds(op.getPlaces(), scratch + llvm::alignTo(type.getNumElements() * 4, kLdsAlign));
  auto splat = [&](int64_t value) {
    return vector::BroadcastOp::create(b, chunkType(type), constantI32(value));
  };
  for (Value &chunk : chunks) {
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, chunk, splat(rows));
    Value row = firstEqual(chunk, places, fresh, rows, chunk);
    chunk = arith::SelectOp::create(b, inside, row, splat(-1));
  }
  toLds(type, chunks, scratch);
  return scratch;
}

LogicalResult Emitter::emitDistinct(DistinctOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Distribution d = distributionOf(type);
  VectorType vectorType = chunkType(type);
  SmallVector<Value> chunks(inRegisters(op.getValues()));
  int64_t values = inLds(op.getValues(), scratchOf(op));
  Value none = vector::BroadcastOp::create(b, vectorType, constantI32(-1));
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, d.width));
  Value step = arith::ConstantOp::create(b, DenseElementsAttr::get<int32_t>(vectorType, numbers));
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    Value own = arith::AddIOp::create(
        b, vector::BroadcastOp::create(b, vectorType, toI32(firstElement(d, number))), step);
    Value first = firstEqual(chunk, values, d.elements, 0, none);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, first, own);
    chunk = arith::SelectOp::create(b, isFirst, chunk, none);
  }
  setTile(op.getResult(), std::move(chunks));
  return success();
}

/// Elements one by one: a tensor and the tensor of its indices lie alike.
LogicalResult Emitter::gatherSingle(GatherOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  int64_t count = rowsOf(op.getSource()) * declaredBy(op.getSource())->shape.back();
  auto region = op.getSource().getDefiningOp<RegionOp>();
  if (region)
    willRead(rangeOf(region));
  SmallVector<int64_t> strides = memoryStrides(op.getSource());
  SmallVector<int64_t> shape = declaredBy(op.getSource())->shape;
  auto one = VectorType::get({1}, element);
  SmallVector<Value> chunks;
  for (Value indices : inRegisters(op.getRows())) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < cast<VectorType>(indices.getType()).getNumElements(); ++i) {
      Value index = frozen(vector::ExtractOp::create(b, indices, i));
      Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, constantI32(count));
      Value loaded = loadOrZero(valid, one, [&]() -> Value {
        Value linear = arith::IndexCastUIOp::create(b, b.getIndexType(), index);
        Value at = address({}, unflatten(linear, shape), strides);
        if (region)
          return ldsLoad(*region.getOffset(), element,
                         region.getBytes() * 8 / element.getIntOrFloatBitWidth(), at, 1);
        return vector::LoadOp::create(
            b, one, operandMemory(op.getSource().getDefiningOp<OperandOp>()), ValueRange{at});
      });
      elements.push_back(vector::ExtractOp::create(b, loaded, int64_t(0)));
    }
    chunks.push_back(vector::FromElementsOp::create(b, chunkType(type), elements));
  }
  setTile(op.getResult(), std::move(chunks));
  return success();
}

Distribution Emitter::distributionOf(GatherOp op) const {
  Declared source = *declaredBy(op.getSource());
  int64_t count = cast<RankedTensorType>(op.getRows().getType()).getNumElements();
  return distributionOf(RankedTensorType::get({count, source.shape.back()}, source.element));
}

Value Emitter::loadOfRow(Value memory, Value row, Value column, int64_t width) {
  Declared declared = *declaredBy(memory);
  if (auto region = memory.getDefiningOp<RegionOp>())
    return ldsLoad(*region.getOffset(), declared.element,
                   region.getBytes() * 8 / declared.element.getIntOrFloatBitWidth(),
                   address({}, {row, column}, {region.getRowStride(), 1}), width);
  // Rows are whole multiples of the width, so vectors are aligned.
  int64_t bytes = width * declared.element.getIntOrFloatBitWidth() / 8;
  return vector::LoadOp::create(b, VectorType::get({width}, declared.element),
                                operandMemory(memory.getDefiningOp<OperandOp>()),
                                ValueRange{address({}, {row, column}, {declared.shape.back(), 1})},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(std::min<int64_t>(16, bytes)));
}

std::pair<Value, Value> Emitter::loadWithin(Value row, int64_t begin, int64_t size, VectorType type,
                                            function_ref<Value(Value)> load) {
  Value distance = arith::SubIOp::create(b, row, constantI32(begin));
  Value relative = arith::IndexCastUIOp::create(b, b.getIndexType(), distance);
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, distance, constantI32(size));
  return {loadOrZero(inside, type, [&] { return load(relative); }), inside};
}

GatheredRows Emitter::issueGather(GatherOp op, bool isAhead) {
  Distribution d = distributionOf(op);
  Type element = declaredBy(op.getSource())->element;
  auto type = VectorType::get({d.width}, element);
  int64_t count = d.elements / d.columns;
  int64_t indices = op.getFresh() ? indicesWithPlaces(op) : inLds(op.getRows(), scratchOf(op));
  SmallVector<LdsRange> reads{{indices, count * 4}};
  if (auto region = op.getSource().getDefiningOp<RegionOp>())
    reads.push_back(rangeOf(region));
  // What is about to be read in the second half, too, if that comes at once: one barrier for both.
  if (op.getFresh() && !isAhead)
    reads.push_back(rangeOf(op.getFresh().getDefiningOp<RegionOp>()));
  willTouch(reads, {});

  // All loads go out before the first is needed.
  GatheredRows result;
  SmallVector<Type> types{type};
  if (op.getFresh())
    types.push_back(b.getI32Type());
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    SmallVector<Value> parts =
        ownersOrZero(d, chunk, types, [&](Value first) -> SmallVector<Value> {
          auto [row, column] = rowAndColumn(first, d.columns, indices, count);
          Value loaded =
              loadWithin(row, 0, rowsOf(op.getSource()), type, [&, column = column](Value inside) {
                return loadOfRow(op.getSource(), inside, column, d.width);
              }).first;
          SmallVector<Value> both{loaded, row};
          both.resize(types.size());
          return both;
        });
    result.chunks.push_back(parts.front());
    if (op.getFresh())
      result.rows.push_back(parts.back());
  }
  return result;
}

Value Emitter::withFresh(GatherOp op, int64_t chunk, Value loaded, Value row) {
  Distribution d = distributionOf(op);
  Value column = modulo(firstElement(d, chunk), d.columns);
  auto [fresh, isFresh] = loadWithin(
      row, rowsOf(op.getSource()), rowsOf(op.getFresh()), cast<VectorType>(loaded.getType()),
      [&](Value inside) { return loadOfRow(op.getFresh(), inside, column, d.width); });
  return arith::SelectOp::create(b, isFresh, fresh, loaded);
}

LogicalResult Emitter::emitGather(GatherOp op) {
  if (op.getResult() && cast<RankedTensorType>(op.getResult().getType()).getRank() == 1)
    return gatherSingle(op);
  auto ahead = gathersAhead.find(op);
  GatheredRows loaded =
      ahead == gathersAhead.end() ? issueGather(op, /*isAhead=*/false) : std::move(ahead->second);
  if (op.getFresh()) {
    willRead(rangeOf(op.getFresh().getDefiningOp<RegionOp>()));
    for (auto [number, chunk, row] : llvm::enumerate(loaded.chunks, loaded.rows))
      chunk = withFresh(op, number, chunk, row);
  }
  if (op.getResult())
    setTile(op.getResult(), std::move(loaded.chunks));
  else
    storeToRegion(op.getRegion().getDefiningOp<RegionOp>(), distributionOf(op), loaded.chunks);
  return success();
}

LogicalResult Emitter::emitScatter(ScatterOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  auto operand = op.getTarget().getDefiningOp<OperandOp>();
  int64_t count = type.getShape().front(), width = type.getShape().back();
  int64_t rows = rowsOf(op.getTarget()), columns = staticValues(operand.getShape()).back();
  Distribution d = distributionOf(type);
  SmallVector<Value> chunks(inRegisters(op.getValue()));
  int64_t indices = inLds(op.getRows(), scratchOf(op));
  willRead({indices, count * 4});
  Value offset = evaluate(op.getOffsets(), op.getOffsetArgs()).front();
  for (auto [chunk, value] : llvm::enumerate(chunks))
    forOwners(d, chunk, [&, value = value](Value first) {
      auto [row, column] = rowAndColumn(first, width, indices, count);
      Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, constantI32(rows));
      guard(valid, [&, row = row, column = column] {
        Value at = address(
            {}, {arith::IndexCastUIOp::create(b, b.getIndexType(), row), add(offset, column)},
            {columns, 1});
        vector::StoreOp::create(b, value, operandMemory(operand), ValueRange{at},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(type.getElementTypeBitWidth() / 8));
      });
    });
  return success();
}

} // namespace mono
