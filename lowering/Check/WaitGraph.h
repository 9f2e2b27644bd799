// What comes before what in one launch: the posts and receives of all workgroups of all ranks, with
// the edges of program order and of waits.
#pragma once

#include "lowering/Check/Checks.h"

namespace mono {

/// One execution of a post or receive.
struct Event {
  Execution by;
  int32_t previous = -1; ///< the event before it on its workgroup
  int32_t delivery = -1; ///< of a receive: what it waits for

  bool posts() const { return by.access->writes; }
  /// A receive that ends only when all it may wait for is there: not one of rows that are named at
  /// run time, which may be others.
  bool waitsForAll() const { return !posts() && !mlir::isa<ReceiveRowsOp>(by.access->op); }
};

/// A box of a mailbox in the memory of one rank or, alike, of all: complete when its posts have
/// run. Receives of one box share a delivery, so that an all-to-all of n tasks has 2n edges, not
/// n^2.
struct Delivery {
  std::vector<int32_t> posts;    ///< events
  std::vector<int32_t> receives; ///< events
};

/// Nodes are numbered: the events, workgroup by workgroup in program order, then the deliveries.
class WaitGraph {
public:
  /// The schedule must have passed checkCoverage(), and must outlive the graph.
  explicit WaitGraph(const BoundSchedule &schedule);

  llvm::ArrayRef<Event> events() const { return eventList; }
  llvm::ArrayRef<Delivery> deliveries() const { return deliveryList; }
  int32_t nodeOf(int32_t delivery) const { return eventList.size() + delivery; }
  bool isEvent(int32_t node) const { return node < int32_t(eventList.size()); }
  int32_t deliveryOf(int32_t node) const { return node - eventList.size(); }

  /// Nodes in an order in which each comes after all it depends on. If there is none, what is
  /// returned in `cycle` depends each on the next, and the last on the first.
  std::vector<int32_t> order(std::vector<int32_t> &cycle) const;

  /// Whether every rank waits for a word of every other one.
  bool everyRankHearsFromAll() const;

  /// "task 3 of stage 'reduce' on workgroup 195", and " of rank 2" where there are several.
  std::string where(const Event &event) const;

  /// The receive at which the graph had more than kMaxEdges edges and was left as it was; null if
  /// it is whole.
  const MemoryAccess *tooLargeAt() const { return tooLarge; }

  /// Edges from deliveries to posts: 128 MiB. Full GLM-5 layers have some hundred thousand.
  static constexpr int64_t kMaxEdges = int64_t(1) << 25;

  const BoundSchedule &schedule;

private:
  void addRank(int64_t rank);
  void addDeliveries(MailboxOp mailbox);
  /// The i-th node that `node` depends on; none past the last.
  std::optional<int32_t> dependency(int32_t node, size_t i) const;

  std::vector<Event> eventList;
  std::vector<Delivery> deliveryList;
  int64_t edges = 0;
  const MemoryAccess *tooLarge = nullptr;
};

/// No cycle in the graph. `order` gets the nodes in the order of WaitGraph::order().
mlir::LogicalResult checkDeadlock(const WaitGraph &graph, std::vector<int32_t> &order);

/// No slot of a peers mailbox is overwritten before its readers are done. Marks the posts that rely
/// on receives of their own workgroup with kAfterWaitsAttr.
mlir::LogicalResult checkReuse(const WaitGraph &graph, llvm::ArrayRef<int32_t> order);

} // namespace mono
