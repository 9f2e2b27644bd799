// Exact top-k of short rows: one wavefront a row, k rounds of a maximum over packed keys.
#include "lowering/Device/Emitter.h"

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
/// different, larger keys are larger, and among equal keys the lower index is larger.
class RowSelect {
public:
  RowSelect(ImplicitLocOpBuilder &b, int64_t perLane) : b(b), perLane(perLane) {
    i32 = b.getI32Type();
    i64 = b.getI64Type();
  }

  /// Packs the keys of one lane; `firstIndex` (i32) is the index of the first.
  SmallVector<Value> pack(Value keys, Value firstIndex) {
    SmallVector<Value> packed;
    for (int64_t i = 0; i < perLane; ++i) {
      Value bits = arith::BitcastOp::create(b, i32, vector::ExtractOp::create(b, keys, i));
      // Flip all bits of negative floats and the sign of the others: unsigned order is float order.
      Value sign = arith::ShRSIOp::create(b, bits, constant(31));
      Value flip = arith::OrIOp::create(b, sign, constant(int32_t(0x80000000)));
      Value ordered = arith::XOrIOp::create(b, bits, flip);
      Value index = arith::AddIOp::create(b, firstIndex, constant(i));
      Value inverse = arith::XOrIOp::create(b, index, constant(-1));
      Value high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, ordered), wide(32));
      packed.push_back(arith::OrIOp::create(b, high, arith::ExtUIOp::create(b, i64, inverse)));
    }
    return packed;
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
    // No packed candidate is zero, so zero means taken.
    return llvm::map_to_vector(loop.getResults(), [&](Value candidate) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, candidate, wide(0));
    });
  }

  /// Position of each taken candidate among all taken ones in rising index (i32).
  SmallVector<Value> positions(ArrayRef<Value> taken) {
    Value before = constant(0); // taken by lower lanes
    for (Value flag : taken) {
      Value mask = ROCDL::BallotOp::create(b, i64, flag);
      Value low = arith::TruncIOp::create(b, i32, mask);
      Value high = arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, mask, wide(32)));
      before = ROCDL::MbcntLoOp::create(b, i32, low, before, ArrayAttr(), ArrayAttr());
      before = ROCDL::MbcntHiOp::create(b, i32, high, before, ArrayAttr(), ArrayAttr());
    }
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
  int64_t perLane;
  Type i32, i64;
};

} // namespace

LogicalResult Emitter::emitSelect(SelectOp op) {
  auto keyType = cast<RankedTensorType>(op.getKey().getType());
  int64_t rows = keyType.getShape()[0], candidates = keyType.getShape()[1], k = op.getK();
  int64_t perLane = candidates / gfx950::kWaveSize, waves = threadCount / gfx950::kWaveSize;
  int64_t keyBytes = keyType.getNumElements() * 4, outBytes = rows * k * 4;
  int64_t scratch = op->getAttrOfType<IntegerAttr>(kScratchAttr).getInt();
  auto f32 = b.getF32Type();

  int64_t keys = inLds(op.getKey(), scratch);
  int64_t payload = inLds(op.getPayload(), scratch + keyBytes);
  int64_t indices = scratch + 2 * keyBytes, values = indices + outBytes;
  willRead(keys, keyBytes);
  willRead(payload, keyBytes);
  willWrite(indices, 2 * outBytes);

  RowSelect select(b, perLane);
  auto loop = scf::ForOp::create(b, wave, constant(rows), constant(waves));
  {
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    Value first = mul(lane, perLane);
    Value at = add(mul(row, candidates), first);
    // perLane need not be a power of two, so the lane's candidates come one by one.
    SmallVector<Value> laneKeys, lanePayload;
    auto one = [&](int64_t home, int64_t i) -> Value {
      Value loaded = ldsLoad(home, f32, keyType.getNumElements(), add(at, i), 1);
      return vector::ExtractOp::create(b, loaded, int64_t(0));
    };
    for (int64_t i = 0; i < perLane; ++i) {
      laneKeys.push_back(one(keys, i));
      lanePayload.push_back(one(payload, i));
    }
    Value keyVector = vector::FromElementsOp::create(b, VectorType::get({perLane}, f32), laneKeys);
    SmallVector<Value> taken = select.take(select.pack(keyVector, toI32(first)), k);
    SmallVector<Value> positions = select.positions(taken);
    for (int64_t i = 0; i < perLane; ++i)
      guard(taken[i], [&] {
        Value out =
            add(mul(row, k), arith::IndexCastUIOp::create(b, b.getIndexType(), positions[i]));
        auto scalar = [&](Value value) -> Value {
          return vector::BroadcastOp::create(b, VectorType::get({1}, value.getType()), value);
        };
        ldsStore(indices, rows * k, out, scalar(toI32(add(first, i))));
        ldsStore(values, rows * k, out, scalar(lanePayload[i]));
      });
  }
  setTile(op.getIndices(), indices);
  setTile(op.getValues(), values);
  return success();
}

} // namespace mono
