// Finds LDS races: two waves of a workgroup that touch one byte, at least one of them writing,
// with no barrier between; and loads to LDS over what their own wave still reads or writes.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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
/// that is s <= R; one vector of R is all the clock there is. A wave's own DS instructions and
/// loads to LDS are counted apart and return in any order (CDNA4 ISA 4.4), so that a load to LDS
/// comes behind those DS instructions only that have been waited for when it issues. The other way
/// round is the check waitcnt's.
class RaceLds {
public:
  /// For `bytes` bytes of LDS and `waves` waves, at most 16.
  RaceLds(uint32_t bytes, unsigned waves);

  /// One instruction of one wave, as far as LDS goes.
  struct Access {
    LdsAccessKind kind;
    uint8_t wave;
    uint8_t mask;    ///< bytes of the dword
    uint32_t number; ///< among the DS, or load-to-LDS, instructions of all its wave's workgroups
    /// DS instructions of its wave that are complete; only a load to LDS asks.
    uint32_t dsRetired = 0;
  };
  /// The next DS (or load-to-LDS) instruction of `wave`, for the accesses of its lanes.
  Access begin(const Wave &wave, const Instruction &inst, LdsAccessKind kind);
  /// Notes one lane's access to [address, address + bytes), which must be in range. False, with the
  /// wave at fault, if it races.
  bool note(Wave &wave, const Access &access, unsigned lane, uint32_t address, uint32_t bytes) {
    if ((address | bytes) % 4 == 0) {
      Entry *entry = &dwords[address / 4];
      if (bytes == 16 && stepFourQuickly(entry, access))
        return true;
      for (; bytes != 0 && stepQuickly(*entry, access); ++entry, bytes -= 4)
        address += 4;
    }
    return bytes == 0 || noteSlowly(wave, access, lane, address, bytes);
  }
  /// begin() and note().
  bool note(Wave &wave, const Instruction &inst, unsigned lane, uint32_t address, uint32_t bytes,
            LdsAccessKind kind) {
    return note(wave, begin(wave, inst, kind), lane, address, bytes);
  }

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

  /// A plain access to a whole dword that plainly races with nothing; else nothing happens and
  /// step() has to look.
  [[gnu::always_inline]] bool stepQuickly(Entry &entry, const Access &access) const {
    if (entry.isSplit | entry.isAtomic | (entry.mask != 0xF && entry.mask != 0))
      return false;
    if (entry.hasWrite && entry.writer != access.wave &&
        entry.writeNumber > waves[entry.writer].retired[entry.isDma])
      return false;
    const uint16_t self = uint16_t(1u << access.wave);
    const bool isCurrent = entry.epoch == epoch;
    if (access.kind == LdsAccessKind::Read) {
      entry.readers = uint16_t((isCurrent ? entry.readers : 0) | self);
      entry.epoch = epoch;
      entry.lastReader = access.wave & 15;
      entry.readNumber = access.number;
    } else if (access.kind == LdsAccessKind::Write) {
      if ((entry.readers & ~self) &&
          (isCurrent || entry.readNumber > waves[entry.lastReader].retired[0]))
        return false;
      entry.hasWrite = true;
      entry.isDma = false;
      entry.writer = access.wave & 15;
      entry.writeNumber = access.number;
    } else {
      return false;
    }
    entry.mask = 0xF;
    return true;
  }
  /// The same for four dwords, which mostly have the same history.
  bool stepFourQuickly(Entry *entries, const Access &access) const {
    Entry entry = entries[0];
    if (std::memcmp(entries, entries + 1, 3 * sizeof(Entry)) != 0 || !stepQuickly(entry, access))
      return false;
    std::fill_n(entries, 4, entry);
    return true;
  }
  bool noteSlowly(Wave &wave, const Access &access, unsigned lane, uint32_t address,
                  uint32_t bytes);
  bool step(Entry &entry, const Access &access, Conflict &conflict) const;
  bool findConflict(const Entry &entry, const Access &access, Conflict &conflict) const;
  static bool findOwnConflict(const Entry &entry, const Access &access, Conflict &conflict);
  bool stepSplit(Entry &entry, const Access &access, Conflict &conflict);
  bool isOrdered(const Entry &entry) const;
  void split(Entry &entry);
  void remember(const Access &access, const Instruction &inst);
  std::string report(const Wave &wave, unsigned lane, uint32_t address, uint32_t bytes,
                     LdsAccessKind kind, const Conflict &conflict) const;

  uint32_t epoch = 1;
  /// Added to the instruction counts of the waves, so that all numbers of earlier workgroups are
  /// smaller, and their entries ordered, without being cleared.
  uint32_t base = 0;
  std::vector<Entry> dwords;
  std::vector<std::array<Entry, 4>> bytes;
  std::vector<WaveState> waves;
};

} // namespace mono::emu
