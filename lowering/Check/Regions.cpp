// Regions of LDS: a workgroup reads only what it has written in this launch.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace mono {
namespace {

LogicalResult reportUnwritten(RegionOp region, const MemoryAccess &read,
                              ArrayRef<const MemoryAccess *> writes, int64_t element,
                              int64_t task) {
  InFlightDiagnostic diag = read.op->emitError()
                            << taskText(read, task) << " reads element ["
                            << indexText(read.shape, element) << "] of " << describe(read.memory)
                            << ", which this workgroup has not written in this launch";
  if (writes.empty())
    diag.attachNote(region.getLoc()) << "declared here; no stage writes it";
  for (const MemoryAccess *write : writes)
    diag.attachNote(write->op->getLoc())
        << "stage '" << write->stage.getName() << "' writes it here, on its own workgroups";
  return diag;
}

/// Follows one workgroup through its tasks. LDS of one rank is like that of another unless offsets
/// name the rank.
LogicalResult checkWorkgroup(RegionOp region, ArrayRef<const MemoryAccess *> accesses,
                             ArrayRef<const MemoryAccess *> writes, int64_t workgroup, int64_t ctas,
                             int64_t rank) {
  llvm::BitVector written(elementCount(accesses.front()->shape));
  for (size_t begin = 0, end; begin < accesses.size(); begin = end) {
    end = begin;
    while (end < accesses.size() && accesses[end]->stageIndex == accesses[begin]->stageIndex)
      ++end;
    StageOp stage = accesses[begin]->stage;
    int64_t first = (workgroup + ctas - workgroupOf(stage, 0)) % ctas;
    for (int64_t task = first, tasks = taskCount(stage); task < tasks; task += ctas)
      for (const MemoryAccess *access : accesses.slice(begin, end - begin)) {
        int64_t missing = -1;
        forEachRun(access->shape, *access->offsetsOf(task, rank), access->sizes,
                   [&](int64_t from, int64_t length) {
                     if (access->writes)
                       return void(written.set(from, from + length));
                     int found = written.find_first_unset_in(from, from + length);
                     if (missing < 0)
                       missing = found;
                   });
        if (missing >= 0)
          return reportUnwritten(region, *access, writes, missing, task);
      }
  }
  return success();
}

} // namespace

LogicalResult checkRegions(const BoundSchedule &schedule) {
  ScheduleOp op = schedule.op;
  for (auto region : op.getBody().front().getOps<RegionOp>()) {
    SmallVector<const MemoryAccess *> accesses, writes;
    for (const MemoryAccess &access : schedule.accesses) {
      if (access.memory != region.getResult())
        continue;
      accesses.push_back(&access);
      if (access.writes)
        writes.push_back(&access);
    }
    if (accesses.empty())
      continue;
    bool perRank =
        llvm::any_of(accesses, [](const MemoryAccess *access) { return access->dependsOnRank(); });
    int64_t ctas = op.getCtas();
    for (int64_t rank = 0; rank < (perRank ? schedule.ranks : 1); ++rank)
      for (int64_t workgroup = 0; workgroup < ctas; ++workgroup)
        if (failed(checkWorkgroup(region, accesses, writes, workgroup, ctas, rank)))
          return failure();
  }
  return success();
}

} // namespace mono
