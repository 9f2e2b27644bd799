// Values that MLIR leaves undefined become some value.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mono {

/// Gives every value of the schedule that `kernel` computes some value: an integer divided by zero,
/// a shift too far, a float too large for an integer, an infinity where a flag says that there is
/// none. LLVM may drop whatever depends on an undefined one, such as a store or the post that
/// another workgroup waits for. Without cost where divisors and shifts are constants.
void defineValues(mlir::gpu::GPUFuncOp kernel);

} // namespace mono
