// From a bound schedule to its outputs on the emulator, without the command line in between.
#pragma once

#include "dialect/Mono.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/emulator/Emulator.h"
#include "test/mutation/Inputs.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mono::test {

/// The schedule of a module that has one.
ScheduleOp scheduleOf(mlir::ModuleOp module);

/// Parses the text of a schedule file, whose imports are relative to `path`, and binds its
/// parameters, `NAME=INT` each. Null after a message on stderr.
mlir::OwningOpRef<mlir::ModuleOp> bindText(mlir::MLIRContext &context, llvm::StringRef text,
                                           llvm::StringRef path,
                                           llvm::ArrayRef<std::string> params);

/// What the verifiers, the checks and the placement say about a bound module, which is placed in
/// place: empty if they accept it, else the first error.
std::string check(mlir::ModuleOp module);

/// A compiled module and how many LDS barriers it has.
struct Compiled {
  std::vector<uint8_t> codeObject;
  int64_t barriers = 0;
};
/// Compiles a placed module, leaving out the barrier of that number (-1: none). With `delays` not
/// 0, some wavefronts of some workgroups and ranks, chosen by that seed, stand still for the length
/// of several launches in front of some of their waits and stores: whoever relies on them being
/// fast finds out.
llvm::Expected<Compiled> compilePlaced(mlir::ModuleOp module, int64_t skipBarrier = -1,
                                       uint32_t delays = 0);

/// Runs `launches` launches of all ranks, one behind the other on each rank and with nothing that
/// keeps the ranks together, with other operands in each launch. Returns all outputs of all ranks
/// and launches. Error: what the emulator found.
llvm::Expected<std::vector<uint8_t>> runLaunches(llvm::ArrayRef<uint8_t> codeObject,
                                                 unsigned launches, const emu::Options &options,
                                                 Inputs &inputs);

/// Inputs for so many launches of a right module, which is placed.
llvm::Expected<Inputs> inputsOf(mlir::ModuleOp placed, unsigned launches);

/// The outputs of three launches of a placed module, which is lowered in place, on inputs of its
/// own; the emulator checks thoroughly. Errors: as above, and what code generation says.
llvm::Expected<std::vector<uint8_t>> outputsOf(mlir::ModuleOp placed, int64_t skipBarrier = -1);

} // namespace mono::test
