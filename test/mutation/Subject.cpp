// Makes mutants, checks them and runs them.
#include "test/mutation/Subject.h"

#include "test/mutation/Sources.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
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

// Answers in the journal, besides keys of code objects.
static const char *const kRejected = "rejected", *const kSame = "same", *const kOther = "other",
                         *const kFailed = "failed", *const kCaught = "caught";

bool Subject::run(Counts &counts) {
  progress.detail("checking and running the schedule itself");
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
  rightKey = keyOf(right.codeObject);
  auto outputs = runAll(*placed, right.codeObject, settings, inputs);
  if (!outputs)
    return fail("the schedule itself fails: " + toString(outputs.takeError()));
  expected = std::move(*outputs);

  runMutants(acceptedMutants(counts), counts);
  leaveOutBarriers(counts);
  return true;
}

/// Checks all mutants. Returns those that are accepted and placed in different ways.
std::vector<Subject::Mutant> Subject::acceptedMutants(Counts &counts) {
  std::vector<Mutant> accepted;
  std::vector<uint8_t> rightText = textOf(*placed);
  progress.detail("checking mutants");
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
    else if (!isNew(keyOf(text)))
      ++counts.repeated;
    else
      accepted.push_back({std::move(module), *what, kind});
  }
  return accepted;
}

void Subject::runMutants(std::vector<Mutant> accepted, Counts &counts) {
  llvm::shuffle(accepted.begin(), accepted.end(), random);
  if (accepted.size() > settings.runs) {
    counts.left = accepted.size() - settings.runs;
    accepted.resize(settings.runs);
  }
  for (auto [number, mutant] : llvm::enumerate(accepted)) {
    progress.detail(
        fmt::format("mutant {} of {}, {} failed", number + 1, accepted.size(), counts.failed));
    runMutant(mutant, settings.runsHere(number), counts);
  }
}

std::optional<std::string> Subject::answer(StringRef kind, const Twine &about, bool here,
                                           llvm::function_ref<std::string()> findOut) {
  std::string key = (rightKey + ":" + kind + ":" + about).str();
  std::optional<std::string> known = journal.find(key);
  if (known || !here)
    return known;
  std::string found = findOut();
  // What fails is found out again, to print it again.
  if (found != kFailed)
    journal.add(key, found);
  return found;
}

/// `here`: else only the journal is asked.
void Subject::runMutant(Mutant &mutant, bool here, Counts &counts) {
  std::vector<uint8_t> codeObject;
  auto compileMutant = [&]() -> std::string {
    auto compiled = compile(*mutant.module);
    if (!compiled) {
      consumeError(compiled.takeError());
      return kRejected;
    }
    codeObject = std::move(compiled->codeObject);
    return keyOf(codeObject);
  };
  auto code = answer("code", keyOf(textOf(*mutant.module)), here, compileMutant);
  if (!code) {
    ++counts.left;
  } else if (*code == kRejected) {
    ++counts.rejected;
    ++counts.byKind[mutant.kind].rejected;
    ++counts.byRule["code generation"];
  } else if (*code == rightKey) {
    ++counts.equivalent;
  } else if (!isNew(*code)) {
    ++counts.repeated;
  } else {
    auto verdict = answer("run", *code, here, [&] {
      if (codeObject.empty()) // The journal knew it.
        compileMutant();
      return verdictOn(mutant, codeObject);
    });
    unsigned &count = !verdict             ? counts.left
                      : *verdict == kSame  ? counts.same
                      : *verdict == kOther ? counts.other
                                           : counts.failed;
    ++count;
    counts.byKind[mutant.kind].failed += verdict == kFailed;
  }
}

std::string Subject::verdictOn(const Mutant &mutant, ArrayRef<uint8_t> codeObject) {
  auto outputs = runAll(*mutant.module, codeObject, settings, inputs);
  if (outputs)
    return *outputs == expected ? kSame : kOther;
  llvm::errs() << "\n"; // A terminal may hold a line of progress.
  fail("accepted mutant fails (" + mutant.what + "): " + toString(outputs.takeError()));
  llvm::errs() << *mutant.module << '\n';
  return kFailed;
}

/// The checks can't see a barrier that code generation forgets; the emulator must.
void Subject::leaveOutBarriers(Counts &counts) {
  std::vector<int64_t> numbers(right.barriers);
  std::iota(numbers.begin(), numbers.end(), 0);
  llvm::shuffle(numbers.begin(), numbers.end(), random);
  numbers.resize(std::min<size_t>(numbers.size(), settings.barriers));
  for (auto [index, number] : llvm::enumerate(numbers)) {
    progress.detail(fmt::format("barrier {} of {}", index + 1, numbers.size()));
    auto verdict = answer("barrier", Twine(number), settings.runsHere(index),
                          [&] { return verdictWithout(number); });
    if (!verdict)
      continue;
    ++counts.barriers;
    ++(*verdict == kCaught ? counts.caught : *verdict == kSame ? counts.unneeded : counts.missed);
  }
}

std::string Subject::verdictWithout(int64_t barrier) {
  auto compiled = compile(*placed, barrier);
  if (!compiled) {
    fail("without barrier " + Twine(barrier) + ": " + toString(compiled.takeError()));
    return kFailed;
  }
  auto outputs = runAll(*placed, compiled->codeObject, settings, inputs, barrier);
  if (outputs && *outputs == expected)
    return kSame;
  if (outputs) {
    fail("nothing points out that barrier " + Twine(barrier) + " is missing");
    return kFailed;
  }
  // A race, LDS nobody wrote, or a hang where the barrier guards the epoch word.
  consumeError(outputs.takeError());
  return kCaught;
}

} // namespace mono::test
