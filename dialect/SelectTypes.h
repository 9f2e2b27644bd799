// The types behind the colon of mono.select: `keys -> indices` or `keys -> indices, values`.
#pragma once

#include "mlir/IR/OpImplementation.h"
#include <optional>

namespace mono {

/// Parses the types; a payload has the type of the keys.
mlir::ParseResult
parseSelectTypes(mlir::OpAsmParser &parser,
                 const std::optional<mlir::OpAsmParser::UnresolvedOperand> &payload,
                 mlir::Type &key, mlir::Type &payloadType, mlir::Type &indices, mlir::Type &values);

/// Prints what parseSelectTypes() reads.
void printSelectTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Value payload,
                      mlir::Type key, mlir::Type payloadType, mlir::Type indices,
                      mlir::Type values);

} // namespace mono
