// Collection of the pieces of LDS and their overlay.
#include "lowering/Place/Arena.h"

#include "dialect/Describe.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Device/LoadsAhead.h"
#include "lowering/Place/Scratch.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <random>

using namespace mlir;

namespace mono {

/// LDS accesses are at most 16 bytes wide.
static int64_t padded(int64_t bytes) { return llvm::alignTo(bytes, kLdsAlign); }

namespace {

/// The stages of a schedule, with all ops of their bodies counted in file order.
class Program {
public:
  explicit Program(ScheduleOp schedule) : stages(schedule.getBody().front().getOps<StageOp>()) {
    for (StageOp stage : stages) {
      firstOps.push_back(next);
      for (Operation &op : stage.getBody().front())
        number[&op] = next++;
    }
    firstOps.push_back(next);
  }

  /// The number of an op of a body.
  int64_t numberOf(Operation *op) const { return number.lookup(op); }
  int64_t firstOp(int64_t stage) const { return firstOps[stage]; }
  int64_t lastOp(int64_t stage) const { return std::max(firstOps[stage + 1] - 1, firstOps[stage]); }

  SmallVector<StageOp> stages;

private:
  int64_t next = 0;
  SmallVector<int64_t> firstOps; ///< by stage, and past the last
  llvm::DenseMap<Operation *, int64_t> number;
};

} // namespace

static void collectRegion(RegionOp region, const Program &program, std::vector<Piece> &pieces) {
  int64_t first = -1, last = -1;
  for (auto [index, stage] : llvm::enumerate(program.stages)) {
    bool used = llvm::any_of(region->getUsers(), [&, stage = stage](Operation *user) mutable {
      return stage->isProperAncestor(user);
    });
    if (!used)
      continue;
    first = first < 0 ? index : first;
    last = index;
  }
  if (first < 0)
    return;
  std::optional<int64_t> offset = region.getOffset();
  pieces.push_back({region, describe(region.getResult()), padded(region.getBytes()), first, last,
                    program.firstOp(first), program.lastOp(last), offset.has_value(),
                    offset.value_or(0)});
}

/// The last op that may look for a tensor where it lies in LDS. A reshaped tensor lies where it
/// did, and a contraction still reads the list of groups its stream began with.
static int64_t lastUse(Value value, const Program &program) {
  int64_t last = 0;
  for (Operation *user : value.getUsers()) {
    last = std::max(last, program.numberOf(user));
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, StreamOp>(user))
      last = std::max(last, lastUse(user->getResult(0), program));
  }
  return last;
}

/// The last op that may look into the scratch of `op`: its results can lie there, and its operands,
/// once they have been stored for it.
static int64_t lastLook(Operation *op, const Program &program) {
  SmallVector<Value> values(op->getResults());
  for (OpOperand &operand : op->getOpOperands())
    if (!isShapeOnly(operand)) // which ops share a shape says nothing about LDS
      values.push_back(operand.get());
  int64_t last = program.numberOf(op);
  for (Value value : values)
    if (isa<RankedTensorType, StreamType>(value.getType()))
      last = std::max(last, lastUse(value, program));
  return last;
}

static void collectScratch(const Program &program, int64_t stage, ScratchLife life,
                           std::vector<Piece> &pieces) {
  LoadsAhead ahead(program.stages[stage]);
  for (Operation &op : StageOp(program.stages[stage]).getBody().front()) {
    int64_t bytes = scratchBytes(&op);
    if (bytes == 0)
      continue;
    auto offset = op.getAttrOfType<IntegerAttr>(kScratchAttr);
    bool brief = life == ScratchLife::Ops;
    pieces.push_back(
        {&op, ("scratch of '" + op.getName().getStringRef() + "'").str(), padded(bytes), stage,
         stage, brief ? program.numberOf(ahead.placeOf(&op)) : program.firstOp(stage),
         // Another stage puts a tensor of the schedule level in its own scratch.
         brief ? std::min(lastLook(&op, program), program.lastOp(stage)) : program.lastOp(stage),
         /*pinned=*/false, offset ? offset.getInt() : 0});
  }
}

