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
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// Pieces a wavefront may have in flight over all row tiles: 8 KiB a wavefront, 64 KiB a workgroup.
static constexpr int64_t kMaxPiecesInFlight = 8;

/// A tile in memory, a piece of each lane.
static constexpr int64_t kPieceBytes = kLaneBytes * gfx950::kWaveSize;

/// Mask of a scheduling barrier that everything may pass but accesses of memory (LLVM AMDGPUUsage,
/// llvm.amdgcn.sched.barrier): ALU of all kinds, LDS, transcendentals.
static constexpr int32_t kLoadsStay = 0x78F;

static SmallVector<int64_t> shapeOf(Value operand) {
  return staticValues(operand.getDefiningOp<OperandOp>().getShape());
}

Value Emitter::readGroups(ScaledStream &stream, int64_t list, int64_t bound) {
  auto i32 = b.getI32Type(), i64 = b.getI64Type();
  int64_t count = stream.op.getGroupCount();
  willRead({list, count * 4});
  Value total = constant(0);
  Value goesOn = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
  for (int64_t first = 0; first < count; first += gfx950::kWaveSize) {
    Value index = add(lane, first);
    Value inside = lessThan(index, count);
    Value clamped = arith::MinUIOp::create(b, index, constant(count - 1));
    Value entry =
        frozen(vector::ExtractOp::create(b, ldsLoad(list, i32, count, clamped, 1), int64_t(0)));
    stream.groups.push_back(entry);
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
  stream.codes = operandPointer(op.getSource().getDefiningOp<OperandOp>());
  stream.scales = operandPointer(op.getScales().getDefiningOp<OperandOp>());
  stream.end = constant(stream.tilesPerGroup);
  if (op.getGroups()) {
    int64_t list = inLds(op.getGroups(), scratchOf(op));
    stream.end =
        mul(readGroups(stream, list, shapeOf(op.getSource()).front()), stream.tilesPerGroup);
  }
  int64_t most = llvm::divideCeil(groups * stream.tilesPerGroup, splitK);
  stream.window =
      std::clamp<int64_t>(kMaxPiecesInFlight / (stream.rowTiles * stream.pieces), 1, most);
  for (int64_t i = 0; i < stream.window; ++i) {
    issueScaled(stream, add(modulo(wave, splitK), i * splitK), stream.inFlight);
    // All of the window goes out before anything else: the scheduler would rather save registers.
    // And slot by slot: with the scales of all slots behind all codes, the oldest slot would be
    // among the youngest loads.
    ROCDL::SchedBarrier::create(b, i + 1 == stream.window ? 0 : kLoadsStay);
  }
  scaledStreams[op.getResult()] = std::move(stream);
  return success();
}

Value Emitter::groupOf(ScaledStream &stream, Value tile) {
  auto i64 = b.getI64Type();
  if (stream.groups.empty())
    return arith::ConstantIntOp::create(b, i64, 0);
  // What lies past the end may be any entry.
  Value index = arith::MinUIOp::create(b, divide(tile, stream.tilesPerGroup),
                                       constant(stream.op.getGroupCount() - 1));
  Value inRegister = toI32(modulo(index, gfx950::kWaveSize)), number;
  for (auto [i, entries] : llvm::enumerate(stream.groups)) {
    Value entry = ROCDL::ReadlaneOp::create(b, entries.getType(), entries, inRegister);
    number = number
                 ? arith::SelectOp::create(b, lessThan(index, i * gfx950::kWaveSize), number, entry)
                       .getResult()
                 : entry;
  }
  return arith::ExtUIOp::create(b, i64, number);
}

/// Words 3 of a buffer resource of bytes: DATA_FORMAT 32, NUM_FORMAT float (CDNA4 ISA 9.1.8).
static constexpr int32_t kBufferFormat = 0x27000;

/// Cache policy NT of a buffer load: used once, should not push anything else out of the caches.
static constexpr int32_t kNonTemporal = 2;

Emitter::MatrixBuffer Emitter::matrixBuffer(Value operand, int64_t bytes, const ScaledTile &tile) {
  auto i8 = b.getI8Type(), i16 = b.getI16Type(), i64 = b.getI64Type();
  auto integer = [&](Type type, int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, type, value);
  };
  // Groups lie further apart than 32 bits reach; within one, 32 bits do.
  Value start = LLVM::GEPOp::create(
      b, operand.getType(), i8, operand,
      ArrayRef<LLVM::GEPArg>{
          arith::MulIOp::create(b, tile.group, integer(i64, bytes)).getResult()});
  Value size = arith::SelectOp::create(b, tile.within, integer(i64, bytes), integer(i64, 0));
  auto resource = LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/8);
  return {ROCDL::MakeBufferRsrcOp::create(b, resource, start, integer(i16, 0), size,
                                          constantI32(kBufferFormat)),
          tile.within};
}

