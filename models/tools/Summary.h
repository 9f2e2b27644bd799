// What a run took, in a few lines at its end.
#pragma once

#include "models/tools/StatsReport.h"

namespace mono::tools {

/// Costs of a whole run of monorun on this host.
struct RunCosts {
  RunTime launches;
  double seconds = 0;           ///< since the program began its work
  uint64_t instructions = 0;    ///< emulated wave instructions; 0 on a GPU
  uint64_t peakMemoryBytes = 0; ///< of this process
};

/// The most memory this process has had, in bytes.
uint64_t peakMemory();

llvm::json::Object summaryJson(const RunCosts &costs);
void printSummary(llvm::raw_ostream &out, const RunCosts &costs);

} // namespace mono::tools
