// Outstanding memory instructions of a wavefront.
#include "runtime/emulator/exec/Waitcnt.h"

#include <algorithm>

namespace mono::emu {

void Waitcnt::mark(const Entry &entry, uint8_t bit) {
  uint8_t *state = entry.scalar ? scalarState.data() : vectorState.data();
  for (unsigned i = 0; i < entry.count; ++i)
    state[entry.first + i] |= bit;
}

void Waitcnt::release(const Entry &entry, uint8_t bit) {
  uint8_t *state = entry.scalar ? scalarState.data() : vectorState.data();
  for (unsigned i = 0; i < entry.count; ++i)
    state[entry.first + i] &= uint8_t(~bit);
}

void Waitcnt::issue(ReturnPath path, const Instruction &inst, bool scalar, unsigned first,
                    unsigned count, bool ldsDma) {
  Entry entry{&inst, uint16_t(first), uint8_t(count), path, scalar, ldsDma};
  dmaIssued += ldsDma;
  if (path == ReturnPath::Vmem || path == ReturnPath::Flat) {
    retireVmem(maxVmcnt - 1);
    // With FLAT out nobody knows which one a full counter has waited for: forget the oldest.
    while (numVmem >= maxVmcnt || vmemSpan == vmemCapacity) {
      retireVmemAt(0);
      dropRetired();
    }
    ++vmemTotal;
    ++numVmem;
    vmemFlat += path == ReturnPath::Flat;
    vmemAt(vmemSpan++) = entry;
    mark(entry, vmemBit);
  }
  if (path == ReturnPath::Vmem)
    return;
  dsTotal += path != ReturnPath::Smem;
  entry.dsNumber = dsTotal;
  if (path == ReturnPath::Ds) {
    retireDs(dsCapacity - 1);
    ds[(dsHead + numDs++) % dsCapacity] = entry;
    mark(entry, dsBit);
  } else {
    // A full table of unordered loads cannot be retired one by one, but the hardware counter
    // saturates at 15 too, so that the issue waits for some of them: forget the oldest.
    if (numUnordered == unorderedCapacity) {
      release(unordered[0], unorderedBit);
      numFlat -= unordered[0].path == ReturnPath::Flat;
      for (unsigned i = 1; i < numUnordered; ++i)
        unordered[i - 1] = unordered[i];
      --numUnordered;
      for (unsigned i = 0; i < numUnordered; ++i)
        mark(unordered[i], unorderedBit);
    }
    unordered[numUnordered++] = entry;
    numFlat += path == ReturnPath::Flat;
    mark(entry, unorderedBit);
  }
  numLgkm = numDs + numUnordered;
}

void Waitcnt::wait(unsigned vmcnt, unsigned lgkmcnt) {
  retireVmem(vmcnt);
  retireDs(lgkmcnt);
  if (lgkmcnt == 0)
    retireUnordered();
  numLgkm = numDs + numUnordered;
}

/// FLAT may be what has returned: a count above zero covers the others only as far as they alone
/// exceed it.
void Waitcnt::retireVmem(unsigned keep) {
  bool isAll = keep == 0;
  for (unsigned n = 0; numVmem > (isAll ? 0 : keep + vmemFlat); ++n)
    if (const Entry &entry = vmemAt(n);
        !entry.isRetired && (isAll || entry.path != ReturnPath::Flat))
      retireVmemAt(n);
  dropRetired();
}

/// The entry `n` behind the oldest has returned.
void Waitcnt::retireVmemAt(unsigned n) {
  Entry &entry = vmemAt(n);
  entry.isRetired = true;
  --numVmem;
  vmemFlat -= entry.path == ReturnPath::Flat;
  dmaRetired += entry.ldsDma;
  release(entry, vmemBit);
  // A later load to the same register keeps it pending.
  for (unsigned i = n + 1; i < vmemSpan && entry.count; ++i) {
    const Entry &later = vmemAt(i);
    if (!later.isRetired && later.scalar == entry.scalar &&
        later.first < entry.first + entry.count && later.first + later.count > entry.first)
      mark(later, vmemBit);
  }
}

void Waitcnt::dropRetired() {
  while (vmemSpan != 0 && vmemAt(0).isRetired) {
    vmemHead = (vmemHead + 1) % vmemCapacity;
    --vmemSpan;
  }
}

void Waitcnt::retireDs(unsigned keep) {
  while (numDs > keep) {
    const Entry entry = ds[dsHead];
    dsHead = (dsHead + 1) % dsCapacity;
    --numDs;
    release(entry, dsBit);
    for (unsigned i = 0; i < numDs; ++i)
      mark(ds[(dsHead + i) % dsCapacity], dsBit);
  }
}

void Waitcnt::retireUnordered() {
  for (unsigned i = 0; i < numUnordered; ++i)
    release(unordered[i], unorderedBit);
  numUnordered = numFlat = 0;
}

uint64_t Waitcnt::dsRetired() const {
  uint64_t retired = numDs ? ds[dsHead].dsNumber - 1 : dsTotal;
  for (unsigned i = 0; i < numUnordered; ++i)
    if (unordered[i].path == ReturnPath::Flat)
      retired = std::min(retired, unordered[i].dsNumber - 1);
  return retired;
}

const Instruction *Waitcnt::pendingVector(unsigned first, unsigned count,
                                          const ReturnPath *overwriting) const {
  uint8_t harmless = 0;
  if (overwriting && *overwriting == ReturnPath::Vmem)
    harmless = vmemBit;
  if (overwriting && *overwriting == ReturnPath::Ds)
    harmless = dsBit;
  for (unsigned i = 0; i < count; ++i)
    if (vectorState[first + i] & ~harmless)
      return findEntry(false, first + i);
  return nullptr;
}

const Instruction *Waitcnt::pendingScalar(unsigned first, unsigned count) const {
  for (unsigned i = 0; i < count; ++i)
    if (scalarState[first + i])
      return findEntry(true, first + i);
  return nullptr;
}

/// The youngest outstanding load that writes the register.
const Instruction *Waitcnt::findEntry(bool scalar, unsigned reg) const {
  auto writes = [&](const Entry &e) {
    return e.scalar == scalar && reg >= e.first && reg < unsigned(e.first) + e.count;
  };
  for (unsigned i = numUnordered; i-- > 0;)
    if (writes(unordered[i]))
      return unordered[i].inst;
  for (unsigned i = numDs; i-- > 0;)
    if (writes(ds[(dsHead + i) % dsCapacity]))
      return ds[(dsHead + i) % dsCapacity].inst;
  for (unsigned i = vmemSpan; i-- > 0;)
    if (!vmemAt(i).isRetired && writes(vmemAt(i)))
      return vmemAt(i).inst;
  return nullptr;
}

} // namespace mono::emu
