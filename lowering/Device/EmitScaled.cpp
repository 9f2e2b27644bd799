// Contractions with MXFP4 weights: widened to bf16 with their scales, which is exact, and
// multiplied by MFMA 16x16x32 bf16; one matrix, or those of a list that is known at run time only.
#include "lowering/Device/Emitter.h"

#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// Tiles a wavefront may have in flight over all row tiles: 8 KiB a wavefront, 64 KiB a workgroup.
static constexpr int64_t kMaxTilesInFlight = 8;

/// Bytes of a tile of 16 rows by 128 columns, what one lane holds of it, and bytes of its scales.
static constexpr int64_t kTileBytes = gfx950::kMfmaM * gfx950::kMfmaMxK / 2;
static constexpr int64_t kLaneBytes = kTileBytes / gfx950::kWaveSize;
static constexpr int64_t kScaleBytes = kTileBytes * 2 / gfx950::kMxBlock;

static int64_t scratchOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(kScratchAttr).getInt();
}

static SmallVector<int64_t> shapeOf(Value operand) {
  return staticValues(operand.getDefiningOp<OperandOp>().getShape());
}

Value Emitter::leadingEntries(int64_t list, int64_t count, int64_t bound) {
  auto i32 = b.getI32Type(), i64 = b.getI64Type();
  willRead(list, count * 4);
  Value total = constant(0);
  Value goesOn = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  for (int64_t first = 0; first < count; first += gfx950::kWaveSize) {
    Value index = add(lane, first);
    Value inside = lessThan(index, count);
    Value clamped = arith::MinUIOp::create(b, index, constant(count - 1));
    Value entry = vector::ExtractOp::create(b, ldsLoad(list, i32, count, clamped, 1), int64_t(0));
    Value valid = arith::AndIOp::create(
        b, inside, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, entry, constantI32(bound)));
    // Trailing ones of the ballot are leading entries; all 64 lanes valid: the list may go on.
    Value mask = ROCDL::BallotOp::create(b, i64, valid);
    Value inverse = arith::XOrIOp::create(b, mask, arith::ConstantIntOp::create(b, i64, -1));
    Value leading = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                 math::CountTrailingZerosOp::create(b, inverse));
    total =
        arith::AddIOp::create(b, total, arith::SelectOp::create(b, goesOn, leading, constant(0)));
    Value full =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, leading, constant(gfx950::kWaveSize));
    goesOn = arith::AndIOp::create(b, goesOn, full);
  }
  return total;
}

LogicalResult Emitter::emitScaledStream(StreamOp op) {
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  int64_t axes = offsets.size(), waves = threadCount / gfx950::kWaveSize;
  ScaledStream stream;
  stream.op = op;
  stream.rowTiles = op.getRowCount() / gfx950::kMfmaM;
  stream.tilesPerGroup = op.getDepth() / gfx950::kMfmaMxK;
  stream.rowTile = divide(offsets[axes - 2], gfx950::kMfmaM);
  stream.depthTile = divide(offsets[axes - 1], gfx950::kMfmaMxK);
  int64_t groups = 1;
  stream.end = constant(stream.tilesPerGroup);
  if (op.getGroups()) {
    groups = cast<RankedTensorType>(op.getGroups().getType()).getNumElements();
    stream.list = inLds(op.getGroups(), scratchOf(op));
    Value count = leadingEntries(*stream.list, groups, shapeOf(op.getSource()).front());
    stream.end = mul(count, stream.tilesPerGroup);
  }
  int64_t most = llvm::divideCeil(groups * stream.tilesPerGroup, waves);
  stream.window = std::clamp<int64_t>(kMaxTilesInFlight / stream.rowTiles, 1, most);
  for (int64_t i = 0; i < stream.window; ++i)
    issueScaled(stream, add(wave, i * waves), stream.inFlight);
  // All of the window goes out before anything else: the scheduler would rather save registers.
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  scaledStreams[op.getResult()] = std::move(stream);
  return success();
}

