// Slots of peers mailboxes: what a rank knows of the others when it writes over an old word. A
// launch of a rank starts when its previous launch has ended, so what is known carries over from
// launch to launch.
#include "dialect/Describe.h"
#include "lowering/Check/WaitGraph.h"
#include "lowering/Rules.h"
#include <map>

using namespace mlir;

namespace mono {
namespace {

/// More launches than any mailbox has slots: nothing is known.
constexpr int16_t kNever = 1000;

/// What is known at each node of the graph, with or without the knowledge a post has from earlier
/// receives of its own workgroup. A wavefront that has nothing to receive runs ahead of the others,
/// so the latter takes a barrier before the post (kAfterWaitsAttr).
class Knowledge {
public:
  Knowledge(const WaitGraph &graph, ArrayRef<int32_t> order, bool programOrder)
      : graph(graph), order(order), programOrder(programOrder), ranks(graph.schedule.ranks),
        atStart(ranks * ranks, kNever) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      atStart[rank * ranks + rank] = 1;
    do
      followLaunch();
    while (carryOver());
    spread();
  }

  /// The smallest L such that whenever `event` runs in launch e, the receive `reader` of launch
  /// e - L has ended: a rank has ended launch e - L in which it had heard of it.
  int16_t lag(int32_t event, uint8_t heardOfReader) const {
    int16_t least = kNever;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (heardOfReader >> rank & 1)
        least = std::min(least, lags[event * ranks + rank]);
    return least;
  }

  /// The ranks, one bit each, that know that `event` has run when they end the same launch.
  uint8_t heardOf(int32_t event) const { return heard[event]; }

private:
  void learn(MutableArrayRef<int16_t> mine, ArrayRef<int16_t> other) {
    for (auto [lag, told] : llvm::zip_equal(mine, other))
      lag = std::min(lag, told);
  }
  MutableArrayRef<int16_t> row(std::vector<int16_t> &lags, int64_t index) {
    return MutableArrayRef(lags).slice(index * ranks, ranks);
  }

  /// Fills `lags` and `atEnd` from `atStart`, in topological order.
  void followLaunch() {
    lags.assign(order.size() * ranks, kNever);
    atEnd = atStart;
    for (int32_t node : order) {
      MutableArrayRef<int16_t> now = row(lags, node);
      if (!graph.isEvent(node)) {
        for (int32_t post : graph.deliveries()[graph.deliveryOf(node)].posts)
          learn(now, row(lags, post));
        continue;
      }
      const Event &event = graph.events()[node];
      learn(now, row(atStart, event.by.rank));
      if (programOrder && event.previous >= 0)
        learn(now, row(lags, event.previous));
      if (event.waitsForAll())
        learn(now, row(lags, graph.nodeOf(event.delivery)));
      learn(row(atEnd, event.by.rank), now);
    }
  }

  /// What a rank knows at the end of a launch it knows, one launch older, at the start of the next.
  /// False if that is nothing new.
  bool carryOver() {
    bool changed = false;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t peer = 0; peer < ranks; ++peer) {
        int16_t &start = row(atStart, rank)[peer];
        int16_t carried = std::min<int16_t>(kNever, row(atEnd, rank)[peer] + 1);
        if (peer == rank || carried >= start)
          continue;
        start = carried;
        changed = true;
      }
    return changed;
  }

  /// Fills `heard`, against the topological order.
  void spread() {
    heard.assign(order.size(), 0);
    for (int32_t node : llvm::reverse(order)) {
      if (!graph.isEvent(node)) {
        for (int32_t post : graph.deliveries()[graph.deliveryOf(node)].posts)
          heard[post] |= heard[node];
        continue;
      }
      const Event &event = graph.events()[node];
      heard[node] |= 1 << event.by.rank;
      if (programOrder && event.previous >= 0)
        heard[event.previous] |= heard[node];
      if (event.waitsForAll())
        heard[graph.nodeOf(event.delivery)] |= heard[node];
    }
  }

  const WaitGraph &graph;
  ArrayRef<int32_t> order;
  bool programOrder;
  int64_t ranks;
  /// For each rank or node and each peer, the smallest L such that launch e - L of the peer is
  /// known to have ended.
  std::vector<int16_t> atStart, atEnd, lags;
  std::vector<uint8_t> heard;
};

