// Builds the graph of posts and receives, and sorts it.
#include "lowering/Check/WaitGraph.h"

#include "lowering/Check/Cover.h"
#include <map>

using namespace mlir;

namespace mono {

WaitGraph::WaitGraph(const BoundSchedule &schedule) : schedule(schedule) {
  for (int64_t rank = 0; rank < schedule.ranks; ++rank)
    addRank(rank);
  for (auto mailbox : schedule.op.getBody().front().getOps<MailboxOp>())
    if (!tooLarge)
      addDeliveries(mailbox);
}

void WaitGraph::addRank(int64_t rank) {
  std::vector<int32_t> last(schedule.op.getCtas(), -1);
  // Accesses stand in file order; a workgroup runs its tasks of a stage in rising order.
  ArrayRef<MemoryAccess> rest = schedule.accesses;
  while (!rest.empty()) {
    const MemoryAccess &front = rest.front();
    ArrayRef<MemoryAccess> stage = rest.take_while(
        [&](const MemoryAccess &access) { return access.stageIndex == front.stageIndex; });
    rest = rest.drop_front(stage.size());
    for (int64_t task = 0; task < front.tasks; ++task)
      for (const MemoryAccess &access : stage) {
        if (!isa<MailboxType>(access.memory.getType()))
          continue;
        Execution by{&access, task, rank};
        int32_t &previous = last[by.workgroup()];
        eventList.push_back({by, previous});
        previous = eventList.size() - 1;
      }
  }
}

void WaitGraph::addDeliveries(MailboxOp mailbox) {
  bool peers = mailbox.getScope() == Scope::Peers;
  // Posts that reach one memory: those of all ranks, or of one.
  struct Memory {
    Cover posted;
    std::vector<int32_t> posts; ///< event of each owner of `posted`
    std::map<SmallVector<int64_t>, int32_t> boxes;
  };
  std::vector<Memory> memories(peers ? 1 : schedule.ranks);
  auto memoryOf = [&](const Event &event) -> Memory & {
    return memories[peers ? 0 : event.by.rank];
  };
  for (auto [index, event] : llvm::enumerate(eventList)) {
    if (event.by.access->memory != mailbox.getResult() || !event.posts())
      continue;
    memoryOf(event).posted.add(event.by);
    memoryOf(event).posts.push_back(index);
  }
  for (Memory &memory : memories)
    memory.posted.seal();

  for (auto [index, event] : llvm::enumerate(eventList)) {
    if (event.by.access->memory != mailbox.getResult() || event.posts())
      continue;
    Memory &memory = memoryOf(event);
    SmallVector<int64_t> box = *event.by.access->offsetsOf(event.by.task, event.by.rank);
    llvm::append_range(box, event.by.access->sizes);
    auto [known, isNew] = memory.boxes.try_emplace(box, deliveryList.size());
    event.delivery = known->second;
    if (isNew) {
      std::vector<int32_t> &posts = deliveryList.emplace_back().posts;
      event.by.forEachRun([&](int64_t first, int64_t end) {
        memory.posted.forEachOwner(
            first, end, [&](int64_t owner, int64_t) { posts.push_back(memory.posts[owner]); });
      });
      llvm::sort(posts);
      posts.erase(llvm::unique(posts), posts.end());
      edges += posts.size();
      if (edges > kMaxEdges) {
        tooLarge = event.by.access;
        return;
      }
    }
    deliveryList[event.delivery].receives.push_back(index);
  }
}

std::optional<int32_t> WaitGraph::dependency(int32_t node, size_t i) const {
  if (!isEvent(node)) {
    ArrayRef<int32_t> posts = deliveryList[deliveryOf(node)].posts;
    return i < posts.size() ? std::optional(posts[i]) : std::nullopt;
  }
  const Event &event = eventList[node];
  if (event.previous >= 0 && i-- == 0)
    return event.previous;
  if (event.delivery >= 0 && i == 0)
    return nodeOf(event.delivery);
  return std::nullopt;
}

std::vector<int32_t> WaitGraph::order(std::vector<int32_t> &cycle) const {
  enum : uint8_t { Unseen, Open, Done };
  struct Step {
    int32_t node;
    size_t next; ///< dependency to look at next
  };
  int32_t count = eventList.size() + deliveryList.size();
  std::vector<uint8_t> state(count, Unseen);
  std::vector<int32_t> order;
  std::vector<Step> path;
  for (int32_t root = 0; root < count; ++root) {
    if (state[root] == Unseen)
      path.push_back({root, 0});
    while (!path.empty()) {
      auto &[node, next] = path.back();
      state[node] = Open;
      std::optional<int32_t> before = dependency(node, next++);
      if (!before) {
        state[node] = Done;
        order.push_back(node);
        path.pop_back();
      } else if (state[*before] == Open) {
        auto start = llvm::find_if(path, [&](const Step &step) { return step.node == *before; });
        for (; start != path.end(); ++start)
          cycle.push_back(start->node);
        return {};
      } else if (state[*before] == Unseen) {
        path.push_back({*before, 0});
      }
    }
  }
  return order;
}

bool WaitGraph::everyRankHearsFromAll() const {
  SmallVector<uint8_t> heard(schedule.ranks); // a bit a rank
  for (const Delivery &delivery : deliveryList) {
    uint8_t posters = 0;
    for (int32_t post : delivery.posts)
      posters |= 1 << eventList[post].by.rank;
    for (int32_t receive : delivery.receives)
      if (eventList[receive].waitsForAll())
        heard[eventList[receive].by.rank] |= posters;
  }
  for (auto [rank, mask] : llvm::enumerate(heard))
    if ((mask | 1 << rank) != (1 << schedule.ranks) - 1)
      return false;
  return true;
}

std::string WaitGraph::where(const Event &event) const {
  return taskText(event.by, schedule.ranks > 1);
}

} // namespace mono
