// Regions of LDS: a workgroup reads only what it has written in this launch.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Rules.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace mono {
namespace {

class RegionCheck {
public:
  RegionCheck(RegionOp region, const BoundSchedule &schedule)
      : region(region), schedule(schedule), shape(declaredBy(region.getResult())->shape) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == region.getResult())
        accesses.push_back(&access);
  }

  LogicalResult check() {
    // LDS of one rank is like that of another unless offsets name the rank.
    bool perRank =
        llvm::any_of(accesses, [](const MemoryAccess *access) { return access->dependsOnRank(); });
    int64_t ctas = schedule.op.getCtas();
    for (int64_t rank = 0; rank < (perRank ? schedule.ranks : 1); ++rank)
      for (int64_t workgroup = 0; workgroup < ctas; ++workgroup)
        if (failed(checkWorkgroup(workgroup, rank)))
          return failure();
    return success();
  }

private:
  /// Follows one workgroup through its tasks, stage by stage.
  LogicalResult checkWorkgroup(int64_t workgroup, int64_t rank) {
    llvm::BitVector written;
    ArrayRef<const MemoryAccess *> rest = accesses;
    while (!rest.empty()) {
      const MemoryAccess &front = *rest.front();
      ArrayRef<const MemoryAccess *> stage = rest.take_while(
          [&](const MemoryAccess *access) { return access->stageIndex == front.stageIndex; });
      rest = rest.drop_front(stage.size());
      int64_t firstTask = (workgroup + front.ctas - front.base) % front.ctas;
      for (int64_t task = firstTask; task < front.tasks; task += front.ctas)
        for (const MemoryAccess *access : stage)
          if (failed(follow({access, task, rank}, written)))
            return failure();
    }
    return success();
  }

  LogicalResult follow(const Execution &execution, llvm::BitVector &written) {
    if (written.empty()) // most workgroups touch few regions
      written.resize(region.getBytes() * 8 / region.getElement().getIntOrFloatBitWidth());
    std::optional<int64_t> missing;
    execution.forEachRun([&](int64_t first, int64_t end) {
      if (execution.access->writes)
        written.set(first, end);
      else if (int found = written.find_first_unset_in(first, end); found >= 0 && !missing)
        missing = found;
    });
    return missing ? reportUnwritten(execution, *missing) : success();
  }

  LogicalResult reportUnwritten(const Execution &read, int64_t element) {
    InFlightDiagnostic diag = read.access->op->emitError()
                              << taskText(read) << " reads element [" << indexText(shape, element)
                              << "] of " << describe(region.getResult())
                              << ", which this workgroup has not written in this launch";
    bool anyWrite = false;
    for (const MemoryAccess *write : accesses) {
      if (!write->writes)
        continue;
      anyWrite = true;
      diag.attachNote(write->op->getLoc())
          << "stage '" << write->stage.getName() << "' writes it here, on its own workgroups";
    }
    if (!anyWrite)
      diag.attachNote(region.getLoc()) << "declared here; no stage writes it";
    return diag;
  }

  RegionOp region;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  SmallVector<const MemoryAccess *> accesses; ///< in file order
};

} // namespace

LogicalResult checkRegions(const BoundSchedule &schedule) {
  RuleScope rule(schedule.op->getContext(), "regions");
  ScheduleOp op = schedule.op;
  for (auto region : op.getBody().front().getOps<RegionOp>())
    if (failed(RegionCheck(region, schedule).check()))
      return failure();
  return success();
}

} // namespace mono
