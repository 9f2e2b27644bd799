// What a placed schedule costs before it runs: weight bytes, matrix instructions, and the chain of
// waits. Counted from the schedule, for one rank and one launch; nothing here is measured.
#pragma once

#include "lowering/Traffic.h"
#include <string>
#include <vector>

namespace mono {

/// One stage. Where tasks follow a list that is known at run time only, such as that of the chosen
/// experts, numbers are those of a full list.
struct StageCost {
  std::string name;
  int64_t tasks = 0;
  int64_t base = 0;        ///< workgroup of task 0
  int64_t workgroups = 0;  ///< that run at least one task
  int64_t weightBytes = 0; ///< of weights and their scales; what several tasks read counts once
  int64_t peerBytes = 0;   ///< that its posts send to other ranks, with their tags
  int64_t mfmas = 0;       ///< matrix instructions of all wavefronts
  int64_t hops = 0;        ///< of the longest chain that ends in the stage
};

/// Which stages use a mailbox, by name, in file order.
struct MailboxUse {
  std::string name;
  std::vector<std::string> postedBy, receivedBy;
};

struct Costs {
  std::vector<StageCost> stages;        ///< in file order
  std::vector<MailboxUse> mailboxes;    ///< in file order
  std::vector<OperandTraffic> operands; ///< in file order
  int64_t weightBytes = 0;              ///< as of a stage, but of all: no kernel can read less
  int64_t peerBytes = 0;                ///< of all stages
  int64_t hops = 0;                     ///< of the longest chain
};

/// The costs of a schedule that has passed the checks; fails with a diagnostic where
/// collectAccesses() does.
///
/// A hop is a word that goes from a post to a receive. A chain goes on from a receive to all that
/// its workgroup posts later. The lists of groups of a launch name no group twice for one box of
/// weights.
mlir::FailureOr<Costs> costsOf(ScheduleOp schedule);

} // namespace mono
