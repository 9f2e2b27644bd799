// Addresses for LDS regions, scratch areas and mailboxes of a checked schedule.
#include "dialect/Mono.h"
#include "dialect/target/Gfx950.h"
#include "lowering/Passes.h"
#include "lowering/Place/Arena.h"
#include "lowering/Place/Scratch.h"
#include "lowering/Rules.h"
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

/// Mailboxes start on the 128-byte line of the L2.
constexpr int64_t kMailboxAlign = 128;

/// Kernels address mailbox memory with 32-bit offsets.
constexpr int64_t kMaxMailboxBytes = std::numeric_limits<int32_t>::max();

SmallVector<StageOp> stagesOf(ScheduleOp schedule) {
  return SmallVector<StageOp>(schedule.getBody().front().getOps<StageOp>());
}

LogicalResult reportTooMuch(ScheduleOp schedule, ArrayRef<Piece> pieces, Demand most) {
  // The stage that needs most says best what is wrong.
  SmallVector<StageOp> stages = stagesOf(schedule);
  StageOp stage = stages[most.stage];
  InFlightDiagnostic diag = stage->emitError()
                            << "expected at most " << gfx950::kLdsBytes << " bytes of LDS ("
                            << gfx950::kName << ", one workgroup), but stage '" << stage.getName()
                            << "' needs " << most.bytes;
  for (const Piece &piece : pieces)
    if (piece.livesAt(most.op)) {
      Diagnostic &note = diag.attachNote(piece.op->getLoc())
                         << piece.name << " takes " << piece.bytes << " bytes";
      if (piece.firstStage != piece.lastStage)
        note << " and lives from stage '" << stages[piece.firstStage].getName() << "' to stage '"
             << stages[piece.lastStage].getName() << "'";
    }
  return diag;
}

/// The stage that needs most would fit, but not around what is pinned or in the gaps.
LogicalResult reportFragmented(ScheduleOp schedule, ArrayRef<Piece> pieces, Demand most) {
  auto outside =
      llvm::find_if(pieces, [](const Piece &piece) { return piece.end() > gfx950::kLdsBytes; });
  InFlightDiagnostic diag = outside->op->emitError()
                            << "no room for " << outside->name << ": its " << outside->bytes
                            << " bytes would end at " << outside->end() << " of "
                            << gfx950::kLdsBytes
                            << " bytes of LDS, though no stage needs more than " << most.bytes
                            << "; pin the largest regions with 'at', those that live longest at "
                               "one end";
  for (const Piece &piece : pieces)
    if (&piece != outside && piece.livesWith(*outside))
      diag.attachNote(piece.op->getLoc())
          << piece.name << (piece.pinned ? " is pinned at " : " lies at ") << piece.offset << " to "
          << piece.end();
  return diag;
}

LogicalResult checkPinnedPlace(RegionOp region) {
  if (!region.getOffset())
    return success();
  int64_t offset = *region.getOffset(), bytes = region.getBytes();
  if (offset % kLdsAlign != 0)
    return region.emitError() << "expected a multiple of " << kLdsAlign
                              << " bytes after 'at' (ds_read_b128), but got " << offset;
  if (offset < 0 || offset > gfx950::kLdsBytes - bytes)
    return region.emitError() << "expected region '" << region.getName() << "' inside the "
                              << gfx950::kLdsBytes << " bytes of LDS, but it is pinned at "
                              << offset << " to " << offset + bytes;
  return success();
}

/// Pinned regions whose bytes overlap never live together.
LogicalResult checkPinned(ScheduleOp schedule, ArrayRef<Piece> pieces) {
  for (auto region : schedule.getBody().front().getOps<RegionOp>())
    if (failed(checkPinnedPlace(region)))
      return failure();
  SmallVector<StageOp> stages = stagesOf(schedule);
  for (auto [index, piece] : llvm::enumerate(pieces))
    for (const Piece &earlier : pieces.take_front(index)) {
      if (!piece.pinned || !earlier.pinned || !piece.livesWith(earlier) ||
          piece.offset >= earlier.end() || earlier.offset >= piece.end())
        continue;
      StageOp first = stages[std::max(piece.firstStage, earlier.firstStage)],
              last = stages[std::min(piece.lastStage, earlier.lastStage)];
      InFlightDiagnostic diag = piece.op->emitError()
                                << piece.name << " is pinned at " << piece.offset << " to "
                                << piece.end() << ", over " << earlier.name << " at "
                                << earlier.offset << " to " << earlier.end() << ", and both live ";
      if (first == last)
        diag << "in stage '" << first.getName() << "'";
      else
        diag << "from stage '" << first.getName() << "' to stage '" << last.getName() << "'";
      diag.attachNote(earlier.op->getLoc()) << earlier.name << " is pinned here";
      diag.attachNote(first.getLoc()) << "both live from here on";
      return diag;
    }
  return success();
}

