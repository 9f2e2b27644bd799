// The LDS of one workgroup, with written-byte tracking and the LDS-DMA loads under way to it.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mono::emu {

class Wave;

/// LDS is allocated in granules of 1280 bytes (CDNA4 ISA 11.1), but only the bytes asked for may be
/// used. One host thread at a time.
class Lds {
public:
  explicit Lds(uint32_t bytes);

  uint32_t size() const { return bytes; }
  uint8_t *data() { return storage.get(); }
  bool contains(uint64_t address, uint32_t count) const {
    return address + count <= bytes && address + count >= address;
  }

  /// All of [address, address + count), at most 64 bytes and in range, has been written.
  bool isWritten(uint32_t address, uint32_t count) const;
  void markWritten(uint32_t address, uint32_t count);

  /// A load_lds whose data may not have arrived: `number` is its place in the issuing wave's count
  /// of DMA loads (Waitcnt::ldsDmaIssued).
  struct PendingDma {
    uint32_t begin, end;
    const Wave *wave;
    uint64_t number;
    const Instruction *inst;
  };
  void addPendingDma(const PendingDma &dma);
  bool hasPendingDma() const { return !pending.empty(); }
  /// The DMA that still may write into the range, or null. Forgets those that have completed.
  const PendingDma *findPendingDma(uint32_t address, uint32_t count);
  /// Forgets everything a wave had under way (at its end).
  void dropPendingDma(const Wave *wave);

  /// Back to never written, for the next workgroup.
  void reset();

private:
  uint32_t bytes;
  std::unique_ptr<uint8_t[]> storage;
  std::vector<uint64_t> writtenBits; ///< one bit a byte
  std::vector<PendingDma> pending;
};

} // namespace mono::emu
