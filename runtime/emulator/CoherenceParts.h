// What the adversarial memory model is made of; for its own files only.
#pragma once

#include "runtime/emulator/Coherence.h"

#include <vector>

namespace mono::emu {

inline constexpr unsigned xcds = 8, cusPerXcd = 32, cusPerScalarCache = 2;
/// 4 MB of L2 an XCD, 32 KB of L1 a CU, 16 KB of scalar cache for two CUs.
inline constexpr size_t l2Lines = 32768, l1Lines = 256, scalarLines = 128;

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
      : l2(xcds, Cache(l2Lines)), l1(xcds * cusPerXcd, Cache(l1Lines)),
        scalar(xcds * cusPerXcd / cusPerScalarCache, Cache(scalarLines)) {}
};

} // namespace mono::emu
