// Random choices of the scheduler in an adversarial run: who runs, for how long, which rank is held
// back.
#pragma once

#include "runtime/emulator/Coherence.h"

#include <vector>

namespace mono::emu {

/// Lets ranks drift apart: each starts late by a random number of scheduler rounds and is held back
/// for random stretches later; and gives waves turns of very different length.
class RandomSchedule {
public:
  RandomSchedule(CoherenceModel &memory, unsigned ranks)
      : memory(memory), random(memory.random()), held(ranks) {
    for (unsigned &rounds : held)
      rounds = random.oneIn(2) ? 0 : unsigned(random.below(random.oneIn(4) ? 200 : 20));
  }

  /// Begins a round of the scheduler.
  void nextRound() {
    heldMask = 0;
    for (size_t rank = 0; rank < held.size(); ++rank) {
      if (held[rank] == 0 && random.oneIn(64))
        held[rank] = unsigned(random.below(40));
      if (held[rank] == 0)
        continue;
      --held[rank];
      heldMask |= uint64_t(1) << rank;
    }
  }
  /// Bit r: rank r is held back in this round.
  uint64_t heldRanks() const { return heldMask; }

  /// Instructions of the next turn.
  uint64_t quantum() {
    constexpr unsigned limits[] = {4, 32, 32, 256, 4096};
    return 1 + random.below(limits[random.below(5)]);
  }
  bool runsThisTime() { return !random.oneIn(4); }
  bool startsNoMore() { return random.oneIn(16); }

  CoherenceModel &memory;
  Random &random;

private:
  std::vector<unsigned> held; ///< rounds left, by rank
  uint64_t heldMask = 0;
};

} // namespace mono::emu
