// Arithmetic of what fits on a compute unit.
#include "lowering/Residency.h"

#include "dialect/target/Gfx950.h"
#include "lowering/Rules.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mono {

static Error failure(const KernelResources &kernel, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           "kernel '" + kernel.name + "': " + message + ruleTag("residency"));
}

Error checkResidency(const KernelResources &kernel, const Residence &grid) {
  if (grid.ctas > gfx950::kComputeUnits)
    return failure(kernel, "expected at most " + Twine(gfx950::kComputeUnits) +
                               " workgroups, one on each compute unit, but got " +
                               Twine(grid.ctas));
  int64_t waves = divideCeil(grid.threads, gfx950::kWaveSize);
  if (waves > gfx950::kWavesPerCu)
    return failure(kernel, "expected at most " + Twine(gfx950::kWavesPerCu) +
                               " wavefronts on a compute unit, but a workgroup of " +
                               Twine(grid.threads) + " threads has " + Twine(waves));
  int64_t wavesOnSimd = divideCeil(waves, gfx950::kSimdsPerCu);
  int64_t registers = alignTo(std::max<int64_t>(kernel.vgprs, 1), gfx950::kRegisterGranule);
  if (registers * wavesOnSimd > gfx950::kRegistersPerLane)
    return failure(kernel, "expected at most " + Twine(gfx950::kRegistersPerLane) +
                               " vector registers per lane of a SIMD, but " + Twine(wavesOnSimd) +
                               " of the " + Twine(waves) + " wavefronts share one and take " +
                               Twine(registers) + " each (" + Twine(kernel.vgprs) +
                               " in granules of " + Twine(gfx950::kRegisterGranule) +
                               "); use fewer threads or smaller tiles");
  int64_t lds = std::max(grid.ldsBytes, kernel.ldsBytes);
  int64_t granted = alignTo(lds, gfx950::kLdsGranule);
  if (granted > gfx950::kLdsBytes)
    return failure(kernel, "expected at most " + Twine(gfx950::kLdsBytes) +
                               " bytes of LDS on a compute unit, but a workgroup takes " +
                               Twine(granted) + " (" + Twine(lds) + " in granules of " +
                               Twine(gfx950::kLdsGranule) + ")");
  return Error::success();
}

} // namespace mono
