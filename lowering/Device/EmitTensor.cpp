// Upstream ops on tensors: elementwise maths thread by thread, reductions and broadcasts through
// lanes and LDS.
#include "lowering/Device/Emitter.h"
#include "lowering/Device/Lanes.h"

#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// The op on one chunk.
static ValueRange emitChunk(ImplicitLocOpBuilder &b, Operation *op, ArrayRef<Value> operands,
                            ArrayRef<Type> types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  return b.create(state)->getResults();
}

/// The same element by element, for ops whose lowering knows scalars only.
static Value emitScalars(ImplicitLocOpBuilder &b, Operation *op, ArrayRef<Value> operands,
                         VectorType type) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(
          isa<VectorType>(operand.getType()) ? vector::ExtractOp::create(b, operand, i) : operand);
    elements.push_back(emitChunk(b, op, scalars, {type.getElementType()}).front());
  }
  return vector::FromElementsOp::create(b, type, elements);
}

/// Rounding the target has no instruction for.
static LogicalResult verifyRounding(arith::TruncFOp op) {
  auto mode = op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even);
  if (mode == arith::RoundingMode::to_nearest_even)
    return success();
  return op->emitError() << "expected rounding to nearest even, as kernels round, but got '"
                         << arith::stringifyRoundingMode(mode) << "'";
}

/// Codes are moved and multiplied by MFMA, not computed with.
static LogicalResult verifyArithmetic(Operation *op) {
  if (isa<arith::BitcastOp, arith::SelectOp, arith::ScalingTruncFOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return success();
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
          element && element.getWidth() < 16)
        return op->emitError() << "'" << op->getName() << "' has no code for " << element
                               << "; arith.scaling_truncf makes f8E4M3FN, and mono.contract takes "
                                  "codes as they are";
  return success();
}

/// Functions of a library that has f32 only.
static LogicalResult verifyFunction(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (element.isIndex())
    return op->emitError() << "'" << op->getName()
                           << "' has code for i8 to i64, but got index; arith.index_cast makes i32";
  if (element.isF32() || isa<IntegerType>(element) ||
      isa<math::AbsFOp, math::CopySignOp, math::FmaOp, math::IsNaNOp, math::IsFiniteOp>(op))
    return success();
  return op->emitError() << "'" << op->getName() << "' has code for f32, but got " << element
                         << "; extend to f32 and truncate the result";
}

LogicalResult Emitter::verifyHasCode(Operation *op) {
  bool isMath = isa_and_present<math::MathDialect>(op->getDialect());
  bool isArith = isa_and_present<arith::ArithDialect>(op->getDialect());
  if ((isMath || isArith) && failed(verifyArithmetic(op)))
    return failure();
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return verifyRounding(truncation);
  if (isa<arith::RemFOp>(op))
    return op->emitError() << "'arith.remf' has no code on gfx950; x - trunc(x / y) * y has";
  if (!isMath)
    return success();
  if (isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::CountLeadingZerosOp,
          math::CountTrailingZerosOp, math::CtPopOp, math::ErfOp, math::ErfcOp, math::ExpOp,
          math::FmaOp, math::IsFiniteOp, math::IsNaNOp, math::LogOp, math::RoundOp,
          math::RoundEvenOp, math::RsqrtOp, math::SqrtOp, math::TanhOp, math::TruncOp>(op))
    return verifyFunction(op);
  return op->emitError() << "'" << op->getName()
                         << "' has no code on gfx950; math has absf, absi, copysign, ctlz, cttz, "
                            "ctpop, erf, erfc, exp, fma, isfinite, isnan, log, round, roundeven, "
                            "rsqrt, sqrt, tanh and trunc there"
                         << (isa<math::SinOp, math::CosOp, math::TanOp, math::SincosOp>(op)
                                 ? "; angles come as a table of the caller (@rope_angles)"
                                 : "");
}

