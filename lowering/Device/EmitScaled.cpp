// Contractions with weights as codes with scales: widened to bf16 and multiplied by MFMA 16x16x32,
// or as they are with activations of codes by MFMA 16x16x128.
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

/// 2^(exponent - 127) of the byte that is an E8M0 scale.
static Value mxScale(ImplicitLocOpBuilder &b, Value exponent) {
  Value wide = arith::ExtUIOp::create(b, b.getI32Type(), exponent);
  Value place = arith::ConstantIntOp::create(b, b.getI32Type(), 23);
  return arith::BitcastOp::create(b, b.getF32Type(), arith::ShLIOp::create(b, wide, place));
}

Emitter::ActivationRow Emitter::activationRow(ContractOp op, ScaledStream &stream, Value tile,
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
                                            ActivationRow row, ValueRange weights,
                                            ValueRange sums) {
  auto region = op.getSource().getDefiningOp<RegionOp>();
  bool fp4 = isa<Float4E2M1FNType>(stream.op.getSource().getDefiningOp<OperandOp>().getElement());
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  // Lane l supplies activation row l mod 16 and, like the weights, share l / 16 of each piece.
  int64_t pieceDepth = stream.depth / stream.pieces, stepsOfPiece = pieceDepth / gfx950::kMfmaK;
  Value depth = add(mul(modulo(tile, stream.tilesPerGroup), stream.depth),
                    mul(divide(lane, gfx950::kMfmaN), pieceDepth / 4));
  Value at = address(offsets, {row.row, depth}, {region.getRowStride(), 1});
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));

  SmallVector<Value> result(sums), factors;
  for (Value scale : weights.take_back(stream.rowTiles))
    factors.push_back(stream.op.hasBlockScales() ? one : mxScale(b, scale));
  for (int64_t step = 0; step < stream.depth / gfx950::kMfmaK; ++step) {
    int64_t piece = step / stepsOfPiece, within = step % stepsOfPiece;
    Value activation = ldsLoad(*region.getOffset(), b.getBF16Type(), region.getBytes() / 2,
                               add(at, piece * pieceDepth + 8 * within), 8);
    for (auto [tileRow, sum] : llvm::enumerate(result))
      sum = amdgpu::MFMAOp::create(
          b, sum.getType(), /*m=*/16, /*n=*/16, /*k=*/32, /*blocks=*/1,
          widen(b, weights[tileRow * stream.pieces + piece], within, fp4, factors[tileRow]),
          activation, sum);
  }
  return result;
}

/// Formats of operands of MFMA f8f6f4 (CDNA4 ISA 7.1.5).
static constexpr int64_t kE4M3 = 0, kE2M1 = 4;

static Value joined(ImplicitLocOpBuilder &b, Value low, Value high) {
  return vector::ShuffleOp::create(b, low, high, llvm::to_vector(llvm::seq<int64_t>(0, 8)));
}

Value Emitter::activationScale(ContractOp op, ScaledStream &stream, Value tile, ActivationRow row) {
  auto scales = op.getScales().getDefiningOp<RegionOp>();
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  int64_t columns = op.getDepthGrain();
  Value block = mul(modulo(tile, stream.tilesPerGroup), stream.depth / columns);
  // Lane l has the scale of columns 32 * (l / 16) ..+ 32 (CDNA4 ISA 7.1.5), or that of the tile.
  if (columns < stream.depth)
    block = add(block, divide(lane, gfx950::kMfmaN));
  Value at = address({offsets[0], divide(offsets[1], columns)}, {row.row, block},
                     {scales.getRowStride(), 1});
  return vector::ExtractOp::create(
      b, ldsLoad(*scales.getOffset(), b.getI32Type(), scales.getBytes() / 4, at, 1), int64_t(0));
}

SmallVector<Value> Emitter::multiplyCodes(ContractOp op, ScaledStream &stream, Value tile,
                                          ActivationRow row, ValueRange weights, ValueRange sums) {
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto i32 = b.getI32Type();
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  // Lane l holds two pieces of 16 codes of row l mod 16, depth 16 * (l / 16) ..+ 16 of each half of
  // the tile (CDNA4 ISA 7.1.5).
  Value depth = add(mul(modulo(tile, stream.tilesPerGroup), stream.depth),
                    mul(divide(lane, gfx950::kMfmaN), kLaneBytes));
  Value at = divide(address(offsets, {row.row, depth}, {region.getRowStride(), 1}), 4);
  auto half = [&](int64_t bytes) {
    return ldsLoad(*region.getOffset(), i32, region.getBytes() / 4, add(at, bytes / 4), 4);
  };
  Value codes = joined(b, half(0), half(stream.depth / 2));
  // Scales of blocks come after the sum: two zeros make MFMA take none.
  bool isBlocks = stream.op.hasBlockScales();
  Value none = constantI32(0), scale = none;
  if (!isBlocks) // the exponent in byte 0
    scale = arith::ShRUIOp::create(b, activationScale(op, stream, tile, row), constantI32(23));

  bool fp4 = stream.pieces == 1;
  Value format = constantI32(fp4 ? kE2M1 : kE4M3), e4m3 = constantI32(kE4M3), byte = constantI32(0);
  SmallVector<Value> result;
  for (auto [tileRow, sum] : llvm::enumerate(sums)) {
    ValueRange pieces = weights.slice(tileRow * stream.pieces, stream.pieces);
    Value matrix = fp4 ? pieces[0] : joined(b, pieces[0], pieces[1]);
    Value exponent =
        isBlocks ? none
                 : arith::ExtUIOp::create(b, i32, weights.take_back(stream.rowTiles)[tileRow])
                       .getResult();
    result.push_back(ROCDL::mfma_scale_f32_16x16x128_f8f6f4::create(
        b, sum.getType(),
        ValueRange{matrix, codes, sum, format, e4m3, byte, exponent, byte, scale}));
  }
  return result;
}

