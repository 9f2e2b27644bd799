// What one device did during its launches.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mono::emu {

/// Bytes moved by vector memory and scalar loads, per allocation (active lanes only, no caches).
struct AllocationTraffic {
  std::string name;
  unsigned rank = 0; ///< the rank that owns the memory
  uint64_t bytesRead = 0;
  uint64_t bytesWritten = 0;
};

/// Counters of one rank, summed over all launches since the machine was built or resetStats().
struct Stats {
  /// Wave instructions by InstructionClass.
  std::array<uint64_t, instructionClassCount> instructions{};
  uint64_t ldsBytesRead = 0;
  uint64_t ldsBytesWritten = 0;
  uint64_t launches = 0;
  uint64_t workgroups = 0;
  std::vector<AllocationTraffic> traffic; ///< only allocations that were touched

  uint64_t totalInstructions() const {
    uint64_t sum = 0;
    for (uint64_t n : instructions)
      sum += n;
    return sum;
  }
  uint64_t count(InstructionClass cls) const { return instructions[unsigned(cls)]; }
};

/// "salu", "vmem-load", ...: the name of a class in reports.
const char *instructionClassName(InstructionClass cls);

} // namespace mono::emu
