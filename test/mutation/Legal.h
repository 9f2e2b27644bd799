// Changes to a bound schedule that leave it right, if it was.
#pragma once

#include "dialect/Mono.h"

namespace mono::test {

/// Gives stages, mailboxes and regions other names.
void rename(ScheduleOp schedule);

/// Gives every mailbox one slot more.
void addSlots(ScheduleOp schedule);

/// Makes mailboxes of scope `device` ones of scope `peers`, in which each rank posts and receives
/// in a part of its own. Leaves out those whose rows are known at run time only. Returns how many.
int64_t widenScopes(ScheduleOp schedule);

/// Makes two stages of each that has several tasks: of the first ones and of the rest, which stay
/// on their workgroups. Returns how many.
int64_t splitStages(ScheduleOp schedule);

/// Neighbours of which the second depends neither on the first nor on anything after it, and whose
/// regions live in one stage.
llvm::SmallVector<std::pair<StageOp, StageOp>> independentNeighbours(ScheduleOp schedule);

} // namespace mono::test