/// A post that is not known to come after the receive of what it writes over.
struct Overtaking {
  int32_t post, receive; ///< events
  int16_t lag;
};

int64_t slotsOf(const Event &event) {
  return event.by.access->memory.getDefiningOp<MailboxOp>().getSlots();
}

/// The one with the largest lag, the first of the file among equals.
std::optional<Overtaking> findOvertaking(const WaitGraph &graph, const Knowledge &known) {
  std::optional<Overtaking> worst;
  for (const Delivery &delivery : graph.deliveries()) {
    const Event &first = graph.events()[delivery.receives.front()];
    auto mailbox = first.by.access->memory.getDefiningOp<MailboxOp>();
    if (mailbox.getScope() == Scope::Device)
      continue; // launches of one device are ordered
    // Receives that the same ranks have heard of are alike.
    std::map<uint8_t, int32_t> readers;
    for (int32_t receive : delivery.receives)
      readers.try_emplace(known.heardOf(receive), receive);
    for (int32_t post : delivery.posts)
      for (auto [heard, receive] : readers) {
        int16_t lag = known.lag(post, heard);
        if (lag <= slotsOf(first))
          continue;
        auto key = [](const Overtaking &o) { return std::tuple(-o.lag, o.post, o.receive); };
        Overtaking found{post, receive, lag};
        if (!worst || key(found) < key(*worst))
          worst = found;
      }
  }
  return worst;
}

LogicalResult report(const WaitGraph &graph, const Overtaking &found) {
  const Event &post = graph.events()[found.post], &receive = graph.events()[found.receive];
  auto mailbox = post.by.access->memory.getDefiningOp<MailboxOp>();
  int64_t slots = mailbox.getSlots();
  InFlightDiagnostic diag =
      post.by.access->op->emitError()
      << "this post could overwrite words that have not been read: " << graph.where(post)
      << " fills slot e mod " << slots << " of " << describe(post.by.access->memory) << " on rank "
      << receive.by.rank << " in launch e, where the words of launch e - " << slots << " lie, ";
  if (found.lag >= kNever)
    diag << "but rank " << post.by.rank << " never hears from rank " << receive.by.rank;
  else
    diag << "but it only knows that those of launch e - " << found.lag << " have been read";
  diag.attachNote(receive.by.access->op->getLoc())
      << "they are read here by " << graph.where(receive);
  diag.attachNote(mailbox.getLoc())
      << (found.lag >= kNever
              ? Twine("declared here; let each rank receive something from every rank it posts to")
              : "declared here; slots(" + Twine(found.lag) + ") would be enough");
  return diag;
}

/// Marks the posts that come after a receive of their workgroup.
void markPosts(const WaitGraph &graph) {
  std::vector<bool> afterReceive(graph.events().size());
  for (auto [index, event] : llvm::enumerate(graph.events())) {
    if (event.previous < 0)
      continue;
    afterReceive[index] = afterReceive[event.previous] || !graph.events()[event.previous].posts();
    if (event.posts() && afterReceive[index])
      event.by.access->op->setAttr(kAfterWaitsAttr,
                                   UnitAttr::get(event.by.access->op->getContext()));
  }
}

/// Launches are counted up to a multiple of the turn that 32 bits hold.
LogicalResult checkTurn(ScheduleOp schedule) {
  if (slotTurn(schedule) <= kMaxIndex)
    return success();
  InFlightDiagnostic diag =
      schedule.emitError() << "expected numbers of slots of the peers mailboxes whose least common "
                              "multiple is at most "
                           << kMaxIndex << " launches, but got more; use fewer different numbers";
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>())
    if (mailbox.getScope() == Scope::Peers)
      diag.attachNote(mailbox.getLoc()) << "slots(" << mailbox.getSlots() << ")";
  return diag;
}

} // namespace

LogicalResult checkReuse(const WaitGraph &graph, ArrayRef<int32_t> order) {
  RuleScope rule(graph.schedule.op->getContext(), "reuse");
  if (failed(checkTurn(graph.schedule.op)))
    return failure();
  if (!findOvertaking(graph, Knowledge(graph, order, /*programOrder=*/false)))
    return success();
  if (auto found = findOvertaking(graph, Knowledge(graph, order, /*programOrder=*/true)))
    return report(graph, *found);
  markPosts(graph);
  return success();
}

} // namespace mono
