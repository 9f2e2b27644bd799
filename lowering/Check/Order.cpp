// Deadlock and slot reuse, on the graph of all posts and receives of all workgroups of all ranks in
// one launch. A launch of a rank starts when its previous launch has ended, so what is known about
// other ranks carries over from launch to launch.
#include "dialect/Describe.h"
#include "lowering/Check/Checks.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace mono {
namespace {

/// One execution of a post or receive.
struct Event {
  const MemoryAccess *access;
  int32_t task;
  int16_t rank;
  int16_t workgroup;
  int32_t previous = -1; ///< the event before it on its workgroup
  SmallVector<int64_t, 4> offsets;
};

bool overlap(const Event &a, const Event &b) {
  for (auto [axis, offset] : llvm::enumerate(a.offsets))
    if (offset >= b.offsets[axis] + b.access->sizes[axis] ||
        b.offsets[axis] >= offset + a.access->sizes[axis])
      return false;
  return true;
}

class Graph {
public:
  explicit Graph(const BoundSchedule &schedule) : schedule(schedule) {
    for (int64_t rank = 0; rank < schedule.ranks; ++rank)
      addRank(rank);
    connect();
  }

  LogicalResult checkDeadlock();
  LogicalResult checkReuse();

private:
  void addRank(int64_t rank);
  void connect();
  LogicalResult reportCycle(ArrayRef<int32_t> waiting);
  LogicalResult reportReuse(const Event &post, int64_t receiver, int64_t lag);
  std::string where(const Event &event) const;

  const BoundSchedule &schedule;
  std::vector<Event> events;
  std::vector<SmallVector<int32_t, 4>> sources; ///< for a receive: the posts it waits for
  std::vector<int32_t> order;                   ///< a topological order, from checkDeadlock()
};

/// Adds the events of a rank, workgroup by workgroup in program order.
void Graph::addRank(int64_t rank) {
  ScheduleOp op = schedule.op;
  std::vector<int32_t> last(op.getCtas(), -1);
  auto add = [&](const MemoryAccess &access, int64_t task) {
    int64_t workgroup = workgroupOf(access.stage, task);
    Event event{&access, int32_t(task), int16_t(rank), int16_t(workgroup), last[workgroup], {}};
    SmallVector<int64_t> offsets = *access.offsetsOf(task, rank);
    event.offsets.assign(offsets.begin(), offsets.end());
    last[workgroup] = events.size();
    events.push_back(std::move(event));
  };
  // Accesses stand in file order; a workgroup runs its tasks of a stage in rising order, and the
  // tasks of one stage that fall to one workgroup differ by a multiple of the grid.
  const std::vector<MemoryAccess> &all = schedule.accesses;
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    end = begin;
    while (end < all.size() && all[end].stageIndex == all[begin].stageIndex)
      ++end;
    for (int64_t task = 0, tasks = taskCount(all[begin].stage); task < tasks; ++task)
      for (size_t i = begin; i < end; ++i)
        if (isa<MailboxType>(all[i].memory.getType()))
          add(all[i], task);
  }
}

/// Finds for each receive the posts whose boxes meet its own.
void Graph::connect() {
  sources.resize(events.size());
  llvm::DenseMap<Value, SmallVector<int32_t>> posts;
  for (auto [index, event] : llvm::enumerate(events))
    if (event.access->writes)
      posts[event.access->memory].push_back(index);
  for (auto [index, event] : llvm::enumerate(events)) {
    if (event.access->writes)
      continue;
    bool peers = event.access->memory.getDefiningOp<MailboxOp>().getScope() == Scope::Peers;
    for (int32_t post : posts[event.access->memory])
      if ((peers || events[post].rank == event.rank) && overlap(events[post], event))
        sources[index].push_back(post);
  }
}

std::string Graph::where(const Event &event) const {
  std::string text = taskText(*event.access, event.task);
  if (schedule.ranks > 1)
    text += (" of rank " + Twine(event.rank)).str();
  return text;
}

LogicalResult Graph::checkDeadlock() {
  std::vector<int32_t> open(events.size());
  std::vector<SmallVector<int32_t, 4>> next(events.size());
  std::vector<int32_t> ready;
  for (auto [index, event] : llvm::enumerate(events)) {
    open[index] = sources[index].size() + (event.previous >= 0);
    for (int32_t source : sources[index])
      next[source].push_back(index);
    if (event.previous >= 0)
      next[event.previous].push_back(index);
    if (open[index] == 0)
      ready.push_back(index);
  }
  while (!ready.empty()) {
    int32_t index = ready.back();
    ready.pop_back();
    order.push_back(index);
    for (int32_t after : next[index])
      if (--open[after] == 0)
        ready.push_back(after);
  }
  if (order.size() == events.size())
    return success();
  return reportCycle(open);
}

