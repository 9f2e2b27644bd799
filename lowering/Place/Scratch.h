// How much LDS an op needs for itself, and how large a mailbox is: shared by placement and code
// generation.
#pragma once

#include "dialect/Mono.h"

namespace mono {

/// Attributes of a placed schedule: bytes of LDS of a workgroup, the least that any placement
/// takes, and bytes of device and peer mailboxes.
inline constexpr const char *kLdsBytesAttr = "mono.lds_bytes";
inline constexpr const char *kLdsLowerBoundAttr = "mono.lds_lower_bound";
inline constexpr const char *kDeviceMailboxBytesAttr = "mono.device_mailbox_bytes";
inline constexpr const char *kPeerMailboxBytesAttr = "mono.peer_mailbox_bytes";

/// Attribute of an op of a stage: byte offset of its scratch area in LDS.
inline constexpr const char *kScratchAttr = "mono.scratch";

/// Unit attribute of a placed schedule whose scratch areas live for single ops (ScratchLife::Ops).
inline constexpr const char *kShortScratchAttr = "mono.short_scratch";

/// Unit attribute of a placed region whose place the author chose.
inline constexpr const char *kPinnedAttr = "mono.pinned";

/// Regions and scratch areas start at multiples of this: LDS accesses are at most 16 bytes wide.
inline constexpr int64_t kLdsAlign = 16;

/// What an element of a tensor is in LDS: there are no bits, so i1 takes a byte, and an index is an
/// i32; all others are what they are.
mlir::Type elementInLds(mlir::Type element);

/// Bytes of a tensor in LDS, row-major.
int64_t ldsBytes(mlir::Type tensor);

/// True of an operand that says what shape a result has and whose elements nobody reads: a
/// tensor.empty that a linalg op writes to.
bool isShapeOnly(mlir::OpOperand &operand);

/// Bytes of LDS scratch `op` needs; 0 for most.
int64_t scratchBytes(mlir::Operation *op);

/// Byte offset in LDS of the scratch area of a placed op; 0 if it has none.
int64_t scratchOf(mlir::Operation *op);

/// Bytes of one slot of a bound mailbox: 8 bytes (payload, tag) for each 32 bits of payload.
int64_t slotBytes(MailboxOp mailbox);

} // namespace mono
