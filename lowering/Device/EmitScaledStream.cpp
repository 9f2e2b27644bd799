// Streams of weights as codes with scales, of one matrix or of those a list names at run time:
// which tiles a wavefront takes, and the loads of a tile's codes and scales.
#include "lowering/Device/Emitter.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// Pieces a wavefront may have in flight over all row tiles: 8 KiB a wavefront, 64 KiB a workgroup.
static constexpr int64_t kMaxPiecesInFlight = 8;

/// A tile in memory, a piece of each lane.
static constexpr int64_t kPieceBytes = kLaneBytes * gfx950::kWaveSize;

static SmallVector<int64_t> shapeOf(Value operand) {
  return staticValues(operand.getDefiningOp<OperandOp>().getShape());
}

Value Emitter::leadingEntries(int64_t list, int64_t count, int64_t bound) {
  auto i32 = b.getI32Type(), i64 = b.getI64Type();
  willRead({list, count * 4});
  Value total = constant(0);
  Value goesOn = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  for (int64_t first = 0; first < count; first += gfx950::kWaveSize) {
    Value index = add(lane, first);
    Value inside = lessThan(index, count);
    Value clamped = arith::MinUIOp::create(b, index, constant(count - 1));
    Value entry =
        frozen(vector::ExtractOp::create(b, ldsLoad(list, i32, count, clamped, 1), int64_t(0)));
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

/// Whether the weights meet activations of codes.
static bool meetsCodes(StreamOp stream) {
  return llvm::any_of(stream->getUsers(), [](Operation *user) {
    auto contract = dyn_cast<ContractOp>(user);
    return contract && contract.getScales();
  });
}

LogicalResult Emitter::emitScaledStream(StreamOp op) {
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  int64_t axes = offsets.size(), waves = threadCount / gfx950::kWaveSize, splitK = op.getSplitK();
  int64_t pieceDepth = *mfmaTileDepth(op.getSource().getDefiningOp<OperandOp>().getElement());
  ScaledStream stream;
  stream.op = op;
  stream.depth = meetsCodes(op) || op.hasBlockScales() ? gfx950::kMfmaMxK : pieceDepth;
  stream.pieces = stream.depth / pieceDepth;
  stream.rowTiles = op.getRowCount() / gfx950::kMfmaM / (waves / splitK);
  stream.tilesPerGroup = op.getDepth() / stream.depth;
  // Wavefront w takes share w / split_k of the rows and, of the tiles, w mod split_k + i * split_k.
  stream.rowTile =
      add(divide(offsets[axes - 2], gfx950::kMfmaM), mul(divide(wave, splitK), stream.rowTiles));
  stream.depthOffset = offsets[axes - 1];
  int64_t groups = op.getGroupCount();
  stream.end = constant(stream.tilesPerGroup);
  if (op.getGroups()) {
    stream.list = inLds(op.getGroups(), scratchOf(op));
    Value count = leadingEntries(*stream.list, groups, shapeOf(op.getSource()).front());
    stream.end = mul(count, stream.tilesPerGroup);
  }
  int64_t most = llvm::divideCeil(groups * stream.tilesPerGroup, splitK);
  stream.window =
      std::clamp<int64_t>(kMaxPiecesInFlight / (stream.rowTiles * stream.pieces), 1, most);
  for (int64_t i = 0; i < stream.window; ++i)
    issueScaled(stream, add(modulo(wave, splitK), i * splitK), stream.inFlight);
  // All of the window goes out before anything else: the scheduler would rather save registers.
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  scaledStreams[op.getResult()] = std::move(stream);
  return success();
}

Value Emitter::groupOf(ScaledStream &stream, Value tile) {
  if (!stream.list)
    return arith::ConstantIntOp::create(b, b.getI64Type(), 0);
  // The same group for all lanes: its number belongs into an SGPR.
  Value entry = ldsLoad(*stream.list, b.getI32Type(), stream.op.getGroupCount(),
                        divide(tile, stream.tilesPerGroup), 1);
  Value number = readFirstLane(vector::ExtractOp::create(b, entry, int64_t(0)));
  return arith::ExtUIOp::create(b, b.getI64Type(), number);
}

/// Element `index` of type `type` at `base`.
static Value elementPointer(ImplicitLocOpBuilder &b, Value base, Type type, Value index) {
  return LLVM::GEPOp::create(b, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{index});
}

SmallVector<Value> Emitter::loadCodes(ScaledStream &stream, Value group, Value depth) {
  auto i8 = b.getI8Type();
  auto data = VectorType::get({4}, b.getI32Type());
  SmallVector<int64_t> shape = shapeOf(stream.op.getSource());
  int64_t pieceDepth = stream.depth / stream.pieces;
  int64_t rowTileBytes = shape.back() / pieceDepth * kPieceBytes;
  // Groups lie further apart than 32 bits reach; within one, 32 bits do.
  Value bytes = arith::ConstantIntOp::create(b, b.getI64Type(),
                                             shape.end()[-2] / gfx950::kMfmaM * rowTileBytes);
  Value matrix = elementPointer(b, operandMemory(stream.op.getSource().getDefiningOp<OperandOp>()),
                                i8, arith::MulIOp::create(b, group, bytes));
  Value first = add(mul(stream.rowTile, rowTileBytes),
                    add(mul(divide(depth, pieceDepth), kPieceBytes), mul(lane, kLaneBytes)));
  SmallVector<Value> loaded;
  for (int64_t row = 0; row < stream.rowTiles; ++row)
    for (int64_t piece = 0; piece < stream.pieces; ++piece) {
      Value at = toI64(add(first, row * rowTileBytes + piece * kPieceBytes));
      // Each weight is used once: it should not push anything else out of the caches.
      loaded.push_back(LLVM::LoadOp::create(b, data, elementPointer(b, matrix, i8, at), kLaneBytes,
                                            /*isVolatile=*/false, /*isNonTemporal=*/true));
    }
  return loaded;
}

SmallVector<Value> Emitter::loadMxScales(ScaledStream &stream, Value group, Value depth) {
  auto i8 = b.getI8Type();
  SmallVector<int64_t> shape = shapeOf(stream.op.getScales());
  int64_t rowTileBytes = shape.back() * gfx950::kMfmaM;
  Value bytes = arith::ConstantIntOp::create(b, b.getI64Type(),
                                             shape.end()[-2] / gfx950::kMfmaM * rowTileBytes);
  Value matrix = elementPointer(b, operandMemory(stream.op.getScales().getDefiningOp<OperandOp>()),
                                i8, arith::MulIOp::create(b, group, bytes));
  // Lane l: row l mod 16, and of four lane groups those of a block of 32 columns.
  int64_t lanesOfBlock = gfx950::kWaveSize / (stream.depth / gfx950::kMxBlock);
  Value ofLane =
      lanesOfBlock == gfx950::kMfmaM
          ? lane
          : add(mul(divide(lane, lanesOfBlock), gfx950::kMfmaM), modulo(lane, gfx950::kMfmaM));
  Value first = add(mul(stream.rowTile, rowTileBytes),
                    add(mul(divide(depth, gfx950::kMxBlock), gfx950::kMfmaM), ofLane));
  SmallVector<Value> loaded;
  for (int64_t row = 0; row < stream.rowTiles; ++row)
    loaded.push_back(LLVM::LoadOp::create(
        b, i8, elementPointer(b, matrix, i8, toI64(add(first, row * rowTileBytes))),
        /*alignment=*/1, /*isVolatile=*/false, /*isNonTemporal=*/true));
  return loaded;
}

SmallVector<Value> Emitter::loadBlockScales(ScaledStream &stream, Value group, Value depth) {
  SmallVector<int64_t> shape = shapeOf(stream.op.getScales());
  Value memory = operandMemory(stream.op.getScales().getDefiningOp<OperandOp>());
  Value matrix =
      mul(arith::IndexCastUIOp::create(b, b.getIndexType(), group), shape.end()[-2] * shape.back());
  SmallVector<Value> loaded;
  for (int64_t row = 0; row < stream.rowTiles; ++row) {
    // A tile of 16 rows lies in one row of blocks, so all lanes need the same scale. It comes the
    // way of the codes: a scalar load would be waited for with the next read of LDS.
    Value blockRow = divide(add(stream.rowTile, row), kScaleBlock / gfx950::kMfmaM);
    Value at = add(matrix, add(mul(blockRow, shape.back()), divide(depth, kScaleBlock)));
    Value scale =
        vector::LoadOp::create(b, VectorType::get({1}, b.getF32Type()), memory, ValueRange{at});
    loaded.push_back(vector::ExtractOp::create(b, scale, int64_t(0)));
  }
  return loaded;
}

void Emitter::issueScaled(ScaledStream &stream, Value tile, SmallVectorImpl<Value> &into) {
  bool isBlocks = stream.op.hasBlockScales();
  SmallVector<Type> types(stream.rowTiles * stream.pieces, VectorType::get({4}, b.getI32Type()));
  types.append(stream.rowTiles, isBlocks ? Type(b.getF32Type()) : Type(b.getI8Type()));
  auto load = [&](OpBuilder &, Location) {
    Value group = groupOf(stream, tile);
    Value depth = add(stream.depthOffset, mul(modulo(tile, stream.tilesPerGroup), stream.depth));
    SmallVector<Value> loaded = loadCodes(stream, group, depth);
    llvm::append_range(loaded, isBlocks ? loadBlockScales(stream, group, depth)
                                        : loadMxScales(stream, group, depth));
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

} // namespace mono