LogicalResult Emitter::emitElementwise(Operation *op) {
  SmallVector<ArrayRef<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<RankedTensorType>(operand.getType()) ? inRegisters(operand)
                                                                : ArrayRef<Value>());
  SmallVector<SmallVector<Value>> results(op->getNumResults());
  SmallVector<Type> types = llvm::map_to_vector(op->getResultTypes(), [&](Type type) -> Type {
    return chunkType(cast<RankedTensorType>(type));
  });
  Distribution d = distributionOf(cast<RankedTensorType>(op->getResult(0).getType()));
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    SmallVector<Value> inputs;
    for (auto [operand, values] : llvm::zip_equal(op->getOperands(), operands))
      inputs.push_back(values.empty() ? scalars.lookup(operand) : values[chunk]);
    if (op->getDialect()->getNamespace() == "math" && op->getNumResults() == 1) {
      results.front().push_back(emitScalars(b, op, inputs, cast<VectorType>(types.front())));
      continue;
    }
    for (auto [list, value] : llvm::zip_equal(results, emitChunk(b, op, inputs, types)))
      list.push_back(value);
  }
  for (auto [result, list] : llvm::zip_equal(op->getResults(), results))
    setTile(result, std::move(list));
  return success();
}

/// Up to four values, by one scale, as E4M3 in a dword.
static Value packCodes(ImplicitLocOpBuilder &b, ArrayRef<Value> values, Value scale) {
  auto i16x2 = VectorType::get({2}, b.getI16Type());
  Value codes = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(i16x2)));
  for (size_t i = 0; i < values.size(); i += 2)
    codes = ROCDL::CvtScaleF32PkFp8F32Op::create(b, i16x2, codes, values[i], values[i + 1], scale,
                                                 /*dstLoHiSel=*/i > 0);
  Value bits = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), codes);
  return vector::ExtractOp::create(b, bits, int64_t(0));
}

LogicalResult Emitter::emitScalingTrunc(arith::ScalingTruncFOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto from = cast<RankedTensorType>(op.getIn().getType());
  auto scale = cast<RankedTensorType>(op.getScale().getType());
  Distribution d = distributionOf(type);
  if (!isa<Float8E4M3FNType>(type.getElementType()) || !from.getElementType().isF32() ||
      !scale.getElementType().isF32() || d.width % 2 != 0)
    return op.emitError() << "expected f32 by f32 to f8E4M3FN with rows of an even length, but got "
                          << from << " by " << scale << " to " << type;
  SmallVector<Value> values(inRegisters(op.getIn())), scales(inRegisters(op.getScale())), chunks;
  for (auto [chunk, scaleOfChunk] : llvm::zip_equal(values, scales)) {
    // The instruction takes one scale for two values.
    auto same = scaleOfChunk.getDefiningOp<vector::BroadcastOp>();
    if (!same)
      return op.emitError() << "expected scales that linalg.broadcast repeats along the last axis";
    SmallVector<Value> elements, dwords;
    for (int64_t i = 0; i < d.width; ++i)
      elements.push_back(vector::ExtractOp::create(b, chunk, i));
    for (size_t i = 0; i < elements.size(); i += 4)
      dwords.push_back(packCodes(b, ArrayRef(elements).slice(i).take_front(4), same.getSource()));
    int64_t count = dwords.size();
    Value all = vector::FromElementsOp::create(b, VectorType::get({count}, b.getI32Type()), dwords);
    Value codes =
        vector::BitCastOp::create(b, VectorType::get({4 * count}, type.getElementType()), all);
    auto whole = llvm::to_vector(llvm::seq<int64_t>(0, d.width));
    chunks.push_back(vector::ShuffleOp::create(b, codes, codes, whole));
  }
  setTile(op.getOut(), std::move(chunks));
  return success();
}

Value Emitter::valueOfAll(Value tensor) {
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return scalars.lookup(splat.getInput());
  DenseElementsAttr constant;
  if (!matchPattern(tensor, m_Constant(&constant)) || !constant.isSplat())
    return {};
  return arith::ConstantOp::create(b, cast<TypedAttr>(constant.getSplatValue<Attribute>()));
}

