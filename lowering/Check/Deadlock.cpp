// Waits that can never end: a circle of program order and waits.
#include "dialect/Describe.h"
#include "lowering/Check/WaitGraph.h"
#include "lowering/Rules.h"

using namespace mlir;

namespace mono {

/// The events of a cycle, starting at the first wait of the file, so that the message does not
/// depend on the walk that found it.
static std::vector<int32_t> eventsOf(const WaitGraph &graph, ArrayRef<int32_t> cycle) {
  std::vector<int32_t> path;
  llvm::copy_if(cycle, std::back_inserter(path), [&](int32_t node) { return graph.isEvent(node); });
  auto key = [&](int32_t index) {
    const Event &e = graph.events()[index];
    return std::tuple(e.posts(), e.by.access->stageIndex, e.by.access->opIndex, e.by.rank,
                      e.by.task);
  };
  auto start = llvm::min_element(path, [&](int32_t a, int32_t b) { return key(a) < key(b); });
  std::rotate(path.begin(), start, path.end());
  return path;
}

static LogicalResult reportCycle(const WaitGraph &graph, ArrayRef<int32_t> cycle) {
  std::vector<int32_t> path = eventsOf(graph, cycle);
  const Event &start = graph.events()[path.front()];
  InFlightDiagnostic diag = start.by.access->op->emitError()
                            << "this wait would never end: " << graph.where(start) << " waits for "
                            << describe(start.by.access->memory)
                            << " in a circle, one line a step:";
  for (auto [step, index] : llvm::enumerate(path)) {
    int32_t beforeIndex = path[(step + 1) % path.size()];
    const Event &event = graph.events()[index], &before = graph.events()[beforeIndex];
    Location loc = before.by.access->op->getLoc();
    if (event.previous == beforeIndex)
      diag.attachNote(loc) << "comes after "
                           << (before.posts() ? "this post to " : "this wait for ")
                           << describe(before.by.access->memory) << " on workgroup "
                           << event.by.workgroup();
    else
      diag.attachNote(loc) << describe(event.by.access->memory) << " is posted here by "
                           << graph.where(before) << ", which";
  }
  diag.attachNote(start.by.access->stage.getLoc())
      << "every workgroup walks the stages in file order; let the stage that posts come before the "
         "one that waits";
  return diag;
}

LogicalResult checkDeadlock(const WaitGraph &graph, std::vector<int32_t> &order) {
  RuleScope rule(graph.schedule.op->getContext(), "deadlock");
  if (const MemoryAccess *at = graph.tooLargeAt())
    return at->op->emitError()
           << "expected at most " << WaitGraph::kMaxEdges
           << " pairs of a box that is waited for and a post to it, but with "
              "this receive they are more; receive larger boxes in fewer tasks, "
              "or the same box in all";
  std::vector<int32_t> cycle;
  order = graph.order(cycle);
  return cycle.empty() ? success() : reportCycle(graph, cycle);
}

LogicalResult checkOrder(const BoundSchedule &schedule) {
  WaitGraph graph(schedule);
  std::vector<int32_t> order;
  if (failed(checkDeadlock(graph, order)))
    return failure();
  if (graph.everyRankHearsFromAll())
    schedule.op->setAttr(kHearsAllAttr, UnitAttr::get(schedule.op.getContext()));
  return checkReuse(graph, order);
}

} // namespace mono
