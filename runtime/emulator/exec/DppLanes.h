// DPP16: which lane each lane reads its first source from, and which lanes are written.
#pragma once

#include "runtime/emulator/exec/Wave.h"

namespace mono::emu {

/// The lane that `lane` reads under `ctrl`, or -1 where the control shifts past the end of the row
/// or wavefront (CDNA4 ISA "Data Parallel Processing"). Row 0 of row_bcast15 and rows 0 and 1 of
/// row_bcast31 have no source.
int dppSourceLane(unsigned ctrl, unsigned lane);

/// Copies `source` as DPP presents it into `out`, 64 dwords each: a lane whose source is out of
/// range or disabled by EXEC reads zero (with bound_ctrl clear it is not written anyway).
void dppFetch(const Wave &wave, const DppControl &dpp, const uint32_t *source, uint32_t *out);

/// The lanes that a DPP instruction writes: EXEC, the row and bank masks, and with bound_ctrl clear
/// only lanes with a valid source.
uint64_t dppWriteMask(const Wave &wave, const DppControl &dpp);

/// Whether gfx950 defines this dpp_ctrl value.
bool dppControlIsValid(unsigned ctrl);

} // namespace mono::emu