LogicalResult Emitter::emitConstant(Operation *op) {
  Value scalar = valueOfAll(op->getResult(0));
  if (!scalar)
    return op->emitError() << "expected a constant tensor with one value for all elements";
  emitSplat(scalar, op->getResult(0));
  return success();
}

void Emitter::emitSplat(Value scalar, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Value chunk = vector::BroadcastOp::create(b, chunkType(type), scalar);
  setTile(tensor, SmallVector<Value>(distributionOf(type).chunks, chunk));
}

//===----------------------------------------------------------------------===//
// Reduction of the last axis
//===----------------------------------------------------------------------===//

/// Inlines the combiner of the reduction on two scalars.
static Value combine(linalg::ReduceOp op, ImplicitLocOpBuilder &b, Value element, Value sum) {
  Block &block = op.getCombiner().front();
  IRMapping mapping;
  mapping.map(block.getArgument(0), element);
  mapping.map(block.getArgument(1), sum);
  for (Operation &inner : block.without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

/// Threads combine partial results, in an order that is none of the schedule's: the combiner must
/// be one op that takes a partial result for an element, on its two arguments alone.
static LogicalResult verifyCombiner(linalg::ReduceOp op) {
  Block &block = op.getCombiner().front();
  Operation &combiner = block.front();
  bool associative =
      isa<arith::AddFOp, arith::MulFOp, arith::AddIOp, arith::MulIOp, arith::MinimumFOp,
          arith::MaximumFOp, arith::MinNumFOp, arith::MaxNumFOp, arith::MinSIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MaxUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combiner) &&
      llvm::is_contained(combiner.getOperands(), block.getArgument(0)) &&
      llvm::is_contained(combiner.getOperands(), block.getArgument(1));
  Operation *wrong = associative ? combiner.getNextNode() : &combiner;
  if (wrong == block.getTerminator() && associative &&
      wrong->getOperand(0) == combiner.getResult(0))
    return success();
  return wrong->emitError()
         << "expected a combiner of one op on its two arguments, of arith addf, "
            "mulf, addi, muli, min..., max..., andi, ori and xori, since it also "
            "combines partial results, but got '"
         << wrong->getName()
         << "'; do what one element needs, a square say, on the whole tensor "
            "first, then reduce";
}

LogicalResult Emitter::emitReduce(Operation *operation) {
  auto op = cast<linalg::ReduceOp>(operation);
  if (op.getInputs().size() != 1)
    return op.emitError() << "expected a reduction of one tensor, but got "
                          << op.getInputs().size();
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  if (type.getRank() < 2)
    return op.emitError() << "expected a reduction of at least 2 axes, but got " << type
                          << "; tensor.expand_shape makes one row of it";
  if (op.getDimensions() != ArrayRef<int64_t>{type.getRank() - 1})
    return op.emitError() << "expected a reduction of the last axis, " << type.getRank() - 1
                          << ", but got [" << op.getDimensions()
                          << "]; linalg.transpose brings another one there, and mono.receive ... "
                             "sum adds over the first of a mailbox";
  Value init = valueOfAll(op.getInits().front());
  if (!init)
    return op.emitError() << "expected one initial value for all elements of a reduction: a "
                             "tensor.splat or a constant dense<...>";
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() != 32)
    return op.emitError() << "expected a reduction of f32 or i32, but got " << element;
  if (failed(verifyCombiner(op)))
    return failure();
  RowReduction rows(distributionOf(type));
  int64_t scratch = scratchOf(op);
  if (rows.acrossLanes)
    reduceAcrossLanes(op, init, scratch);
  else
    reduceRowByThread(op, init, scratch);
  return success();
}

Value Emitter::withinThread(linalg::ReduceOp op, Value values) {
  Value sum = vector::ExtractOp::create(b, values, int64_t(0));
  for (int64_t i = 1; i < cast<VectorType>(values.getType()).getNumElements(); ++i)
    sum = combine(op, b, vector::ExtractOp::create(b, values, i), sum);
  return sum;
}

