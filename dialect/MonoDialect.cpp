// Registration of the dialect, and the textual form of its types and attributes.
#include "dialect/Mono.h"

#include "dialect/Nearest.h"
#include "dialect/target/Gfx950.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialect/MonoDialect.cpp.inc"

#include "dialect/MonoEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/MonoAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/MonoTypes.cpp.inc"

namespace mono {

void MonoDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/MonoAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/MonoTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Mono.cpp.inc"
      >();
}

/// Where the parser arrives with the name of an op that is not registered.
static ParseResult reportUnknownOp(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  auto ours = llvm::make_filter_range(
      parser.getContext()->getRegisteredOperations(), [](RegisteredOperationName op) {
        return op.getDialectNamespace() == MonoDialect::getDialectNamespace();
      });
  auto known = llvm::map_range(ours, [](RegisteredOperationName op) { return op.getStringRef(); });
  return parser.emitError(parser.getNameLoc()) << "does not exist" << nearestHint(name, known);
}

std::optional<Dialect::ParseOpHook> MonoDialect::getParseOperationHook(StringRef name) const {
  return reportUnknownOp;
}

LogicalResult MfmaRowsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows) {
  if (rows != gfx950::kMfmaM)
    return emitError() << "expected " << gfx950::kMfmaM
                       << " rows per tile (MFMA 16x16x32), but got " << rows;
  return success();
}

} // namespace mono
