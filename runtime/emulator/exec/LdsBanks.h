// A model of bank conflicts in LDS.
#pragma once

#include "runtime/emulator/exec/Wave.h"

#include <array>
#include <cstdint>

namespace mono::emu {

/// Counts the cycles that LDS accesses take beyond those without conflicts.
///
/// The model: 64 banks of 4 bytes, bank = address / 4 % 64 (CDNA4 ISA 11.1). One access of a wave
/// is served in phases of consecutive lanes that ask for at most 256 bytes: all 64 lanes for
/// elements of up to 4 bytes, 32 lanes for 8 bytes, 16 lanes for 12 and 16 bytes. In a phase a bank
/// gives one dword a cycle, to all lanes that want this dword; the phase takes as many cycles as
/// its busiest bank has different dwords. Lanes of atomics do not share a dword. The hardware's
/// choice of the lanes of a phase is not public, so that the counts are a model, not a measurement.
/// Two-address instructions are two accesses.
class LdsBanks {
public:
  static constexpr unsigned banks = 64, phaseBytes = 256;

  uint64_t accesses = 0;  ///< one a wave and address
  uint64_t conflicts = 0; ///< cycles beyond one a phase

  /// One lane of the instruction under way; a lane that comes again asks for a second address.
  void note(unsigned lane, uint32_t address, unsigned bytes, bool isAtomic);
  /// The instruction is complete.
  void finish();

private:
  struct Access {
    uint64_t lanes = 0;
    std::array<uint32_t, Wave::lanes> address;
  };
  uint64_t phaseCycles(const Access &access, uint64_t lanes) const;

  std::array<Access, 2> current;
  unsigned elementBytes = 0;
  bool shares = true; ///< lanes may share a dword
};

} // namespace mono::emu
