// Who posts what is received: each element by exactly one task of one rank.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"

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

/// Who posts each element of one mailbox.
class Coverage {
public:
  Coverage(MailboxOp mailbox, const BoundSchedule &schedule)
      : mailbox(mailbox), schedule(schedule), shape(declaredBy(mailbox.getResult())->shape),
        posted(elementCount(shape), nullptr) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == mailbox.getResult())
        (access.writes ? posts : receives).push_back(&access);
  }

  LogicalResult check() {
    for (const MemoryAccess *access : llvm::concat<const MemoryAccess *>(posts, receives))
      if (failed(checkDeviceOffsets(mailbox, *access)))
        return failure();
    for (const MemoryAccess *post : posts)
      if (failed(addPost(*post)))
        return failure();
    for (const MemoryAccess *receive : receives)
      if (failed(checkReceive(*receive)))
        return failure();
    return success();
  }

private:
  LogicalResult addPost(const MemoryAccess &post) {
    // Every rank posts to all copies of a peers mailbox; the copy of a device mailbox is filled by
    // its own rank alone, and the copies are filled alike.
    int64_t writers = mailbox.getScope() == Scope::Peers ? schedule.ranks : 1;
    for (int64_t rank = 0; rank < writers; ++rank)
      for (int64_t task = 0, tasks = taskCount(post.stage); task < tasks; ++task) {
        const MemoryAccess *clash = nullptr;
        int64_t where = 0;
        forEachRun(shape, *post.offsetsOf(task, rank), post.sizes,
                   [&](int64_t first, int64_t length) {
                     for (int64_t i = first; i < first + length; ++i) {
                       if (posted[i] && !clash)
                         std::tie(clash, where) = {posted[i], i};
                       posted[i] = &post;
                     }
                   });
        if (clash)
          return reportTwice(post, *clash, where, task, rank);
      }
    return success();
  }

  LogicalResult reportTwice(const MemoryAccess &post, const MemoryAccess &earlier, int64_t element,
                            int64_t task, int64_t rank) {
    InFlightDiagnostic diag = post.op->emitError()
                              << "expected every element of " << describe(post.memory)
                              << " to be posted once a launch, but element ["
                              << indexText(shape, element) << "] is posted again by task " << task
                              << " of stage '" << post.stage.getName() << "' on rank " << rank;
    diag.attachNote(earlier.op->getLoc()) << "posted before here";
    return diag;
  }

  LogicalResult checkReceive(const MemoryAccess &receive) {
    int64_t ranks = receive.dependsOnRank() ? schedule.ranks : 1;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t task = 0, tasks = taskCount(receive.stage); task < tasks; ++task) {
        int64_t missing = -1;
        forEachRun(shape, *receive.offsetsOf(task, rank), receive.sizes,
                   [&](int64_t first, int64_t length) {
                     for (int64_t i = first; missing < 0 && i < first + length; ++i)
                       if (!posted[i])
                         missing = i;
                   });
        if (missing >= 0)
          return reportMissing(receive, missing, task);
      }
    return success();
  }

  LogicalResult reportMissing(const MemoryAccess &receive, int64_t element, int64_t task) {
    InFlightDiagnostic diag = receive.op->emitError()
                              << "this wait would never end: element [" << indexText(shape, element)
                              << "] of " << describe(receive.memory) << " is posted by nobody, but "
                              << taskText(receive, task) << " waits for it";
    diag.attachNote(mailbox.getLoc()) << "the mailbox is declared here";
    for (const MemoryAccess *other : posts)
      diag.attachNote(other->op->getLoc())
          << "stage '" << other->stage.getName() << "' posts other elements here";
    if (posts.empty())
      diag.attachNote(receive.stage.getLoc())
          << "add a mono.post to " << describe(receive.memory) << " in a stage before this one";
    return diag;
  }

  MailboxOp mailbox;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  std::vector<const MemoryAccess *> posted;
  SmallVector<const MemoryAccess *> posts, receives;
};

} // namespace

LogicalResult checkCoverage(const BoundSchedule &schedule) {
  ScheduleOp op = schedule.op;
  for (auto mailbox : op.getBody().front().getOps<MailboxOp>())
    if (failed(Coverage(mailbox, schedule).check()))
      return failure();
  return success();
}

} // namespace mono
