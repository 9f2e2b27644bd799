// What the conversions to narrow floats share: overflow by MODE, and writing one byte, word or
// dword of the destination while its other bits stay.
#pragma once

#include "runtime/emulator/exec/ValuOperands.h"
#include "runtime/emulator/numeric/FloatFormat.h"

namespace mono::emu::valu {

/// MODE.FP16_OVFL: clamp to the greatest finite number, infinite input too (CDNA4 ISA 7.3), or go
/// to infinity or NaN. fp6 and fp4 clamp in either case.
inline numeric::Overflow overflowOf(const Wave &wave) {
  return FloatMode(wave).fp16Overflow ? numeric::Overflow::Saturate : numeric::Overflow::ToInfinity;
}

/// Writes the low `bits` (8, 16 or 32) of each value to element `index` of the destination dword.
inline void storeElement(Wave &wave, const Instruction &inst, const uint32_t *values, unsigned bits,
                         unsigned index) {
  const uint32_t shift = bits == 32 ? 0 : bits * index;
  const uint32_t field = (bits == 32 ? ~0u : (1u << bits) - 1) << shift;
  uint32_t *row = wave.vgpr(inst.dst[0]);
  LaneBuffer merged;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    merged.dword[lane] = (row[lane] & ~field) | (values[lane] << shift & field);
  blendRow(row, merged.dword, writeMask(wave, inst));
}

} // namespace mono::emu::valu
