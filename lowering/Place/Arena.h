// The workgroup's LDS as an arena: which pieces exist, in which stages each lives, and where it
// lies.
#pragma once

#include "dialect/Mono.h"
#include <string>
#include <vector>

namespace mono {

/// A finished arena as plain data, for reports.
struct ArenaPlan {
  struct Box {
    std::string name;
    int64_t offset, bytes;
    int64_t firstStage, lastStage;
    bool pinned;
    bool scratch; ///< of an op; not a region
  };
  std::vector<Box> boxes;
  std::vector<std::string> stages;
  std::vector<int64_t> stageBytes; ///< by stage: the most that lives together in it
  int64_t bytes = 0;               ///< used
  int64_t lowerBound = 0;          ///< the most that lives together: no placement needs less
  int64_t withoutOverlay = 0;      ///< of all boxes, as if each had bytes of its own
};

/// The arena of a placed schedule.
ArenaPlan planOf(ScheduleOp schedule);

/// How long scratch areas live. Side by side, the ops of a stage need no barriers between them for
/// the sake of their scratch; where LDS does not suffice, an area is free again after the last op
/// that could look into it.
enum class ScratchLife { Stage, Ops };

/// A region or a scratch area, and the stages, first to last, in which its content matters.
struct Piece {
  mlir::Operation *op;
  std::string name; ///< "region 'row'", "scratch of 'mono.contract'"
  int64_t bytes;    ///< a multiple of 16
  int64_t firstStage, lastStage;
  int64_t firstOp, lastOp; ///< the same, by the ops of all stages counted in file order
  bool pinned = false;     ///< by the author
  int64_t offset = 0;      ///< in bytes

  bool livesWith(const Piece &other) const {
    return firstOp <= other.lastOp && other.firstOp <= lastOp;
  }
  bool livesIn(int64_t stage) const { return firstStage <= stage && stage <= lastStage; }
  bool livesAt(int64_t op) const { return firstOp <= op && op <= lastOp; }
  int64_t end() const { return offset + bytes; }
};

/// The pieces of a bound schedule: regions in file order, without those that no stage uses, then
/// scratch areas. Offsets are those of the ops, 0 where there is none yet.
std::vector<Piece> collectPieces(ScheduleOp schedule, ScratchLife life);

/// Gives the pieces that are not pinned their offsets: one after the other, each at the lowest
/// place that is free while it lives. The largest first; in other orders, too, while that takes
/// more than a workgroup can have and `demand`, what lives together at most, does not. Returns the
/// bytes used.
int64_t overlay(std::vector<Piece> &pieces, int64_t demand);

/// Bytes that live together, the stage where most do, and at which op: no placement needs less.
struct Demand {
  int64_t stage = 0, bytes = 0, op = 0;
};
Demand largestDemand(llvm::ArrayRef<Piece> pieces);

} // namespace mono
