// Address resolution with all checks.
#include "runtime/emulator/exec/LaneMemory.h"

#include "runtime/emulator/exec/Apertures.h"
#include "runtime/emulator/exec/ExecStats.h"

#include <fmt/format.h>

namespace mono::emu {

/// Where accesses go when the bounds check is off: reads see zeros, writes vanish.
static uint8_t *scratchPad() {
  alignas(16) static thread_local uint8_t pad[64];
  std::memset(pad, 0, sizeof(pad));
  return pad;
}

LaneResolver::LaneResolver(Wave &wave, const Instruction &inst)
    : wave(wave), inst(inst), launch(wave.workgroup->launch()) {}

MemoryLevel LaneResolver::levelOf(const Allocation &allocation) const {
  if (inst.format == Format::Smem)
    return MemoryLevel::Scalar;
  if (allocation.kind != MemoryKind::PeerVisible)
    return MemoryLevel::Global;
  bool isOther = allocation.rank != launch.rank && !allocation.isHost();
  return isOther ? MemoryLevel::Peers : MemoryLevel::FineGrained;
}

void LaneResolver::flushTraffic() {
  if (!current)
    return;
  ExecStats &stats = *wave.stats;
  ExecStats::Traffic &level = stats.level(levelOf(*current));
  level.read += read;
  level.written += written;
  if (current->id < stats.traffic.size()) {
    ExecStats::Traffic &traffic = stats.traffic[current->id];
    traffic.read += read;
    traffic.written += written;
    if (stats.countsWorkgroups && read) [[unlikely]]
      traffic.countReadBy(wave.workgroup->linearId(), read);
  }
  read = written = 0;
  if (changed)
    stats.noteMemoryChange();
  changed = false;
}

const Allocation *LaneResolver::forReadOfAll(const LaneAddresses &at, unsigned bytes) {
  if (at.mask == 0 || launch.coherence)
    return nullptr;
  unsigned first = unsigned(std::countr_zero(at.mask));
  if (!enter(first, at.address[first], bytes) || !current->complete())
    return nullptr;
  // Inactive lanes hold any address: the first active one stands in for them.
  uint64_t lowest = ~uint64_t(0), highest = 0;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    uint64_t address = at.mask >> lane & 1 ? at.address[lane] : at.address[first];
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
  }
  if (!current->contains(lowest, bytes) || !current->contains(highest, bytes))
    return nullptr;
  read += uint64_t(bytes) * unsigned(std::popcount(at.mask));
  return current;
}

bool LaneResolver::enter(unsigned lane, uint64_t address, unsigned bytes) {
  flushTraffic();
  current = launch.memory->find(address);
  bool visible = current && current->contains(address, bytes) &&
                 (current->rank == launch.rank || current->kind == MemoryKind::PeerVisible);
  if (!visible) {
    current = nullptr;
    return false;
  }
  skipWritten = !launch.checks.has(Check::MemUninit) || current->complete();
  return true;
}

uint8_t *LaneResolver::outOfBounds(unsigned lane, const std::string &why) {
  if (!launch.checks.has(Check::Bounds))
    return scratchPad();
  wave.fault(fmt::format("out-of-bounds access in lane {}: {}", lane, why));
  return nullptr;
}

/// Global and buffer instructions reach device memory only.
static bool hasApertures(const Instruction &inst) {
  return inst.format == Format::Flat || inst.format == Format::Scratch;
}

bool LaneResolver::reachesLds(uint64_t address) const {
  return hasApertures(inst) && aperture::isShared(address);
}

/// LDS as DS instructions see it, with all their checks.
LdsAccess &LaneResolver::lds() {
  if (!ldsAccess)
    ldsAccess.emplace(wave, inst);
  return *ldsAccess;
}

/// Addresses that are not device memory.
uint8_t *LaneResolver::aperture(unsigned lane, uint64_t address, unsigned bytes, bool isWrite) {
  flushTraffic();
  current = nullptr;
  if (reachesLds(address)) {
    uint64_t offset = address - aperture::sharedBase;
    return isWrite ? lds().forWrite(lane, offset, bytes)
                   : const_cast<uint8_t *>(lds().forRead(lane, offset, bytes));
  }
  if (hasApertures(inst) && aperture::isPrivate(address)) {
    uint64_t offset = address - aperture::privateBase;
    uint32_t size = launch.setup.scratchBytes;
    if (offset + bytes > size)
      return outOfBounds(lane,
                         fmt::format("private memory byte {} + {}, but the kernel has {} bytes "
                                     "of scratch a work-item",
                                     offset, bytes, size));
    ExecStats::Traffic &traffic = wave.stats->level(MemoryLevel::Scratch);
    (isWrite ? traffic.written : traffic.read) += bytes;
    return wave.workgroup->scratch(wave, lane) + offset;
  }
  return outOfBounds(lane, launch.memory->explainFault(launch.rank, address, bytes));
}

const uint8_t *LaneResolver::readElsewhere(unsigned lane, uint64_t address, unsigned bytes) {
  if (!enter(lane, address, bytes))
    return aperture(lane, address, bytes, false);
  return forRead(lane, address, bytes);
}

uint8_t *LaneResolver::writeElsewhere(unsigned lane, uint64_t address, unsigned bytes) {
  if (!enter(lane, address, bytes))
    return aperture(lane, address, bytes, true);
  return forWrite(lane, address, bytes);
}

bool LaneResolver::reportUnwritten(unsigned lane, uint64_t address, unsigned bytes) {
  wave.fault(fmt::format("read of memory nobody wrote in lane {}: {} bytes at 0x{:x}, byte {} of "
                         "'{}' ({} bytes, rank {})",
                         lane, bytes, address, address - current->base, current->name,
                         current->size, current->rank));
  return false;
}

uint8_t *LaneResolver::forAtomic(unsigned lane, uint64_t address, unsigned bytes) {
  if (address % bytes != 0) {
    wave.fault(fmt::format("atomic of {} bytes in lane {} at 0x{:x}: expected natural alignment",
                           bytes, lane, address));
    return nullptr;
  }
  if (reachesLds(address)) {
    flushTraffic();
    current = nullptr;
    return lds().forAtomic(lane, address - aperture::sharedBase, bytes);
  }
  uint8_t *where = forRead(lane, address, bytes) ? forWrite(lane, address, bytes) : nullptr;
  if (where && current && launch.coherence)
    launch.coherence->prepareAtomic(wave, address, bytes);
  return where;
}

} // namespace mono::emu
