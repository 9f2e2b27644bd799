// Runs the workgroups of several launches on host threads.
#pragma once

#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace mono::emu {

/// A launch ready to run. Launches of one rank run in the order of their appearance.
struct PreparedLaunch {
  LaunchContext context;
  uint64_t capacity = 1; ///< workgroups the chip holds at once
  LaunchEnd end = LaunchEnd::Stopped;
};

/// Runs all launches to their end, and says of each in which state it is then. `stats` receives the
/// counters of each rank, one entry a rank and thread. Host threads own disjoint workgroups; a
/// race-free program gives the same memory whatever their number.
llvm::Error runLaunches(const std::vector<std::unique_ptr<PreparedLaunch>> &launches,
                        const Options &options, unsigned ranks, unsigned allocationIds,
                        std::vector<std::vector<std::unique_ptr<ExecStats>>> &stats);

} // namespace mono::emu
