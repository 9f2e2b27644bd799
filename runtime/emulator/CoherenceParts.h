// What the adversarial memory model is made of; for its own files only.
#pragma once

#include "runtime/Gfx950.h"
#include "runtime/emulator/Coherence.h"

#include <vector>

namespace mono::emu {

inline constexpr size_t l2Lines = gfx950::l2Bytes / cacheLineBytes,
                        l1Lines = gfx950::l1Bytes / cacheLineBytes,
                        scalarLines = gfx950::scalarCacheBytes / cacheLineBytes;

inline uint64_t lineOf(uint64_t address) { return address & ~(cacheLineBytes - 1); }

/// A store, or part of one, that has not arrived; or a buffer_wbl2 that has not been carried out.
struct CoherenceModel::Piece {
  uint64_t address = 0;
  uint64_t data = 0;
  uint32_t number = 0; ///< of the instruction, as Waitcnt::vmemIssued() counts
  uint8_t bytes = 0;   ///< 1 to 8; 0: a buffer_wbl2
  Scope scope = Scope::Wave;

  bool isWriteBack() const { return bytes == 0; }
  bool overlaps(uint64_t other, unsigned count) const {
    return address < other + count && other < address + bytes;
  }
};

/// What the model knows of a wave.
struct CoherenceModel::Agent {
  unsigned rank = 0, xcd = 0, cu = 0; ///< cu counts through the whole chip
  bool isOpen = true, isPending = false;
  unsigned lag = 1; ///< how rarely its stores arrive by chance
  std::vector<Piece> queue;
};

struct CoherenceModel::RankCaches {
  std::vector<Cache> l2, l1, scalar;
  RankCaches()
      : l2(gfx950::xcds, Cache(l2Lines)), l1(gfx950::computeUnits, Cache(l1Lines)),
        scalar(gfx950::computeUnits / gfx950::computeUnitsPerScalarCache, Cache(scalarLines)) {}
};

} // namespace mono::emu
