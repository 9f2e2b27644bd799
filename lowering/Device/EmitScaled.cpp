// Contractions with MX weights of one matrix, or of those a list names at run time: widened to bf16
// with their scales and multiplied by MFMA 16x16x32 bf16, or as they are with activations of codes
// by MFMA 16x16x128 with scales.
#include "lowering/Device/Emitter.h"

#include "dialect/Describe.h"
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

/// Pieces a wavefront may have in flight over all row tiles: 8 KiB a wavefront, 64 KiB a workgroup.
static constexpr int64_t kMaxPiecesInFlight = 8;

/// What a lane holds of a tile in memory, a piece, and the tile's bytes.
static constexpr int64_t kLaneBytes = 16;
static constexpr int64_t kPieceBytes = kLaneBytes * gfx950::kWaveSize;

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
  stream.depth = meetsCodes(op) ? gfx950::kMfmaMxK : pieceDepth;
  stream.pieces = stream.depth / pieceDepth;
  stream.rowTiles = op.getRowCount() / gfx950::kMfmaM / (waves / splitK);
  stream.tilesPerGroup = op.getDepth() / stream.depth;
  // Wavefront w takes share w / split_k of the rows and, of the tiles, w mod split_k + i * split_k.
  stream.rowTile =
      add(divide(offsets[axes - 2], gfx950::kMfmaM), mul(divide(wave, splitK), stream.rowTiles));
  stream.depthOffset = offsets[axes - 1];
  int64_t groups = 1;
  stream.end = constant(stream.tilesPerGroup);
  if (op.getGroups()) {
    groups = cast<RankedTensorType>(op.getGroups().getType()).getNumElements();
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

void Emitter::issueScaled(ScaledStream &stream, Value tile, SmallVectorImpl<Value> &into) {
  auto i8 = b.getI8Type();
  auto data = VectorType::get({4}, b.getI32Type());
  SmallVector<int64_t> shape = shapeOf(stream.op.getSource());
  int64_t rowTilesOfMatrix = shape.end()[-2] / gfx950::kMfmaM;
  int64_t pieceDepth = stream.depth / stream.pieces;
  // Of a tile of rows: its codes, and its scales, 16 for each 32 columns.
  int64_t codeBytes = shape.back() / pieceDepth * kPieceBytes;
  int64_t scaleBytes = shape.back() / gfx950::kMxBlock * gfx950::kMfmaM;
  Value weights = operandMemory(stream.op.getSource().getDefiningOp<OperandOp>());
  Value scales = operandMemory(stream.op.getScales().getDefiningOp<OperandOp>());
  SmallVector<Type> types;
  for (int64_t row = 0; row < stream.rowTiles; ++row) {
    types.append(stream.pieces, data);
    types.push_back(i8);
  }
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
    auto matrix = [&](Value memory, int64_t bytesOfRows) -> Value {
      Value bytes = arith::ConstantIntOp::create(b, b.getI64Type(), rowTilesOfMatrix * bytesOfRows);
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
    Value codeMatrix = matrix(weights, codeBytes), scaleMatrix = matrix(scales, scaleBytes);
    Value depth = add(stream.depthOffset, mul(modulo(tile, stream.tilesPerGroup), stream.depth));
    Value code = add(mul(stream.rowTile, codeBytes),
                     add(mul(divide(depth, pieceDepth), kPieceBytes), mul(lane, kLaneBytes)));
    // Lane l: row l mod 16, and of four lane groups those of a block of 32 columns.
    int64_t lanesOfBlock = gfx950::kWaveSize / (stream.depth / gfx950::kMxBlock);
    Value ofLane =
        lanesOfBlock == gfx950::kMfmaM
            ? lane
            : add(mul(divide(lane, lanesOfBlock), gfx950::kMfmaM), modulo(lane, gfx950::kMfmaM));
    Value scale = add(mul(stream.rowTile, scaleBytes),
                      add(mul(divide(depth, gfx950::kMxBlock), gfx950::kMfmaM), ofLane));
    SmallVector<Value> loaded;
    for (int64_t row = 0; row < stream.rowTiles; ++row) {
      for (int64_t piece = 0; piece < stream.pieces; ++piece)
        loaded.push_back(
            loadAt(codeMatrix, data, add(code, row * codeBytes + piece * kPieceBytes), kLaneBytes));
      loaded.push_back(loadAt(scaleMatrix, i8, add(scale, row * scaleBytes), 1));
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

/// Eight weights as bf16: `number` of the lane's pieces of 8. E2M1 and E4M3 times a power of two
/// are exact within the range of bf16.
static Value widen(ImplicitLocOpBuilder &b, Value codes, int64_t number, bool fp4, Value scale) {
  auto pair = VectorType::get({2}, b.getBF16Type());
  SmallVector<Value> dwords;
  for (int32_t i = 0; i < 4; ++i) {
    Value dword = vector::ExtractOp::create(b, codes, fp4 ? number : 2 * number + i / 2);
    Value two =
        fp4 ? ROCDL::CvtScaleF32PkBf16Fp4Op::create(b, pair, dword, scale, i).getResult()
            : ROCDL::CvtScaleF32PkBf16Fp8Op::create(b, pair, dword, scale, i % 2 == 1).getResult();
    Value bits = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), two);
    dwords.push_back(vector::ExtractOp::create(b, bits, int64_t(0)));
  }
  Value all = vector::FromElementsOp::create(b, VectorType::get({4}, b.getI32Type()), dwords);
  return vector::BitCastOp::create(b, VectorType::get({8}, b.getBF16Type()), all);
}

std::pair<Value, Value> Emitter::activationRow(ContractOp op, ScaledStream &stream, Value tile,
                                               std::optional<int64_t> map) {
  int64_t resultRows = op.getRowCount(), boxRows = op.getStaticSizes().front();
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
  return {row, valid};
}

SmallVector<Value> Emitter::multiplyWidened(ContractOp op, ScaledStream &stream, Value tile,
                                            std::optional<int64_t> map, ValueRange weights,
                                            ValueRange sums) {
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto bf16x8 = VectorType::get({8}, b.getBF16Type());
  bool fp4 = isa<Float4E2M1FNType>(stream.op.getSource().getDefiningOp<OperandOp>().getElement());
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  auto [row, valid] = activationRow(op, stream, tile, map);
  // Lane l supplies activation row l mod 16 and, like the weights, share l / 16 of the depth.
  Value depth = add(mul(modulo(tile, stream.tilesPerGroup), stream.depth),
                    mul(divide(lane, gfx950::kMfmaN), stream.depth / 4));
  Value at = address(offsets, {row, depth}, {region.getRowStride(), 1});
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(bf16x8)));

  SmallVector<Value> result(sums);
  SmallVector<Value> factors;
  for (int64_t tileRow = 0; tileRow < stream.rowTiles; ++tileRow) {
    Value exponent = arith::ExtUIOp::create(b, b.getI32Type(), weights[2 * tileRow + 1]);
    Value bits = arith::ShLIOp::create(b, exponent, constantI32(23));
    factors.push_back(arith::BitcastOp::create(b, b.getF32Type(), bits));
  }
  for (int64_t step = 0; step < stream.depth / gfx950::kMfmaK; ++step) {
    Value activation =
        ldsLoad(*region.getOffset(), b.getBF16Type(), region.getBytes() / 2, add(at, 8 * step), 8);
    if (valid)
      activation = arith::SelectOp::create(b, valid, activation, zero);
    for (int64_t tileRow = 0; tileRow < stream.rowTiles; ++tileRow) {
      result[tileRow] = amdgpu::MFMAOp::create(
          b, result[tileRow].getType(), /*m=*/16, /*n=*/16, /*k=*/32, /*blocks=*/1,
          widen(b, weights[2 * tileRow], step, fp4, factors[tileRow]), activation, result[tileRow]);
    }
  }
  return result;
}

