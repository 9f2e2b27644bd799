// Who posts what is received: each element by exactly one task of one rank.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Check/Cover.h"
#include "lowering/Rules.h"

using namespace mlir;

namespace mono {
namespace {

/// Rank-dependent offsets mean an exchange between ranks, which a device mailbox can't carry.
LogicalResult checkDeviceOffsets(MailboxOp mailbox, const MemoryAccess &access) {
  if (mailbox.getScope() == Scope::Peers || !access.dependsOnRank())
    return success();
  InFlightDiagnostic diag = access.op->emitError()
                            << "expected offsets without the rank in " << describe(access.memory)
                            << " of scope 'device': its words never reach another rank";
  diag.attachNote(mailbox.getLoc()) << "declared here; scope(peers) joins ranks";
  return diag;
}

/// The posts and receives of one mailbox.
class Coverage {
public:
  Coverage(MailboxOp mailbox, const BoundSchedule &schedule)
      : mailbox(mailbox), schedule(schedule), shape(declaredBy(mailbox.getResult())->shape) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == mailbox.getResult())
        (access.writes ? posts : receives).push_back(&access);
  }

  LogicalResult checkScope() {
    RuleScope rule(mailbox->getContext(), "scope");
    for (const MemoryAccess *access : llvm::concat<const MemoryAccess *>(posts, receives))
      if (failed(checkDeviceOffsets(mailbox, *access)))
        return failure();
    return success();
  }

  LogicalResult checkPosts() {
    RuleScope rule(mailbox->getContext(), "coverage");
    // Every rank posts to all copies of a peers mailbox; the copy of a device mailbox is filled by
    // its own rank alone, and the copies are filled alike.
    int64_t writers = mailbox.getScope() == Scope::Peers ? schedule.ranks : 1;
    for (const MemoryAccess *post : posts)
      forEachExecution(*post, writers, [&](const Execution &by) { posted.add(by); });
    if (std::optional<Cover::Clash> clash = posted.seal())
      return reportTwice(*clash);
    for (const MemoryAccess *receive : receives)
      if (failed(checkReceive(*receive)))
        return failure();
    return success();
  }

private:
  LogicalResult reportTwice(const Cover::Clash &clash) {
    auto [earlier, later, element] = clash;
    InFlightDiagnostic diag = later.access->op->emitError()
                              << "expected every element of " << describe(mailbox.getResult())
                              << " to be posted once per launch, but element ["
                              << indexText(shape, element) << "] is posted again by task "
                              << later.task << " of stage '" << later.access->stage.getName()
                              << "' on rank " << later.rank;
    diag.attachNote(earlier.access->op->getLoc())
        << "posted before here by task " << earlier.task << " on rank " << earlier.rank;
    if (earlier.rank != later.rank && !later.access->dependsOnRank())
      diag.attachNote(mailbox.getLoc())
          << "declared here; a post goes to every rank's copy: let an axis of the mailbox be the "
             "rank that posts, as in [%rank, ...]";
    return diag;
  }

  LogicalResult checkReceive(const MemoryAccess &receive) {
    std::optional<int64_t> missing;
    Execution waiting;
    forEachExecution(receive, receive.dependsOnRank() ? schedule.ranks : 1,
                     [&](const Execution &by) {
                       if (missing)
                         return;
                       waiting = by;
                       by.forEachRun([&](int64_t first, int64_t end) {
                         if (!missing)
                           missing = posted.firstGap(first, end);
                       });
                     });
    return missing ? reportMissing(waiting, *missing) : success();
  }

  LogicalResult reportMissing(const Execution &waiting, int64_t element) {
    const MemoryAccess &receive = *waiting.access;
    InFlightDiagnostic diag = receive.op->emitError()
                              << "this wait would never end: element [" << indexText(shape, element)
                              << "] of " << describe(receive.memory) << " is posted by nobody, but "
                              << taskText(waiting, receive.dependsOnRank()) << " waits for it";
    diag.attachNote(mailbox.getLoc()) << "the mailbox is declared here";
    for (const MemoryAccess *other : posts)
      diag.attachNote(other->op->getLoc())
          << "stage '" << other->stage.getName() << "' posts other elements here";
    if (posts.empty())
      diag.attachNote(receive.stage.getLoc())
          << "add a mono.post to " << describe(receive.memory)
          << " in a stage before this one; a stage of 0 tasks posts nothing";
    return diag;
  }

  MailboxOp mailbox;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  Cover posted;
  SmallVector<const MemoryAccess *> posts, receives;
};

} // namespace

LogicalResult checkCoverage(const BoundSchedule &schedule) {
  ScheduleOp op = schedule.op;
  for (auto mailbox : op.getBody().front().getOps<MailboxOp>()) {
    Coverage coverage(mailbox, schedule);
    if (failed(coverage.checkScope()) || failed(coverage.checkPosts()))
      return failure();
  }
  return success();
}

} // namespace mono