void Emitter::issueScaled(ScaledStream &stream, Value tile, SmallVectorImpl<Value> &into) {
  auto i8 = b.getI8Type();
  auto data = VectorType::get({4}, b.getI32Type());
  SmallVector<int64_t> shape = shapeOf(stream.op.getSource());
  int64_t rowTilesOfMatrix = shape.end()[-2] / gfx950::kMfmaM;
  int64_t tilesOfRow = shape.back() / gfx950::kMfmaMxK;
  Value weights = operandMemory(stream.op.getSource().getDefiningOp<OperandOp>());
  Value scales = operandMemory(stream.op.getScales().getDefiningOp<OperandOp>());
  SmallVector<Type> types;
  for (int64_t row = 0; row < stream.rowTiles; ++row)
    types.append({data, i8});
  auto load = [&](OpBuilder &, Location) {
    Value group = arith::ConstantIntOp::create(b, b.getI64Type(), 0);
    if (stream.list) {
      // The same group for all lanes: its number belongs into an SGPR.
      auto list = cast<RankedTensorType>(stream.op.getGroups().getType());
      Value entry = ldsLoad(*stream.list, b.getI32Type(), list.getNumElements(),
                            divide(tile, stream.tilesPerGroup), 1);
      Value number = readFirstLane(vector::ExtractOp::create(b, entry, int64_t(0)));
      group = arith::ExtUIOp::create(b, b.getI64Type(), number);
    }
    // Groups lie further apart than 32 bits reach; within one, 32 bits do.
    auto matrix = [&](Value memory, int64_t tileBytes) -> Value {
      Value bytes = arith::ConstantIntOp::create(b, b.getI64Type(),
                                                 rowTilesOfMatrix * tilesOfRow * tileBytes);
      Value offset = arith::MulIOp::create(b, group, bytes);
      return LLVM::GEPOp::create(b, memory.getType(), i8, memory, ArrayRef<LLVM::GEPArg>{offset});
    };
    auto loadAt = [&](Value base, Type type, Value offset, int64_t alignment) -> Value {
      Value at =
          LLVM::GEPOp::create(b, base.getType(), i8, base, ArrayRef<LLVM::GEPArg>{toI64(offset)});
      // Each weight is used once: it should not push anything else out of the caches.
      return LLVM::LoadOp::create(b, type, at, alignment, /*isVolatile=*/false,
                                  /*isNonTemporal=*/true);
    };
    Value weightMatrix = matrix(weights, kTileBytes), scaleMatrix = matrix(scales, kScaleBytes);
    Value first = add(mul(stream.rowTile, tilesOfRow),
                      add(stream.depthTile, modulo(tile, stream.tilesPerGroup)));
    SmallVector<Value> loaded;
    for (int64_t row = 0; row < stream.rowTiles; ++row) {
      Value at = add(first, row * tilesOfRow);
      loaded.push_back(
          loadAt(weightMatrix, data, add(mul(at, kTileBytes), mul(lane, kLaneBytes)), kLaneBytes));
      loaded.push_back(loadAt(scaleMatrix, i8, add(mul(at, kScaleBytes), lane), 1));
    }
    scf::YieldOp::create(b, loaded);
  };
  auto skip = [&](OpBuilder &, Location) {
    scf::YieldOp::create(b, llvm::map_to_vector(types, [&](Type type) -> Value {
                           return arith::ConstantOp::create(b,
                                                            cast<TypedAttr>(b.getZeroAttr(type)));
                         }));
  };
  Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, stream.end);
  llvm::append_range(into, scf::IfOp::create(b, within, load, skip).getResults());
}

/// Eight weights, one dword, as bf16: E2M1 times a power of two is exact.
static Value widen(ImplicitLocOpBuilder &b, Value dword, Value scale) {
  auto pair = VectorType::get({2}, b.getBF16Type());
  SmallVector<Value> dwords;
  for (int32_t byte = 0; byte < 4; ++byte) {
    Value two = ROCDL::CvtScaleF32PkBf16Fp4Op::create(b, pair, dword, scale, byte);
    Value bits = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), two);
    dwords.push_back(vector::ExtractOp::create(b, bits, int64_t(0)));
  }
  Value all = vector::FromElementsOp::create(b, VectorType::get({4}, b.getI32Type()), dwords);
  return vector::BitCastOp::create(b, VectorType::get({8}, b.getBF16Type()), all);
}