/// Formats of operands of MFMA f8f6f4 (CDNA4 ISA 7.1.5).
static constexpr int64_t kE4M3 = 0, kE2M1 = 4;

static Value joined(ImplicitLocOpBuilder &b, Value low, Value high) {
  return vector::ShuffleOp::create(b, low, high, llvm::to_vector(llvm::seq<int64_t>(0, 8)));
}

SmallVector<Value> Emitter::multiplyCodes(ContractOp op, ScaledStream &stream, Value tile,
                                          std::optional<int64_t> map, ValueRange weights,
                                          ValueRange sums) {
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto scales = op.getScales().getDefiningOp<RegionOp>();
  auto i32 = b.getI32Type();
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  auto [row, valid] = activationRow(op, stream, tile, map);
  Value group = divide(lane, gfx950::kMfmaN), tileOfGroup = modulo(tile, stream.tilesPerGroup);
  // Lane l holds two pieces of 16 codes of row l mod 16, depth 16 * (l / 16) ..+ 16 of each half of
  // the tile, but the scale of columns 32 * (l / 16) ..+ 32 (CDNA4 ISA 7.1.5).
  Value depth = add(mul(tileOfGroup, stream.depth), mul(group, kLaneBytes));
  Value at = divide(address(offsets, {row, depth}, {region.getRowStride(), 1}), 4);
  auto half = [&](int64_t bytes) {
    return ldsLoad(*region.getOffset(), i32, region.getBytes() / 4, add(at, bytes / 4), 4);
  };
  Value codes = joined(b, half(0), half(stream.depth / 2));
  Value block = add(mul(tileOfGroup, stream.depth / gfx950::kMxBlock), group);
  Value scaleAt = address({offsets[0], divide(offsets[1], gfx950::kMxBlock)}, {row, block},
                          {scales.getRowStride(), 1});
  Value scale = vector::ExtractOp::create(
      b, ldsLoad(*scales.getOffset(), i32, scales.getBytes() / 4, scaleAt, 1), int64_t(0));
  scale = arith::ShRUIOp::create(b, scale, constantI32(23)); // the exponent in byte 0
  if (valid) {
    Value zeros = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(codes.getType())));
    codes = arith::SelectOp::create(b, valid, codes, zeros);
    scale = arith::SelectOp::create(b, valid, scale, constantI32(0));
  }

  bool fp4 = stream.pieces == 1;
  Value format = constantI32(fp4 ? kE2M1 : kE4M3), e4m3 = constantI32(kE4M3), byte = constantI32(0);
  int64_t perRow = stream.pieces + 1;
  SmallVector<Value> result;
  for (auto [tileRow, sum] : llvm::enumerate(sums)) {
    ValueRange loaded = weights.slice(tileRow * perRow, perRow);
    Value matrix = fp4 ? loaded[0] : joined(b, loaded[0], loaded[1]);
    Value exponent = arith::ExtUIOp::create(b, i32, loaded.back());
    result.push_back(ROCDL::mfma_scale_f32_16x16x128_f8f6f4::create(
        b, sum.getType(),
        ValueRange{matrix, codes, sum, format, e4m3, byte, exponent, byte, scale}));
  }
  return result;
}

