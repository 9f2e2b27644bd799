// mutation_test [--seed=N] [--mutants=N] [--runs=N] [--seeds=N] [--budget=N] [--all]
//               FILE[:NAME=INT,...]...
//
// Puts random mistakes into right schedules. Every mutant is checked; of those the checks accept a
// sample (or with --all every one) is compiled and run under different orders of memory and waves:
// none may hang, race or give different bits from run to run. Exit status 0 only then.
#include "lowering/Check/Checks.h"
#include "lowering/Manifest.h"
#include "lowering/Passes.h"
#include "lowering/Pipeline.h"
#include "test/mutation/Harness.h"
#include "test/mutation/Mutations.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mono;
using namespace mono::test;

namespace {

struct Settings {
  uint64_t seed = 1;
  unsigned mutants = 1000; ///< of each schedule
  unsigned runs = 6;       ///< accepted mutants of each schedule that run, and barriers left out
  unsigned seeds = 8;      ///< runs of each besides the plain one
  unsigned launches = 3;   ///< of each run
  unsigned budget = 20;    ///< million wave instructions after which a run counts as hanging
  std::vector<StringRef> files;
};

llvm::Error failure(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// What the message of a rejection says about the rule behind it.
StringRef ruleOf(StringRef message) {
  static constexpr std::pair<const char *, const char *> rules[] = {
      {"in a circle", "deadlock"},
      {"could overwrite", "slot reuse"},
      {"posted by nobody", "never posted"},
      {"posted once", "posted twice"},
      {"without the rank", "scope"},
      {"expected a box inside", "bounds"},
      {"that are multiples of", "alignment"},
      {"to be stored", "outputs"},
      {"whether it sees the old", "operand race"},
      {"has not written", "region unwritten"},
      {"bytes of LDS", "LDS placement"},
      {"after 'at'", "LDS placement"},
      {"is pinned at", "LDS placement"},
      {"code generation: ", "code generation"},
  };
  for (auto [text, rule] : rules)
    if (message.contains(text))
      return rule;
  return "verifier";
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// How run number `run` orders memory and waves: number 0 makes everything visible at once, odd
/// ones give all wavefronts short turns (what differs between them are the delays in the code), the
/// others are adversarial.
emu::Options optionsFor(unsigned run, const Settings &settings) {
  emu::Options options;
  options.instructionBudget = uint64_t(settings.budget) * 1'000'000;
  if (run % 2 == 1) {
    options.threads = 1;
    options.quantum = 16 + run % 64;
  } else if (run > 0) {
    options.coherence = emu::Coherence::adversarial(run);
  }
  return options;
}

/// The inputs of a right module, which is placed.
llvm::Expected<Inputs> inputsOf(ModuleOp placed, const Settings &settings) {
  auto manifest =
      parseManifest(manifestOf(*placed.getOps<ScheduleOp>().begin(), /*watchdogCycles=*/0));
  if (!manifest)
    return manifest.takeError();
  return Inputs::create(*manifest, settings.launches);
}

/// The outputs of a placed module, if all runs agree; else what went wrong. Odd runs have delays in
/// the code. `barriers` gets the number of LDS barriers.
llvm::Expected<std::vector<uint8_t>> runAll(ModuleOp placed, const Settings &settings,
                                            Inputs &inputs, int64_t skipBarrier = -1,
                                            int64_t *barriers = nullptr) {
  std::vector<uint8_t> first, plainCode;
  for (unsigned run = 0; run <= settings.seeds; ++run) {
    std::vector<uint8_t> code = plainCode;
    if (run == 0 || run % 2 == 1) {
      OwningOpRef<ModuleOp> module = cast<ModuleOp>(placed->clone());
      auto compiled = compilePlaced(*module, skipBarrier, run);
      if (!compiled)
        return compiled.takeError();
      code = compiled->codeObject;
      if (run == 0)
        plainCode = code;
      if (barriers)
        *barriers = compiled->barriers;
    }
    auto outputs = runLaunches(code, settings.launches, optionsFor(run, settings), inputs);
    if (!outputs)
      return failure("run " + Twine(run) + ": " + toString(outputs.takeError()));
    if (run == 0)
      first = std::move(*outputs);
    else if (first != *outputs)
      return failure("run " + Twine(run) + ": other results than run 0");
  }
  return first;
}

//===----------------------------------------------------------------------===//
// One schedule
//===----------------------------------------------------------------------===//

struct Counts {
  unsigned rejected = 0, accepted = 0, ran = 0, same = 0, other = 0, failed = 0;
  unsigned barriers = 0, caught = 0, equivalent = 0, missed = 0;
  std::map<std::string, unsigned> byRule;
};

class Subject {
public:
  Subject(ModuleOp bound, const Settings &settings)
      : bound(bound), settings(settings), random(settings.seed) {}

  /// False if the schedule itself is wrong.
  bool run(Counts &counts) {
    OwningOpRef<ModuleOp> right = bound.clone();
    if (std::string message = check(*right); !message.empty())
      return fail("the schedule itself is rejected: " + message);
    int64_t barriers = 0;
    auto made = inputsOf(*right, settings);
    if (!made)
      return fail("no inputs: " + toString(made.takeError()));
    inputs = std::move(*made);
    auto outputs = runAll(*right, settings, inputs, /*skipBarrier=*/-1, &barriers);
    if (!outputs)
      return fail("the schedule itself fails: " + toString(outputs.takeError()));
    expected = std::move(*outputs);
    tryMutants(counts);
    leaveOutBarriers(*right, barriers, counts);
    return true;
  }

private:
  bool fail(const Twine &message) {
    llvm::errs() << "error: " << message << '\n';
    return false;
  }

  ScheduleOp scheduleOf(ModuleOp module) { return *module.getOps<ScheduleOp>().begin(); }

  struct Mutant {
    OwningOpRef<ModuleOp> module;
    std::string what;
  };

  void tryMutants(Counts &counts) {
    std::vector<Mutant> accepted;
    std::set<std::string> seen;
    // Kinds in turn; a kind that has no place in this schedule is skipped.
    for (unsigned made = 0, tries = 0; made < settings.mutants && tries < 20 * settings.mutants;
         ++tries) {
      OwningOpRef<ModuleOp> module = bound.clone();
      auto what = mutate(scheduleOf(*module), tries % mutationKinds(), random);
      if (!what)
        continue;
      ++made;
      std::string message = check(*module);
      if (!message.empty()) {
        ++counts.rejected;
        ++counts.byRule[ruleOf(message).str()];
        continue;
      }
      ++counts.accepted;
      if (seen.insert(*what).second)
        accepted.push_back({std::move(module), *what});
    }
    llvm::shuffle(accepted.begin(), accepted.end(), random);
    for (Mutant &mutant : accepted) {
      if (counts.ran == settings.runs)
        break;
      runMutant(mutant, counts);
    }
  }

  void runMutant(Mutant &mutant, Counts &counts) {
    auto outputs = runAll(*mutant.module, settings, inputs);
    if (outputs) {
      ++counts.ran;
      ++(*outputs == expected ? counts.same : counts.other);
      return;
    }
    std::string message = toString(outputs.takeError());
    if (ruleOf(message) == "code generation") {
      ++counts.byRule["code generation"];
      --counts.accepted;
      ++counts.rejected;
      return;
    }
    ++counts.ran;
    ++counts.failed;
    fail("accepted mutant fails (" + mutant.what + "): " + message);
    llvm::errs() << *mutant.module << '\n';
  }

  /// The checks can't see a barrier that code generation forgets; the emulator must.
  void leaveOutBarriers(ModuleOp placed, int64_t barriers, Counts &counts) {
    std::vector<int64_t> numbers(barriers);
    std::iota(numbers.begin(), numbers.end(), 0);
    llvm::shuffle(numbers.begin(), numbers.end(), random);
    numbers.resize(std::min<size_t>(numbers.size(), settings.runs));
    for (int64_t number : numbers) {
      ++counts.barriers;
      auto outputs = runAll(placed, settings, inputs, number);
      if (outputs) {
        ++(*outputs == expected ? counts.equivalent : counts.missed);
        continue;
      }
      // A race, LDS nobody wrote, or a hang where the barrier guards the epoch word.
      consumeError(outputs.takeError());
      ++counts.caught;
    }
  }

  ModuleOp bound;
  const Settings &settings;
  Inputs inputs;
  Random random;
  std::vector<uint8_t> expected;
};

//===----------------------------------------------------------------------===//
// Controls: wrong schedules, unchecked, that the runs must find
//===----------------------------------------------------------------------===//

/// Runs a wrong schedule until a run fails; false if none does, or for another reason than a hang
/// or wrong results.
bool mustFail(StringRef name, ModuleOp placed) {
  Settings settings;
  settings.launches = 6;
  settings.seeds = 400;
  auto inputs = inputsOf(placed, settings);
  if (!inputs)
    return false;
  auto outputs = runAll(placed, settings, *inputs);
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

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

bool parse(ArrayRef<char *> arguments, Settings &settings) {
  for (StringRef argument : arguments) {
    if (argument == "--all") {
      settings.runs = ~0u;
      continue;
    }
    if (!argument.starts_with("--")) {
      settings.files.push_back(argument);
      continue;
    }
    auto [name, value] = argument.split('=');
    std::map<StringRef, unsigned *> numbers = {{"--mutants", &settings.mutants},
                                               {"--runs", &settings.runs},
                                               {"--seeds", &settings.seeds},
                                               {"--budget", &settings.budget}};
    bool bad = name == "--seed"           ? value.getAsInteger(10, settings.seed)
               : numbers.count(name) != 0 ? value.getAsInteger(10, *numbers[name])
                                          : true;
    if (bad) {
      llvm::errs() << "mutation_test: expected --seed, --mutants, --runs, --seeds or --budget with "
                      "a number, --all, or a file, but got '"
                   << argument << "'\n";
      return false;
    }
  }
  return !settings.files.empty();
}

void print(StringRef file, const Counts &counts) {
  llvm::outs() << llvm::formatv(
      "{0,-22} rejected {1,5}, accepted {2,4}: {3} ran, {4} with the same result, {5} with "
      "another, "
      "{6} failed; barriers {7}: {8} caught, {9} equivalent, {10} missed\n",
      file, counts.rejected, counts.accepted, counts.ran, counts.same, counts.other, counts.failed,
      counts.barriers, counts.caught, counts.equivalent, counts.missed);
  for (const auto &[rule, count] : counts.byRule)
    llvm::outs() << llvm::formatv("  {0,-20} {1,5}\n", rule, count);
  llvm::outs().flush();
}

bool testFile(StringRef argument, const Settings &settings) {
  auto [path, list] = argument.split(':');
  SmallVector<StringRef> pieces;
  list.split(pieces, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> params(pieces.begin(), pieces.end());
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  OwningOpRef<ModuleOp> bound = bindFile(context, path, params);
  if (!bound)
    return false;
  Counts counts;
  bool good = Subject(*bound, settings).run(counts);
  print(llvm::sys::path::stem(path), counts);
  StringRef name = llvm::sys::path::stem(path);
  if (name == "ring")
    good &= controlSlots(*bound);
  if (name == "request" || name == "acknowledge")
    good &= controlAfterWaits(*bound);
  return good && counts.failed == 0 && counts.missed == 0;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (!parse(ArrayRef(argv, argc).drop_front(), settings))
    return 2;
  llvm::outs() << "seed " << settings.seed << '\n';
  bool good = true;
  for (StringRef file : settings.files)
    good &= testFile(file, settings);
  return good ? 0 : 1;
}
