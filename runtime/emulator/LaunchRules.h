// What a launch may ask of a kernel: grid, workgroup, and the arguments its caller gives.
#pragma once

#include "runtime/emulator/Emulator.h"

namespace mono::emu {

/// Work-items of the largest workgroup a kernel may have, by its metadata and the chip.
unsigned workgroupLimit(const KernelInfo &kernel);

/// An error that says the limit unless a grid of `grid` workgroups of `block` work-items can be
/// launched; see Launch for `remainder`.
llvm::Error checkShape(const KernelInfo &kernel, const std::array<uint32_t, 3> &grid,
                       const std::array<uint32_t, 3> &block,
                       const std::array<uint32_t, 3> &remainder);

/// True for an argument that the driver fills in (AMDGPUUsage, "hidden" value kinds).
bool isHidden(const KernelArg &arg);
/// Bytes of kernel arguments to the end of the last one that is not hidden.
uint64_t explicitBytes(llvm::ArrayRef<KernelArg> args);

} // namespace mono::emu
