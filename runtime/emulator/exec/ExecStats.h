// Counters one host thread keeps for the waves of one rank; merged into Stats after a run.
#pragma once

#include "runtime/emulator/Stats.h"
#include "runtime/emulator/exec/LdsBanks.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace mono::emu {

/// Written by one thread only; `memoryChanges` is read by the others.
struct alignas(64) ExecStats {
  struct Traffic {
    uint64_t read = 0, written = 0, fromHbm = 0;
    std::vector<uint64_t> readBy; ///< by workgroup; stays empty unless these are counted

    void countReadBy(uint64_t workgroup, uint64_t bytes) {
      if (readBy.size() <= workgroup)
        readBy.resize(workgroup + 1);
      readBy[workgroup] += bytes;
    }
  };

  std::array<uint64_t, 256> instructions{}; ///< by Instruction::counter
  std::array<Traffic, memoryLevelCount> levels{};
  std::unique_ptr<LdsBanks> ldsBanks; ///< null unless conflicts are counted
  CacheTraffic caches;                ///< stays zero unless caches are modelled
  uint64_t workgroups = 0;
  bool countsWorkgroups = false;
  std::vector<Traffic> traffic; ///< by allocation id
  /// Stores and atomics that changed a byte of device memory. Pollers sleep until one of these
  /// counters moves, and a deadlock is a machine in which none does.
  std::atomic<uint64_t> memoryChanges = 0;

  Traffic &level(MemoryLevel level) { return levels[unsigned(level)]; }

  /// Call after the changed data are visible.
  void noteMemoryChange() {
    memoryChanges.store(memoryChanges.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
  }
};

} // namespace mono::emu
