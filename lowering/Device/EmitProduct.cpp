// Products of two matrices in LDS: MFMA 16x16x32 bf16 on tiles shared out over the wavefronts.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/ProductPlan.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// Tiles of columns an item has at most: four independent sums hide the latency of MFMA, and what
/// is read of a serves four times.
static constexpr int64_t kMaxBlock = 4;

/// Operands (4 registers per lane each) whose loads stand side by side.
static constexpr int64_t kMaxOperandsInFlight = 24;

/// Rows and columns of a tile of the result: MFMA 16x16x32 is square.
static constexpr int64_t kTileSide = gfx950::kMfmaM;

/// Elements of an operand of MFMA 16x16x32 a lane holds, neighbours in depth.
static constexpr int64_t kLaneShare = gfx950::kMfmaM * gfx950::kMfmaK / gfx950::kWaveSize;

/// Elements a lane supplies to ds_read_b64_tr_b16 and gets from it.
static constexpr int64_t kTransposeShare = 4;

ProductPlan::ProductPlan(int64_t rows, int64_t columns, int64_t depth, int64_t waves)
    : rows(rows), columns(columns), rowTiles(llvm::divideCeil(rows, kTileSide)),
      columnTiles(llvm::divideCeil(columns, kTileSide)) {
  rowStride = resultRowStride(rows, columns);
  int64_t tiles = rowTiles * columnTiles, allSteps = depth / gfx950::kMfmaK;
  block = largestDivisor(columnTiles, std::min(kMaxBlock, tiles / waves));
  parts = largestDivisor(allSteps, waves / tiles);
  steps = allSteps / parts;
}

/// Emits one product, over values all its steps need.
class ProductEmitter {
public:
  ProductEmitter(Emitter &emitter, ProductOp op);

  /// Emits the loop over the items of this wavefront; partial results land in the scratch area.
  void emit();
  const ProductPlan &shares() const { return plan; }
  int64_t scratchOffset() const { return scratch; }

private:
  /// A box of a region. `extent` is its size along the axis that is not the depth.
  struct Factor {
    Factor(Emitter &emitter, Value source, AffineMap map, OperandRange args, int64_t extent);

    RegionOp region;
    AffineMap map;
    SmallVector<int64_t> strides;
    SmallVector<Value> offsets;
    int64_t extent;

    int64_t elements() { return region.getBytes() / 2; }
  };

  void emitItem(Value item);
  /// The sums of an item, vector<4xf32> for each tile of its block.
  SmallVector<Value> multiply(Value rowTile, Value columnTile, Value firstStep);
  /// Adds one step of 32 to the sums of an item.
  void multiplyStep(Value rowTile, Value columnTile, Value step, MutableArrayRef<Value> sums);
  void store(Value part, Value rowTile, Value columnTile, Value sum);

  // The operand of tile number `tile` for the 32 deep step that starts at `depth`.
  Value loadRows(Factor &factor, Value tile, Value depth);
  Value loadColumns(Value tile, Value depth);
  Value loadTransposed(Value tile, Value depth);

  /// True if b can be read with ds_read_b64_tr_b16: 8-byte pieces of a row that are aligned, whole.
  bool canTranspose();
  /// This lane's row of a tile, or the last one past the end: what is read twice is not stored.
  Value clamped(Value row, int64_t last);

  Emitter &e;
  ImplicitLocOpBuilder &b;
  ProductOp op;
  ProductPlan plan;
  Factor left, right;
  int64_t scratch;
  Value laneRow, laneGroup; ///< lane mod 16, lane / 16
  bool transposed;
};

ProductEmitter::Factor::Factor(Emitter &emitter, Value source, AffineMap map, OperandRange args,
                               int64_t extent)
    : region(source.getDefiningOp<RegionOp>()), map(map), strides(memoryStrides(source)),
      offsets(emitter.evaluate(map, args)), extent(extent) {}

