// What a stage asks of the registers, estimated before there is code: for the message when the code
// spills.
#pragma once

#include "dialect/Mono.h"
#include <string>

namespace mono {

/// The stage that holds most in registers at once, and where.
struct RegisterDemand {
  mlir::Location loc; ///< of the op at which; of the schedule if no stage needs any
  std::string stage = {};
  int64_t registers = 0; ///< 32-bit registers per thread; 0 if no stage needs any
};

/// 32-bit registers a thread holds of a tensor of this type.
int64_t registersOf(mlir::RankedTensorType type, int64_t threads);

/// What a thread holds at each op of the body of a bound stage, in file order, were everything
/// loaded where it stands.
llvm::SmallVector<int64_t> registersByOp(StageOp stage);

/// An estimate for a bound schedule: each tensor takes the registers of its distribution from the
/// op that makes it, or where its loads go out ahead of a wait (LoadsAhead), to the last one that
/// uses it, a stream those of its weights in flight, a contraction those of its sums. Constants,
/// addresses and what else LLVM keeps or makes anew are not in it.
RegisterDemand largestRegisterDemand(ScheduleOp schedule);

} // namespace mono
