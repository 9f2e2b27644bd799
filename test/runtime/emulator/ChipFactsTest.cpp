// The compiler and the runtime may not include each other: both have the facts of the chip, and
// here they are the same.
#include "dialect/target/Gfx950.h"
#include "runtime/Gfx950.h"

namespace mono::gfx950 {

static_assert(computeUnits == kComputeUnits);
static_assert(waveSize == kWaveSize);
static_assert(maxWorkgroupSize == kMaxThreads);
static_assert(ldsBytes == kLdsBytes && ldsGranule == kLdsGranule);
static_assert(wavesPerComputeUnit == kWavesPerCu && simdsPerComputeUnit == kSimdsPerCu);
static_assert(vgprsPerSimd == kRegistersPerLane);

} // namespace mono::gfx950
