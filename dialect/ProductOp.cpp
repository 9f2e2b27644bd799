// Verification of mono.product.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/VerifyBox.h"

#include "dialect/target/Gfx950.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mono;

SmallVector<int64_t> ProductOp::getStaticASizes() { return staticValues(getASizes()); }
SmallVector<int64_t> ProductOp::getStaticBSizes() { return staticValues(getBSizes()); }

SmallVector<int64_t> ProductOp::getResultShape() {
  return {getStaticASizes()[0], getStaticBSizes()[1 - getDepthAxisOfB()]};
}

/// A factor is a box of a bf16 matrix in LDS; where the depth is its last axis, 16-byte loads take
/// it 8 elements at a time.
static LogicalResult verifyFactor(ProductOp op, Value source, AffineMap offsets, OperandRange args,
                                  ArrayRef<int64_t> sizes, bool depthIsLast) {
  std::optional<Declared> declared = declaredBy(source);
  if (!declared)
    return success(); // an argument of a routine: checked where it is inlined
  if (!source.getDefiningOp<RegionOp>())
    return op.emitOpError() << "expected factors in regions of LDS, but got " << describe(source)
                            << " (mono.load and mono.store bring it into a region)";
  if (!declared->element.isBF16() || declared->shape.size() != 2)
    return op.emitOpError() << "expected bf16 matrices as factors, but " << describe(source)
                            << " has " << declared->shape.size() << " axes of "
                            << declared->element;
  if (failed(verifyBox(op, source, offsets, sizes)))
    return failure();
  if (depthIsLast && !isMultiple(offsets, args, 1, 8))
    return op.emitOpError() << "expected a depth offset into " << describe(source)
                            << " that is a multiple of 8 elements (16-byte loads), but got "
                            << text(offsets.getResult(1));
  return success();
}

LogicalResult ProductOp::verify() {
  SmallVector<int64_t> aSizes = getStaticASizes(), bSizes = getStaticBSizes();
  if (failed(verifyFactor(*this, getA(), getAOffsets(), getAOffsetArgs(), aSizes,
                          /*depthIsLast=*/true)) ||
      failed(verifyFactor(*this, getB(), getBOffsets(), getBOffsetArgs(), bSizes, !getByColumns())))
    return failure();
  if (aSizes.size() != 2 || bSizes.size() != 2)
    return emitOpError() << "expected 2 sizes for each factor, but got " << aSizes.size() << " and "
                         << bSizes.size();
  int64_t depth = aSizes[1], other = bSizes[getDepthAxisOfB()];
  if (!ShapedType::isDynamic(depth) && !ShapedType::isDynamic(other) && depth != other)
    return emitOpError() << "expected factors of the same depth, but got " << depth << " and "
                         << other;
  if (ShapedType::isDynamic(depth))
    depth = other;
  if (!ShapedType::isDynamic(depth) && depth % gfx950::kMfmaK != 0)
    return emitOpError() << "expected a depth that is a multiple of " << gfx950::kMfmaK
                         << " (MFMA 16x16x32), but got " << depth;
  return verifyResult(*this, getType(), getResultShape(), Float32Type::get(getContext()));
}