LogicalResult Emitter::emitScaledContract(ContractOp op) {
  ScaledStream &stream = scaledStreams.find(op.getWeights())->second;
  int64_t splitK = stream.op.getSplitK(), scratch = scratchOf(op);
  auto region = op.getSource().getDefiningOp<RegionOp>();
  std::optional<int64_t> map;
  int64_t mapBytes = 0;
  if (op.getRows()) {
    mapBytes = cast<RankedTensorType>(op.getRows().getType()).getNumElements() * 4;
    map = inLds(op.getRows(), scratch);
    willRead(*map, mapBytes);
  }
  willRead(*region.getOffset(), region.getBytes());
  if (auto scales = op.getScales() ? op.getScales().getDefiningOp<RegionOp>() : RegionOp())
    willRead(*scales.getOffset(), scales.getBytes());
  if (stream.list)
    willRead(*stream.list,
             cast<RankedTensorType>(stream.op.getGroups().getType()).getNumElements() * 4);

  auto sumType = VectorType::get({4}, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sumType)));
  SmallVector<Value> carried(stream.rowTiles, zero);
  llvm::append_range(carried, stream.inFlight);
  int64_t perSlot = (stream.pieces + 1) * stream.rowTiles, stride = splitK * stream.window;
  // Each slot of the window is multiplied and filled again, so that nothing in flight moves.
  auto loop = scf::ForOp::create(
      b, modulo(wave, splitK), stream.end, constant(stride), carried,
      [&](OpBuilder &, Location, Value first, ValueRange args) {
        SmallVector<Value> sums(args.take_front(stream.rowTiles)), next;
        for (int64_t slot = 0; slot < stream.window; ++slot) {
          Value tile = add(first, slot * splitK);
          ValueRange weights = args.slice(stream.rowTiles + slot * perSlot, perSlot);
          Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, stream.end);
          auto multiplied = scf::IfOp::create(
              b, within,
              [&](OpBuilder &, Location) {
                auto products = op.getScales()
                                    ? multiplyCodes(op, stream, tile, map, weights, sums)
                                    : multiplyWidened(op, stream, tile, map, weights, sums);
                scf::YieldOp::create(b, products);
              },
              [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
          sums.assign(multiplied.getResults().begin(), multiplied.getResults().end());
          issueScaled(stream, add(tile, stride), next);
        }
        llvm::append_range(sums, next);
        scf::YieldOp::create(b, sums);
      });
  SmallVector<Value> sums(loop.getResults().take_front(stream.rowTiles));
  sumOverWaves(op, sums, splitK, scratch + llvm::alignTo(mapBytes, kLdsAlign));
  return success();
}

} // namespace mono
