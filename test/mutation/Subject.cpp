// Makes mutants, checks them and runs them.
#include "test/mutation/Subject.h"

#include "test/mutation/Sources.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <numeric>

using namespace mlir;

namespace mono::test {

static llvm::Error failure(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The rule that the message of a rejection names.
static StringRef ruleOf(StringRef message) {
  StringRef named = message.rsplit("[monoc --explain=").second;
  return named.empty() ? "verifier" : named.take_until([](char c) { return c == ']'; });
}

Counts &Counts::operator+=(const Counts &counts) {
  for (unsigned Counts::*count :
       {&Counts::mutants, &Counts::rejected, &Counts::equivalent, &Counts::repeated, &Counts::left,
        &Counts::same, &Counts::other, &Counts::failed, &Counts::barriers, &Counts::caught,
        &Counts::unneeded, &Counts::missed})
    this->*count += counts.*count;
  for (const auto &[rule, count] : counts.byRule)
    byRule[rule] += count;
  for (auto [sum, kind] : llvm::zip_equal(byKind, counts.byKind)) {
    sum.mutants += kind.mutants;
    sum.rejected += kind.rejected;
    sum.failed += kind.failed;
  }
  return *this;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

emu::Options optionsFor(unsigned run, const Settings &settings) {
  emu::Options options;
  options.instructionBudget = uint64_t(settings.budget) * 1'000'000;
  if (run % 2 == 1) {
    options.threads = 1;
    options.quantum = 16 + run % 64;
  } else if (run > 0) {
    options.coherence = emu::Coherence::adversarial(run);
  }
  // Races between workgroups are a matter of what orders accesses, not of the order they happen to
  // have, so the runs with delays, which take longest, leave that check out.
  if (run % 2 == 0)
    options.checks = emu::Checks::thorough();
  return options;
}

/// Leaves `placed` as it is.
static llvm::Expected<Compiled> compile(ModuleOp placed, int64_t skipBarrier = -1,
                                        unsigned delays = 0) {
  OwningOpRef<ModuleOp> module = placed.clone();
  return compilePlaced(*module, skipBarrier, delays);
}

llvm::Expected<std::vector<uint8_t>> runAll(ModuleOp placed, ArrayRef<uint8_t> plain,
                                            const Settings &settings, Inputs &inputs,
                                            int64_t skipBarrier) {
  std::vector<uint8_t> first;
  for (unsigned run = 0; run <= settings.seeds; ++run) {
    ArrayRef<uint8_t> code = plain;
    Compiled delayed;
    if (run % 2 == 1) {
      auto compiled = compile(placed, skipBarrier, /*delays=*/run);
      if (!compiled)
        return compiled.takeError();
      delayed = std::move(*compiled);
      code = delayed.codeObject;
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
// Subject
//===----------------------------------------------------------------------===//

static std::vector<uint8_t> textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return {text.begin(), text.end()};
}

bool Subject::fail(const Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return false;
}

bool Subject::isNew(ArrayRef<uint8_t> bytes) {
  return seen.insert(llvm::xxh3_64bits(bytes)).second;
}

bool Subject::run(Counts &counts) {
  placed = bound.clone();
  if (std::string message = check(*placed); !message.empty())
    return fail("the schedule itself is rejected: " + message);
  auto made = inputsOf(*placed, settings.launches);
  if (!made)
    return fail("no inputs: " + toString(made.takeError()));
  inputs = std::move(*made);
  auto compiled = compile(*placed);
  if (!compiled)
    return fail("the schedule itself is rejected: " + toString(compiled.takeError()));
  right = std::move(*compiled);
  auto outputs = runAll(*placed, right.codeObject, settings, inputs);
  if (!outputs)
    return fail("the schedule itself fails: " + toString(outputs.takeError()));
  expected = std::move(*outputs);

  std::vector<Mutant> accepted = acceptedMutants(counts);
  llvm::shuffle(accepted.begin(), accepted.end(), random);
  if (accepted.size() > settings.runs) {
    counts.left = accepted.size() - settings.runs;
    accepted.resize(settings.runs);
  }
  for (Mutant &mutant : accepted)
    runMutant(mutant, counts);
  leaveOutBarriers(counts);
  return true;
}

/// Checks all mutants. Returns those that are accepted and placed in different ways.
std::vector<Subject::Mutant> Subject::acceptedMutants(Counts &counts) {
  std::vector<Mutant> accepted;
  std::vector<uint8_t> rightText = textOf(*placed);
  // Kinds in turn; a kind that has no place in this schedule is skipped.
  for (unsigned tries = 0; counts.mutants < settings.mutants && tries < 20 * settings.mutants;
       ++tries) {
    size_t kind = tries % mutationKinds();
    OwningOpRef<ModuleOp> module = bound.clone();
    auto what = mutate(scheduleOf(*module), kind, random);
    if (!what)
      continue;
    ++counts.mutants;
    ++counts.byKind[kind].mutants;
    if (std::string message = check(*module); !message.empty()) {
      ++counts.rejected;
      ++counts.byKind[kind].rejected;
      ++counts.byRule[ruleOf(message).str()];
      continue;
    }
    std::vector<uint8_t> text = textOf(*module);
    if (text == rightText)
      ++counts.equivalent;
    else if (!isNew(text))
      ++counts.repeated;
    else
      accepted.push_back({std::move(module), *what, kind});
  }
  return accepted;
}

void Subject::runMutant(Mutant &mutant, Counts &counts) {
  auto compiled = compile(*mutant.module);
  if (!compiled) {
    consumeError(compiled.takeError());
    ++counts.rejected;
    ++counts.byKind[mutant.kind].rejected;
    ++counts.byRule["code generation"];
    return;
  }
  if (compiled->codeObject == right.codeObject) {
    ++counts.equivalent;
    return;
  }
  if (!isNew(compiled->codeObject)) {
    ++counts.repeated;
    return;
  }
  auto outputs = runAll(*mutant.module, compiled->codeObject, settings, inputs);
  if (outputs) {
    ++(*outputs == expected ? counts.same : counts.other);
    return;
  }
  ++counts.failed;
  ++counts.byKind[mutant.kind].failed;
  fail("accepted mutant fails (" + mutant.what + "): " + toString(outputs.takeError()));
  llvm::errs() << *mutant.module << '\n';
}

/// The checks can't see a barrier that code generation forgets; the emulator must.
void Subject::leaveOutBarriers(Counts &counts) {
  std::vector<int64_t> numbers(right.barriers);
  std::iota(numbers.begin(), numbers.end(), 0);
  llvm::shuffle(numbers.begin(), numbers.end(), random);
  numbers.resize(std::min<size_t>(numbers.size(), settings.barriers));
  for (int64_t number : numbers) {
    ++counts.barriers;
    auto compiled = compile(*placed, number);
    auto outputs = compiled ? runAll(*placed, compiled->codeObject, settings, inputs, number)
                            : llvm::Expected<std::vector<uint8_t>>(compiled.takeError());
    if (!outputs) {
      // A race, LDS nobody wrote, or a hang where the barrier guards the epoch word.
      consumeError(outputs.takeError());
      ++counts.caught;
    } else {
      ++(*outputs == expected ? counts.unneeded : counts.missed);
    }
  }
}

} // namespace mono::test
