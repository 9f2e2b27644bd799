// mutation_test [--seed=N] [--mutants=N] [--runs=N] [--barriers=N] [--seeds=N]
//               [--budget=N] --all | FILE[:NAME=INT,...]...
//
// Puts random mistakes into right schedules. Every mutant is checked; of those the checks accept a
// sample (or with --all, which takes all schedules of the repository, every one) is compiled and
// run under different orders of memory and waves: none may hang, race or give different bits from
// run to run. Exit status 0 only then. Prints tables in Markdown.
#include "lowering/Check/Checks.h"
#include "lowering/Pipeline.h"
#include "test/mutation/Sources.h"
#include "test/mutation/Subject.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mono;
using namespace mono::test;

namespace {

//===----------------------------------------------------------------------===//
// Controls: wrong schedules, unchecked, that the runs must find
//===----------------------------------------------------------------------===//

/// Runs a wrong schedule until a run fails; false if none does, or for another reason than a hang
/// or wrong results.
bool mustFail(StringRef name, ModuleOp placed) {
  Settings settings;
  settings.launches = 6;
  settings.seeds = 400;
  auto inputs = inputsOf(placed, settings.launches);
  OwningOpRef<ModuleOp> module = placed.clone();
  auto compiled = compilePlaced(*module);
  if (!inputs || !compiled) {
    llvm::errs() << "error: control '" << name << "' does not compile\n";
    consumeError(inputs.takeError());
    consumeError(compiled.takeError());
    return false;
  }
  auto outputs = runAll(placed, compiled->codeObject, settings, *inputs);
  std::string message = outputs ? "no run fails" : toString(outputs.takeError());
  bool found = StringRef(message).contains("deadlock") ||
               StringRef(message).contains("other results") ||
               StringRef(message).contains("budget");
  (found ? llvm::outs() : llvm::errs())
      << "control '" << name << "': " << StringRef(message).split('\n').first << '\n';
  return found;
}

LogicalResult place(ModuleOp module) {
  PassManager pm(module.getContext());
  buildPipeline(pm, {}, Step::Placed, Step::Placed);
  return pm.run(module);
}

/// With one slot less than the checks ask for.
bool controlSlots(ModuleOp bound) {
  OwningOpRef<ModuleOp> module = bound.clone();
  module->walk([](MailboxOp mailbox) {
    if (mailbox.getScope() == Scope::Peers && mailbox.getSlots() > 1)
      mailbox.setSlots(mailbox.getSlots() - 1);
  });
  return succeeded(place(*module)) && mustFail("one slot too few", *module);
}

/// Without the barriers in front of posts that must come after receives.
bool controlAfterWaits(ModuleOp bound) {
  OwningOpRef<ModuleOp> module = bound.clone();
  if (!check(*module).empty())
    return false;
  unsigned marks = 0;
  module->walk([&](PostOp post) { marks += bool(post->removeAttr(kAfterWaitsAttr)); });
  return marks == 0 || mustFail("posts that overtake receives", *module);
}

/// The controls that go with a schedule.
bool controls(StringRef name, ModuleOp bound) {
  if (name == "ring")
    return controlSlots(bound);
  if (name == "request" || name == "acknowledge")
    return controlAfterWaits(bound);
  return true;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

void printHead() {
  llvm::outs() << "| schedule | mutants | rejected | equivalent | repeated | not run | ran: same "
                  "bits | ran: other bits | failed | barriers: caught | unneeded | missed |\n"
                  "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
}

void printRow(StringRef name, const Counts &c) {
  llvm::outs() << llvm::formatv(
      "| {0} | {1} | {2} | {3} | {4} | {5} | {6} | {7} | {8} | {9} | {10} | {11} |\n", name,
      c.mutants, c.rejected, c.equivalent, c.repeated, c.left, c.same, c.other, c.failed, c.caught,
      c.unneeded, c.missed);
  llvm::outs().flush();
}

void printTotals(const Counts &total) {
  printRow("total", total);
  llvm::outs() << "\n| kind | mutants | rejected | failed |\n|---|--:|--:|--:|\n";
  for (auto [kind, c] : llvm::enumerate(total.byKind))
    llvm::outs() << llvm::formatv("| {0} | {1} | {2} | {3} |\n", mutationName(kind), c.mutants,
                                  c.rejected, c.failed);
  llvm::outs() << "\n| rule | rejected |\n|---|--:|\n";
  for (const auto &[rule, count] : total.byRule)
    llvm::outs() << llvm::formatv("| {0} | {1} |\n", rule, count);
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

bool parse(ArrayRef<char *> arguments, Settings &settings, std::vector<Source> &sources) {
  for (StringRef argument : arguments) {
    if (argument == "--all") {
      // Layers take more instructions than the default budget has.
      settings.runs = settings.barriers = ~0u;
      settings.budget = 500;
      for (Source &source : sources = allSources())
        source.file = MONO_SOURCE_DIR "/" + source.file;
      continue;
    }
    if (!argument.starts_with("--")) {
      sources.push_back(parseSource(argument));
      continue;
    }
    auto [name, value] = argument.split('=');
    std::map<StringRef, unsigned *> numbers = {{"--mutants", &settings.mutants},
                                               {"--runs", &settings.runs},
                                               {"--barriers", &settings.barriers},
                                               {"--seeds", &settings.seeds},
                                               {"--budget", &settings.budget}};
    bool bad = name == "--seed"           ? value.getAsInteger(10, settings.seed)
               : numbers.count(name) != 0 ? value.getAsInteger(10, *numbers[name])
                                          : true;
    if (bad) {
      llvm::errs() << "mutation_test: expected --seed, --mutants, --runs, --barriers, --seeds or "
                      "--budget with a number, --all, or a file, but got '"
                   << argument << "'\n";
      return false;
    }
  }
  return !sources.empty();
}

bool testSource(const Source &source, const Settings &settings, Counts &total) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::vector<BoundSource> subjects = bindSource(context, source);
  bool good = !subjects.empty();
  for (BoundSource &subject : subjects) {
    Counts counts;
    good &= Subject(*subject.module, settings).run(counts);
    good &= counts.failed == 0 && counts.missed == 0;
    printRow(subject.name, counts);
    total += counts;
    good &= controls(subject.name, *subject.module);
  }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  std::vector<Source> sources;
  if (!parse(ArrayRef(argv, argc).drop_front(), settings, sources))
    return 2;
  llvm::outs() << "seed " << settings.seed << ", " << settings.seeds
               << " runs of each mutant besides the plain one\n\n";
  printHead();
  bool good = true;
  Counts total;
  for (const Source &source : sources)
    good &= testSource(source, settings, total);
  printTotals(total);
  return good ? 0 : 1;
}
