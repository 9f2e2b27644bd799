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

/// Elements of a bf16 tile of 16 rows by 32 columns, and those one lane holds.
static constexpr int64_t kTile = gfx950::kMfmaM * gfx950::kMfmaK;
static constexpr int64_t kLaneShare = kTile / gfx950::kWaveSize;

/// What the scheduler may move from one tile to another: arithmetic on addresses and accesses of
/// LDS (VALU 0x2, SALU 0x4, all DS 0x80; LLVM AMDGPUUsage, llvm.amdgcn.sched.barrier). Loads of
/// weights and MFMA stay, or it would sink the loads to save registers, and the window with them.
static constexpr int32_t kMayCrossTiles = 0x2 | 0x4 | 0x80;

Value Emitter::issueWeights(WeightStream &stream, Value step, int64_t rowTile) {
  Value memory = operandMemory(stream.op.getSource().getDefiningOp<OperandOp>());
  Value at = add(add(stream.base, rowTile * stream.rowTileStride), mul(step, kTile));
  // Each weight is used once: it should not push anything else out of the caches.
  return vector::LoadOp::create(b, VectorType::get({kLaneShare}, b.getBF16Type()), memory,
                                ValueRange{at}, /*nontemporal=*/true, llvm::MaybeAlign(16));
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
  stream.window = stepsInFlight(stream.depthSteps, stream.rowTiles);
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
    for (int64_t row = 0; row < stream.rowTiles; ++row)
      stream.inFlight.push_back(issueWeights(stream, constant(i), row));
  // All of the window goes out before anything else: the scheduler would rather save registers.
  ROCDL::SchedBarrier::create(b, /*mask=*/0);
  streams[op.getResult()] = std::move(stream);
  return success();
}

/// Walks the depth of one contraction, a window of steps in flight ahead of the one multiplied.
class ContractEmitter {
public:
  ContractEmitter(Emitter &emitter, ContractOp op, WeightStream &stream);

  /// The wavefront's sums, vector<4xf32> for each of its row tiles.
  SmallVector<Value> emit();

private:
  /// This lane's activations for a step.
  Value loadActivations(Value step);
  /// What is in flight when the contraction begins: of each step the stream's weights, then the
  /// activations if they come from memory.
  SmallVector<Value> firstWindow();
  /// Multiplies `steps` steps, of which `loaded` holds what was in flight. Each tile of the first
  /// `refilled` is followed by the load of that a window further on, so that as much as before is
  /// in flight; returned is what these loads bring.
  SmallVector<Value> multiplySteps(Value first, int64_t steps, int64_t refilled,
                                   MutableArrayRef<Value> sums, ArrayRef<Value> loaded);

  Emitter &e;
  ImplicitLocOpBuilder &b;
  WeightStream &stream;
  Value memory, activations; ///< of the activations, and the index of this lane's first ones
  /// Loads arrive in the order in which they were issued. Activations from memory go out with the
  /// weights they meet: right before their use they would wait for all weights in flight.
  bool areInMemory;
};

ContractEmitter::ContractEmitter(Emitter &emitter, ContractOp op, WeightStream &stream)
    : e(emitter), b(emitter.b), stream(stream) {
  // Lane l supplies activation row l mod 16, depth 8 * (l / 16) ..+ 8 of the step. Rows past the
  // last repeat it: their columns of the product are never stored.
  auto region = op.getSource().getDefiningOp<RegionOp>();
  auto operand = op.getSource().getDefiningOp<OperandOp>();
  areInMemory = !region;
  int64_t rowStride = region ? region.getRowStride() : staticValues(operand.getShape()).back();
  SmallVector<Value> offsets = e.evaluate(op.getOffsets(), op.getOffsetArgs());
  Value row = arith::MinUIOp::create(b, e.modulo(e.lane, gfx950::kMfmaN),
                                     e.constant(op.getStaticSizes()[0] - 1));
  Value share = e.mul(e.modulo(e.wave, stream.op.getSplitK()), stream.depthSteps * gfx950::kMfmaK);
  Value depth = e.add(share, e.mul(e.divide(e.lane, gfx950::kMfmaN), kLaneShare));
  activations = e.address(offsets, {row, depth}, {rowStride, 1});
  if (region)
    e.willRead(rangeOf(region));
  memory = region ? e.ldsView(*region.getOffset(), region.getElement(), region.getBytes() / 2)
                  : e.operandMemory(operand);
}

