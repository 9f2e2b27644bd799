// How much LDS an op needs for itself, and how large a mailbox is: shared by placement and code
// generation.
#pragma once

#include "dialect/Mono.h"

namespace mono {

/// Attribute of an op of a stage: byte offset of its scratch area in LDS.
inline constexpr const char *kScratchAttr = "mono.scratch";

/// Bytes of LDS scratch `op` needs; 0 for most.
int64_t scratchBytes(mlir::Operation *op);

/// Bytes of one slot of a bound mailbox: 8 bytes (payload, tag) for each 32 bits of payload.
int64_t slotBytes(MailboxOp mailbox);

} // namespace mono
