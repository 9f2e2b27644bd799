// Waits that can never end: a circle of program order and waits.
#include "dialect/Describe.h"
#include "lowering/Check/WaitGraph.h"
#include "lowering/Rules.h"

using namespace mlir;

namespace mono {

/// The events of a cycle, each followed by what it depends on. The first is a wait that a post of
/// the cycle would end, of these the first of the file, so that the message does not depend on the
/// walk that found it.
static std::vector<int32_t> eventsOf(const WaitGraph &graph, ArrayRef<int32_t> cycle) {
  std::vector<int32_t> path;
  llvm::copy_if(cycle, std::back_inserter(path), [&](int32_t node) { return graph.isEvent(node); });
  auto key = [&](size_t step) {
    const Event &e = graph.events()[path[step]];
    return std::tuple(e.previous == path[(step + 1) % path.size()], e.by.access->stageIndex,
                      e.by.access->opIndex, e.by.rank, e.by.task);
  };
  size_t start = 0;
  for (size_t step = 1; step < path.size(); ++step)
    if (key(step) < key(start))
      start = step;
  std::rotate(path.begin(), path.begin() + start, path.end());
  return path;
}

/// One line for each change of workgroup: the post that would end the wait of the line before, and
/// the wait behind which it stands. What else the workgroup does between the two is left out.
static LogicalResult reportCycle(const WaitGraph &graph, ArrayRef<int32_t> cycle) {
  std::vector<int32_t> path = eventsOf(graph, cycle);
  auto eventAt = [&](size_t step) { return graph.events()[path[step % path.size()]]; };
  Event wait = eventAt(0);
  const MemoryAccess &start = *wait.by.access;
  InFlightDiagnostic diag = start.op->emitError()
                            << "this wait would never end: " << graph.where(wait) << " waits for "
                            << describe(start.memory) << " in a circle, one line for each post:";
  for (size_t step = 1; step < path.size(); ++step) {
    Event post = eventAt(step);
    while (eventAt(step).previous == path[(step + 1) % path.size()])
      ++step;
    Event before = eventAt(step);
    diag.attachNote(post.by.access->op->getLoc())
        << describe(post.by.access->memory) << " is posted here by " << graph.where(post)
        << ", after that workgroup's wait for " << describe(before.by.access->memory) << " in task "
        << before.by.task << " of stage '" << before.by.access->stage.getName() << "'";
  }
  diag.attachNote(start.stage.getLoc())
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
