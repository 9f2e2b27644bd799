// What one device did during its launches.
#pragma once

#include "runtime/emulator/Occupancy.h"
#include "runtime/emulator/exec/Instruction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mono::emu {

/// Bytes moved by vector memory and scalar loads, per allocation (active lanes only, no caches but
/// for `bytesFromHbm`).
struct AllocationTraffic {
  std::string name;
  unsigned rank = 0; ///< the rank that owns the memory
  uint64_t bytesRead = 0;
  uint64_t bytesWritten = 0;
  uint64_t bytesFromHbm = 0; ///< as CacheModel has it, in whole lines
  /// What each workgroup of a grid read, to the last that read any; only with
  /// Options::countWorkgroups.
  std::vector<uint64_t> readByWorkgroup;

  /// Bytes of the workgroup that read most.
  uint64_t mostReadByWorkgroup() const {
    return readByWorkgroup.empty() ? 0 : *std::ranges::max_element(readByWorkgroup);
  }
};

/// What CacheModel counts; only with Options::modelCaches.
struct CacheTraffic {
  uint64_t l2Lines = 0, l2Misses = 0; ///< lines that loads ask the L2s for
  uint64_t memoryLines = 0;           ///< lines that loads and atomics ask the memory's side for
  uint64_t hbmBytesRead = 0;
};

/// Where the bytes of an access are. Caches are not modelled: what a load asks for counts.
enum class MemoryLevel : uint8_t {
  Lds,         ///< DS, FLAT to LDS, and what loads to LDS write
  Global,      ///< vector access to memory that only this rank sees, through L1 and L2
  Scalar,      ///< SMEM, through the scalar cache; kernel arguments too
  FineGrained, ///< vector access to own peer-visible memory, or to the host's
  Peers,       ///< vector access to memory of other ranks
  Scratch,     ///< private memory
};
inline constexpr unsigned memoryLevelCount = 6;

struct LevelTraffic {
  uint64_t bytesRead = 0, bytesWritten = 0;
};

/// Counters of one rank, summed over all launches since the machine was built or resetStats().
struct Stats {
  /// Wave instructions by InstructionClass.
  std::array<uint64_t, instructionClassCount> instructions{};
  std::array<LevelTraffic, memoryLevelCount> levels{}; ///< by MemoryLevel
  /// Executed MFMA and SMFMAC instructions by shape and types, see matrixKindName().
  std::vector<std::pair<std::string, uint64_t>> matrix;
  /// LDS accesses of waves, and the cycles they took beyond those without conflicts, as LdsBanks
  /// models them; only with Options::countBankConflicts.
  uint64_t ldsAccesses = 0, ldsBankConflicts = 0;
  CacheTraffic caches;
  Occupancy occupancy; ///< of the last launch
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
  const LevelTraffic &level(MemoryLevel level) const { return levels[unsigned(level)]; }
};

/// "salu", "vmem-load", ...: the name of a class in reports.
const char *instructionClassName(InstructionClass cls);
/// "lds", "fine-grained", ...
const char *memoryLevelName(MemoryLevel level);

} // namespace mono::emu
