// The checks, each over all accesses of one bound schedule. Each fails with a diagnostic at the op
// that is wrong, notes at the other ends, and what would repair it.
#pragma once

#include "lowering/Check/Boxes.h"

namespace mono {

/// Unit attribute of a post that may only run when every wavefront of the workgroup is done with
/// the receives before it: the proof that slots are not reused too early rests on that order.
inline constexpr const char *kAfterWaitsAttr = "mono.after_waits";

/// Unit attribute of a schedule in which every rank receives something from every other one in
/// each launch: when a launch ends, all ranks have ended the launch before.
inline constexpr const char *kHearsAllAttr = "mono.hears_all";

/// Unit attribute of a mailbox that holds elements for nobody: what fills up tiles.
inline constexpr const char *kPaddedAttr = "mono.padded";

/// What the checks look at.
struct BoundSchedule {
  mutable ScheduleOp op; // op handles have no const accessors
  int64_t ranks;
  std::vector<MemoryAccess> accesses; ///< in file order
};

/// What binding can't know: sizes are decided and fit 32-bit addresses and the LDS, data ops stand
/// in stages, the number of ranks is given once.
mlir::LogicalResult checkStatic(ScheduleOp schedule);

/// Every box lies inside its operand, region or mailbox, for every task and rank, and starts where
/// tagged words and MFMA tiles do.
mlir::LogicalResult checkBounds(const BoundSchedule &schedule);

/// Index values that parameters, tasks and ranks decide fit 32 bits, which is what kernels have for
/// them; binding has 64. What unsigned ops make of negative ones is not looked at.
mlir::LogicalResult checkIndexValues(const BoundSchedule &schedule);

/// Every slice of a tensor lies inside it, for every task and rank.
mlir::LogicalResult checkSlices(const BoundSchedule &schedule);

/// Every received element is posted exactly once per launch, by somebody.
mlir::LogicalResult checkCoverage(const BoundSchedule &schedule);

/// No cycle in program order (each workgroup walks stages and tasks in order) and waits: a post
/// that must wait for the receive that waits for it. No slot of a mailbox is overwritten before
/// every reader is known to be done, with ranks a launch or more apart; posts that must come after
/// earlier receives of their workgroup for that get kAfterWaitsAttr. Adds kHearsAllAttr.
mlir::LogicalResult checkOrder(const BoundSchedule &schedule);

/// Outputs are stored completely and once; what is stored no other thread loads in the launch.
mlir::LogicalResult checkOperands(const BoundSchedule &schedule);

/// Operands that are scattered to: no row is written twice, and none is read from memory, whatever
/// the indices are at run time.
mlir::LogicalResult checkPlaces(const BoundSchedule &schedule);

/// A workgroup reads of a region only what it has written in this launch.
mlir::LogicalResult checkRegions(const BoundSchedule &schedule);

/// Warns of mailboxes of the schedule's own file of which some elements are received and others are
/// posted for nobody, whether routines post them or stages of the file, unless the mailbox says so
/// (kPaddedAttr). Fails if warnings are
/// errors and there is one. Where nobody receives anything, warnOfUnused() has something to say, or
/// a routine hands on what this schedule has no use for.
mlir::LogicalResult warnOfUnreceived(ScheduleOp schedule, bool asErrors);

} // namespace mono
