// What a watchdog build leaves behind when a wait takes too long (docs/manifest.md).
#pragma once

#include "runtime/Manifest.h"

#include <array>
#include <string>

namespace mono {

/// The first wait of a rank that outlasted its budget, as it lies in the epoch memory.
struct WatchdogRecord {
  /// Room the record takes in the epoch memory.
  static constexpr uint64_t bytes = 128;

  uint32_t state = 0; ///< 0: no wait failed
  uint32_t rank = 0, workgroup = 0, stage = 0, mailbox = 0, word = 0, wanted = 0, seen = 0;

  /// Who waited for whom, with the names of the manifest.
  std::string describe(const Manifest &manifest) const;
};

} // namespace mono
