// Small pieces of code that selections of one wavefront and of a workgroup share.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mono {

/// The bits of an f32 as an i32 whose unsigned order is the order of the keys of mono.select; 0 for
/// the keys that are never selected: -inf and NaNs with their sign bit set. No other key gives 0.
mlir::Value selectableBits(mlir::ImplicitLocOpBuilder &b, mlir::Value f32);

/// `base` (i32) plus the number of lower lanes of the wavefront whose `flag` (i1) holds. The whole
/// wavefront must be active.
mlir::Value addLowerLanes(mlir::ImplicitLocOpBuilder &b, mlir::Value flag, mlir::Value base);

/// Sum of an i32 over this lane and all lower ones. The whole wavefront must be active.
mlir::Value inclusiveSum(mlir::ImplicitLocOpBuilder &b, mlir::Value i32);

} // namespace mono
