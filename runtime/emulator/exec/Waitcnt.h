// Outstanding memory instructions of a wavefront: exact vmcnt and lgkmcnt counting and the
// registers whose data may still be on the way.
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <array>
#include <cstdint>

namespace mono::emu {

/// How one memory instruction returns, which decides what a wait with a count above zero covers
/// (CDNA4 ISA 4.4): VMEM and DS return in order among themselves, SMEM and FLAT do not. FLAT goes
/// to LDS or to memory and counts with both, so it may return before older VMEM and DS.
enum class ReturnPath : uint8_t { Vmem, Ds, Smem, Flat };

/// Where the outstanding counters of one wavefront stand. Data are written when an instruction
/// issues; this class only remembers which registers a correct program may not touch yet.
///
/// Register numbers are physical: VGPRs and AGPRs share 0..511 (AGPR n = accum_offset + n).
class Waitcnt {
public:
  static constexpr unsigned maxVmcnt = 63, maxLgkmcnt = 15;

  /// Notes an issued instruction that writes `count` registers from `first` on (count 0: a store).
  /// `scalar` says the destination is in the SGPR file. A full counter first retires its oldest
  /// entries, as the hardware stalls the issue. `ldsDma` marks a load whose data go to LDS.
  void issue(ReturnPath path, const Instruction &inst, bool scalar, unsigned first, unsigned count,
             bool ldsDma = false);

  /// s_waitcnt: retires what the given counts guarantee to have returned.
  void wait(unsigned vmcnt, unsigned lgkmcnt);

  /// Nothing outstanding: the check of registers can be skipped.
  bool idle() const { return numVmem == 0 && numLgkm == 0; }

  /// The load that may still write one of the registers, or null. For a write by an instruction of
  /// the same in-order path (`overwriting`), pending loads of that path do no harm.
  const Instruction *pendingVector(unsigned first, unsigned count,
                                   const ReturnPath *overwriting = nullptr) const;
  const Instruction *pendingScalar(unsigned first, unsigned count) const;

  /// Number of issued LDS-DMA loads and number of those known to be complete. Both only grow; DMA
  /// number n (counted from 1) is complete when n <= ldsDmaRetired().
  uint64_t ldsDmaIssued() const { return dmaIssued; }
  uint64_t ldsDmaRetired() const { return dmaRetired; }
  /// The same for all instructions that vmcnt counts, and for those that access LDS (DS and FLAT);
  /// behind a FLAT that is out none is known to be complete.
  uint64_t vmemIssued() const { return vmemTotal; }
  uint64_t vmemRetired() const { return vmemTotal - vmemSpan; }
  uint64_t dsIssued() const { return dsTotal; }
  uint64_t dsRetired() const;

  /// Outstanding instructions, as the hardware counters would show at most.
  unsigned vmcnt() const { return numVmem; }
  unsigned lgkmcnt() const { return numLgkm < maxLgkmcnt ? numLgkm : maxLgkmcnt; }

private:
  struct Entry {
    const Instruction *inst = nullptr;
    uint16_t first = 0;
    uint8_t count = 0;
    ReturnPath path = ReturnPath::Vmem;
    bool scalar = false;
    bool ldsDma = false;
    bool isRetired = false;
    uint64_t dsNumber = 0; ///< of an access to LDS: as dsIssued() counts them
  };

  Entry &vmemAt(unsigned n) { return vmem[(vmemHead + n) % vmemCapacity]; }
  const Entry &vmemAt(unsigned n) const { return vmem[(vmemHead + n) % vmemCapacity]; }
  void retireVmem(unsigned keep);
  void retireVmemAt(unsigned n);
  void dropRetired();
  void retireDs(unsigned keep);
  void retireUnordered();
  void release(const Entry &entry, uint8_t bit);
  void mark(const Entry &entry, uint8_t bit);
  const Instruction *findEntry(bool scalar, unsigned reg) const;

  static constexpr unsigned vmemCapacity = 64, dsCapacity = 16, unorderedCapacity = 16;
  /// Register state bits: loads of which path are under way to it.
  static constexpr uint8_t vmemBit = 1, dsBit = 2, unorderedBit = 4;

  std::array<Entry, vmemCapacity> vmem;
  std::array<Entry, dsCapacity> ds;
  std::array<Entry, unorderedCapacity> unordered;
  /// `vmemSpan` entries from the oldest that is out on, of which `numVmem` are out and `vmemFlat`
  /// of these are FLAT.
  uint32_t vmemHead = 0, vmemSpan = 0, numVmem = 0, vmemFlat = 0;
  uint32_t dsHead = 0, numDs = 0;
  uint32_t numUnordered = 0, numFlat = 0;
  uint32_t numLgkm = 0;
  uint64_t dmaIssued = 0, dmaRetired = 0;
  uint64_t vmemTotal = 0, dsTotal = 0;
  std::array<uint8_t, 512> vectorState{};
  std::array<uint8_t, 128> scalarState{};
};

} // namespace mono::emu
