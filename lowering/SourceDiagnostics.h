// Prints diagnostics with the lines of the files they are about, and with the calls of the routines
// these lines stand in.
#pragma once

#include "mlir/IR/Diagnostics.h"

namespace mono {

/// MLIR's printer, which says of an error where its routine was called from; this one says so of
/// notes too. Calls that the line before stands in as well are not said again.
class SourceDiagnostics : public mlir::SourceMgrDiagnosticHandler {
public:
  SourceDiagnostics(llvm::SourceMgr &sources, mlir::MLIRContext *context, llvm::raw_ostream &out);
};

} // namespace mono