SmallVector<Value> Emitter::multiplyScaled(ContractOp op, ScaledStream &stream, Value tile,
                                           std::optional<int64_t> map, ValueRange weights,
                                           ValueRange sums) {
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto bf16x8 = VectorType::get({8}, b.getBF16Type());
  int64_t resultRows = op.getRowCount(), boxRows = op.getStaticSizes().front();
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  // Lane l supplies activation row l mod 16 and, like the weights, depth 32 * (l / 16) ..+ 32.
  Value row = arith::MinUIOp::create(b, modulo(lane, gfx950::kMfmaN), constant(resultRows - 1));
  Value valid;
  if (map) {
    int64_t entries = cast<RankedTensorType>(op.getRows().getType()).getNumElements();
    Value at = add(mul(divide(tile, stream.tilesPerGroup), resultRows), row);
    Value entry =
        vector::ExtractOp::create(b, ldsLoad(*map, b.getI32Type(), entries, at, 1), int64_t(0));
    valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, entry, constantI32(boxRows));
    Value inside = arith::MinUIOp::create(b, entry, constantI32(boxRows - 1));
    row = arith::IndexCastUIOp::create(b, b.getIndexType(), inside);
  }
  Value depth = add(mul(modulo(tile, stream.tilesPerGroup), gfx950::kMfmaMxK),
                    mul(divide(lane, gfx950::kMfmaN), gfx950::kMxBlock));
  Value at = address(offsets, {row, depth}, {region.getRowStride(), 1});
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(bf16x8)));

  SmallVector<Value> result(sums);
  SmallVector<Value> factors;
  for (int64_t tileRow = 0; tileRow < stream.rowTiles; ++tileRow) {
    Value exponent = arith::ExtUIOp::create(b, b.getI32Type(), weights[2 * tileRow + 1]);
    Value bits = arith::ShLIOp::create(b, exponent, constantI32(23));
    factors.push_back(arith::BitcastOp::create(b, b.getF32Type(), bits));
  }
  for (int64_t step = 0; step < gfx950::kMfmaMxK / gfx950::kMfmaK; ++step) {
    Value activation =
        ldsLoad(*region.getOffset(), b.getBF16Type(), region.getBytes() / 2, add(at, 8 * step), 8);
    if (valid)
      activation = arith::SelectOp::create(b, valid, activation, zero);
    for (int64_t tileRow = 0; tileRow < stream.rowTiles; ++tileRow) {
      Value dword = vector::ExtractOp::create(b, weights[2 * tileRow], step);
      result[tileRow] = amdgpu::MFMAOp::create(
          b, result[tileRow].getType(), /*m=*/16, /*n=*/16, /*k=*/32, /*blocks=*/1,
          widen(b, dword, factors[tileRow]), activation, result[tileRow]);
    }
  }
  return result;
}

LogicalResult Emitter::emitScaledContract(ContractOp op) {
  ScaledStream &stream = scaledStreams.find(op.getWeights())->second;
  int64_t waves = threadCount / gfx950::kWaveSize, scratch = scratchOf(op);
  auto region = op.getSource().getDefiningOp<RegionOp>();
  std::optional<int64_t> map;
  int64_t mapBytes = 0;
  if (op.getRows()) {
    mapBytes = cast<RankedTensorType>(op.getRows().getType()).getNumElements() * 4;
    map = inLds(op.getRows(), scratch);
    willRead(*map, mapBytes);
  }
  willRead(*region.getOffset(), region.getBytes());
  if (stream.list)
    willRead(*stream.list,
             cast<RankedTensorType>(stream.op.getGroups().getType()).getNumElements() * 4);

  auto sumType = VectorType::get({4}, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sumType)));
  SmallVector<Value> carried(stream.rowTiles, zero);
  llvm::append_range(carried, stream.inFlight);
  int64_t perSlot = 2 * stream.rowTiles, stride = waves * stream.window;
  // Each slot of the window is multiplied and filled again, so that nothing in flight moves.
  auto loop = scf::ForOp::create(
      b, wave, stream.end, constant(stride), carried,
      [&](OpBuilder &, Location, Value first, ValueRange args) {
        SmallVector<Value> sums(args.take_front(stream.rowTiles)), next;
        for (int64_t slot = 0; slot < stream.window; ++slot) {
          Value tile = add(first, slot * waves);
          ValueRange weights = args.slice(stream.rowTiles + slot * perSlot, perSlot);
          Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, stream.end);
          auto multiplied = scf::IfOp::create(
              b, within,
              [&](OpBuilder &, Location) {
                scf::YieldOp::create(b, multiplyScaled(op, stream, tile, map, weights, sums));
              },
              [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
          sums.assign(multiplied.getResults().begin(), multiplied.getResults().end());
          issueScaled(stream, add(tile, stride), next);
        }
        llvm::append_range(sums, next);
        scf::YieldOp::create(b, sums);
      });
  SmallVector<Value> sums(loop.getResults().take_front(stream.rowTiles));
  sumOverWaves(op, sums, waves, scratch + llvm::alignTo(mapBytes, kLdsAlign));
  return success();
}

} // namespace mono
