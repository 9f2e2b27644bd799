// Collection of the pieces of LDS and their overlay.
#include "lowering/Place/Arena.h"

#include "dialect/Describe.h"
#include "lowering/Place/Scratch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {

/// LDS accesses are at most 16 bytes wide.
static int64_t padded(int64_t bytes) { return llvm::alignTo(bytes, kLdsAlign); }

static void collectRegion(RegionOp region, ArrayRef<StageOp> stages, std::vector<Piece> &pieces) {
  int64_t first = -1, last = -1;
  for (auto [index, stage] : llvm::enumerate(stages)) {
    bool used = llvm::any_of(region->getUsers(),
                             [&](Operation *user) { return stage->isProperAncestor(user); });
    if (!used)
      continue;
    first = first < 0 ? index : first;
    last = index;
  }
  if (first < 0)
    return;
  std::optional<int64_t> offset = region.getOffset();
  pieces.push_back({region, describe(region.getResult()), padded(region.getBytes()), first, last,
                    offset.has_value(), offset.value_or(0)});
}

/// Scratch of one stage comes before the next op of the stage needs its own, so all of it is live.
static void collectScratch(StageOp stage, int64_t index, std::vector<Piece> &pieces) {
  stage.walk([&](Operation *op) {
    int64_t bytes = scratchBytes(op);
    if (bytes == 0)
      return;
    auto offset = op->getAttrOfType<IntegerAttr>(kScratchAttr);
    pieces.push_back({op, ("scratch of '" + op->getName().getStringRef() + "'").str(),
                      padded(bytes), index, index, /*pinned=*/false, offset ? offset.getInt() : 0});
  });
}

std::vector<Piece> collectPieces(ScheduleOp schedule) {
  SmallVector<StageOp> stages(schedule.getBody().front().getOps<StageOp>());
  std::vector<Piece> pieces;
  for (auto region : schedule.getBody().front().getOps<RegionOp>())
    collectRegion(region, stages, pieces);
  for (auto [index, stage] : llvm::enumerate(stages))
    collectScratch(stage, index, pieces);
  return pieces;
}

int64_t overlay(std::vector<Piece> &pieces) {
  // Pinned pieces have their place already and come first; equals keep the order of the file.
  std::vector<Piece *> queue;
  for (Piece &piece : pieces)
    queue.push_back(&piece);
  llvm::sort(queue, [](const Piece *a, const Piece *b) {
    return std::tuple(!a->pinned, -a->bytes, a) < std::tuple(!b->pinned, -b->bytes, b);
  });
  int64_t peak = 0;
  for (auto [index, piece] : llvm::enumerate(queue)) {
    if (!piece->pinned) {
      SmallVector<const Piece *> taken;
      for (const Piece *other : ArrayRef(queue).take_front(index))
        if (piece->livesWith(*other))
          taken.push_back(other);
      llvm::sort(taken, [](auto *a, auto *b) { return a->offset < b->offset; });
      piece->offset = 0;
      for (const Piece *other : taken) {
        if (piece->end() <= other->offset)
          break;
        piece->offset = std::max(piece->offset, other->end());
      }
    }
    peak = std::max(peak, piece->end());
  }
  return peak;
}

Demand largestDemand(ArrayRef<Piece> pieces) {
  int64_t stages = 0;
  for (const Piece &piece : pieces)
    stages = std::max(stages, piece.lastStage + 1);
  Demand most;
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.livesIn(stage) ? piece.bytes : 0;
    if (bytes > most.bytes)
      most = {stage, bytes};
  }
  return most;
}

ArenaPlan planOf(ScheduleOp schedule) {
  ArenaPlan plan;
  for (auto stage : schedule.getBody().front().getOps<StageOp>())
    plan.stages.push_back(stage.getName().str());
  std::vector<Piece> pieces = collectPieces(schedule);
  for (const Piece &piece : pieces) {
    plan.boxes.push_back({piece.name, piece.offset, piece.bytes, piece.firstStage, piece.lastStage,
                          piece.op->hasAttr(kPinnedAttr)});
    plan.bytes = std::max(plan.bytes, piece.end());
  }
  plan.lowerBound = largestDemand(pieces).bytes;
  return plan;
}

} // namespace mono