ProductEmitter::ProductEmitter(Emitter &emitter, ProductOp op)
    : e(emitter), b(emitter.b), op(op),
      plan(op.getResultShape()[0], op.getResultShape()[1], op.getStaticASizes()[1],
           emitter.threadCount / gfx950::kWaveSize),
      left(emitter, op.getA(), op.getAOffsets(), op.getAOffsetArgs(), plan.rows),
      right(emitter, op.getB(), op.getBOffsets(), op.getBOffsetArgs(), plan.columns),
      scratch(scratchOf(op)), laneRow(emitter.modulo(emitter.lane, kTileSide)),
      laneGroup(emitter.divide(emitter.lane, kTileSide)), transposed(canTranspose()) {}

bool ProductEmitter::canTranspose() {
  uint64_t bytes = kTransposeShare * 2;
  return op.getByColumns() && plan.columns % kTransposeShare == 0 &&
         alignmentOf(right.map, right.strides, b.getBF16Type(), kTransposeShare)->value() == bytes;
}

void ProductEmitter::emit() {
  e.willTouch({rangeOf(left.region), rangeOf(right.region)}, {{scratch, plan.scratchBytes()}});
  int64_t waves = e.threadCount / gfx950::kWaveSize;
  // The number of the wavefront is a scalar, so all its lanes go round together: MFMA and the
  // transpose read need them all.
  auto loop = scf::ForOp::create(b, e.wave, e.constant(plan.items()), e.constant(waves));
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(loop.getBody());
  emitItem(loop.getInductionVar());
}

void ProductEmitter::emitItem(Value item) {
  Value part = e.modulo(item, plan.parts), tile = e.divide(item, plan.parts);
  Value rowTile = e.divide(tile, plan.columnBlocks());
  Value columnTile = e.mul(e.modulo(tile, plan.columnBlocks()), plan.block);
  SmallVector<Value> sums = multiply(rowTile, columnTile, e.mul(part, plan.steps));
  for (Value &sum : sums)
    sum = e.pinned(sum);
  for (auto [index, sum] : llvm::enumerate(sums))
    store(part, rowTile, e.add(columnTile, int64_t(index)), sum);
}

SmallVector<Value> ProductEmitter::multiply(Value rowTile, Value columnTile, Value firstStep) {
  auto sumType =
      VectorType::get({gfx950::kMfmaM * gfx950::kMfmaN / gfx950::kWaveSize}, b.getF32Type());
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(sumType)));
  SmallVector<Value> zeros(plan.block, zero);
  int64_t window = largestDivisor(plan.steps, kMaxOperandsInFlight / (1 + plan.block));
  auto body = [&](OpBuilder &, Location, Value step, ValueRange carried) {
    SmallVector<Value> sums(carried);
    for (int64_t i = 0; i < window; ++i)
      multiplyStep(rowTile, columnTile, e.add(e.add(firstStep, step), i), sums);
    scf::YieldOp::create(b, sums);
  };
  return SmallVector<Value>(
      scf::ForOp::create(b, e.constant(0), e.constant(plan.steps), e.constant(window), zeros, body)
          .getResults());
}

void ProductEmitter::multiplyStep(Value rowTile, Value columnTile, Value step,
                                  MutableArrayRef<Value> sums) {
  Value depth = e.mul(step, gfx950::kMfmaK);
  Value rows = loadRows(left, rowTile, depth);
  for (auto [index, sum] : llvm::enumerate(sums)) {
    Value tile = e.add(columnTile, int64_t(index));
    Value columns = transposed          ? loadTransposed(tile, depth)
                    : op.getByColumns() ? loadColumns(tile, depth)
                                        : loadRows(right, tile, depth);
    // Columns of the result ride the M side: a lane then holds four neighbours of a row.
    sum = amdgpu::MFMAOp::create(b, sum.getType(), /*m=*/16, /*n=*/16, /*k=*/32, /*blocks=*/1,
                                 columns, rows, sum);
  }
}

Value ProductEmitter::clamped(Value row, int64_t last) {
  return arith::MinUIOp::create(b, row, e.constant(last));
}

/// Lane l holds row l mod 16 of the tile, depth 8 * (l / 16) ..+ 8 (CDNA4 ISA 7.1.4).
Value ProductEmitter::loadRows(Factor &factor, Value tile, Value depth) {
  Value row = clamped(e.add(e.mul(tile, kTileSide), laneRow), factor.extent - 1);
  Value at =
      e.address(factor.offsets, {row, e.add(depth, e.mul(laneGroup, kLaneShare))}, factor.strides);
  Type bf16 = b.getBF16Type();
  return vector::LoadOp::create(b, VectorType::get({kLaneShare}, bf16),
                                e.ldsView(*factor.region.getOffset(), bf16, factor.elements()),
                                ValueRange{at}, /*nontemporal=*/false,
                                alignmentOf(factor.map, factor.strides, bf16, kLaneShare));
}

