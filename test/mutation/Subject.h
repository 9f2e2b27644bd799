// One right schedule, the mistakes put into it, and what became of them.
#pragma once

#include "models/tools/Progress.h"
#include "test/mutation/Harness.h"
#include "test/mutation/Journal.h"
#include "test/mutation/Mutations.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace mono::test {

struct Settings {
  uint64_t seed = 1;
  unsigned mutants = 1000; ///< of each schedule
  unsigned runs = 6;       ///< accepted mutants of each schedule that run
  unsigned barriers = 6;   ///< of each schedule that are left out, one at a time
  unsigned seeds = 8;      ///< runs of each besides the plain one
  unsigned launches = 3;   ///< of each run
  unsigned budget = 20;    ///< million wave instructions after which a run counts as hanging
  /// Of the accepted mutants and of the barriers, number `part`, `part + parts`, ... are run here.
  unsigned part = 0, parts = 1;

  bool runsHere(size_t number) const { return number % parts == part; }
};

/// What became of the mutants of one kind.
struct KindCounts {
  unsigned mutants = 0, rejected = 0, failed = 0;
};

/// What became of all mutants of a schedule, and of the barriers left out.
struct Counts {
  unsigned mutants = 0;    ///< rejected + equivalent + repeated + left + same + other + failed
  unsigned rejected = 0;   ///< by the checks, the placement or code generation
  unsigned equivalent = 0; ///< accepted, and the kernel is that of the right schedule
  unsigned repeated = 0;   ///< accepted, and alike an earlier one
  unsigned left = 0;       ///< accepted and not run: beyond Settings::runs, or in another part
  unsigned same = 0;       ///< ran, and computes what the right schedule does
  unsigned other = 0;      ///< ran, and computes something else, the same in every run
  unsigned failed = 0;     ///< ran, and hangs, races or differs from run to run

  unsigned barriers = 0; ///< left out one at a time
  unsigned caught = 0;   ///< by a race, a hang, or LDS nobody wrote
  unsigned unneeded = 0; ///< same results in every run
  unsigned missed = 0;   ///< other results that nothing points out, or no kernel

  std::map<std::string, unsigned> byRule; ///< rejections
  std::vector<KindCounts> byKind = std::vector<KindCounts>(mutationKinds());

  Counts &operator+=(const Counts &other);
};

/// How run number `run` orders memory and waves: number 0 makes everything visible at once, odd
/// ones give all wavefronts short turns (what differs between them are the delays in the code), the
/// others are adversarial.
emu::Options optionsFor(unsigned run, const Settings &settings);

/// The outputs of a placed module, if all runs agree; else what went wrong. Odd runs have delays in
/// the code; `plain` is the one without.
llvm::Expected<std::vector<uint8_t>> runAll(mlir::ModuleOp placed, llvm::ArrayRef<uint8_t> plain,
                                            const Settings &settings, Inputs &inputs,
                                            int64_t skipBarrier = -1);

class Subject {
public:
  /// Takes verdicts that `journal` has from there, and adds those it has not.
  Subject(mlir::ModuleOp bound, const Settings &settings, Journal &journal,
          tools::Progress &progress)
      : bound(bound), settings(settings), journal(journal), progress(progress),
        random(settings.seed) {}

  /// False if the schedule itself is wrong, after a message on stderr. Prints mutants that fail.
  bool run(Counts &counts);

private:
  struct Mutant {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::string what;
    size_t kind;
  };

  bool fail(const llvm::Twine &message);
  std::vector<Mutant> acceptedMutants(Counts &counts);
  void runMutants(std::vector<Mutant> accepted, Counts &counts);
  void runMutant(Mutant &mutant, bool here, Counts &counts);
  std::string verdictOn(const Mutant &mutant, llvm::ArrayRef<uint8_t> codeObject);
  void leaveOutBarriers(Counts &counts);
  std::string verdictWithout(int64_t barrier);
  /// What the journal knows, else, if this is the part to do so, what `findOut` says.
  std::optional<std::string> answer(llvm::StringRef kind, const llvm::Twine &about, bool here,
                                    llvm::function_ref<std::string()> findOut);
  bool isNew(llvm::StringRef key) { return seen.insert(key).second; }

  mlir::ModuleOp bound;
  const Settings &settings;
  Journal &journal;
  tools::Progress &progress;
  Random random;
  mlir::OwningOpRef<mlir::ModuleOp> placed; ///< the right one
  Compiled right;
  std::string rightKey; ///< of its code object
  Inputs inputs;
  std::vector<uint8_t> expected;
  llvm::StringSet<> seen; ///< keys of placed modules and of code objects
};

} // namespace mono::test