std::vector<Piece> collectPieces(ScheduleOp schedule, ScratchLife life) {
  Program program(schedule);
  std::vector<Piece> pieces;
  for (auto region : schedule.getBody().front().getOps<RegionOp>())
    collectRegion(region, program, pieces);
  for (size_t stage = 0; stage < program.stages.size(); ++stage)
    collectScratch(program, stage, life, pieces);
  return pieces;
}

/// Gives each piece of the queue that is not pinned the lowest place that is free while it lives.
/// Returns the bytes used.
static int64_t placeInOrder(ArrayRef<Piece *> queue) {
  int64_t peak = 0;
  for (auto [index, piece] : llvm::enumerate(queue)) {
    if (!piece->pinned) {
      SmallVector<const Piece *> taken;
      for (const Piece *other : queue.take_front(index))
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

int64_t overlay(std::vector<Piece> &pieces, int64_t demand) {
  constexpr unsigned kMostOrders = 64;
  std::mt19937 random; // of a fixed seed: a schedule has one layout
  // Pinned pieces have their place already and come first; equals keep the order of the file.
  SmallVector<Piece *> queue = llvm::map_to_vector(pieces, [](Piece &piece) { return &piece; });
  llvm::sort(queue, [](const Piece *a, const Piece *b) {
    return std::tuple(!a->pinned, -a->bytes, a) < std::tuple(!b->pinned, -b->bytes, b);
  });
  auto loose = llvm::find_if(queue, [](const Piece *piece) { return !piece->pinned; });
  std::vector<Piece> best;
  int64_t least = INT64_MAX;
  // Less than all of LDS gains nothing: one workgroup has it.
  int64_t enough = std::max(demand, gfx950::kLdsBytes);
  for (unsigned order = 0; order < kMostOrders && least > enough; ++order) {
    if (order > 0)
      llvm::shuffle(loose, queue.end(), random);
    if (int64_t peak = placeInOrder(queue); peak < least) {
      least = peak;
      best = pieces;
    }
  }
  pieces = std::move(best);
  return least;
}

Demand largestDemand(ArrayRef<Piece> pieces) {
  Demand most;
  // What lives together grows where a piece begins to live only.
  for (const Piece &begin : pieces) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += piece.livesAt(begin.firstOp) ? piece.bytes : 0;
    if (bytes > most.bytes)
      most = {begin.firstStage, bytes, begin.firstOp};
  }
  return most;
}

ArenaPlan planOf(ScheduleOp schedule) {
  ArenaPlan plan;
  for (auto stage : schedule.getBody().front().getOps<StageOp>())
    plan.stages.push_back(stage.getName().str());
  auto life = schedule->hasAttr(kShortScratchAttr) ? ScratchLife::Ops : ScratchLife::Stage;
  std::vector<Piece> pieces = collectPieces(schedule, life);
  for (const Piece &piece : pieces) {
    plan.boxes.push_back({piece.name, piece.offset, piece.bytes, piece.firstStage, piece.lastStage,
                          piece.op->hasAttr(kPinnedAttr), !isa<RegionOp>(piece.op)});
    plan.bytes = std::max(plan.bytes, piece.end());
    plan.withoutOverlay += piece.bytes;
  }
  plan.lowerBound = largestDemand(pieces).bytes;
  for (int64_t stage = 0; stage < int64_t(plan.stages.size()); ++stage) {
    std::vector<Piece> living;
    llvm::copy_if(pieces, std::back_inserter(living),
                  [&](const Piece &piece) { return piece.livesIn(stage); });
    plan.stageBytes.push_back(largestDemand(living).bytes);
  }
  return plan;
}

} // namespace mono
