// A model of bank conflicts in LDS.
#include "runtime/emulator/exec/LdsBanks.h"

#include <algorithm>

namespace mono::emu {

void LdsBanks::note(unsigned lane, uint32_t address, unsigned bytes, bool isAtomic) {
  Access &access = current[current[0].lanes >> lane & 1];
  access.lanes |= uint64_t(1) << lane;
  access.address[lane] = address;
  elementBytes = bytes;
  shares = !isAtomic;
}

/// Cycles for the lanes of one phase: the most dwords any bank has to give.
uint64_t LdsBanks::phaseCycles(const Access &access, uint64_t lanes) const {
  std::array<uint32_t, banks * 4> dwords; // at most 64 lanes of 1 or 2, or 16 of 5 dwords
  size_t count = 0;
  forEachLane(lanes, [&](unsigned lane) {
    uint32_t first = access.address[lane] / 4, last = (access.address[lane] + elementBytes - 1) / 4;
    for (uint32_t dword = first; dword <= last; ++dword)
      dwords[count++] = dword;
  });
  std::sort(dwords.begin(), dwords.begin() + count);
  if (shares)
    count = size_t(std::unique(dwords.begin(), dwords.begin() + count) - dwords.begin());
  std::array<uint64_t, banks> load{};
  for (size_t n = 0; n < count; ++n)
    ++load[dwords[n] % banks];
  return *std::max_element(load.begin(), load.end());
}

void LdsBanks::finish() {
  const unsigned lanesOfPhase = elementBytes <= 4 ? 64 : elementBytes == 8 ? 32 : 16;
  const uint64_t phaseMask = lanesOfPhase == 64 ? ~uint64_t(0) : (uint64_t(1) << lanesOfPhase) - 1;
  for (Access &access : current) {
    if (!access.lanes)
      continue;
    ++accesses;
    for (unsigned first = 0; first < Wave::lanes; first += lanesOfPhase)
      if (uint64_t lanes = access.lanes & phaseMask << first)
        conflicts += phaseCycles(access, lanes) - 1;
    access.lanes = 0;
  }
}

} // namespace mono::emu
