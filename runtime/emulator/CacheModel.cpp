// L2 and Infinity Cache as sets of tags.
#include "runtime/emulator/CacheModel.h"

#include "runtime/Gfx950.h"
#include "runtime/emulator/Coherence.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/LaneMemory.h"

#include <algorithm>
#include <bit>

namespace mono::emu {

bool CacheTags::use(uint64_t line) {
  uint64_t *set = setOf(line), *end = set + ways;
  uint64_t *at = std::find(set, end, line);
  bool found = at != end;
  std::copy_backward(set, found ? at : end - 1, found ? at + 1 : end);
  *set = line;
  return found;
}

void CacheTags::drop(uint64_t line) {
  uint64_t *set = setOf(line), *end = set + ways;
  if (uint64_t *at = std::find(set, end, line); at != end)
    *std::copy(at + 1, end, at) = 0;
}

CacheModel::CacheModel(const AddressSpace &memory, unsigned rankCount)
    : memory(memory), ranks(rankCount) {
  for (Rank &rank : ranks) {
    for (unsigned xcd = 0; xcd < gfx950::xcds; ++xcd)
      rank.l2.push_back(std::make_unique<Cache>(gfx950::l2Bytes));
    rank.infinityCache = std::make_unique<Cache>(gfx950::infinityCacheBytes);
  }
}

void CacheModel::access(Wave &wave, const Instruction &inst, const LaneAddresses &at,
                        unsigned bytes, Kind kind) {
  uint64_t last = 0;
  for (uint64_t rest = at.mask | at.clipped; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    unsigned count = at.mask >> lane & 1 ? bytes : at.validBytes[lane];
    uint64_t address = at.address[lane];
    if (count == 0 || !memory.isDeviceAddress(address))
      continue;
    for (uint64_t line = address >> CacheTags::lineShift;
         line <= (address + count - 1) >> CacheTags::lineShift; ++line)
      if (line != last)
        touch(wave, inst, last = line, kind);
  }
}

void CacheModel::access(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes,
                        Kind kind) {
  if (!memory.isDeviceAddress(address))
    return;
  for (uint64_t line = address >> CacheTags::lineShift;
       line <= (address + bytes - 1) >> CacheTags::lineShift; ++line)
    touch(wave, inst, line, kind);
}

void CacheModel::touch(Wave &wave, const Instruction &inst, uint64_t line, Kind kind) {
  const LaunchContext &launch = wave.workgroup->launch();
  uint64_t address = line << CacheTags::lineShift;
  unsigned owner = unsigned(address >> rankShift) - firstWindow;
  CacheTraffic &traffic = wave.stats->caches;
  bool pastL2 = kind == Kind::Atomic || owner != launch.rank ||
                (inst.format != Format::Smem && scopeOf(inst) != Scope::Wave);
  Cache &l2 = *ranks[launch.rank].l2[wave.workgroup->linearId() % gfx950::xcds];
  {
    std::lock_guard guard(l2.mutex);
    if (pastL2) {
      l2.tags.drop(line);
    } else if (kind == Kind::Store) {
      l2.tags.use(line);
    } else {
      ++traffic.l2Lines;
      if (l2.tags.use(line))
        return;
      ++traffic.l2Misses;
    }
  }
  if (owner >= ranks.size())
    return; // memory of the host is in no HBM
  Cache &infinityCache = *ranks[owner].infinityCache;
  {
    std::lock_guard guard(infinityCache.mutex);
    if (kind != Kind::Store)
      ++traffic.memoryLines;
    if (infinityCache.tags.use(line) || kind == Kind::Store)
      return;
  }
  const Allocation *allocation = memory.find(address);
  if (!allocation) // it begins inside the line
    allocation = memory.find(address + CacheTags::lineBytes - 1);
  traffic.hbmBytesRead += CacheTags::lineBytes;
  if (allocation && allocation->id < wave.stats->traffic.size())
    wave.stats->traffic[allocation->id].fromHbm += CacheTags::lineBytes;
}

} // namespace mono::emu
