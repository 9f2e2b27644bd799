// Outputs: stored completely and once, and not loaded by another workgroup in the same launch.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"

using namespace mlir;

namespace mono {
namespace {

/// Who stores an element.
struct Writer {
  const MemoryAccess *access = nullptr;
  int64_t task = 0;
};

class OutputCheck {
public:
  OutputCheck(OperandOp operand, const BoundSchedule &schedule)
      : operand(operand), schedule(schedule), shape(declaredBy(operand.getResult())->shape) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == operand.getResult())
        (access.writes ? stores : loads).push_back(&access);
  }

  LogicalResult check() {
    bool perRank = llvm::any_of(llvm::concat<const MemoryAccess *>(stores, loads),
                                [](const MemoryAccess *access) { return access->dependsOnRank(); });
    for (int64_t rank = 0; rank < (perRank ? schedule.ranks : 1); ++rank) {
      writers.assign(elementCount(shape), Writer());
      if (failed(addStores(rank)) || failed(checkComplete()) || failed(checkLoads(rank)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult addStores(int64_t rank) {
    for (const MemoryAccess *store : stores)
      for (int64_t task = 0, tasks = taskCount(store->stage); task < tasks; ++task) {
        Writer clash;
        int64_t where = 0;
        forEachRun(shape, *store->offsetsOf(task, rank), store->sizes,
                   [&](int64_t first, int64_t length) {
                     for (int64_t i = first; i < first + length; ++i) {
                       if (writers[i].access && !clash.access)
                         std::tie(clash, where) = {writers[i], i};
                       writers[i] = {store, task};
                     }
                   });
        if (!clash.access)
          continue;
        InFlightDiagnostic diag = store->op->emitError()
                                  << "expected every element of " << describe(store->memory)
                                  << " to be stored once a launch, but element ["
                                  << indexText(shape, where) << "] is stored again by "
                                  << taskText(*store, task);
        diag.attachNote(clash.access->op->getLoc())
            << "stored before by " << taskText(*clash.access, clash.task);
        return diag;
      }
    return success();
  }

  LogicalResult checkComplete() {
    if (operand.getAccess() != Access::Write)
      return success();
    auto missing = llvm::find_if(writers, [](const Writer &w) { return !w.access; });
    if (missing == writers.end())
      return success();
    InFlightDiagnostic diag = operand.emitError()
                              << "expected every element of operand '" << operand.getName()
                              << "' to be stored, but nobody stores element ["
                              << indexText(shape, missing - writers.begin()) << "]";
    for (const MemoryAccess *store : stores)
      diag.attachNote(store->op->getLoc())
          << "stage '" << store->stage.getName() << "' stores other elements here";
    return diag;
  }

  LogicalResult checkLoads(int64_t rank) {
    for (const MemoryAccess *load : loads)
      for (int64_t task = 0, tasks = taskCount(load->stage); task < tasks; ++task) {
        Writer other;
        int64_t where = 0, workgroup = workgroupOf(load->stage, task);
        forEachRun(shape, *load->offsetsOf(task, rank), load->sizes,
                   [&](int64_t first, int64_t length) {
                     for (int64_t i = first; !other.access && i < first + length; ++i)
                       if (writers[i].access &&
                           workgroupOf(writers[i].access->stage, writers[i].task) != workgroup)
                         std::tie(other, where) = {writers[i], i};
                   });
        if (!other.access)
          continue;
        InFlightDiagnostic diag = load->op->emitError()
                                  << taskText(*load, task) << " loads element ["
                                  << indexText(shape, where) << "] of " << describe(load->memory)
                                  << ", which another workgroup stores in the same launch: "
                                  << "whether it sees the old or the new value is chance";
        diag.attachNote(other.access->op->getLoc())
            << "stored here by " << taskText(*other.access, other.task)
            << "; hand it on through a mailbox";
        return diag;
      }
    return success();
  }

  OperandOp operand;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  SmallVector<const MemoryAccess *> stores, loads;
  std::vector<Writer> writers;
};

} // namespace

LogicalResult checkOperands(const BoundSchedule &schedule) {
  ScheduleOp op = schedule.op;
  for (auto operand : op.getBody().front().getOps<OperandOp>())
    if (operand.getAccess() != Access::Read && failed(OutputCheck(operand, schedule).check()))
      return failure();
  return success();
}

} // namespace mono
