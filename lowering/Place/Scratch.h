// How much LDS an op needs for itself, and how large a mailbox is: shared by placement and code
// generation.
#pragma once

#include "dialect/Mono.h"

namespace mono {

/// Attribute of an op of a stage: byte offset of its scratch area in LDS.
inline constexpr const char *kScratchAttr = "mono.scratch";

/// Unit attribute of a placed schedule whose scratch areas live for single ops (ScratchLife::Ops).
inline constexpr const char *kShortScratchAttr = "mono.short_scratch";

/// Unit attribute of a placed region whose place the author chose.
inline constexpr const char *kPinnedAttr = "mono.pinned";

/// Regions and scratch areas start at multiples of this: LDS accesses are at most 16 bytes wide.
inline constexpr int64_t kLdsAlign = 16;

/// Bytes of LDS scratch `op` needs; 0 for most.
int64_t scratchBytes(mlir::Operation *op);

/// Byte offset in LDS of the scratch area of a placed op; 0 if it has none.
int64_t scratchOf(mlir::Operation *op);

/// Bytes of one slot of a bound mailbox: 8 bytes (payload, tag) for each 32 bits of payload.
int64_t slotBytes(MailboxOp mailbox);

} // namespace mono
