// From the arguments of a launch call to the kernel operation that is queued or recorded.
#pragma once

#include "runtime/Gfx950.h"
#include "runtime/emulator/hip/Runtime.h"

namespace mono::hipemu {

struct LaunchShape {
  dim3 grid;  ///< in workgroups
  dim3 block; ///< in work-items
  size_t dynamicLdsBytes = 0;
  bool cooperative = false; ///< the whole grid must be resident
  dim3 remainder{0, 0, 0};  ///< work-items of a partial last workgroup, 0: it is whole
};

/// The kernel operation of a launch on `device`, everything copied and checked: the shape against
/// the chip, the arguments against the kernel's metadata. Arguments are `params`, one pointer an
/// argument, or `extra`, a buffer in kernarg layout.
hipError_t makeKernelOp(Runtime &runtime, Function *function, unsigned device,
                        const LaunchShape &shape, void **params, void **extra, KernelOp *op);

/// Workgroups of the kernel that a compute unit holds at once; 0 if none fits.
unsigned workgroupsPerComputeUnit(const Function &function, unsigned blockSize,
                                  size_t dynamicLdsBytes);

namespace gfx950 = mono::gfx950; // also for files that only use this namespace
using gfx950::computeUnits, gfx950::maxWorkgroupSize, gfx950::waveSize;

} // namespace mono::hipemu