LogicalResult placeLds(ScheduleOp schedule) {
  RuleScope rule(schedule.getContext(), "arena");
  std::vector<Piece> pieces = collectPieces(schedule, ScratchLife::Stage);
  if (failed(checkPinned(schedule, pieces)))
    return failure();
  Builder builder(schedule);
  Demand most = largestDemand(pieces);
  int64_t peak = overlay(pieces, most.bytes);
  if (peak > gfx950::kLdsBytes) {
    schedule->setAttr(kShortScratchAttr, builder.getUnitAttr());
    pieces = collectPieces(schedule, ScratchLife::Ops);
    most = largestDemand(pieces);
    peak = overlay(pieces, most.bytes);
  }
  if (most.bytes > gfx950::kLdsBytes)
    return reportTooMuch(schedule, pieces, most);
  if (peak > gfx950::kLdsBytes)
    return reportFragmented(schedule, pieces, most);
  for (auto region : schedule.getBody().front().getOps<RegionOp>())
    if (!region.getOffset()) // nobody uses it, or its piece says better below
      region.setOffsetAttr(builder.getI64IntegerAttr(0));
  for (const Piece &piece : pieces)
    if (piece.pinned)
      piece.op->setAttr(kPinnedAttr, builder.getUnitAttr());
  for (const Piece &piece : pieces)
    piece.op->setAttr(isa<RegionOp>(piece.op) ? "offset" : kScratchAttr,
                      builder.getI64IntegerAttr(piece.offset));
  schedule->setAttr(kLdsBytesAttr, builder.getI64IntegerAttr(peak));
  schedule->setAttr(kLdsLowerBoundAttr, builder.getI64IntegerAttr(most.bytes));
  return success();
}

/// Slots of the peers mailbox that has most of them.
int64_t peerSlotsOf(ScheduleOp schedule) {
  int64_t slots = 1;
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>())
    if (mailbox.getScope() == Scope::Peers)
      slots = std::max<int64_t>(slots, mailbox.getSlots());
  return slots;
}

/// One slot of all peers mailboxes lies together, so that kernels with other mailboxes can take
/// turns in the same memory: a launch writes to its slot alone.
LogicalResult placeMailboxes(ScheduleOp schedule) {
  RuleScope rule(schedule.getContext(), "static");
  Builder builder(schedule);
  int64_t device = 0, peers = 0, peerSlots = peerSlotsOf(schedule);
  for (auto mailbox : schedule.getBody().front().getOps<MailboxOp>()) {
    bool isPeers = mailbox.getScope() == Scope::Peers;
    int64_t &next = isPeers ? peers : device;
    mailbox.setOffsetAttr(builder.getI64IntegerAttr(next));
    next += (isPeers ? 1 : mailbox.getSlots()) * slotBytes(mailbox);
    next = llvm::alignTo(next, kMailboxAlign);
    if (next * (isPeers ? peerSlots : 1) > kMaxMailboxBytes)
      return mailbox.emitError() << "expected at most " << kMaxMailboxBytes
                                 << " bytes of mailboxes of scope '"
                                 << stringifyScope(mailbox.getScope())
                                 << "' (32-bit offsets), but with mailbox '" << mailbox.getName()
                                 << "' there are " << next * (isPeers ? peerSlots : 1);
  }
  schedule->setAttr(kDeviceMailboxBytesAttr, builder.getI64IntegerAttr(device));
  schedule->setAttr(kPeerMailboxBytesAttr, builder.getI64IntegerAttr(peers * peerSlots));
  return success();
}

/// Nothing of what binding replaces is left.
LogicalResult expectBound(ScheduleOp schedule) {
  WalkResult found = schedule.walk([](Operation *op) {
    if (!isa<ParamOp, CallOp>(op))
      return WalkResult::advance();
    op->emitError() << "expected a bound schedule, but it has a '" << op->getName()
                    << "'; run --mono-bind-parameters first";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

struct PlacePass : mono::impl::PlacePassBase<PlacePass> {
  using Base::Base;

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>()) {
      if (failed(expectBound(schedule)) || failed(placeLds(schedule)) ||
          failed(placeMailboxes(schedule)))
        return signalPassFailure();
    }
  }
};

} // namespace
