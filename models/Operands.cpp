// Checks of single operands.
#include "models/Operands.h"

using namespace llvm;

namespace mono::models {

Error checkOperand(const Manifest &manifest, StringRef name, OperandAccess access,
                   const Shape &shape, ElementType element) {
  Expected<const Operand *> operand = manifest.findOperand(name);
  if (!operand)
    return operand.takeError();
  const Operand &found = **operand;
  if (found.access != access)
    return makeError("operand '{}' has another access than the schedule's", name);
  if (found.type.shape != shape || found.type.element != element)
    return makeError("operand '{}': expected {} {}, but got {} {}", name, elementName(element),
                     formatShape(shape), elementName(found.type.element),
                     formatShape(found.type.shape));
  return Error::success();
}

Error readSizeParam(const Manifest &manifest, StringRef name, size_t &out) {
  const int64_t *value = manifest.param(name);
  if (!value)
    return makeError("kernel '{}' has no parameter '{}'", manifest.kernel, name);
  if (*value < 0)
    return makeError("parameter '{}': expected a size, but got {}", name, *value);
  out = static_cast<size_t>(*value);
  return Error::success();
}

} // namespace mono::models