SmallVector<Value> Emitter::multiplyByFormat(ContractOp op, ScaledStream &stream, Value tile,
                                             ActivationRow row, ValueRange weights,
                                             ValueRange sums) {
  return op.getScales() ? multiplyCodes(op, stream, tile, row, weights, sums)
                        : multiplyWidened(op, stream, tile, row, weights, sums);
}

SmallVector<Value> Emitter::multiplyBlock(ContractOp op, ScaledStream &stream, Value tile,
                                          ActivationRow row, ValueRange weights, ValueRange sums) {
  // Codes alone first. Lane l holds columns of row l mod 16, whose activations have one scale.
  auto type = cast<VectorType>(sums[0].getType());
  auto wide = [&](Value scale) -> Value { return vector::BroadcastOp::create(b, type, scale); };
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  SmallVector<Value> result =
      multiplyByFormat(op, stream, tile, row, weights, SmallVector<Value>(sums.size(), zero));
  Value ofRow;
  if (op.getScales())
    ofRow =
        wide(arith::BitcastOp::create(b, b.getF32Type(), activationScale(op, stream, tile, row)));
  for (auto [part, scale, sum] : llvm::zip_equal(result, weights.take_back(sums.size()), sums)) {
    if (ofRow)
      part = arith::MulFOp::create(b, part, ofRow);
    part = math::FmaOp::create(b, part, wide(scale), sum);
  }
  return result;
}

SmallVector<Value> Emitter::multiplyTile(ContractOp op, ScaledStream &stream, Value tile,
                                         std::optional<int64_t> map, ValueRange weights,
                                         ValueRange sums) {
  ActivationRow row = activationRow(op, stream, tile, map);
  SmallVector<Value> result = stream.op.hasBlockScales()
                                  ? multiplyBlock(op, stream, tile, row, weights, sums)
                                  : multiplyByFormat(op, stream, tile, row, weights, sums);
  // A lane holds columns of one row of the result: it drops the sums of a group that the row has no
  // part in. Zeros as its activations would cost more and let NaN and infinite weights through.
  if (row.valid)
    for (auto [with, without] : llvm::zip_equal(result, sums))
      with = arith::SelectOp::create(b, row.valid, with, without);
  return result;
}

LogicalResult Emitter::emitScaledContract(ContractOp op) {
  ScaledStream &stream = scaledStreams.find(op.getWeights())->second;
  int64_t splitK = stream.op.getSplitK(), scratch = scratchOf(op);
  auto region = op.getSource().getDefiningOp<RegionOp>();
  std::optional<int64_t> map;
  int64_t mapBytes = 0;
  SmallVector<LdsRange> reads{rangeOf(region)};
  if (op.getRows()) {
    mapBytes = ldsBytes(op.getRows().getType());
    map = inLds(op.getRows(), scratch);
    reads.push_back({*map, mapBytes});
  }
  if (op.getScales())
    reads.push_back(rangeOf(op.getScales().getDefiningOp<RegionOp>()));
  willTouch(reads, {});

  auto sumType = VectorType::get({4}, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sumType)));
  SmallVector<Value> carried(stream.rowTiles, zero);
  llvm::append_range(carried, stream.inFlight);
  int64_t perSlot = (stream.pieces + 1) * stream.rowTiles, stride = splitK * stream.window;
  // Each slot of the window is multiplied and filled again, so that nothing in flight moves. The
  // scheduler would rather fill all of them behind the last one.
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
                scf::YieldOp::create(b, multiplyTile(op, stream, tile, map, weights, sums));
              },
              [&](OpBuilder &, Location) { scf::YieldOp::create(b, sums); });
          sums.assign(multiplied.getResults().begin(), multiplied.getResults().end());
          issueScaled(stream, add(tile, stride), next);
          ROCDL::SchedBarrier::create(b, /*mask=*/0);
        }
        llvm::append_range(sums, next);
        scf::YieldOp::create(b, sums);
      });
  SmallVector<Value> sums(loop.getResults().take_front(stream.rowTiles));
  sumOverWaves(op, sums, splitK, scratch + llvm::alignTo(mapBytes, kLdsAlign));
  return success();
}

} // namespace mono
