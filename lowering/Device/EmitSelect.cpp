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
#include "llvm/Support/MathExtras.h"

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
          best = combineLanes(b, best, 1, gfx950::kWaveSize, [&](Value x, Value y) -> Value {
            return arith::MaxUIOp::create(b, x, y);
          });
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

  ImplicitLocOpBuilder &b;
  Type i32, i64;
};

} // namespace

/// Emits one selection with a wavefront a row; keys, payload and results lie in LDS.
class WaveSelectEmitter {
public:
  WaveSelectEmitter(Emitter &emitter, SelectOp op, const SelectPlan &plan)
      : e(emitter), b(emitter.b), op(op), plan(plan), scratch(scratchOf(op)) {}

  void emit();

private:
  void selectRow(Value row);
  /// The key of a column of a row, packed; 0 past the last column.
  Value candidate(RowSelect &select, Value firstKey, Value column);
  /// One element of a copy of the keys or the payload.
  Value loadOne(int64_t home, Value at);
  /// One element of the results; no value where there is no payload.
  void storeResult(Value at, Value index, Value value);

  int64_t elements() const { return plan.rows * plan.candidates; }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  SelectOp op;
  const SelectPlan &plan;
  int64_t scratch;
  int64_t keys = 0, payload = 0; ///< byte offsets in LDS
};

void WaveSelectEmitter::emit() {
  keys = e.inLds(op.getKey(), scratch + plan.keys);
  SmallVector<LdsRange> reads{{keys, elements() * 4}};
  if (op.getPayload()) {
    payload = e.inLds(op.getPayload(), scratch + plan.payload);
    reads.push_back({payload, elements() * 4});
  }
  e.willTouch(reads, {{scratch + plan.indices, plan.bytes - plan.indices}});
  {
    auto loop = scf::ForOp::create(b, e.wave, e.constant(plan.rows),
                                   e.constant(e.threadCount / gfx950::kWaveSize));
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(loop.getBody());
    selectRow(loop.getInductionVar());
  }
  e.setTile(op.getIndices(), scratch + plan.indices);
  if (op.getPayload())
    e.setTile(op.getValues(), scratch + plan.values);
}

void WaveSelectEmitter::selectRow(Value row) {
  Value firstKey = e.mul(row, plan.candidates), firstResult = e.mul(row, plan.k);
  // Places nobody takes below keep this: LDS does what one wavefront asks of it in order.
  e.guard(e.lessThan(e.lane, plan.k), [&] {
    Value none;
    if (op.getPayload())
      none = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    storeResult(e.add(firstResult, e.lane), e.constantI32(-1), none);
  });
  RowSelect select(b);
  SmallVector<Value> columns, packed;
  int64_t perLane = llvm::divideCeil(plan.candidates, gfx950::kWaveSize);
  for (int64_t i = 0; i < perLane; ++i) {
    columns.push_back(e.add(e.mul(e.lane, perLane), i));
    packed.push_back(candidate(select, firstKey, columns.back()));
  }
  SmallVector<Value> taken = select.take(packed, plan.k);
  SmallVector<Value> positions = select.positions(taken);
  for (auto [column, flag, position] : llvm::zip_equal(columns, taken, positions))
    e.guard(flag, [&, column = column, position = position] {
      Value at = e.add(firstResult, arith::IndexCastUIOp::create(b, b.getIndexType(), position));
      Value value = op.getPayload() ? loadOne(payload, e.add(firstKey, column)) : Value();
      storeResult(at, e.toI32(column), value);
    });
}

Value WaveSelectEmitter::candidate(RowSelect &select, Value firstKey, Value column) {
  if (plan.candidates % gfx950::kWaveSize == 0)
    return select.pack(loadOne(keys, e.add(firstKey, column)), e.toI32(column));
  Value inside = arith::MinUIOp::create(b, column, e.constant(plan.candidates - 1));
  Value packed = select.pack(loadOne(keys, e.add(firstKey, inside)), e.toI32(column));
  return arith::SelectOp::create(b, e.lessThan(column, plan.candidates), packed,
                                 arith::ConstantIntOp::create(b, b.getI64Type(), 0));
}

Value WaveSelectEmitter::loadOne(int64_t home, Value at) {
  return vector::ExtractOp::create(b, e.ldsLoad(home, b.getF32Type(), elements(), at, 1),
                                   int64_t(0));
}

void WaveSelectEmitter::storeResult(Value at, Value index, Value value) {
  auto store = [&](int64_t area, Value scalar) {
    auto type = VectorType::get({1}, scalar.getType());
    e.ldsStore(scratch + area, plan.rows * plan.k, at,
               vector::BroadcastOp::create(b, type, scalar));
  };
  store(plan.indices, index);
  if (value)
    store(plan.values, value);
}

LogicalResult Emitter::emitSelect(SelectOp op) {
  SelectPlan plan(op, threadCount);
  if (plan.radix)
    return emitRadixSelect(op);
  WaveSelectEmitter(*this, op, plan).emit();
  return success();
}

} // namespace mono
