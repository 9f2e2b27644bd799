// Upstream ops that only move elements: slices, reshapes, transposes, and tensors made from their
// indices. What changes threads goes through LDS.
#include "lowering/Device/Emitter.h"

#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mono {

void Emitter::gatherElements(Value result, Value source, int64_t scratch, bool contiguous,
                             function_ref<SmallVector<Value>(ArrayRef<Value>)> from) {
  auto type = cast<RankedTensorType>(result.getType());
  auto sourceType = cast<RankedTensorType>(source.getType());
  // Rows with padding may stay where they are.
  int64_t padding = tile(source).padding;
  int64_t home = padding ? *tile(source).home : inLds(source, scratch);
  SmallVector<int64_t> padded(sourceType.getShape());
  if (padding)
    padded.back() += padding;
  SmallVector<int64_t> strides = stridesOf(padded);
  willRead({home, ldsBytes(sourceType.clone(padded))});
  Distribution d = distributionOf(type);
  auto load = [&](Value linear, int64_t width) {
    Value at = address({}, from(unflatten(linear, type.getShape())), strides);
    return ldsLoad(home, type.getElementType(), llvm::product_of(padded), at, width);
  };
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    Value first = firstElement(d, chunk);
    if (contiguous) {
      chunks.push_back(load(first, d.width));
      continue;
    }
    SmallVector<Value> elements;
    for (int64_t i = 0; i < d.width; ++i)
      elements.push_back(vector::ExtractOp::create(b, load(add(first, i), 1), int64_t(0)));
    chunks.push_back(vector::FromElementsOp::create(b, chunkType(type), elements));
  }
  setTile(result, std::move(chunks));
}

/// True if vectors of `width` elements of the result lie as aligned vectors in the source.
static bool isContiguous(ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides,
                         RankedTensorType source, int64_t width) {
  return strides.back() == 1 && !ShapedType::isDynamic(offsets.back()) &&
         offsets.back() % width == 0 && source.getShape().back() % width == 0;
}

SmallVector<Value> Emitter::indexValues(ArrayRef<OpFoldResult> mixed) {
  return llvm::map_to_vector(mixed, [&](OpFoldResult entry) {
    if (auto value = dyn_cast<Value>(entry))
      return scalars.lookup(value);
    return constant(cast<IntegerAttr>(cast<Attribute>(entry)).getInt());
  });
}

LogicalResult Emitter::emitSlice(tensor::ExtractSliceOp op) {
  RankedTensorType type = op.getType();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Value> offsets = indexValues(op.getMixedOffsets());
  ArrayRef<int64_t> strides = op.getStaticStrides();
  bool lastStays = !dropped.test(dropped.size() - 1);
  bool contiguous = lastStays && isContiguous(op.getStaticOffsets(), strides, op.getSourceType(),
                                              distributionOf(type).width);
  gatherElements(
      op.getResult(), op.getSource(), scratchOf(op), contiguous, [&](ArrayRef<Value> index) {
        SmallVector<Value> at;
        const Value *next = index.begin();
        for (auto [axis, offset] : llvm::enumerate(offsets))
          at.push_back(dropped.test(axis) ? offset : add(offset, mul(*next++, strides[axis])));
        return at;
      });
  return success();
}

