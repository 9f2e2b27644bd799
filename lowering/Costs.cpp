// Counts what the stages of a schedule cost.
#include "lowering/Costs.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Check/WaitGraph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {
namespace {

//===----------------------------------------------------------------------===//
// Exchange between ranks
//===----------------------------------------------------------------------===//

/// Bytes that all tasks of a post send to other ranks: a word of 8 bytes for each 4 of payload.
int64_t peerBytesOf(const MemoryAccess &access, int64_t ranks) {
  auto mailbox = access.memory.getDefiningOp<MailboxOp>();
  if (!mailbox || !access.writes || mailbox.getScope() != Scope::Peers)
    return 0;
  int64_t bits = mailbox.getElement().getIntOrFloatBitWidth();
  for (int64_t size : access.sizes)
    bits *= size;
  return bits / 8 * 2 * access.tasks * (ranks - 1);
}

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

/// MFMA instructions of one task for an op: 16 x 16 x 32, also for weights that are widened, and
/// 16 x 16 x 128 where both sides are codes.
int64_t mfmasOf(Operation &op) {
  auto product = [](int64_t rows, int64_t columns, int64_t depth, int64_t step = gfx950::kMfmaK) {
    return llvm::divideCeil(rows, gfx950::kMfmaM) * llvm::divideCeil(columns, gfx950::kMfmaN) *
           llvm::divideCeil(depth, step);
  };
  return llvm::TypeSwitch<Operation *, int64_t>(&op)
      .Case<ContractOp>([&](ContractOp o) {
        auto stream = o.getWeights().getDefiningOp<StreamOp>();
        return stream.getGroupCount() * product(stream.getRowCount(), o.getRowCount(),
                                                stream.getDepth(),
                                                o.getScales() ? gfx950::kMfmaMxK : gfx950::kMfmaK);
      })
      .Case<ProductOp>([&](ProductOp o) {
        SmallVector<int64_t> shape = o.getResultShape();
        return product(shape[0], shape[1], o.getStaticASizes()[1]);
      })
      .Default([](Operation *) { return 0; });
}

//===----------------------------------------------------------------------===//
// Hops
//===----------------------------------------------------------------------===//

/// The longest chain that ends at each node of the graph.
std::vector<int64_t> hopsOf(const WaitGraph &graph) {
  std::vector<int32_t> cycle, order = graph.order(cycle);
  std::vector<int64_t> hops(order.size());
  for (int32_t node : order) {
    if (!graph.isEvent(node)) {
      for (int32_t post : graph.deliveries()[graph.deliveryOf(node)].posts)
        hops[node] = std::max(hops[node], hops[post] + 1);
      continue;
    }
    const Event &event = graph.events()[node];
    if (event.previous >= 0)
      hops[node] = hops[event.previous];
    if (event.delivery >= 0)
      hops[node] = std::max(hops[node], hops[graph.nodeOf(event.delivery)]);
  }
  return hops;
}

/// Fills in the hops of the stages: what its workgroups have behind them at its end.
void countHops(const BoundSchedule &schedule, MutableArrayRef<StageCost> stages) {
  WaitGraph graph(schedule);
  std::vector<int64_t> hops = hopsOf(graph);
  int64_t ctas = ScheduleOp(schedule.op).getCtas();
  std::vector<int64_t> behind(ctas); // each workgroup, on the rank that has most
  std::vector<SmallVector<int32_t>> events(stages.size());
  for (auto [index, event] : llvm::enumerate(graph.events()))
    events[event.by.access->stageIndex].push_back(index);
  for (auto [stage, ofStage] : llvm::zip_equal(stages, events)) {
    for (int32_t index : ofStage) {
      int64_t &most = behind[graph.events()[index].by.workgroup()];
      most = std::max(most, hops[index]);
    }
    for (int64_t i = 0; i < stage.workgroups; ++i)
      stage.hops = std::max(stage.hops, behind[(stage.base + i) % ctas]);
  }
}

std::vector<MailboxUse> usesOf(const BoundSchedule &schedule) {
  std::vector<MailboxUse> uses;
  for (auto mailbox : ScheduleOp(schedule.op).getBody().front().getOps<MailboxOp>()) {
    MailboxUse &use = uses.emplace_back();
    use.name = mailbox.getName().str();
    for (const MemoryAccess &access : schedule.accesses) {
      if (access.memory != mailbox.getResult())
        continue;
      std::vector<std::string> &stages = access.writes ? use.postedBy : use.receivedBy;
      if (stages.empty() || stages.back() != access.stage.getName()) // accesses are in file order
        stages.push_back(access.stage.getName().str());
    }
  }
  return uses;
}

} // namespace

FailureOr<Costs> costsOf(ScheduleOp schedule) {
  FailureOr<std::vector<MemoryAccess>> accesses = collectAccesses(schedule);
  if (failed(accesses))
    return failure();
  BoundSchedule bound{schedule, rankCount(schedule), std::move(*accesses)};
  Costs costs;
  TrafficCounter all;
  std::vector<TrafficCounter> ofStage;
  for (auto stage : schedule.getBody().front().getOps<StageOp>()) {
    StageCost cost;
    cost.name = stage.getName().str();
    cost.tasks = taskCount(stage);
    cost.base = baseOf(stage);
    cost.workgroups = std::min<int64_t>(cost.tasks, schedule.getCtas());
    for (Operation &op : stage.getBody().front())
      cost.mfmas += cost.tasks * mfmasOf(op);
    costs.stages.push_back(std::move(cost));
    ofStage.emplace_back();
  }
  for (const MemoryAccess &access : bound.accesses) {
    all.add(access);
    ofStage[access.stageIndex].add(access);
    costs.stages[access.stageIndex].peerBytes += peerBytesOf(access, bound.ranks);
  }
  for (auto [cost, traffic] : llvm::zip_equal(costs.stages, ofStage))
    cost.weightBytes = traffic.weightBytes();
  costs.weightBytes = all.weightBytes();
  for (auto operand : schedule.getBody().front().getOps<OperandOp>())
    costs.operands.push_back(all.of(operand));
  costs.mailboxes = usesOf(bound);
  countHops(bound, costs.stages);
  for (const StageCost &stage : costs.stages) {
    costs.peerBytes += stage.peerBytes;
    costs.hops = std::max(costs.hops, stage.hops);
  }
  return costs;
}

} // namespace mono
