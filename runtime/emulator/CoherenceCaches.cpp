// The adversarial memory model: what loads find in the caches, and cache maintenance.
#include "runtime/emulator/CoherenceParts.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

// ---- caches ------------------------------------------------------------------------------------

void CoherenceModel::storeToMemory(uint64_t address, unsigned bytes, const uint8_t *from) {
  Allocation *allocation = memory.find(address);
  uint8_t *to = allocation->host(address);
  if (std::memcmp(to, from, bytes) == 0)
    return;
  std::memcpy(to, from, bytes);
  stats->noteMemoryChange();
}

void CoherenceModel::writeBackLine(CacheLine &line) {
  for (unsigned n = 0; line.dirty.any() && n < cacheLineBytes; ++n) {
    if (!line.dirty.has(n))
      continue;
    unsigned end = n + 1;
    while (end < cacheLineBytes && line.dirty.has(end))
      ++end;
    storeToMemory(line.address + n, end - n, &line.bytes[n]);
    n = end;
  }
  line.dirty = {};
}

void CoherenceModel::evict(Cache &cache, uint64_t line) {
  if (CacheLine *cached = cache.find(line))
    writeBackLine(*cached);
  cache.erase(line);
}

void CoherenceModel::makeRoom(Cache &cache) {
  if (cache.isFull())
    evict(cache, cache.at(chance.below(cache.size())).address);
}

/// Copies the bytes of `from` that are valid there and not yet in `to`.
static void merge(CacheLine &to, const ByteMask &valid, const uint8_t *from) {
  ByteMask missing = valid & ~to.valid;
  if (!missing.any())
    return;
  for (unsigned half = 0; half < 2; ++half) {
    if (missing.bits[half] == ~uint64_t(0))
      std::memcpy(&to.bytes[64 * half], from + 64 * half, 64);
    else
      forEachLane(missing.bits[half],
                  [&](unsigned n) { to.bytes[64 * half + n] = from[64 * half + n]; });
  }
  to.valid = to.valid | missing;
}

/// The line of an L2 around an address, with the bytes of the allocation there, fetched from memory
/// as far as they are missing. Allocations of the host may begin and end inside a line.
CacheLine &CoherenceModel::lineOfL2(Cache &cache, uint64_t address) {
  const uint64_t line = lineOf(address);
  CacheLine *cached = cache.find(line);
  if (!cached) {
    makeRoom(cache);
    cached = &cache.insert(line);
  }
  const Allocation *allocation = memory.find(address);
  uint64_t first = std::max(line, allocation->base);
  uint64_t end = std::min(line + cacheLineBytes, allocation->base + allocation->size);
  merge(*cached, ByteMask::range(unsigned(first - line), unsigned(end - first)),
        allocation->host(first) - (first - line));
  return *cached;
}

/// The line of an L1 or scalar cache, from L2 as far as bytes are missing.
CacheLine &CoherenceModel::lineOfL1(Cache &cache, Cache &behind, uint64_t address) {
  const uint64_t line = lineOf(address);
  CacheLine *cached = cache.find(line);
  if (!cached) {
    makeRoom(cache);
    cached = &cache.insert(line);
  }
  if (!(~cached->valid).any())
    return *cached;
  const CacheLine &source = lineOfL2(behind, address);
  merge(*cached, source.valid, source.bytes.data());
  return *cached;
}

void CoherenceModel::loadPiece(Agent &agent, Scope scope, bool streaming, uint64_t address,
                               unsigned bytes, uint8_t *to) {
  uint64_t line = lineOf(address);
  if (scope != Scope::Wave) {
    l1(agent).erase(line);
    evict(l2(agent), line);
    std::memcpy(to, memory.find(address)->host(address), bytes);
    return;
  }
  if (streaming || chance.oneIn(evictionRate))
    l1(agent).erase(line);
  std::memcpy(to, &lineOfL1(l1(agent), l2(agent), address).bytes[address - line], bytes);
}

void CoherenceModel::load(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes,
                          uint32_t *to) {
  complete(wave);
  Agent &agent = agentOf(wave);
  performOverlapping(agent, address, bytes, agent.queue.size());
  forgetIfDone(wave.memoryAgent);
  if (chance.oneIn(32))
    stir();
  struct Part {
    uint8_t first, bytes;
  };
  llvm::SmallVector<Part, 16> parts;
  for (unsigned done = 0; done < bytes; done += parts.back().bytes)
    parts.push_back({uint8_t(done), uint8_t(pieceBytes(address + done, bytes - done, done == 0))});
  if (parts.size() > 1)
    chance.shuffle(parts);
  to[0] = 0;
  for (const Part &part : parts) {
    loadPiece(agent, scopeOf(inst), inst.nt, address + part.first, part.bytes,
              reinterpret_cast<uint8_t *>(to) + part.first);
    if (parts.size() > 1 && chance.oneIn(8))
      stir();
  }
}

void CoherenceModel::loadScalar(Wave &wave, uint64_t address, unsigned bytes, uint32_t *to) {
  Agent &agent = agentOf(wave);
  Cache &cache = ranks[agent.rank]->scalar[agent.cu / gfx950::computeUnitsPerScalarCache];
  for (unsigned n = 0; n < bytes; n += 4) {
    const uint64_t at = address + n;
    std::memcpy(&to[n / 4], &lineOfL1(cache, l2(agent), at).bytes[at - lineOf(at)], 4);
  }
}

void CoherenceModel::prepareAtomic(Wave &wave, uint64_t address, unsigned bytes) {
  complete(wave);
  Agent &agent = agentOf(wave);
  performOverlapping(agent, address, bytes, agent.queue.size());
  forgetIfDone(wave.memoryAgent);
  l1(agent).erase(lineOf(address));
  evict(l2(agent), lineOf(address));
}

// ---- cache maintenance -------------------------------------------------------------------------

void CoherenceModel::writeBack(Wave &wave) {
  complete(wave);
  Piece piece;
  piece.number = uint32_t(wave.waitcnt.vmemIssued()) + 1;
  enqueue(wave.memoryAgent, piece);
}

void CoherenceModel::invalidate(Wave &wave) {
  Agent &agent = agentOf(wave);
  l1(agent).clear();
  Cache &cache = l2(agent);
  for (size_t n = 0; n < cache.size();) {
    CacheLine &line = cache.at(n);
    line.valid = line.dirty;
    if (line.dirty.any())
      ++n;
    else
      cache.erase(line.address); // the last line moves here
  }
}

void CoherenceModel::invalidateScalar(Wave &wave) {
  Agent &agent = agentOf(wave);
  ranks[agent.rank]->scalar[agent.cu / gfx950::computeUnitsPerScalarCache].clear();
}

} // namespace mono::emu
