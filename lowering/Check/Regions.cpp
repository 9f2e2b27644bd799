// Regions of LDS: a workgroup reads only what it has written in this launch, and finds there all
// that the tasks before have left for it.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "lowering/Rules.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace mono {
namespace {

/// The elements of one region on one workgroup. Lost is what a task wrote where a later task of the
/// same stage has written too, with no read between.
struct Elements {
  explicit Elements(int64_t count)
      : written(count), unread(count), mine(count), losing(count), lost(count) {}

  llvm::BitVector written;
  llvm::BitVector unread; ///< written by earlier tasks of the present stage and not read since
  llvm::BitVector mine;   ///< the same of the present task
  llvm::BitVector losing; ///< something was lost here in the present stage
  llvm::BitVector lost;   ///< in an earlier stage, and no later one has written it
  std::vector<Execution> overwriters; ///< in their order

  void endTask() {
    unread |= mine;
    mine.reset();
  }
  void endStage() {
    lost |= losing;
    losing.reset();
    unread.reset();
  }
};

class RegionCheck {
public:
  RegionCheck(RegionOp region, const BoundSchedule &schedule)
      : region(region), schedule(schedule), shape(declaredBy(region.getResult())->shape) {
    for (const MemoryAccess &access : schedule.accesses)
      if (access.memory == region.getResult())
        accesses.push_back(&access);
    perRank =
        llvm::any_of(accesses, [](const MemoryAccess *access) { return access->dependsOnRank(); });
  }

  LogicalResult check() {
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
    std::optional<Elements> elements; // most workgroups touch few regions
    ArrayRef<const MemoryAccess *> rest = accesses;
    while (!rest.empty()) {
      const MemoryAccess &front = *rest.front();
      ArrayRef<const MemoryAccess *> stage = rest.take_while(
          [&](const MemoryAccess *access) { return access->stageIndex == front.stageIndex; });
      rest = rest.drop_front(stage.size());
      int64_t firstTask = (workgroup + front.ctas - front.base) % front.ctas;
      if (firstTask >= front.tasks)
        continue;
      if (!elements)
        elements.emplace(region.getBytes() * 8 / region.getElement().getIntOrFloatBitWidth());
      for (int64_t task = firstTask; task < front.tasks; task += front.ctas) {
        for (const MemoryAccess *access : stage)
          if (failed(follow({access, task, rank}, *elements)))
            return failure();
        elements->endTask();
      }
      elements->endStage();
    }
    return success();
  }

  LogicalResult follow(const Execution &execution, Elements &elements) {
    if (execution.access->writes) {
      write(execution, elements);
      return success();
    }
    std::optional<int64_t> missing, lost;
    execution.forEachRun([&](int64_t first, int64_t end) {
      if (int found = elements.written.find_first_unset_in(first, end); found >= 0 && !missing)
        missing = found;
      if (int found = elements.lost.find_first_in(first, end); found >= 0 && !lost)
        lost = found;
      elements.unread.reset(first, end);
      elements.mine.reset(first, end);
    });
    if (missing)
      return reportUnwritten(execution, *missing);
    return lost ? reportLost(execution, overwriterOf(*lost, elements), *lost) : success();
  }

  void write(const Execution &execution, Elements &elements) {
    bool loses = false;
    execution.forEachRun([&](int64_t first, int64_t end) {
      for (int at = elements.unread.find_first_in(first, end); at >= 0;
           at = elements.unread.find_first_in(at + 1, end)) {
        elements.losing.set(at);
        loses = true;
      }
      elements.unread.reset(first, end);
      elements.lost.reset(first, end);
      elements.written.set(first, end);
      elements.mine.set(first, end);
    });
    if (loses)
      elements.overwriters.push_back(execution);
  }

  /// The last task that wrote over `element` what nobody had read.
  static Execution overwriterOf(int64_t element, const Elements &elements) {
    return *llvm::find_if(llvm::reverse(elements.overwriters),
                          [&](const Execution &by) { return covers(by, element); });
  }

  static bool covers(const Execution &by, int64_t element) {
    bool found = false;
    by.forEachRun([&](int64_t first, int64_t end) { found |= first <= element && element < end; });
    return found;
  }
  static SmallVector<int64_t> tasksThatCover(const MemoryAccess &access, int64_t rank,
                                             int64_t element) {
    return llvm::to_vector(llvm::make_filter_range(llvm::seq(access.tasks), [&](int64_t task) {
      return covers({&access, task, rank}, element);
    }));
  }
  /// "on workgroups 3 to 6", "on all workgroups", or "by task 2 on workgroup 5".
  static std::string writersText(const MemoryAccess &access, ArrayRef<int64_t> tasks) {
    if (int64_t(tasks.size()) < access.tasks)
      return ("by task " + Twine(tasks.front()) + " on workgroup " +
              Twine(Execution{&access, tasks.front(), 0}.workgroup()))
          .str();
    if (access.tasks >= access.ctas)
      return "on all workgroups";
    int64_t last = (access.base + access.tasks - 1) % access.ctas;
    if (access.tasks == 1)
      return ("on workgroup " + Twine(last)).str();
    return ("on workgroups " + Twine(access.base) + " to " + Twine(last)).str();
  }
  static bool comesBehind(const MemoryAccess &access, const MemoryAccess &other) {
    return std::tuple(access.stageIndex, access.opIndex) >
           std::tuple(other.stageIndex, other.opIndex);
  }

  LogicalResult reportUnwritten(const Execution &read, int64_t element) {
    InFlightDiagnostic diag =
        read.access->op->emitError()
        << taskText(read, perRank) << " reads element [" << indexText(shape, element) << "] of "
        << describe(region.getResult()) << ", which this workgroup has not written in this launch";
    bool anyWrite = false;
    for (const MemoryAccess *write : accesses) {
      if (!write->writes)
        continue;
      anyWrite = true;
      Diagnostic &note = diag.attachNote(write->op->getLoc())
                         << "stage '" << write->stage.getName() << "' writes ";
      SmallVector<int64_t> tasks = tasksThatCover(*write, read.rank, element);
      if (tasks.empty())
        note << "other elements here";
      else if (comesBehind(*write, *read.access))
        note << "it here, but later in the file";
      else if (note << "it here, " << writersText(*write, tasks);
               write->base != read.access->base || write->tasks != read.access->tasks)
        note << "; stages of the same base and number of tasks have the same workgroups";
    }
    if (!anyWrite)
      diag.attachNote(region.getLoc()) << "declared here; no stage with tasks writes it";
    return diag;
  }

  LogicalResult reportLost(const Execution &read, const Execution &overwriter, int64_t element) {
    InFlightDiagnostic diag = read.access->op->emitError()
                              << taskText(read, perRank) << " reads element ["
                              << indexText(shape, element) << "] of "
                              << describe(region.getResult()) << ", where task " << overwriter.task
                              << " of stage '" << overwriter.access->stage.getName()
                              << "' wrote over what an earlier task of it had written and nobody "
                                 "had read";
    diag.attachNote(overwriter.access->op->getLoc())
        << "written over here; workgroup " << read.workgroup() << " runs one task in "
        << overwriter.access->ctas
        << " of the stage: give each its own box of the region, or read it in the same "
           "stage";
    return diag;
  }

  RegionOp region;
  const BoundSchedule &schedule;
  SmallVector<int64_t> shape;
  SmallVector<const MemoryAccess *> accesses; ///< in file order
  bool perRank = false; ///< LDS of one rank is like that of another unless offsets name the rank
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
