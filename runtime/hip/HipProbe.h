// Looks for HIP at run time. This build cannot launch on it yet; the probe says honestly what is
// there.
#pragma once

#include <string>

namespace mono::hip {

struct ProbeResult {
  /// Library that could be opened, e.g. "libamdhip64.so.7"; empty when none could.
  std::string library;
  /// Devices HIP reports; 0 when there is no library or the query fails.
  int devices = 0;
  /// One line for people: what was tried and found.
  std::string message;
};

/// Opens libamdhip64 (major versions 7, 6, 5, the first that loads) and asks for the number of
/// devices. Never fails: what is missing is told in the result.
ProbeResult probe();

} // namespace mono::hip
