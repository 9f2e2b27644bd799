// Exact top-k of short rows: one wavefront a row, k rounds of a maximum over packed keys.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/Lanes.h"
#include "lowering/Device/SelectPlan.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {
namespace {

/// One wavefront's work on one row. A candidate is packed as (ordered key << 32) | ~index: all are
/// different, larger keys are larger, and among equal keys the lower index is larger. 0 stands for
/// what cannot be selected, or not any more.
class RowSelect {
public:
  explicit RowSelect(ImplicitLocOpBuilder &b) : b(b), i32(b.getI32Type()), i64(b.getI64Type()) {}

  /// Packs one key; `index` is an i32.
  Value pack(Value key, Value index) {
    Value ordered = selectableBits(b, key);
    Value inverse = arith::XOrIOp::create(b, index, constant(-1));
    Value high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, ordered), wide(32));
    Value packed = arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, i64, inverse));
    Value selectable = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, ordered, constant(0));
    return arith::SelectOp::create(b, selectable, packed, wide(0));
  }

  /// Takes the k largest; returns for each of the lane's candidates whether it was taken (i1).
  SmallVector<Value> take(ArrayRef<Value> packed, int64_t k) {
    auto loop = scf::ForOp::create(
        b, index(0), index(k), index(1), packed,
        [&](OpBuilder &, Location, Value, ValueRange left) {
          Value best = left.front();
          for (Value candidate : left.drop_front())
            best = arith::MaxUIOp::create(b, best, candidate);
          for (int64_t distance = gfx950::kWaveSize / 2; distance > 0; distance /= 2)
            best = arith::MaxUIOp::create(b, best, exchange(best, distance));
          SmallVector<Value> next;
          for (Value candidate : left) {
            Value taken = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, candidate, best);
            next.push_back(arith::SelectOp::create(b, taken, wide(0), candidate));
          }
          scf::YieldOp::create(b, next);
        });
    SmallVector<Value> taken;
    for (auto [before, after] : llvm::zip_equal(packed, loop.getResults()))
      taken.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, before, after));
    return taken;
  }

  /// Position of each taken candidate among all taken ones in rising index (i32).
  SmallVector<Value> positions(ArrayRef<Value> taken) {
    Value before = constant(0); // taken by lower lanes
    for (Value flag : taken)
      before = addLowerLanes(b, flag, before);
    SmallVector<Value> result;
    for (Value flag : taken) {
      result.push_back(before);
      before = arith::AddIOp::create(b, before, arith::ExtUIOp::create(b, i32, flag));
    }
    return result;
  }

private:
  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, i32, value); }
  Value wide(int64_t value) { return arith::ConstantIntOp::create(b, i64, value); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

  /// The 64-bit value of the lane `distance` away.
  Value exchange(Value value, int64_t distance) {
    auto shuffle = [&](Value half) -> Value {
      return gpu::ShuffleOp::create(b, half, constant(distance), constant(gfx950::kWaveSize),
                                    gpu::ShuffleMode::XOR)
          .getShuffleResult();
    };
    Value low = shuffle(arith::TruncIOp::create(b, i32, value));
    Value high =
        shuffle(arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, value, wide(32))));
    Value wideHigh = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, high), wide(32));
    return arith::OrIOp::create(b, wideHigh, arith::ExtUIOp::create(b, i64, low));
  }

  ImplicitLocOpBuilder &b;
  Type i32, i64;
};

} // namespace

LogicalResult Emitter::emitSelect(SelectOp op) {
  SelectPlan plan(op, threadCount);
  if (plan.radix)
    return emitRadixSelect(op);
  auto keyType = cast<RankedTensorType>(op.getKey().getType());
  int64_t perLane = llvm::divideCeil(plan.candidates, gfx950::kWaveSize);
  int64_t elements = keyType.getNumElements(), results = plan.rows * plan.k;
  int64_t scratch = op->getAttrOfType<IntegerAttr>(kScratchAttr).getInt();
  int64_t indices = scratch + plan.indices, values = scratch + plan.values;

  int64_t keys = inLds(op.getKey(), scratch + plan.keys), payload = 0;
  willRead(keys, elements * 4);
  if (op.getPayload()) {
    payload = inLds(op.getPayload(), scratch + plan.payload);
    willRead(payload, elements * 4);
  }
  willWrite(indices, scratch + plan.bytes - indices);

  auto scalar = [&](Value value) -> Value {
    return vector::BroadcastOp::create(b, VectorType::get({1}, value.getType()), value);
  };
  auto storeResult = [&](Value at, Value index, Value value) {
    ldsStore(indices, results, at, scalar(index));
    if (value)
      ldsStore(values, results, at, scalar(value));
  };
  auto loadOne = [&](int64_t home, Value at) -> Value {
    return vector::ExtractOp::create(b, ldsLoad(home, b.getF32Type(), elements, at, 1), int64_t(0));
  };

  RowSelect select(b);
  auto loop =
      scf::ForOp::create(b, wave, constant(plan.rows), constant(threadCount / gfx950::kWaveSize));
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar(), firstKey = mul(row, plan.candidates);
  // Places nobody takes below keep this: LDS does what one wavefront asks of it in order.
  guard(lessThan(lane, plan.k), [&] {
    Value none =
        op.getPayload() ? Value(arith::ConstantOp::create(b, b.getF32FloatAttr(0))) : Value();
    storeResult(add(mul(row, plan.k), lane), constantI32(-1), none);
  });
  SmallVector<Value> columns, packed;
  for (int64_t i = 0; i < perLane; ++i) {
    Value column = add(mul(lane, perLane), i);
    Value clamped = arith::MinUIOp::create(b, column, constant(plan.candidates - 1));
    Value candidate = select.pack(loadOne(keys, add(firstKey, clamped)), toI32(column));
    if (plan.candidates % gfx950::kWaveSize != 0)
      candidate = arith::SelectOp::create(b, lessThan(column, plan.candidates), candidate,
                                          arith::ConstantIntOp::create(b, b.getI64Type(), 0));
    columns.push_back(clamped);
    packed.push_back(candidate);
  }
  SmallVector<Value> taken = select.take(packed, plan.k);
  SmallVector<Value> positions = select.positions(taken);
  for (auto [column, flag, position] : llvm::zip_equal(columns, taken, positions))
    guard(flag, [&, column = column, position = position] {
      Value at = add(mul(row, plan.k), arith::IndexCastUIOp::create(b, b.getIndexType(), position));
      storeResult(at, toI32(column),
                  op.getPayload() ? loadOne(payload, add(firstKey, column)) : Value());
    });
  setTile(op.getIndices(), indices);
  if (op.getPayload())
    setTile(op.getValues(), values);
  return success();
}

} // namespace mono
