// Checked access of lanes to LDS.
#include "runtime/emulator/exec/LdsAccess.h"

#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Program.h"

#include <fmt/format.h>
#include <utility>

namespace mono::emu {

LdsAccess::LdsAccess(Wave &wave, const Instruction &inst)
    : wave(wave), lds(wave.workgroup->lds()), race(wave.workgroup->ldsRace()),
      banks(wave.stats->ldsBanks.get()) {
  if (race)
    raceRead = raceWrite = race->begin(wave, inst, LdsAccessKind::Read);
  const Checks &checks = wave.workgroup->launch().checks;
  checkWritten = checks.has(Check::LdsUninit);
  dmaPending = lds.hasPendingDma() && checks.has(Check::Waitcnt);
}

LdsAccess::~LdsAccess() {
  ExecStats::Traffic &traffic = wave.stats->level(MemoryLevel::Lds);
  traffic.read += read;
  traffic.written += written;
  if (banks)
    banks->finish();
}

/// The hardware reads 0 and drops writes; a program that relies on it is more likely wrong.
uint8_t *LdsAccess::outOfRange(unsigned lane, uint64_t address, unsigned bytes) {
  if (!wave.workgroup->launch().checks.has(Check::Bounds)) {
    alignas(16) static thread_local uint8_t pad[64];
    std::memset(pad, 0, sizeof(pad));
    return pad;
  }
  wave.fault(
      fmt::format("out-of-bounds LDS access in lane {}: {} bytes at {}, but the workgroup has "
                  "{} bytes of LDS",
                  lane, bytes, address, lds.size()));
  return nullptr;
}

const uint8_t *LdsAccess::reportUnwritten(unsigned lane, uint32_t address, unsigned bytes) {
  wave.fault(fmt::format("read of LDS nobody wrote in lane {}: {} bytes at {} of {}", lane, bytes,
                         address, lds.size()));
  return nullptr;
}

bool LdsAccess::checkDma(unsigned lane, uint32_t address, unsigned bytes) {
  const Lds::PendingDma *dma = lds.findPendingDma(address, bytes);
  if (!dma)
    return true;
  wave.fault(fmt::format("LDS access in lane {}, {} bytes at {}, before s_waitcnt vmcnt of wave {} "
                         "covers the load to LDS at pc 0x{:x} ({})",
                         lane, bytes, address, dma->wave->indexInWorkgroup, dma->inst->pc,
                         wave.program->text(*dma->inst)));
  return false;
}

uint8_t *LdsAccess::forAtomic(unsigned lane, uint64_t address, unsigned bytes) {
  if (address % bytes != 0) {
    wave.fault(fmt::format("LDS atomic of {} bytes in lane {} at {}: expected natural alignment",
                           bytes, lane, address));
    return nullptr;
  }
  isAtomic = true;
  // The read half is not noted for races: it is one access with the write.
  RaceLds *detector = std::exchange(race, nullptr);
  const uint8_t *readable = forRead(lane, address, bytes);
  race = detector;
  return readable ? forWrite(lane, address, bytes, LdsAccessKind::Atomic) : nullptr;
}

} // namespace mono::emu
