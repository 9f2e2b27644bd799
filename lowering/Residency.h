// Whether the workgroups of a finished kernel are all on the chip at once: they wait for each
// other, so one that has no place would hang the rest.
#pragma once

#include "lowering/codeobject/CodeObject.h"

namespace mono {

/// A grid as it is launched. `ldsBytes` is all LDS of a workgroup, also what is only asked for at
/// launch.
struct Residence {
  int64_t ctas = 0;
  int64_t threads = 0;
  int64_t ldsBytes = 0;
};

/// Error if a gfx950 can't hold the whole grid, one workgroup on a compute unit: wavefronts (8 on
/// each of 4 SIMDs), vector registers (512 a lane of a SIMD, in granules of 8, shared by its
/// wavefronts) and LDS (granules of 1280 bytes). From the finished object, not from an estimate.
/// Limits: dialect/target/Gfx950.h.
llvm::Error checkResidency(const KernelResources &kernel, const Residence &grid);

} // namespace mono
