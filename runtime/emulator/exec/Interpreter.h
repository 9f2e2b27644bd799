// Runs the instructions of one wavefront.
#pragma once

#include "runtime/emulator/exec/Wave.h"

#include <cstdint>
#include <string>

namespace mono::emu {

/// Runs `wave` until it blocks (barrier, sleep, end, fault) or has executed `limit` instructions,
/// and returns how many it executed. After a fault, pc stays at the instruction at fault.
uint64_t runWave(Wave &wave, uint64_t limit);

/// "rank 0, workgroup (3, 0, 0), wave 2, pc 0x1240: s_barrier" for reports; pc as in the code
/// object.
std::string describeWave(const Wave &wave);

} // namespace mono::emu
