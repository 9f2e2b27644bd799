// Counts brackets and operators, and looks for an empty permutation, without parsing.
#include "lowering/SourceLimits.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mono {
namespace {

constexpr size_t kMaxDepth = 256, kMaxOperators = 256;

class Scanner {
public:
  Scanner(StringRef text, StringRef file, MLIRContext &context)
      : text(text), file(file), context(context) {}

  LogicalResult run() {
    while (at < text.size()) {
      if (StringRef rest = text.substr(at); rest.starts_with("//"))
        at += rest.find('\n') == StringRef::npos ? rest.size() : rest.find('\n');
      else if (text[at] == '"')
        skipString();
      else if (llvm::isAlpha(text[at]))
        skipWord();
      else
        noteMark();
      if (permutesNothing)
        return fail() << "expected a permutation of at least 1 axis";
      if (open.size() > kMaxDepth)
        return fail() << "expected brackets nested at most " << kMaxDepth << " deep";
      if (open.back().operators > kMaxOperators)
        return fail() << "expected at most " << kMaxOperators << " operators in an expression";
    }
    return success();
  }

private:
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    ++at;
  }

  void skipWord() {
    size_t begin = at;
    while (at < text.size() && (llvm::isAlnum(text[at]) || text[at] == '_' || text[at] == '.'))
      ++at;
    StringRef word = text.slice(begin, at);
    open.back().operators += word == "mod" || word == "floordiv" || word == "ceildiv";
    permutesNothing = word == "permutation" && isEmptyList(text.substr(at));
  }

  /// ` = []`, or the same of the generic form.
  static bool isEmptyList(StringRef rest) {
    rest = rest.ltrim();
    if (!rest.consume_front("="))
      return false;
    rest = rest.ltrim();
    return rest.consume_front("[") ? rest.ltrim().starts_with("]") : rest.starts_with("array<i64>");
  }

  /// An arrow or a comparison is no bracket, and a minus sign in it no operator.
  void noteMark() {
    StringRef rest = text.substr(at);
    if (rest.starts_with("->") || rest.starts_with(">=") || rest.starts_with("<=")) {
      at += 2;
      return;
    }
    char mark = text[at++];
    if (StringRef("([{<").contains(mark))
      open.push_back({mark, 0});
    else if (StringRef(")]}>").contains(mark) && open.size() > 1)
      open.pop_back();
    else if (mark == ',' || (mark == '\n' && open.back().bracket == '{'))
      open.back().operators = 0;
    else if (StringRef("+-*").contains(mark))
      ++open.back().operators;
  }

  InFlightDiagnostic fail() {
    StringRef before = text.take_front(std::min(at, text.size()));
    size_t line = before.count('\n') + 1;
    size_t column = before.size() - (before.rfind('\n') + 1); // npos + 1 is 0
    return emitError(FileLineColLoc::get(&context, file, unsigned(line), unsigned(column)));
  }

  StringRef text, file;
  MLIRContext &context;
  size_t at = 0;
  /// Of linalg.transpose, whose verifier (LLVM 22.1) reads the first axis of a map without any.
  bool permutesNothing = false;

  /// A bracket, and the operators of the expression in it so far. Between braces, and in the file,
  /// an expression ends with its line.
  struct Open {
    char bracket;
    size_t operators;
  };
  SmallVector<Open> open = {{'{', 0}};
};

} // namespace

LogicalResult checkSourceLimits(StringRef text, StringRef file, MLIRContext &context) {
  return Scanner(text, file, context).run();
}

} // namespace mono
