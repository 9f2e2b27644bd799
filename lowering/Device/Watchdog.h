// Where a watchdog build records the first wait that took too long: 32-bit fields behind the epoch
// words (docs/manifest.md).
#pragma once

#include "llvm/Support/MathExtras.h"
#include <cstdint>

namespace mono {

enum class WatchdogField { State, Rank, Workgroup, Stage, Mailbox, Word, Wanted, Seen };

/// The epoch word of a workgroup of which a wavefront has left. No launch has that number.
inline constexpr uint32_t kLeftEpoch = UINT32_MAX;

/// Bytes of the record: a line of its own.
inline constexpr int64_t kWatchdogBytes = 128;

/// Offset of the record in the epoch memory of a grid of `ctas` workgroups.
inline int64_t watchdogOffset(int64_t ctas) { return llvm::alignTo(ctas * 4, 128); }

} // namespace mono
