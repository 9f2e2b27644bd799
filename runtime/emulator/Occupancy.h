// How many workgroups of a kernel one compute unit holds at once, and what limits them.
#pragma once

#include "runtime/Gfx950.h"

#include <cstdint>
#include <string>

namespace mono::emu {

/// Workgroups of one kernel on one compute unit of gfx950.
struct Occupancy {
  unsigned wavesPerWorkgroup = 1;
  /// Workgroups each resource has room for; LDS that is not used limits nothing.
  unsigned byWaveSlots = 0, byVgprs = 0, byLds = 0;

  /// Workgroups a compute unit holds; 0: not even one fits.
  unsigned workgroups() const;
  /// Waves on each SIMD when the compute unit is full.
  double waves() const {
    return double(workgroups() * wavesPerWorkgroup) / gfx950::simdsPerComputeUnit;
  }
  /// The resources that admit no more: "threads", "vgprs", "lds", separated by commas.
  std::string limits() const;
};

/// Occupancy of a kernel with `vgprs` unified registers (VGPRs and AGPRs, a multiple of 8),
/// `ldsBytes` of static and dynamic LDS, and workgroups of `workItems`.
Occupancy occupancyOf(unsigned vgprs, uint64_t ldsBytes, unsigned workItems);

} // namespace mono::emu
