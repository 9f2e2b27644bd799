// Outputs: stored completely and once, and loaded in the same launch only by the threads that store
// them, and before they do.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Check/Cover.h"
#include "lowering/Rules.h"

using namespace mlir;

namespace mono {
namespace {

/// Whether `a` comes before `b` on the workgroup they share.
bool precedes(const Execution &a, const Execution &b) {
  return std::tuple(a.access->stageIndex, a.task, a.access->opIndex) <
         std::tuple(b.access->stageIndex, b.task, b.access->opIndex);
}

/// Two tensors that lie in the same box are spread over the threads alike (Distribution.h), so that
/// each thread meets only its own elements. What else a workgroup loads and stores is not ordered:
/// its barriers order LDS, not memory.
bool byTheSameThreads(const Execution &load, const Execution &store) {
  return isa<LoadOp>(load.access->op) && load.workgroup() == store.workgroup() &&
         load.access->sizes == store.access->sizes &&
         load.access->offsetsOf(load.task, load.rank) ==
             store.access->offsetsOf(store.task, store.rank);
}

class OutputCheck {
public:
  OutputCheck(OperandOp operand, const BoundSchedule &schedule)
      : operand(operand), schedule(schedule), shape(declaredBy(operand.getResult())->shape) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == operand.getResult())
        (access.writes ? stores : loads).push_back(&access);
    perRank = llvm::any_of(llvm::concat<const MemoryAccess *>(stores, loads),
                           [](const MemoryAccess *access) { return access->dependsOnRank(); });
  }

  LogicalResult check() {
    if (llvm::any_of(operand.getResult().getUsers(), llvm::IsaPred<ScatterOp>))
      return success(); // checkPlaces() knows more
    for (int64_t rank = 0; rank < (perRank ? schedule.ranks : 1); ++rank)
      if (failed(checkRank(rank)))
        return failure();
    return success();
  }

private:
  LogicalResult checkRank(int64_t rank) {
    Cover stored;
    for (const MemoryAccess *store : stores)
      for (int64_t task = 0; task < store->tasks; ++task)
        stored.add({store, task, rank});
    if (std::optional<Cover::Clash> clash = stored.seal())
      return reportTwice(*clash);
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    if (operand.getAccess() == Access::Write)
      if (std::optional<int64_t> missing = stored.firstGap(0, elements))
        return reportMissing(*missing);
    for (const MemoryAccess *load : loads)
      for (int64_t task = 0; task < load->tasks; ++task)
        if (failed(checkLoad({load, task, rank}, stored)))
          return failure();
    return success();
  }

  LogicalResult checkLoad(const Execution &load, const Cover &stored) {
    std::optional<Execution> racing;
    int64_t where = 0;
    load.forEachRun([&](int64_t first, int64_t end) {
      stored.forEachOwner(first, end, [&](int64_t index, int64_t element) {
        const Execution &store = stored.owners()[index];
        if (!racing && !(precedes(load, store) && byTheSameThreads(load, store))) {
          racing = store;
          where = element;
        }
      });
    });
    return racing ? reportRace(load, *racing, where) : success();
  }

  LogicalResult reportTwice(const Cover::Clash &clash) {
    auto [earlier, later, element] = clash;
    InFlightDiagnostic diag = later.access->op->emitError()
                              << "expected every element of " << describe(operand.getResult())
                              << " to be stored once per launch, but element ["
                              << indexText(shape, element) << "] is stored again by "
                              << taskText(later, perRank);
    diag.attachNote(earlier.access->op->getLoc())
        << "stored before by " << taskText(earlier, perRank);
    return diag;
  }

  LogicalResult reportMissing(int64_t element) {
    InFlightDiagnostic diag = operand.emitError()
                              << "expected every element of operand '" << operand.getName()
                              << "' to be stored, but nobody stores element ["
                              << indexText(shape, element) << "]";
    for (const MemoryAccess *store : stores)
      diag.attachNote(store->op->getLoc())
          << "stage '" << store->stage.getName() << "' stores other elements here";
    if (stores.empty())
      diag.attachNote(operand.getLoc()) << "no stage with tasks stores to it";
    return diag;
  }

  LogicalResult reportRace(const Execution &load, const Execution &store, int64_t element) {
    bool sameWorkgroup = load.workgroup() == store.workgroup();
    InFlightDiagnostic diag =
        load.access->op->emitError()
        << taskText(load, perRank) << " loads element [" << indexText(shape, element) << "] of "
        << describe(load.access->memory) << ", which "
        << (sameWorkgroup ? "other threads of it store" : "another workgroup stores")
        << " in the same launch: whether it sees the old or the new value "
           "is chance";
    diag.attachNote(store.access->op->getLoc())
        << "stored here by " << taskText(store, perRank)
        << (sameWorkgroup ? "; let one task load the box it stores, the load first, or use a region"
                          : "; hand it on through a mailbox");
    return diag;
  }

  OperandOp operand;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  SmallVector<const MemoryAccess *> stores, loads;
  bool perRank = false; ///< ranks differ
};

} // namespace

LogicalResult checkOperands(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op->getContext(), "outputs");
  ScheduleOp op = schedule.op;
  for (auto operand : op.getBody().front().getOps<OperandOp>())
    if (operand.getAccess() != Access::Read && failed(OutputCheck(operand, schedule).check()))
      return failure();
  return success();
}

} // namespace mono
