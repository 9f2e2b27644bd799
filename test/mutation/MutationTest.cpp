// mutation_test [--seed=N] [--mutants=N] [--runs=N] [--barriers=N] [--seeds=N]
//               [--budget=N] [--journal=FILE [--part=K/N]] --all | FILE[:NAME=INT,...]...
//
// Puts random mistakes into right schedules. Every mutant is checked; of those the checks accept a
// sample (or with --all, which takes all schedules of the repository, every one) is compiled and
// run under different orders of memory and waves: none may hang, race or give different bits from
// run to run. Exit status 0 only then, 2 if the command line is wrong. Prints tables in Markdown,
// and on stderr how far it is.
//
// With a journal, a run that was stopped goes on where it was, and several processes share the
// work: start one for each part with the same journal, and when they have ended one more without
// --part, which prints the tables of all.
#include "lowering/Check/Checks.h"
#include "lowering/Pipeline.h"
#include "test/mutation/Sources.h"
#include "test/mutation/Subject.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>

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

struct CommandLine {
  Settings settings;
  std::vector<Source> sources;
  StringRef journal; ///< empty: none
};

/// "2/3" is the second of three.
bool parsePart(StringRef text, Settings &settings) {
  auto [part, parts] = text.split('/');
  if (part.getAsInteger(10, settings.part) || parts.getAsInteger(10, settings.parts) ||
      settings.part == 0 || settings.part > settings.parts)
    return false;
  --settings.part;
  return true;
}

bool parseOption(StringRef argument, CommandLine &line) {
  Settings &settings = line.settings;
  auto [name, value] = argument.split('=');
  if (name == "--all") {
    // Layers take more instructions than the default budget has.
    settings.runs = settings.barriers = ~0u;
    settings.budget = 500;
    line.sources = allSources();
    for (Source &source : line.sources)
      source.file = MONO_SOURCE_DIR "/" + source.file;
    return value.empty();
  }
  if (name == "--journal") {
    line.journal = value;
    return !value.empty();
  }
  if (name == "--part")
    return parsePart(value, settings);
  if (name == "--seed")
    return !value.getAsInteger(10, settings.seed);
  std::map<StringRef, unsigned *> numbers = {{"--mutants", &settings.mutants},
                                             {"--runs", &settings.runs},
                                             {"--barriers", &settings.barriers},
                                             {"--seeds", &settings.seeds},
                                             {"--budget", &settings.budget}};
  return numbers.count(name) != 0 && !value.getAsInteger(10, *numbers[name]);
}

bool parse(ArrayRef<char *> arguments, CommandLine &line) {
  for (StringRef argument : arguments) {
    if (!argument.starts_with("--")) {
      line.sources.push_back(parseSource(argument));
    } else if (!parseOption(argument, line)) {
      llvm::errs() << "mutation_test: expected --seed, --mutants, --runs, --barriers, --seeds or "
                      "--budget with a number, --journal with a file, --part with K/N, --all, or a "
                      "file, but got '"
                   << argument << "'\n";
      return false;
    }
  }
  if (line.sources.empty())
    llvm::errs() << "mutation_test: expected --all or schedule files\n";
  if (line.settings.parts > 1 && line.journal.empty()) {
    llvm::errs() << "mutation_test: expected --journal beside --part\n";
    return false;
  }
  return !line.sources.empty();
}

/// The journal of this very program and of the settings that verdicts depend on.
llvm::Expected<Journal> openJournal(const CommandLine &line, const char *program) {
  if (line.journal.empty())
    return Journal();
  static int anchor;
  auto file =
      llvm::MemoryBuffer::getFile(llvm::sys::fs::getMainExecutable(program, &anchor), false, false);
  if (!file)
    return llvm::createFileError(program, file.getError());
  const Settings &settings = line.settings;
  return Journal::open(line.journal,
                       fmt::format("mutation_test {}, {} launches, seeds={} budget={}",
                                   keyOf(llvm::arrayRefFromStringRef((*file)->getBuffer())),
                                   settings.launches, settings.seeds, settings.budget));
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

bool testSource(const Source &source, const Settings &settings, Journal &journal, Counts &total) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::vector<BoundSource> subjects = bindSource(context, source);
  bool good = !subjects.empty();
  for (BoundSource &subject : subjects) {
    Counts counts;
    {
      tools::Progress progress(&llvm::errs(), tools::ProgressStyle::ofStderr());
      progress.step(subject.name);
      good &= Subject(*subject.module, settings, journal, progress).run(counts);
    }
    good &= counts.failed == 0 && counts.missed == 0;
    printRow(subject.name, counts);
    total += counts;
    if (settings.part == 0)
      good &= controls(subject.name, *subject.module);
  }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  CommandLine line;
  if (!parse(ArrayRef(argv, argc).drop_front(), line))
    return 2;
  auto journal = openJournal(line, argv[0]);
  if (!journal) {
    llvm::errs() << "mutation_test: " << toString(journal.takeError()) << '\n';
    return 2;
  }
  const Settings &settings = line.settings;
  llvm::outs() << "seed " << settings.seed << ", " << settings.seeds
               << " runs of each mutant besides the plain one\n\n";
  printHead();
  bool good = true;
  Counts total;
  for (const Source &source : line.sources)
    good &= testSource(source, settings, *journal, total);
  printTotals(total);
  return good ? 0 : 1;
}