/// Walks back from something that can't run until it comes round, and prints the round.
LogicalResult Graph::reportCycle(ArrayRef<int32_t> open) {
  int32_t at = llvm::find_if(open, [](int32_t count) { return count > 0; }) - open.begin();
  std::vector<int32_t> path;
  std::vector<int32_t> seenAt(events.size(), -1);
  while (seenAt[at] < 0) {
    seenAt[at] = path.size();
    path.push_back(at);
    int32_t previous = events[at].previous;
    if (previous >= 0 && open[previous] > 0) {
      at = previous;
      continue;
    }
    at = *llvm::find_if(sources[at], [&](int32_t source) { return open[source] > 0; });
  }
  path.erase(path.begin(), path.begin() + seenAt[at]);
  // Start at the first wait of the file, so that the message does not depend on the walk.
  auto key = [&](int32_t index) {
    const Event &e = events[index];
    return std::tuple(e.access->writes, e.access->stageIndex, e.access->opIndex, e.rank, e.task);
  };
  std::rotate(path.begin(),
              llvm::min_element(path, [&](int32_t a, int32_t b) { return key(a) < key(b); }),
              path.end());

  const Event &start = events[path.front()];
  InFlightDiagnostic diag = start.access->op->emitError()
                            << "this wait would never end: " << where(start) << " waits for "
                            << describe(start.access->memory) << " in a circle, one line a step:";
  for (auto [step, index] : llvm::enumerate(path)) {
    const Event &event = events[index], &before = events[path[(step + 1) % path.size()]];
    if (event.access->writes)
      diag.attachNote(before.access->op->getLoc())
          << "comes after " << (before.access->writes ? "this post to " : "this wait for ")
          << describe(before.access->memory) << " on workgroup " << event.workgroup;
    else if (event.previous == path[(step + 1) % path.size()])
      diag.attachNote(before.access->op->getLoc())
          << "comes after " << (before.access->writes ? "this post to " : "this wait for ")
          << describe(before.access->memory) << " on workgroup " << event.workgroup;
    else
      diag.attachNote(before.access->op->getLoc())
          << describe(event.access->memory) << " is posted here by " << where(before) << ", which";
  }
  diag.attachNote(start.access->stage.getLoc())
      << "every workgroup walks the stages in file order; let the stage that posts come before the "
         "one that waits";
  return diag;
}

//===----------------------------------------------------------------------===//
// Slot reuse
//===----------------------------------------------------------------------===//

/// More launches than any mailbox has slots: nothing is known.
constexpr int64_t kNever = 1000;

/// For each event x and rank p, the smallest lag L such that when x runs in launch e, launch e - L
/// of rank p is known to have ended. A rank knows of its own last launch; of others it learns
/// through what it receives, and keeps what it has learned in the next launch.
LogicalResult Graph::checkReuse() {
  int64_t ranks = schedule.ranks;
  using Lags = SmallVector<int16_t, 8>;
  auto learn = [](Lags &mine, const Lags &other) {
    for (auto [lag, heard] : llvm::zip_equal(mine, other))
      lag = std::min(lag, heard);
  };
  std::vector<Lags> atStart(ranks, Lags(ranks, kNever));
  for (int64_t rank = 0; rank < ranks; ++rank)
    atStart[rank][rank] = 1;
  std::vector<Lags> lags(events.size());
  for (bool changed = true; changed;) {
    std::vector<Lags> atEnd = atStart;
    for (int32_t index : order) {
      const Event &event = events[index];
      Lags now = atStart[event.rank];
      if (event.previous >= 0)
        learn(now, lags[event.previous]);
      for (int32_t source : sources[index])
        learn(now, lags[source]);
      learn(atEnd[event.rank], now);
      lags[index] = std::move(now);
    }
    changed = false;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t peer = 0; peer < ranks; ++peer) {
        int16_t carried = std::min<int64_t>(kNever, atEnd[rank][peer] + 1);
        if (peer == rank || carried >= atStart[rank][peer])
          continue;
        atStart[rank][peer] = carried;
        changed = true;
      }
  }
  for (auto [index, event] : llvm::enumerate(events)) {
    if (!event.access->writes)
      continue;
    auto mailbox = event.access->memory.getDefiningOp<MailboxOp>();
    int64_t slots = mailbox.getSlots();
    for (int64_t receiver = 0; receiver < ranks; ++receiver) {
      if (mailbox.getScope() == Scope::Device && receiver != event.rank)
        continue;
      if (lags[index][receiver] > slots)
        return reportReuse(event, receiver, lags[index][receiver]);
    }
  }
  return success();
}

LogicalResult Graph::reportReuse(const Event &post, int64_t receiver, int64_t lag) {
  auto mailbox = post.access->memory.getDefiningOp<MailboxOp>();
  int64_t slots = mailbox.getSlots();
  InFlightDiagnostic diag =
      post.access->op->emitError()
      << "this post could overwrite words that have not been read: " << where(post)
      << " fills slot e mod " << slots << " of " << describe(post.access->memory) << " on rank "
      << receiver << " in launch e, where the words of launch e - " << slots << " lie, ";
  if (lag >= kNever)
    diag << "but rank " << int64_t(post.rank) << " never hears from rank " << receiver;
  else
    diag << "but it only knows that rank " << receiver << " has ended launch e - " << lag;
  diag.attachNote(mailbox.getLoc())
      << (lag >= kNever
              ? Twine("declared here; let each rank receive something from every rank it posts to")
              : "declared here; slots(" + Twine(lag) + ") would be enough");
  return diag;
}

} // namespace

LogicalResult checkOrder(const BoundSchedule &schedule) {
  Graph graph(schedule);
  return failure(failed(graph.checkDeadlock()) || failed(graph.checkReuse()));
}

} // namespace mono
