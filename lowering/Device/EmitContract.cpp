// Contractions: weights from memory, activations from memory or LDS, MFMA 16x16x32 bf16, and the
// sum over the wavefronts that share the depth.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/ProductPlan.h"

#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

/// Weight tiles (4 registers a lane each) a wavefront may have in flight: 8 KiB a wavefront, 64 KiB
/// a workgroup cover the latency of memory twice over (about 32 KiB a compute unit) and leave
/// registers for a second stream and for what the activations go through.
static constexpr int64_t kMaxTilesInFlight = 8;

/// Elements of a bf16 tile of 16 rows by 32 columns, and those one lane holds.
static constexpr int64_t kTile = gfx950::kMfmaM * gfx950::kMfmaK;
static constexpr int64_t kLaneShare = kTile / gfx950::kWaveSize;

/// The largest divisor of `steps` whose tiles fit in flight.
static int64_t windowOf(int64_t steps, int64_t rowTiles) {
  return largestDivisor(steps, kMaxTilesInFlight / rowTiles);
}

/// Appends the loads of one depth step, all row tiles, to `into`.
void Emitter::issueWeights(WeightStream &stream, Value step, SmallVectorImpl<Value> &into) {
  auto type = VectorType::get({kLaneShare}, b.getBF16Type());
  Value memory = operandMemory(stream.op.getSource().getDefiningOp<OperandOp>());
  for (int64_t row = 0; row < stream.rowTiles; ++row) {
    Value at = add(add(stream.base, row * stream.rowTileStride), mul(step, kTile));
    // Each weight is used once: it should not push anything else out of the caches.
    into.push_back(vector::LoadOp::create(b, type, memory, ValueRange{at}, /*nontemporal=*/true,
                                          llvm::MaybeAlign(16)));
  }
}

LogicalResult Emitter::emitStream(StreamOp op) {
  if (op.getScales())
    return emitScaledStream(op);
  auto operand = op.getSource().getDefiningOp<OperandOp>();
  int64_t waves = threadCount / gfx950::kWaveSize, splitK = op.getSplitK();
  SmallVector<int64_t> sizes = op.getStaticSizes();
  int64_t depth = staticValues(operand.getShape())[1];

  WeightStream stream;
  stream.op = op;
  stream.rowTiles = sizes[0] / gfx950::kMfmaM / (waves / splitK);
  stream.depthSteps = sizes[1] / gfx950::kMfmaK / splitK;
  stream.window = windowOf(stream.depthSteps, stream.rowTiles);
  stream.rowTileStride = depth * gfx950::kMfmaM;

  // Wavefront w takes share w mod split_k of the depth and share w / split_k of the rows.
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  Value rowTile =
      add(divide(offsets[0], gfx950::kMfmaM), mul(divide(wave, splitK), stream.rowTiles));
  Value step =
      add(divide(offsets[1], gfx950::kMfmaK), mul(modulo(wave, splitK), stream.depthSteps));
  stream.base =
      add(add(mul(rowTile, stream.rowTileStride), mul(step, kTile)), mul(lane, kLaneShare));
  for (int64_t i = 0; i < stream.window; ++i)
    issueWeights(stream, constant(i), stream.inFlight);
  // All of the window goes out before anything else: the scheduler would rather save registers.
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  streams[op.getResult()] = std::move(stream);
  return success();
}

