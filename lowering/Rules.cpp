// The pages of docs/rules, built in.
#include "lowering/Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mono {
namespace {

constexpr Rule kRules[] = {
#include "lowering/Rules.inc"
};

} // namespace

ArrayRef<Rule> rules() { return kRules; }

const Rule *findRule(StringRef name) {
  const Rule *found = llvm::find_if(kRules, [&](const Rule &rule) { return rule.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

std::string ruleTag(StringRef rule) {
  assert(findRule(rule) && "every rule has a page");
  return (" [monoc --explain=" + rule + "]").str();
}

RuleScope::RuleScope(MLIRContext *context, StringRef rule) : ScopedDiagnosticHandler(context) {
  setHandler([tag = ruleTag(rule)](Diagnostic &diag) {
    if (diag.getSeverity() == DiagnosticSeverity::Error)
      diag << tag;
    return failure(); // and on to whoever prints it
  });
}

} // namespace mono
