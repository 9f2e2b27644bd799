// The checks, each over all accesses of one bound schedule. Each fails with a diagnostic at the op
// that is wrong, notes at the other ends, and what would repair it.
#pragma once

#include "lowering/Check/Boxes.h"

namespace mono {

/// What the checks look at.
struct BoundSchedule {
  ScheduleOp op;
  int64_t ranks;
  std::vector<MemoryAccess> accesses; ///< in file order
};

/// Every box lies inside its operand, region or mailbox, for every task and rank.
mlir::LogicalResult checkBounds(const BoundSchedule &schedule);

/// Every received element is posted exactly once a launch, by somebody.
mlir::LogicalResult checkCoverage(const BoundSchedule &schedule);

/// No cycle in program order (each workgroup walks stages and tasks in order) and waits: a post
/// that must wait for the receive that waits for it. No slot of a mailbox is overwritten before
/// every reader is known to be done, with ranks a launch or more apart.
mlir::LogicalResult checkOrder(const BoundSchedule &schedule);

/// Outputs are stored completely and once; what one workgroup stores no other loads.
mlir::LogicalResult checkOperands(const BoundSchedule &schedule);

/// A workgroup reads of a region only what it has written in this launch.
mlir::LogicalResult checkRegions(const BoundSchedule &schedule);

} // namespace mono