LogicalResult Emitter::emitContract(ContractOp op) {
  if (scaledStreams.contains(op.getWeights()))
    return emitScaledContract(op);
  WeightStream &stream = streams.find(op.getWeights())->second;
  int64_t splitK = stream.op.getSplitK(), rows = op.getStaticSizes()[0];

  // Lane l supplies activation row l mod 16, depth 8 * (l / 16) ..+ 8 of the step. Rows past the
  // last repeat it: their columns of the product are never stored.
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto operand = op.getSource().getDefiningOp<OperandOp>();
  int64_t rowStride = region ? region.getRowStride() : staticValues(operand.getShape()).back();
  SmallVector<Value> offsets = evaluate(op.getOffsets(), op.getOffsetArgs());
  Value row = modulo(lane, gfx950::kMfmaN);
  Value activationRow = arith::MinUIOp::create(b, row, constant(rows - 1));
  Value share = mul(modulo(wave, splitK), stream.depthSteps * gfx950::kMfmaK);
  Value activations =
      address(offsets, {activationRow, add(share, mul(divide(lane, gfx950::kMfmaN), kLaneShare))},
              {rowStride, 1});
  if (region)
    willRead(rangeOf(region));
  Value memory = region ? ldsView(*region.getOffset(), region.getElement(), region.getBytes() / 2)
                        : operandMemory(operand);
  auto loadActivations = [&](Value step) -> Value {
    return vector::LoadOp::create(b, VectorType::get({kLaneShare}, b.getBF16Type()), memory,
                                  ValueRange{add(activations, mul(step, gfx950::kMfmaK))},
                                  /*nontemporal=*/false, llvm::MaybeAlign(16));
  };
  auto multiply = [&](Value weights, Value activation, Value sum) -> Value {
    return amdgpu::MFMAOp::create(b, sum.getType(), /*m=*/16, /*n=*/16, /*k=*/32, /*blocks=*/1,
                                  weights, activation, sum);
  };

  // Blocks of `window` steps: while one is multiplied, the next is on its way.
  auto sumType = VectorType::get({4}, b.getF32Type());
  Value zero = arith::ConstantOp::create(
      b, cast<TypedAttr>(DenseElementsAttr::get(sumType, b.getF32FloatAttr(0.0f))));
  SmallVector<Value> sums(stream.rowTiles, zero);
  SmallVector<Value> current(stream.inFlight);
  auto multiplyBlock = [&](Value firstStep, bool issueNext, SmallVectorImpl<Value> &sums,
                           ArrayRef<Value> current) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < stream.window; ++i) {
      Value step = add(firstStep, i);
      Value activation = loadActivations(step);
      for (int64_t tile = 0; tile < stream.rowTiles; ++tile)
        sums[tile] = multiply(current[i * stream.rowTiles + tile], activation, sums[tile]);
      if (issueNext)
        issueWeights(stream, add(step, stream.window), next);
    }
    return next;
  };
  int64_t blocks = stream.depthSteps / stream.window;
  if (blocks > 1) {
    SmallVector<Value> carried(sums);
    llvm::append_range(carried, current);
    auto loop = scf::ForOp::create(
        b, constant(0), constant((blocks - 1) * stream.window), constant(stream.window), carried,
        [&](OpBuilder &, Location, Value step, ValueRange args) {
          SmallVector<Value> inner(args.take_front(stream.rowTiles));
          SmallVector<Value> now(args.drop_front(stream.rowTiles));
          llvm::append_range(inner, multiplyBlock(step, /*issueNext=*/true, inner, now));
          scf::YieldOp::create(b, inner);
        });
    sums.assign(loop.getResults().begin(), loop.getResults().begin() + stream.rowTiles);
    current.assign(loop.getResults().begin() + stream.rowTiles, loop.getResults().end());
  }
  multiplyBlock(constant((blocks - 1) * stream.window), /*issueNext=*/false, sums, current);

  int64_t scratch = scratchOf(op);
  sumOverWaves(op, sums, splitK, scratch);
  return success();
}

Value Emitter::pinned(Value sum) {
  return LLVM::InlineAsmOp::create(b, sum.getType(), ValueRange{sum}, "", "=v,0",
                                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getRes();
}

void Emitter::sumOverWaves(ContractOp op, ArrayRef<Value> sums, int64_t splitK, int64_t scratch) {
  auto result = cast<RankedTensorType>(op.getType());
  int64_t rows = result.getShape()[0], columns = result.getShape()[1];
  int64_t rowStride = resultRowStride(rows, columns);
  int64_t elements = rows * rowStride, rowTiles = sums.size();
  // Lane l holds features 4 * (l / 16) ..+ 4 of row l mod 16 of each tile (CDNA4 ISA 7.1.4).
  Value row = modulo(lane, gfx950::kMfmaN);
  SmallVector<Value> made = llvm::map_to_vector(sums, [&](Value sum) { return pinned(sum); });
  willWrite({scratch, splitK * elements * 4});
  guard(lessThan(row, rows), [&] {
    Value part = mul(modulo(wave, splitK), elements);
    Value firstColumn = add(mul(divide(wave, splitK), rowTiles * gfx950::kMfmaM),
                            mul(divide(lane, gfx950::kMfmaN), 4));
    Value at = add(add(part, mul(row, rowStride)), firstColumn);
    for (int64_t tile = 0; tile < rowTiles; ++tile)
      ldsStore(scratch, splitK * elements, add(at, tile * gfx950::kMfmaM), made[tile]);
  });
  setTile(op.getResult(), sumOfParts(scratch, result, rowStride, splitK));
}

SmallVector<Value> Emitter::sumOfParts(int64_t scratch, RankedTensorType type, int64_t rowStride,
                                       int64_t parts) {
  int64_t elements = type.getShape()[0] * rowStride;
  willRead({scratch, parts * elements * 4});
  Distribution d = distributionOf(type);
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    Value first = inPaddedRows(firstElement(d, chunk), d.columns, rowStride), sum;
    for (int64_t part = 0; part < parts; ++part) {
      Value value = ldsLoad(scratch, type.getElementType(), parts * elements,
                            add(first, part * elements), d.width);
      sum = sum ? arith::AddFOp::create(b, sum, value) : value;
    }
    chunks.push_back(sum);
  }
  return chunks;
}

} // namespace mono
