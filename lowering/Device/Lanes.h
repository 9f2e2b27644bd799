// Small pieces of code in which the lanes of a wavefront work together: for selections, reductions
// and sums of what was received.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mono {

/// The bits of an f32 as an i32 whose unsigned order is the order of the keys of mono.select; 0 for
/// the keys that are never selected: -inf and NaNs with their sign bit set. No other key gives 0.
mlir::Value selectableBits(mlir::ImplicitLocOpBuilder &b, mlir::Value f32);

/// `base` (i32) plus the number of lower lanes of the wavefront whose `flag` (i1) holds. The whole
/// wavefront must be active.
mlir::Value addLowerLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value flag, mlir::Value base);

/// Sum of an i32 over this lane and all lower ones. The whole wavefront must be active.
mlir::Value inclusiveSum(mlir::ImplicitLocOpBuilder &b, mlir::Value i32);

/// What the lanes whose numbers differ only in the bits from `first` up to `end` hold of `value`,
/// 32 or 64 bits each, combined with `combine(mine, another's)`, a commutative op: `first` and
/// `end` are powers of two, at most 64. All these lanes get the same bits, from a tree of additions
/// that is a function of `first` and `end`; without LDS. The whole wavefront must be active.
mlir::Value combineLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t first,
                         int64_t end,
                         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

} // namespace mono