void Emitter::reduceAcrossLanes(linalg::ReduceOp op, Value init, int64_t scratch) {
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  Distribution d = distributionOf(type);
  RowReduction rows(d);
  int64_t rowCount = d.elements / d.columns;
  int64_t partials = rowCount * rows.waves;
  SmallVector<Value> chunks(inRegisters(op.getInputs().front()));
  // All sums, then all stores: what waits for one chunk's lanes does the next one's work.
  SmallVector<Value> sums = llvm::map_to_vector(chunks, [&](Value values) {
    return combineLanes(b, withinThread(op, values), 1, rows.lanes,
                        [&](Value mine, Value other) { return combine(op, b, other, mine); });
  });
  willWrite({scratch, partials * 4});
  // The first lane of a row's share speaks for it.
  Value speaker =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, modulo(lane, rows.lanes), constant(0));
  guard(speaker, [&] {
    for (auto [chunk, sum] : llvm::enumerate(sums))
      forOwners(d, chunk, [&, sum = sum](Value first) {
        ldsStore(scratch, partials, divide(first, rows.lanes * d.width), single(sum));
      });
  });
  foldRows(op, init, scratch, rows.waves, scratch + partials * 4);
}

void Emitter::reduceRowByThread(linalg::ReduceOp op, Value init, int64_t scratch) {
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  Distribution d = distributionOf(type);
  int64_t parts = d.elements / d.width;
  SmallVector<Value> chunks(inRegisters(op.getInputs().front()));
  willWrite({scratch, parts * 4});
  for (auto [chunk, values] : llvm::enumerate(chunks))
    forOwners(d, chunk, [&, values = values](Value first) {
      ldsStore(scratch, parts, divide(first, d.width), single(withinThread(op, values)));
    });
  foldRows(op, init, scratch, d.columns / d.width, scratch + llvm::alignTo(parts * 4, kLdsAlign));
}

void Emitter::foldRows(linalg::ReduceOp op, Value init, int64_t from, int64_t perRow,
                       int64_t home) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type element = type.getElementType();
  int64_t rowCount = type.getNumElements();
  willTouch({{from, rowCount * perRow * 4}}, {{home, rowCount * 4}});
  auto fold = [&](Value row) {
    Value sum = init;
    for (int64_t i = 0; i < perRow; ++i) {
      Value part = ldsLoad(from, element, rowCount * perRow, add(mul(row, perRow), i), 1);
      sum = combine(op, b, vector::ExtractOp::create(b, part, int64_t(0)), sum);
    }
    ldsStore(home, rowCount, row, single(sum));
  };
  for (int64_t first = 0; first < rowCount; first += threadCount) {
    Value row = add(thread, first);
    guard(lessThan(row, rowCount), [&] { fold(row); });
  }
  setTile(op->getResult(0), home);
}

//===----------------------------------------------------------------------===//
// Broadcast
//===----------------------------------------------------------------------===//

LogicalResult Emitter::emitBroadcast(Operation *operation) {
  auto op = cast<linalg::BroadcastOp>(operation);
  auto from = cast<RankedTensorType>(op.getInput().getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> added = op.getDimensions();
  Type element = to.getElementType();
  Distribution d = distributionOf(to);
  int64_t home = inLds(op.getInput(), scratchOf(op));
  willRead({home, ldsBytes(from)});

  bool lastIsAdded = llvm::is_contained(added, to.getRank() - 1);
  SmallVector<int64_t> strides = stridesOf(from.getShape());
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    SmallVector<Value> index = unflatten(firstElement(d, chunk), to.getShape());
    SmallVector<Value> source;
    for (int64_t axis = 0; axis < to.getRank(); ++axis)
      if (!llvm::is_contained(added, axis))
        source.push_back(index[axis]);
    Value at = address({}, source, strides);
    Value value = ldsLoad(home, element, from.getNumElements(), at, lastIsAdded ? 1 : d.width);
    if (lastIsAdded)
      value = vector::BroadcastOp::create(b, chunkType(to),
                                          vector::ExtractOp::create(b, value, int64_t(0)));
    chunks.push_back(value);
  }
  setTile(op->getResult(0), std::move(chunks));
  return success();
}

} // namespace mono
