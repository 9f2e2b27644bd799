// The LDS of one workgroup.
#include "runtime/emulator/exec/Lds.h"

#include "runtime/emulator/exec/Wave.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

/// What never-written LDS holds: as a float a large NaN-free oddity, as an index out of range.
static constexpr uint8_t poisonByte = 0xA5;

Lds::Lds(uint32_t bytes)
    : bytes(bytes), storage(new uint8_t[bytes + 64]), writtenBits(bytes / 64 + 2) {
  std::memset(storage.get(), poisonByte, bytes + 64);
}

void Lds::reset() {
  std::memset(storage.get(), poisonByte, bytes);
  std::fill(writtenBits.begin(), writtenBits.end(), 0);
  pending.clear();
}

static uint64_t lowBits(uint32_t count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

bool Lds::isWritten(uint32_t address, uint32_t count) const {
  uint32_t shift = address % 64;
  uint64_t mask = lowBits(count) << shift;
  if ((writtenBits[address / 64] & mask) != mask)
    return false;
  if (shift + count <= 64)
    return true;
  mask = lowBits(shift + count - 64);
  return (writtenBits[address / 64 + 1] & mask) == mask;
}

void Lds::markWritten(uint32_t address, uint32_t count) {
  uint32_t shift = address % 64;
  writtenBits[address / 64] |= lowBits(count) << shift;
  if (shift + count > 64)
    writtenBits[address / 64 + 1] |= lowBits(shift + count - 64);
}

void Lds::addPendingDma(const PendingDma &dma) {
  std::erase_if(pending,
                [](const PendingDma &p) { return p.number <= p.wave->waitcnt.ldsDmaRetired(); });
  pending.push_back(dma);
}

const Lds::PendingDma *Lds::findPendingDma(uint32_t address, uint32_t count) {
  std::erase_if(pending,
                [](const PendingDma &p) { return p.number <= p.wave->waitcnt.ldsDmaRetired(); });
  for (const PendingDma &p : pending)
    if (address < p.end && address + count > p.begin)
      return &p;
  return nullptr;
}

void Lds::dropPendingDma(const Wave *wave) {
  std::erase_if(pending, [&](const PendingDma &p) { return p.wave == wave; });
}

} // namespace mono::emu
