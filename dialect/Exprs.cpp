// Parsing, printing and folding of bracketed affine expressions.
#include "dialect/Exprs.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace mono {

ParseResult parseExprs(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &args,
                       AffineMapAttr &map) {
  // What the parser of affine maps says is about affine maps.
  ScopedDiagnosticHandler explain(parser.getContext(), [](Diagnostic &diag) {
    diag.attachNote()
        << "brackets take sums of parameters, the task and the rank, with *, floordiv, "
           "ceildiv and mod by a number or symbol(%parameter)";
    return failure(); // and on to whoever prints it
  });
  // The parser insists on recording the map under a name; the caller's attribute is what counts.
  NamedAttrList scratch;
  return parser.parseAffineMapOfSSAIds(args, reinterpret_cast<Attribute &>(map), "map", scratch);
}

void printExprs(OpAsmPrinter &printer, Operation *, OperandRange args, AffineMapAttr map) {
  printer << '[';
  printer.printAffineMapOfSSAIds(map, args);
  printer << ']';
}

SmallVector<int64_t> staticValues(AffineMap map) {
  SmallVector<int64_t> values;
  for (AffineExpr expr : map.getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(expr, map.getNumDims(), map.getNumSymbols()));
    values.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
  }
  return values;
}

AffineMap bindConstants(AffineMap map, ArrayRef<Attribute> constants,
                        SmallVectorImpl<unsigned> &kept) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims, symbols;
  unsigned keptDims = 0, keptSymbols = 0;
  for (auto [index, constant] : llvm::enumerate(constants)) {
    bool isDim = index < map.getNumDims();
    SmallVector<AffineExpr> &replacements = isDim ? dims : symbols;
    if (auto value = dyn_cast_or_null<IntegerAttr>(constant)) {
      replacements.push_back(getAffineConstantExpr(value.getInt(), context));
      continue;
    }
    replacements.push_back(isDim ? getAffineDimExpr(keptDims++, context)
                                 : getAffineSymbolExpr(keptSymbols++, context));
    kept.push_back(index);
  }
  return simplifyAffineMap(map.replaceDimsAndSymbols(dims, symbols, keptDims, keptSymbols));
}

} // namespace mono