Value ContractEmitter::loadActivations(Value step) {
  return vector::LoadOp::create(b, VectorType::get({kLaneShare}, b.getBF16Type()), memory,
                                ValueRange{e.add(activations, e.mul(step, gfx950::kMfmaK))},
                                /*nontemporal=*/false, llvm::MaybeAlign(16));
}

SmallVector<Value> ContractEmitter::firstWindow() {
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < stream.window; ++i) {
    llvm::append_range(
        loaded, ArrayRef(stream.inFlight).slice(i * stream.rowTiles).take_front(stream.rowTiles));
    if (areInMemory)
      loaded.push_back(loadActivations(e.constant(i)));
  }
  return loaded;
}

SmallVector<Value> ContractEmitter::multiplySteps(Value first, int64_t steps, int64_t refilled,
                                                  MutableArrayRef<Value> sums,
                                                  ArrayRef<Value> loaded) {
  SmallVector<Value> next;
  int64_t perStep = stream.rowTiles + areInMemory;
  for (int64_t i = 0; i < steps; ++i) {
    Value step = e.add(first, i);
    ArrayRef<Value> ofStep = loaded.slice(i * perStep, perStep);
    Value activation = areInMemory ? ofStep.back() : loadActivations(step);
    Value ahead = e.add(step, stream.window);
    // A load goes out behind the last use of the registers it fills, or they would be copied.
    auto refill = [&](Value loaded) {
      next.push_back(loaded);
      ROCDL::SchedBarrier::create(b, kMayCrossTiles);
    };
    for (int64_t row = 0; row < stream.rowTiles; ++row) {
      sums[row] = amdgpu::MFMAOp::create(b, sums[row].getType(), /*m=*/16, /*n=*/16, /*k=*/32,
                                         /*blocks=*/1, ofStep[row], activation, sums[row]);
      if (i < refilled)
        refill(e.issueWeights(stream, ahead, row));
    }
    if (areInMemory && i < refilled)
      refill(loadActivations(ahead));
  }
  return next;
}

SmallVector<Value> ContractEmitter::emit() {
  Value zero = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(VectorType::get({4}, b.getF32Type()))));
  SmallVector<Value> sums(stream.rowTiles, zero), loaded = firstWindow();
  int64_t window = stream.window, rest = stream.depthSteps % window,
          last = stream.depthSteps - rest - window; // first step of the last whole window
  if (last > 0) {
    SmallVector<Value> carried(sums);
    llvm::append_range(carried, loaded);
    auto body = [&](OpBuilder &, Location, Value step, ValueRange args) {
      SmallVector<Value> inner(args.take_front(stream.rowTiles));
      SmallVector<Value> now(args.drop_front(stream.rowTiles));
      SmallVector<Value> next = multiplySteps(step, window, window, inner, now);
      llvm::append_range(inner, next);
      scf::YieldOp::create(b, inner);
    };
    auto loop =
        scf::ForOp::create(b, e.constant(0), e.constant(last), e.constant(window), carried, body);
    llvm::copy(loop.getResults().take_front(stream.rowTiles), sums.begin());
    llvm::copy(loop.getResults().drop_front(stream.rowTiles), loaded.begin());
  }
  loaded = multiplySteps(e.constant(last), window, rest, sums, loaded);
  multiplySteps(e.constant(last + window), rest, 0, sums, loaded);
  return sums;
}

LogicalResult Emitter::emitContract(ContractOp op) {
  if (scaledStreams.contains(op.getWeights()))
    return emitScaledContract(op);
  WeightStream &stream = streams.find(op.getWeights())->second;
  SmallVector<Value> sums = ContractEmitter(*this, op, stream).emit();
  sumOverWaves(op, sums, stream.op.getSplitK(), scratchOf(op));
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
