// Looks for HIP at run time without opening a device, for tools that only report.
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

/// Opens the default library (HipLibrary::open) and asks for the number of devices. Never fails:
/// what is missing is told in the result.
ProbeResult probe();

} // namespace mono::hip