/// The same operand where the depth runs down the rows of memory, element by element.
Value ProductEmitter::loadColumns(Value tile, Value depth) {
  Value column = clamped(e.add(e.mul(tile, kTileSide), laneRow), plan.columns - 1);
  Value first = e.add(depth, e.mul(laneGroup, kLaneShare));
  SmallVector<Value> elements;
  for (int64_t i = 0; i < kLaneShare; ++i) {
    Value at = e.address(right.offsets, {e.add(first, i), column}, right.strides);
    Value one = e.ldsLoad(*right.region.getOffset(), b.getBF16Type(), right.elements(), at, 1);
    elements.push_back(vector::ExtractOp::create(b, one, int64_t(0)));
  }
  return vector::FromElementsOp::create(b, VectorType::get({kLaneShare}, b.getBF16Type()),
                                        elements);
}

/// The same with two transpose reads. In each, 16 lanes read 4 rows of memory of 16 columns: lane l
/// supplies columns 4 * (l mod 4) ..+ 4 of row l / 4 and gets column l of the 4 rows.
Value ProductEmitter::loadTransposed(Value tile, Value depth) {
  Value quarter = e.mul(e.modulo(e.lane, kTransposeShare), kTransposeShare);
  Value column = clamped(e.add(e.mul(tile, kTileSide), quarter), plan.columns - kTransposeShare);
  Value row = e.add(e.add(depth, e.mul(laneGroup, kLaneShare)), e.divide(laneRow, kTransposeShare));
  Value memory = e.ldsView(*right.region.getOffset(), b.getBF16Type(), right.elements());
  auto type = VectorType::get({kTransposeShare}, b.getBF16Type());
  SmallVector<Value> halves;
  for (int64_t half = 0; half < kLaneShare / kTransposeShare; ++half) {
    Value at =
        e.address(right.offsets, {e.add(row, half * kTransposeShare), column}, right.strides);
    halves.push_back(amdgpu::TransposeLoadOp::create(b, type, memory, ValueRange{at}));
  }
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, kLaneShare));
  return vector::ShuffleOp::create(b, halves[0], halves[1], all);
}

/// Lane l holds columns 4 * (l / 16) ..+ 4 of row l mod 16 of the tile (CDNA4 ISA 7.1.4).
void ProductEmitter::store(Value part, Value rowTile, Value columnTile, Value sum) {
  int64_t share = cast<VectorType>(sum.getType()).getNumElements(),
          elements = plan.rows * plan.rowStride;
  Value row = e.add(e.mul(rowTile, kTileSide), laneRow);
  Value column = e.add(e.mul(columnTile, kTileSide), e.mul(laneGroup, share));
  Value at = e.add(e.mul(part, elements), e.add(e.mul(row, plan.rowStride), column));
  // Rows of a multiple of 4 columns are stored four at a time, others one by one.
  int64_t width = plan.columns % share == 0 ? share : 1;
  e.guard(e.lessThan(row, plan.rows), [&] {
    for (int64_t i = 0; i < share; i += width) {
      auto some = llvm::to_vector(llvm::seq<int64_t>(i, i + width));
      Value piece = vector::ShuffleOp::create(b, sum, sum, some);
      e.guard(e.lessThan(e.add(column, i), plan.columns),
              [&] { e.ldsStore(scratch, plan.parts * elements, e.add(at, i), piece); });
    }
  });
}

LogicalResult Emitter::emitProduct(ProductOp op) {
  ProductEmitter product(*this, op);
  product.emit();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t scratch = product.scratchOffset();
  const ProductPlan &plan = product.shares();
  if (plan.parts == 1)
    setTile(op.getResult(), scratch, plan.rowStride - plan.columns);
  else
    setTile(op.getResult(), sumOfParts(scratch, type, plan.rowStride, plan.parts));
  return success();
}

} // namespace mono
