// The rules a schedule has to keep, each explained on a page of docs/rules, and how a diagnostic
// says which of them was broken.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mono {

struct Rule {
  llvm::StringLiteral name; ///< what `monoc --explain` takes, e.g. "reuse"
  llvm::StringLiteral page; ///< Markdown: the rule, a schedule that breaks it, one that keeps it
};

/// All of them, in alphabetical order.
llvm::ArrayRef<Rule> rules();

/// The rule called `name`; null if there is none.
const Rule *findRule(llvm::StringRef name);

/// What ends a message about `rule`: where to read about it.
std::string ruleTag(llvm::StringRef rule);

/// While it lives, errors of `context` end with the tag of `rule`.
class RuleScope : public mlir::ScopedDiagnosticHandler {
public:
  RuleScope(mlir::MLIRContext *context, llvm::StringRef rule);
};

} // namespace mono
