// How far index arithmetic may reach: binding computes it in 64 bits, a kernel in 32.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace mono {

/// True when an index op adds, subtracts, multiplies or shifts `operands`, integers, to what `bits`
/// signed bits don't hold, or when it takes a negative one as unsigned, which then depends on the
/// number of bits.
bool leavesRange(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands, unsigned bits);

} // namespace mono
