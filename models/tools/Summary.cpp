// The summary's text, and what the host says about the process.
#include "models/tools/Summary.h"

#include <fmt/format.h>

#include <sys/resource.h>

using namespace llvm;

namespace mono::tools {

uint64_t peakMemory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) * 1024; // Linux counts in KiB (getrusage(2))
}

json::Object summaryJson(const RunCosts &costs) {
  return json::Object{{"launches", costs.launches.launches},
                      {"wave_instructions", costs.instructions},
                      {"launch_seconds", costs.launches.seconds},
                      {"seconds", costs.seconds},
                      {"peak_memory_bytes", costs.peakMemoryBytes}};
}

void printSummary(raw_ostream &out, const RunCosts &costs) {
  auto line = [&](StringRef what, std::string value) {
    out << fmt::format("{:<24}{:>16}\n", what, value);
  };
  line("launches", std::to_string(costs.launches.launches));
  if (costs.instructions)
    line("wave instructions", std::to_string(costs.instructions));
  line("seconds in launches", fmt::format("{:.2f}", costs.launches.seconds));
  line("seconds in all", fmt::format("{:.2f}", costs.seconds));
  line("peak memory, MiB", std::to_string(costs.peakMemoryBytes >> 20));
}

} // namespace mono::tools
