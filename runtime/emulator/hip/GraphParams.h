// From the parameters of graph nodes to operations.
#pragma once

#include "runtime/emulator/hip/Graph.h"

namespace mono::hipemu {

/// The launch of a kernel node on `device`; `func` of the parameters is a host stub, or a function
/// handle of a module.
hipError_t kernelOf(Runtime &runtime, const hipKernelNodeParams *params, unsigned device,
                    KernelOp *op);

hipError_t fillOf(Runtime &runtime, const hipMemsetParams *params, FillOp *op);

HostOp hostOf(const hipHostNodeParams &params);

} // namespace mono::hipemu
