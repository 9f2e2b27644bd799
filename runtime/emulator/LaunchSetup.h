// From a Launch to what the scheduler runs: validation, kernel arguments, dispatch packet.
#pragma once

#include "runtime/emulator/Memory.h"
#include "runtime/emulator/Scheduler.h"
#include "runtime/emulator/decode/CodeObject.h"

namespace mono::emu {

/// A code object placed in the memory of one rank.
class Module {
public:
  unsigned rank = 0;
  uint64_t base = 0; ///< device address of image offset 0
  std::shared_ptr<const CodeObject> object;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const void> parsed; ///< what modules of the same file have in common

  /// The kernel, or an error that lists the kernels there are.
  llvm::Expected<const KernelDescription *> find(llvm::StringRef kernel) const;
};

/// Memory of a launch that lives as long as the run.
struct LaunchMemory {
  DevicePtr kernarg = 0;
  DevicePtr packet = 0;
};

/// Checks a launch against its kernel and the chip, writes kernel arguments (with hidden ones
/// filled in) and the dispatch packet to device memory. `index` is the launch's number in the run.
llvm::Expected<std::unique_ptr<PreparedLaunch>> prepareLaunch(const Launch &launch, unsigned index,
                                                              const Checks &checks,
                                                              AddressSpace &memory,
                                                              LaunchMemory &allocated);

} // namespace mono::emu
