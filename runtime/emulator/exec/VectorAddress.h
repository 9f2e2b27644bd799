// Lane addresses of the vector memory formats.
#pragma once

#include "runtime/emulator/exec/LaneMemory.h"

namespace mono::emu {

/// Addresses of the active lanes for elements of `bytes` bytes.
///  - GLOBAL: v[64] + offset, or s[64] + zext(v32) + offset; FLAT: v[64] + offset (CDNA4 ISA 10);
///  - SCRATCH: private aperture + v32 + s32 + offset of each lane;
///  - MUBUF: base + soffset + index * stride + voffset + offset, range-checked against NUM_RECORDS
///    without soffset, dword-wise for wide elements; ADD_TID_ENABLE adds the lane to the index, and
///    swizzled buffers interleave their records (CDNA4 ISA 9.1.5).
/// Faults the wave for elements of more than 4 bytes in a swizzled buffer; the mask is then 0.
LaneAddresses laneAddresses(Wave &w, const Instruction &i, unsigned bytes);

/// Which counters an instruction of this format moves.
inline ReturnPath returnPath(const Instruction &i) {
  return i.format == Format::Flat ? ReturnPath::Flat : ReturnPath::Vmem;
}

} // namespace mono::emu
