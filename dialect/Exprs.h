// Affine expressions in brackets, `[%t * 32, 16384 floordiv symbol(%TP)]`: the shapes, offsets and
// counts of a schedule, kept as one affine map over SSA index values.
#pragma once

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/OpImplementation.h"

namespace mono {

/// Parses `[expr, ...]`; the SSA values become the dimensions of `map`, those written `symbol(%v)`
/// its symbols (an affine expression may divide by a symbol, not by a dimension).
mlir::ParseResult parseExprs(mlir::OpAsmParser &parser,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &args,
                             mlir::AffineMapAttr &map);

/// Prints what parseExprs() reads.
void printExprs(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange args,
                mlir::AffineMapAttr map);

/// The values of the expressions that are constants, ShapedType::kDynamic for the others.
llvm::SmallVector<int64_t> staticValues(mlir::AffineMap map);

/// `map` with the arguments that `constants` knows (null entries: not known) replaced and dropped;
/// `kept` gets the indices of the arguments that stay, in order.
mlir::AffineMap bindConstants(mlir::AffineMap map, llvm::ArrayRef<mlir::Attribute> constants,
                              llvm::SmallVectorImpl<unsigned> &kept);

} // namespace mono
