// Finds LDS races: two waves of a workgroup that touch one byte, at least one of them writing,
// with no barrier between.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mono::emu {

class Wave;

/// How an instruction touches LDS.
enum class LdsAccessKind : uint8_t {
  Read,
  Write,
  Atomic, ///< ordered by the LDS among themselves
  Dma,    ///< the write of a load to LDS; counted in vmcnt
};

/// The accesses to the LDS of one workgroup since they were last ordered.
///
/// An access is ordered before what other waves do after a barrier if it had been waited for when
/// its wave arrived there: DS instructions by lgkmcnt, loads to LDS by vmcnt. With s the number of
/// an access among those of its wave and kind, and R the number retired at the wave's last barrier,
/// that is s <= R; one vector of R is all the clock there is.
class RaceLds {
public:
  /// For `bytes` bytes of LDS and `waves` waves, at most 16.
  RaceLds(uint32_t bytes, unsigned waves);

  /// Notes one lane's access to [address, address + bytes), which must be in range, as the next DS
  /// (or load-to-LDS) instruction of `wave`. False, with the wave at fault, if it races.
  bool note(Wave &wave, const Instruction &inst, unsigned lane, uint32_t address, uint32_t bytes,
            LdsAccessKind kind);

  /// All live waves have arrived at a barrier.
  void barrier(const std::vector<Wave> &waves);

  /// For the next workgroup.
  void reset();

private:
  static constexpr unsigned maxWaves = 16, logSize = 1024;

  /// Unordered accesses to the bytes `mask` of one dword, or to one byte.
  struct Entry {
    uint32_t writeNumber = 0; ///< of the last write; the index into `bytes` of a split entry
    uint32_t readNumber = 0;  ///< of the last read
    uint32_t epoch = 0;       ///< barrier interval `readers` is about
    uint16_t readers = 0;     ///< waves that read in that interval, or did atomics
    uint8_t writer : 4 = 0, lastReader : 4 = 0;
    uint8_t mask : 4 = 0;
    bool hasWrite : 1 = false, isDma : 1 = false, isAtomic : 1 = false, isSplit : 1 = false;
  };
  static_assert(sizeof(Entry) == 16);

  struct Access {
    LdsAccessKind kind;
    uint8_t wave;
    uint8_t mask;
    uint32_t number;
  };
  /// The earlier of two racing accesses.
  struct Conflict {
    uint8_t wave;
    bool isWrite, isDma;
    uint32_t number; ///< 0: not known
  };
  /// The last instructions of a wave by their number.
  using Log = std::vector<const Instruction *>;
  struct WaveState {
    uint32_t retired[2] = {0, 0}; ///< DS and load-to-LDS instructions complete at the last barrier
    uint32_t newest[2] = {0, 0};
    Log log[2];
  };

  bool step(Entry &entry, const Access &access, Conflict &conflict) const;
  bool findConflict(const Entry &entry, const Access &access, Conflict &conflict) const;
  bool stepSplit(Entry &entry, const Access &access, Conflict &conflict);
  bool isOrdered(const Entry &entry) const;
  void split(Entry &entry);
  void remember(const Access &access, const Instruction &inst);
  std::string report(const Wave &wave, unsigned lane, uint32_t address, uint32_t bytes,
                     LdsAccessKind kind, const Conflict &conflict) const;

  uint32_t epoch = 1;
  std::vector<Entry> dwords;
  std::vector<std::array<Entry, 4>> bytes;
  std::vector<WaveState> waves;
};

} // namespace mono::emu