Value Emitter::loadBuffer(const MatrixBuffer &buffer, Type type, Value ofLane, Value ofWave,
                          int32_t cachePolicy) {
  // The scalar offset has no part in the range check, or is taken from the size: 0 is right for
  // an empty buffer either way.
  Value scalar = arith::SelectOp::create(b, buffer.within, toI32(ofWave), constantI32(0));
  return ROCDL::RawPtrBufferLoadOp::create(b, type, buffer.resource, toI32(ofLane), scalar,
                                           constantI32(cachePolicy), ArrayAttr(), ArrayAttr(),
                                           ArrayAttr());
}

void Emitter::loadCodes(ScaledStream &stream, const ScaledTile &tile,
                        SmallVectorImpl<Value> &into) {
  SmallVector<int64_t> shape = shapeOf(stream.op.getSource());
  int64_t pieceDepth = stream.depth / stream.pieces;
  int64_t rowTileBytes = shape.back() / pieceDepth * kPieceBytes;
  MatrixBuffer matrix =
      matrixBuffer(stream.codes, shape.end()[-2] / gfx950::kMfmaM * rowTileBytes, tile);
  Value first =
      add(mul(stream.rowTile, rowTileBytes), mul(divide(tile.depth, pieceDepth), kPieceBytes));
  for (int64_t row = 0; row < stream.rowTiles; ++row)
    for (int64_t piece = 0; piece < stream.pieces; ++piece)
      into.push_back(loadBuffer(matrix, VectorType::get({4}, b.getI32Type()),
                                add(mul(lane, kLaneBytes), piece * kPieceBytes),
                                add(first, row * rowTileBytes), kNonTemporal));
}

void Emitter::loadMxScales(ScaledStream &stream, const ScaledTile &tile,
                           SmallVectorImpl<Value> &into) {
  SmallVector<int64_t> shape = shapeOf(stream.op.getScales());
  int64_t rowTileBytes = shape.back() * gfx950::kMfmaM;
  MatrixBuffer matrix =
      matrixBuffer(stream.scales, shape.end()[-2] / gfx950::kMfmaM * rowTileBytes, tile);
  // Lane l: row l mod 16, and of four lane groups those of a block of 32 columns.
  int64_t lanesOfBlock = gfx950::kWaveSize / (stream.depth / gfx950::kMxBlock);
  Value ofLane =
      lanesOfBlock == gfx950::kMfmaM
          ? lane
          : add(mul(divide(lane, lanesOfBlock), gfx950::kMfmaM), modulo(lane, gfx950::kMfmaM));
  Value first = add(mul(stream.rowTile, rowTileBytes),
                    mul(divide(tile.depth, gfx950::kMxBlock), gfx950::kMfmaM));
  for (int64_t row = 0; row < stream.rowTiles; ++row)
    into.push_back(
        loadBuffer(matrix, b.getI8Type(), ofLane, add(first, row * rowTileBytes), kNonTemporal));
}

void Emitter::loadBlockScales(ScaledStream &stream, const ScaledTile &tile,
                              SmallVectorImpl<Value> &into) {
  SmallVector<int64_t> shape = shapeOf(stream.op.getScales());
  MatrixBuffer matrix = matrixBuffer(stream.scales, shape.end()[-2] * shape.back() * 4, tile);
  for (int64_t row = 0; row < stream.rowTiles; ++row) {
    // A tile of 16 rows lies in one row of blocks, so all lanes need the same scale. It comes the
    // way of the codes: a scalar load would be waited for with the next read of LDS.
    Value blockRow = divide(add(stream.rowTile, row), kScaleBlock / gfx950::kMfmaM);
    Value block = add(mul(blockRow, shape.back()), divide(tile.depth, kScaleBlock));
    into.push_back(
        loadBuffer(matrix, b.getF32Type(), constant(0), mul(block, 4), /*cachePolicy=*/0));
  }
}

void Emitter::issueScaled(ScaledStream &stream, Value tile, SmallVectorImpl<Value> &into) {
  // The loads of tiles past the end are issued, too, from buffers of no bytes: they return zeros
  // and move nothing. So a wavefront has the same number of loads behind each slot whatever the
  // number of tiles is, and LLVM (SIInsertWaitcnts) waits for a slot alone; past a branch it would
  // have to assume that none were issued, and wait for younger slots.
  ScaledTile at;
  at.group = groupOf(stream, tile);
  at.depth = add(stream.depthOffset, mul(modulo(tile, stream.tilesPerGroup), stream.depth));
  at.within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, stream.end);
  loadCodes(stream, at, into);
  if (stream.op.hasBlockScales())
    loadBlockScales(stream, at, into);
  else
    loadMxScales(stream, at, into);
}

} // namespace mono
