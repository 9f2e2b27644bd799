// Addresses for LDS regions, scratch areas and mailboxes of a checked schedule.
#include "dialect/Describe.h"
#include "dialect/Exprs.h"
#include "dialect/Mono.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Passes.h"
#include "lowering/Place/Scratch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mono {
#define GEN_PASS_DEF_PLACEPASS
#include "lowering/Passes.h.inc"
} // namespace mono

using namespace mono;

namespace {

/// LDS accesses are at most 16 bytes wide; mailboxes start on the 128-byte line of the L2.
constexpr int64_t kLdsAlign = 16, kMailboxAlign = 128;

/// A piece of LDS and the stages, first to last, in which its content matters.
struct Piece {
  Operation *op;
  std::string what;
  int64_t bytes;
  int64_t firstStage, lastStage;
  int64_t offset = 0;
  int64_t order = 0; ///< in the file

  bool livesWith(const Piece &other) const {
    return firstStage <= other.lastStage && other.firstStage <= lastStage;
  }
};

/// Scratch of one stage comes before the next op of the stage needs its own, so all of it is live.
void collectScratch(StageOp stage, int64_t index, SmallVectorImpl<Piece> &pieces) {
  stage.walk([&](Operation *op) {
    if (int64_t bytes = scratchBytes(op))
      pieces.push_back({op, ("scratch of '" + op->getName().getStringRef() + "'").str(),
                        static_cast<int64_t>(llvm::alignTo(bytes, kLdsAlign)), index, index});
  });
}

void collectRegion(RegionOp region, ArrayRef<StageOp> stages, SmallVectorImpl<Piece> &pieces) {
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
    return region->setAttr("offset", Builder(region).getI64IntegerAttr(0));
  pieces.push_back({region, describe(region.getResult()),
                    static_cast<int64_t>(llvm::alignTo(region.getBytes(), kLdsAlign)), first,
                    last});
}

/// Largest first, each at the lowest offset that is free while it lives. Returns the bytes used.
int64_t overlay(SmallVectorImpl<Piece> &pieces) {
  for (auto [index, piece] : llvm::enumerate(pieces))
    piece.order = index;
  llvm::sort(pieces, [](const Piece &a, const Piece &b) {
    return std::tuple(-a.bytes, a.order) < std::tuple(-b.bytes, b.order);
  });
  int64_t peak = 0;
  for (auto [index, piece] : llvm::enumerate(pieces)) {
    SmallVector<const Piece *> taken;
    for (const Piece &other : ArrayRef(pieces).take_front(index))
      if (piece.livesWith(other))
        taken.push_back(&other);
    llvm::sort(taken, [](auto *a, auto *b) { return a->offset < b->offset; });
    for (const Piece *other : taken) {
      if (piece.offset + piece.bytes <= other->offset)
        break;
      piece.offset = std::max(piece.offset, other->offset + other->bytes);
    }
    peak = std::max(peak, piece.offset + piece.bytes);
  }
  return peak;
}

LogicalResult reportTooMuch(ScheduleOp schedule, ArrayRef<StageOp> stages, ArrayRef<Piece> pieces) {
  // The stage that needs most says best what is wrong.
  int64_t worst = 0, worstBytes = 0;
  for (int64_t stage = 0, e = stages.size(); stage < e; ++stage) {
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      if (piece.firstStage <= stage && stage <= piece.lastStage)
        bytes += piece.bytes;
    if (bytes > worstBytes)
      std::tie(worst, worstBytes) = {stage, bytes};
  }
  StageOp stage = stages[worst];
  InFlightDiagnostic diag = stage->emitError()
                            << "expected at most " << gfx950::kLdsBytes << " bytes of LDS ("
                            << gfx950::kName << ", one workgroup), but stage '" << stage.getName()
                            << "' needs " << worstBytes;
  for (const Piece &piece : pieces)
    if (piece.firstStage <= worst && worst <= piece.lastStage)
      diag.attachNote(piece.op->getLoc()) << piece.what << " takes " << piece.bytes << " bytes";
  return diag;
}

LogicalResult placeLds(ScheduleOp schedule) {
  SmallVector<StageOp> stages(schedule.getBody().front().getOps<StageOp>());
  SmallVector<Piece> pieces;
  for (auto region : schedule.getBody().front().getOps<RegionOp>())
    collectRegion(region, stages, pieces);
  for (auto [index, stage] : llvm::enumerate(stages))
    collectScratch(stage, index, pieces);
  int64_t peak = overlay(pieces);
  if (peak > gfx950::kLdsBytes)
    return reportTooMuch(schedule, stages, pieces);
  Builder builder(schedule);
  for (const Piece &piece : pieces)
    piece.op->setAttr(isa<RegionOp>(piece.op) ? "offset" : kScratchAttr,
                      builder.getI64IntegerAttr(piece.offset));
  schedule->setAttr("mono.lds_bytes", builder.getI64IntegerAttr(peak));
  return success();
}

void placeMailboxes(ScheduleOp schedule) {
  Builder builder(schedule);
  int64_t device = 0, peers = 0;
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>()) {
    int64_t &next = mailbox.getScope() == Scope::Peers ? peers : device;
    mailbox.setOffsetAttr(builder.getI64IntegerAttr(next));
    next = llvm::alignTo(next + mailbox.getSlots() * slotBytes(mailbox), kMailboxAlign);
  }
  schedule->setAttr("mono.device_mailbox_bytes", builder.getI64IntegerAttr(device));
  schedule->setAttr("mono.peer_mailbox_bytes", builder.getI64IntegerAttr(peers));
}

struct PlacePass : mono::impl::PlacePassBase<PlacePass> {
  using Base::Base;

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>()) {
      if (failed(placeLds(schedule)))
        return signalPassFailure();
      placeMailboxes(schedule);
    }
  }
};

} // namespace
