// Adds the calls behind a note as notes of their own.
#include "lowering/SourceDiagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace mono {

/// The calls a location stands in, the innermost first.
static SmallVector<Location> callersOf(Location loc) {
  SmallVector<Location> callers;
  while (auto call = dyn_cast<CallSiteLoc>(loc)) {
    loc = call.getCaller();
    callers.push_back(loc);
  }
  return callers;
}

static Diagnostic withCallers(Diagnostic &diag) {
  Diagnostic result(diag.getLocation(), diag.getSeverity());
  result << diag.str();
  SmallVector<Location> said = callersOf(diag.getLocation());
  for (Diagnostic &note : diag.getNotes()) {
    result.attachNote(note.getLocation()) << note.str();
    SmallVector<Location> callers = callersOf(note.getLocation());
    if (callers != said)
      for (Location caller : callers)
        result.attachNote(caller) << "called from";
    said = callers;
  }
  return result;
}

SourceDiagnostics::SourceDiagnostics(llvm::SourceMgr &sources, MLIRContext *context,
                                     raw_ostream &out)
    : SourceMgrDiagnosticHandler(sources, context, out) {
  setHandler([this](Diagnostic &diag) {
    Diagnostic whole = withCallers(diag);
    emitDiagnostic(whole);
  });
}

} // namespace mono
