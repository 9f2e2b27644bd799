// Types and verification of mono.select.
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/SelectTypes.h"
#include "dialect/VerifyBox.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mono;

ParseResult mono::parseSelectTypes(OpAsmParser &parser,
                                   const std::optional<OpAsmParser::UnresolvedOperand> &payload,
                                   Type &key, Type &payloadType, Type &indices, Type &values) {
  if (parser.parseType(key) || parser.parseArrow() || parser.parseType(indices))
    return failure();
  if (payload)
    payloadType = key;
  return succeeded(parser.parseOptionalComma()) ? parser.parseType(values) : success();
}

void mono::printSelectTypes(OpAsmPrinter &printer, Operation *, Value, Type key, Type, Type indices,
                            Type values) {
  printer << key << " -> " << indices;
  if (values)
    printer << ", " << values;
}

int64_t SelectOp::getStaticK() { return staticValues(getK()).front(); }

bool SelectOp::usesRadix() {
  int64_t candidates = cast<RankedTensorType>(getKey().getType()).getShape()[1];
  return candidates > kMaxWaveKeys || getStaticK() > kMaxWaveTop;
}

/// k, the keys and the payload; the results are another matter.
static LogicalResult verifyInputs(SelectOp op) {
  if (op.getK().getNumResults() != 1)
    return op.emitOpError() << "expected one k, but got " << op.getK().getNumResults();
  int64_t k = op.getStaticK();
  if (!ShapedType::isDynamic(k) && (k < 1 || k > SelectOp::kMaxTop))
    return op.emitOpError() << "expected a k in [1, " << SelectOp::kMaxTop << "], but got " << k;
  auto key = dyn_cast<RankedTensorType>(op.getKey().getType());
  if (!key || key.getRank() != 2)
    return op.emitOpError() << "expected keys of 2 axes (rows, candidates), but got "
                            << op.getKey().getType();
  if (op.getPayload() && op.getPayload().getType() != key)
    return op.emitOpError() << "expected a payload of " << key << ", the type of the keys, but got "
                            << op.getPayload().getType();
  return success();
}

/// The registers of the workgroup hold all keys (and the payload).
static LogicalResult verifyRadix(SelectOp op) {
  auto schedule = op->getParentOfType<ScheduleOp>();
  auto key = cast<RankedTensorType>(op.getKey().getType());
  if (!schedule || !key.hasStaticShape() || ShapedType::isDynamic(op.getStaticK()) ||
      !op.usesRadix())
    return success();
  int64_t threads = schedule.getThreads();
  int64_t elements = key.getNumElements() * (op.getPayload() ? 2 : 1);
  int64_t limit = std::min(threads * SelectOp::kMaxThreadElements, SelectOp::kMaxGroupElements);
  if (elements <= limit)
    return success();
  return op.emitOpError() << "expected at most " << limit << " keys and entries of payload in the "
                          << "registers of " << threads << " threads, but got " << elements
                          << " (let several workgroups select, then select from what they found)";
}

LogicalResult SelectOp::verify() {
  if (failed(verifyInputs(*this)))
    return failure();
  if (bool(getPayload()) != bool(getValues()))
    return emitOpError() << "expected a tensor of values exactly where there is a payload, but got "
                         << (getPayload() ? "a payload alone" : "values alone");
  auto key = cast<RankedTensorType>(getKey().getType());
  SmallVector<int64_t> shape{key.getShape()[0], getStaticK()};
  Builder builder(getContext());
  if (failed(verifyResult(*this, getIndices().getType(), shape, builder.getI32Type())) ||
      (getValues() &&
       failed(verifyResult(*this, getValues().getType(), shape, builder.getF32Type()))))
    return failure();
  return verifyRadix(*this);
}
