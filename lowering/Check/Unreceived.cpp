// Warnings of what stages hand on in part: words that nobody receives are most often those that
// somebody meant to.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Warnings.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mono {
namespace {

/// Elements of a mailbox that anybody posts, or that anybody receives, on any rank.
llvm::BitVector touched(MailboxOp mailbox, const BoundSchedule &schedule, bool posted) {
  llvm::BitVector result(llvm::product_of(declaredBy(mailbox.getResult())->shape));
  for (const MemoryAccess &access : schedule.accesses)
    if (access.memory == mailbox.getResult() && access.writes == posted)
      forEachExecution(access, access.dependsOnRank() ? schedule.ranks : 1,
                       [&](const Execution &by) {
                         by.forEachRun([&](int64_t first, int64_t end) { result.set(first, end); });
                       });
  return result;
}

/// "[0 to 4, 576 to 1024]": the smallest box around elements of a memory.
std::string boxText(const llvm::BitVector &elements, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> first(shape), end(shape.size(), 0);
  for (unsigned element : elements.set_bits()) {
    int64_t rest = element;
    for (int64_t axis = int64_t(shape.size()) - 1; axis >= 0; rest /= shape[axis--]) {
      first[axis] = std::min(first[axis], rest % shape[axis]);
      end[axis] = std::max(end[axis], rest % shape[axis] + 1);
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(llvm::zip_equal(first, end), os, [&](auto range) {
    os << std::get<0>(range) << " to " << std::get<1>(range);
  });
  os << ']';
  return text;
}

LogicalResult warnOf(MailboxOp mailbox, const BoundSchedule &schedule, bool asErrors) {
  llvm::BitVector received = touched(mailbox, schedule, /*posted=*/false);
  if (received.none())
    return success(); // parameters may have switched the receiver off
  llvm::BitVector posted = touched(mailbox, schedule, /*posted=*/true), unread = posted;
  unread.reset(received);
  if (unread.none())
    return success();
  return warn(mailbox, asErrors,
              "nobody receives " + Twine(unread.count()) + " of the " + Twine(posted.count()) +
                  " elements that are posted to " + describe(mailbox.getResult()) +
                  ", which lie in " + boxText(unread, declaredBy(mailbox.getResult())->shape));
}

} // namespace

LogicalResult warnOfUnreceived(ScheduleOp schedule, bool asErrors) {
  FailureOr<std::vector<MemoryAccess>> accesses = collectAccesses(schedule);
  if (failed(accesses))
    return failure();
  BoundSchedule bound{schedule, rankCount(schedule), std::move(*accesses)};
  bool good = true;
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>())
    if (!mailbox->hasAttr(kPaddedAttr) &&
        !isa<CallSiteLoc>(mailbox.getLoc())) // a routine knows what it hands itself
      good &= succeeded(warnOf(mailbox, bound, asErrors));
  return success(good);
}

} // namespace mono
