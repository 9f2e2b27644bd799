// How many workgroups of a kernel one compute unit holds at once.
#include "runtime/emulator/Occupancy.h"

#include <algorithm>
#include <limits>

namespace mono::emu {

unsigned Occupancy::workgroups() const { return std::min({byWaveSlots, byVgprs, byLds}); }

std::string Occupancy::limits() const {
  std::string list;
  auto add = [&](unsigned limit, const char *name) {
    if (limit == workgroups())
      list += (list.empty() ? "" : ",") + std::string(name);
  };
  add(byWaveSlots, "threads");
  add(byVgprs, "vgprs");
  add(byLds, "lds");
  return list;
}

Occupancy occupancyOf(unsigned vgprs, uint64_t ldsBytes, unsigned workItems) {
  Occupancy result;
  result.wavesPerWorkgroup = std::max((workItems + gfx950::waveSize - 1) / gfx950::waveSize, 1u);
  auto workgroupsOf = [&](unsigned wavesOfSimd) {
    return gfx950::simdsPerComputeUnit * wavesOfSimd / result.wavesPerWorkgroup;
  };
  result.byWaveSlots = workgroupsOf(gfx950::wavesPerSimd);
  result.byVgprs = workgroupsOf(gfx950::vgprsPerSimd / std::max(vgprs, 8u));
  uint64_t granules = (ldsBytes + gfx950::ldsGranule - 1) / gfx950::ldsGranule;
  result.byLds = granules ? unsigned(gfx950::ldsBytes / (granules * gfx950::ldsGranule))
                          : std::numeric_limits<unsigned>::max();
  return result;
}

} // namespace mono::emu
