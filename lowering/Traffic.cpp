// Unions of boxes, and what data may choose.
#include "lowering/Traffic.h"

#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/target/Gfx950.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// Elements that all tasks of a gather or a scatter choose; none for other ops.
static std::optional<int64_t> chosenBy(const MemoryAccess &access) {
  auto elements = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getNumElements();
  };
  if (auto scatter = dyn_cast<ScatterOp>(access.op))
    return access.tasks * elements(scatter.getValue());
  auto gather = dyn_cast<GatherOp>(access.op);
  if (!gather)
    return std::nullopt;
  bool single = gather.getResult() && gather.getResult().getType() == gather.getRows().getType();
  return access.tasks * elements(gather.getRows()) * (single ? 1 : access.shape.back());
}

/// Rows and columns of a matrix of weights that share a scale.
static std::pair<int64_t, int64_t> scaleBlock(StreamOp stream) {
  if (stream.hasBlockScales())
    return {kScaleBlock, kScaleBlock};
  return {1, gfx950::kMxBlock};
}

/// Boxes of an access, for an operand with a value for each `block` of the one it names.
void TrafficCounter::addBoxes(const MemoryAccess &access, Touched &touched,
                              std::pair<int64_t, int64_t> block) {
  auto stream = dyn_cast<StreamOp>(access.op);
  bool hasList = stream && stream.getGroups();
  size_t outer = hasList ? 1 : 0; // the axis of the groups
  int64_t groups = hasList ? stream.getGroupCount() : 1;
  if (hasList)
    touched.matrices = access.shape.front();
  SmallVector<int64_t> shape(access.shape), unit(shape.size(), 1);
  unit.back() = block.second;
  if (unit.size() > 1)
    unit.end()[-2] = block.first;
  for (auto [size, of] : llvm::zip_equal(shape, unit))
    size = llvm::divideCeil(size, of);
  // All ranks touch as much.
  for (int64_t task = 0; task < access.tasks; ++task) {
    SmallVector<int64_t> offsets = *access.offsetsOf(task, /*rank=*/0), sizes(access.sizes);
    for (auto [offset, size, of] : llvm::zip_equal(offsets, sizes, unit)) {
      int64_t end = llvm::divideCeil(offset + size, of);
      offset /= of;
      size = end - offset;
    }
    forEachRun(ArrayRef(shape).drop_front(outer), ArrayRef(offsets).drop_front(outer),
               ArrayRef(sizes).drop_front(outer), [&](int64_t first, int64_t end) {
                 touched.edges.push_back({first, groups});
                 touched.edges.push_back({end, -groups});
               });
  }
}

void TrafficCounter::add(const MemoryAccess &access) {
  auto operand = access.memory.getDefiningOp<OperandOp>();
  if (!operand)
    return;
  Operand &counted = operands[operand];
  Touched &touched = access.writes ? counted.written : counted.read;
  if (std::optional<int64_t> chosen = chosenBy(access)) {
    touched.chosen += *chosen;
    return;
  }
  addBoxes(access, touched, /*block=*/{1, 1});
  auto stream = dyn_cast<StreamOp>(access.op);
  if (stream && stream.getScales())
    addBoxes(access, operands[stream.getScales().getDefiningOp()].read, scaleBlock(stream));
}

int64_t TrafficCounter::Touched::boxElements() {
  llvm::sort(edges, [](const Edge &a, const Edge &b) { return a.element < b.element; });
  int64_t total = 0, last = 0, open = 0;
  for (const Edge &edge : edges) {
    total += (edge.element - last) * std::min(open, matrices);
    last = edge.element;
    open += edge.matrices;
  }
  return total;
}

OperandTraffic TrafficCounter::of(OperandOp operand) {
  OperandTraffic traffic{operand.getName().str()};
  auto found = operands.find(operand);
  if (found == operands.end())
    return traffic;
  int64_t bits = operand.getElement().getIntOrFloatBitWidth();
  int64_t all = llvm::product_of(staticValues(operand.getShape()));
  auto count = [&](Touched &touched, int64_t &bytes, int64_t &byData) {
    int64_t boxes = touched.boxElements(), total = std::min(all, boxes + touched.chosen);
    bytes = total * bits / 8;
    byData = (touched.hasGroups() ? total : total - boxes) * bits / 8;
  };
  count(found->second.read, traffic.readBytes, traffic.readByData);
  count(found->second.written, traffic.writtenBytes, traffic.writtenByData);
  return traffic;
}

int64_t TrafficCounter::weightBytes() {
  int64_t total = 0;
  for (Operation *op : llvm::make_first_range(operands))
    if (auto operand = cast<OperandOp>(op); operand.getWeight())
      total += of(operand).readBytes;
  return total;
}

} // namespace mono
