// What a run did, as text for people or JSON for scripts.
#pragma once

#include "models/Problem.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mono::tools {

/// How long the launches took on this host; emulated time is not measured.
struct RunTime {
  unsigned launches = 0;
  double seconds = 0;
};

/// Kernel resources and occupancy; for each rank, summed over all launches: wave instructions by
/// class, matrix instructions by shape and types, barriers and waits, bytes by memory level and by
/// allocation, modelled LDS bank conflicts.
llvm::json::Object statsJson(const Group &group, emu::Machine &machine, const RunTime &time);

/// The same as tables.
void printStats(llvm::raw_ostream &out, const Group &group, emu::Machine &machine,
                const RunTime &time);

/// The verdict as a table: tensor or property, measured, bar, verdict.
void printReport(llvm::raw_ostream &out, const models::Report &report);
llvm::json::Array reportJson(const models::Report &report);

} // namespace mono::tools