LogicalResult Emitter::emitInsert(tensor::InsertSliceOp op) {
  RankedTensorType type = op.getType(), sourceType = op.getSourceType();
  int64_t scratch = scratchOf(op), elements = type.getNumElements();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> memory = stridesOf(type.getShape());
  SmallVector<Value> offsets = indexValues(op.getMixedOffsets());
  // A copy of the destination, then the source over it.
  SmallVector<Value> below(inRegisters(op.getDest())), above(inRegisters(op.getSource()));
  willWrite({scratch, ldsBytes(type)});
  Distribution d = distributionOf(type);
  for (auto [chunk, value] : llvm::enumerate(below))
    forOwners(d, chunk,
              [&, value = value](Value first) { ldsStore(scratch, elements, first, value); });
  willWrite({scratch, ldsBytes(type)});
  Distribution from = distributionOf(sourceType);
  for (auto [chunk, value] : llvm::enumerate(above))
    forOwners(from, chunk, [&, value = value](Value first) {
      for (int64_t i = 0; i < from.width; ++i) {
        SmallVector<Value> index = unflatten(add(first, i), sourceType.getShape()), at;
        const Value *next = index.begin();
        for (int64_t axis = 0; axis < type.getRank(); ++axis) {
          Value inner =
              dropped.test(axis) ? constant(0) : mul(*next++, op.getStaticStrides()[axis]);
          at.push_back(add(inner, offsets[axis]));
        }
        ldsStore(scratch, elements, address({}, at, memory),
                 single(vector::ExtractOp::create(b, value, i)));
      }
    });
  setTile(op.getResult(), scratch);
  return success();
}

LogicalResult Emitter::emitReshape(Operation *op) {
  Value source = op->getOperand(0), result = op->getResult(0);
  auto from = cast<RankedTensorType>(source.getType()),
       to = cast<RankedTensorType>(result.getType());
  // The order of the elements stays, so does their place where threads hold equally long runs.
  if (distributionOf(from).width == distributionOf(to).width) {
    Tile moved = tile(source);
    moved.type = to;
    // Rows of another length have no padding where these do.
    if (moved.padding) {
      moved.chunks = llvm::to_vector(inRegisters(source));
      moved.home.reset();
      moved.padding = 0;
    }
    tiles[result] = std::move(moved);
  } else {
    setTile(result, inLds(source, scratchOf(op)));
  }
  return success();
}

LogicalResult Emitter::emitTranspose(linalg::TransposeOp op) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  gatherElements(op->getResult(0), op.getInput(), scratchOf(op), /*contiguous=*/false,
                 [&](ArrayRef<Value> index) {
                   SmallVector<Value> at(index.size());
                   for (auto [axis, sourceAxis] : llvm::enumerate(permutation))
                     at[sourceAxis] = index[axis];
                   return at;
                 });
  return success();
}

/// The body of a tensor.generate is scalar arithmetic on the indices and on scalars of the stage.
static LogicalResult verifyBody(tensor::GenerateOp op) {
  for (Operation &inner : op.getBody().front().without_terminator())
    if (inner.getNumRegions() > 0 || !isMemoryEffectFree(&inner) ||
        llvm::any_of(inner.getOperandTypes(), llvm::IsaPred<ShapedType>))
      return inner.emitError() << "expected scalar arithmetic in a tensor.generate, but got '"
                               << inner.getName()
                               << "'; elements of a tensor at computed places are what mono.gather "
                                  "reads from an operand or a region";
  return success();
}

LogicalResult Emitter::emitGenerate(tensor::GenerateOp op) {
  auto hasCode = [](Operation &inner) { return succeeded(verifyHasCode(&inner)); };
  if (failed(verifyBody(op)) || !llvm::all_of(op.getBody().front(), hasCode))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  Distribution d = distributionOf(type);
  Block &body = op.getBody().front();
  auto element = [&](Value linear) {
    IRMapping mapping;
    mapping.map(body.getArguments(), unflatten(linear, type.getShape()));
    for (Operation &inner : body.without_terminator()) {
      for (Value operand : inner.getOperands())
        if (Value outer = scalars.lookup(operand); outer && !mapping.contains(operand))
          mapping.map(operand, outer);
      b.clone(inner, mapping);
    }
    Value yielded = body.getTerminator()->getOperand(0);
    Value outer = scalars.lookup(yielded);
    return outer ? outer : mapping.lookup(yielded);
  };
  SmallVector<Value> chunks;
  for (int64_t chunk = 0; chunk < d.chunks; ++chunk) {
    Value first = firstElement(d, chunk);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < d.width; ++i)
      elements.push_back(element(add(first, i)));
    chunks.push_back(vector::FromElementsOp::create(b, chunkType(type), elements));
  }
  setTile(op.getResult(), std::move(chunks));
  return success();
}

} // namespace mono
