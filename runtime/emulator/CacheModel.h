// A model of what the caches keep away from HBM.
#pragma once

#include "runtime/emulator/Memory.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace mono::emu {

class Wave;
struct Instruction;
struct LaneAddresses;

/// Tags of a set-associative cache of 128-byte lines; the line used longest ago goes first.
class CacheTags {
public:
  static constexpr unsigned ways = 16, lineShift = 7, lineBytes = 1 << lineShift;

  explicit CacheTags(uint64_t bytes) : sets(bytes / lineBytes / ways), lines(sets * ways) {}

  /// Makes `line` (address / 128) the latest of its set; true if it was there.
  bool use(uint64_t line);
  void drop(uint64_t line);

private:
  uint64_t *setOf(uint64_t line) { return &lines[line % sets * ways]; }
  uint64_t sets;
  std::vector<uint64_t> lines; ///< latest first; 0: empty, as no line of a device is line 0
};

/// Counts which lines the L2s ask for and which of them come from HBM, in ExecStats::caches.
///
/// The model: an L2 of 4 MiB for each of 8 XCDs, workgroup i on XCD i % 8, and an Infinity Cache of
/// 256 MiB a device on the memory's side, both of 128-byte lines and 16 ways, all empty when a run
/// starts. An instruction asks once for a line that neighbouring lanes share. Vector loads below
/// device scope and scalar loads go through the L2; device scope and atomics go past it, and so
/// does memory that peers see (CDNA4 ISA 9.1.10). A load that the Infinity Cache misses brings its
/// line from HBM; a store puts its line there without bringing it. L1 and the scalar cache, the
/// hash of addresses to channels, instruction fetch and prefetching are not modelled; with several
/// host threads the order of accesses, and so what a full cache gives up, differs from run to run.
class CacheModel {
public:
  CacheModel(const AddressSpace &memory, unsigned ranks);

  enum class Kind : uint8_t { Load, Store, Atomic };
  /// Notes the lanes' accesses of `bytes` bytes each; other memory than that of devices is ignored.
  void access(Wave &wave, const Instruction &inst, const LaneAddresses &at, unsigned bytes,
              Kind kind);
  /// The same for a scalar access.
  void access(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes, Kind kind);

private:
  struct Cache {
    explicit Cache(uint64_t bytes) : tags(bytes) {}
    std::mutex mutex;
    CacheTags tags;
  };
  struct Rank {
    std::vector<std::unique_ptr<Cache>> l2; ///< one an XCD
    std::unique_ptr<Cache> infinityCache;
  };
  void touch(Wave &wave, const Instruction &inst, uint64_t line, Kind kind);

  const AddressSpace &memory;
  std::vector<Rank> ranks;
};

} // namespace mono::emu
