// The adversarial memory model: queues of stores, and what loads find in the caches.
#include "runtime/emulator/Coherence.h"

#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

static constexpr unsigned xcds = 8, cusPerXcd = 32, cusPerScalarCache = 2;
/// 4 MB of L2 an XCD, 32 KB of L1 a CU, 16 KB of scalar cache for two CUs.
static constexpr size_t l2Lines = 32768, l1Lines = 256, scalarLines = 128;

static uint64_t lineOf(uint64_t address) { return address & ~(cacheLineBytes - 1); }

/// A store, or part of one, that has not arrived; or a buffer_wbl2 that has not been carried out.
struct CoherenceModel::Piece {
  uint64_t address = 0;
  uint64_t data = 0;
  uint32_t number = 0; ///< of the instruction, as Waitcnt::vmemIssued() counts
  uint8_t bytes = 0;   ///< 1 to 8; 0: a buffer_wbl2
  Scope scope = Scope::Wave;

  bool isWriteBack() const { return bytes == 0; }
  bool overlaps(uint64_t other, unsigned count) const {
    return address < other + count && other < address + bytes;
  }
};

/// What the model knows of a wave.
struct CoherenceModel::Agent {
  unsigned rank = 0, xcd = 0, cu = 0; ///< cu counts through the whole chip
  bool isOpen = true, isPending = false;
  unsigned lag = 1; ///< how rarely its stores arrive by chance
  std::vector<Piece> queue;
};

struct CoherenceModel::RankCaches {
  std::vector<Cache> l2, l1, scalar;
  RankCaches()
      : l2(xcds, Cache(l2Lines)), l1(xcds * cusPerXcd, Cache(l1Lines)),
        scalar(xcds * cusPerXcd / cusPerScalarCache, Cache(scalarLines)) {}
};

CoherenceModel::CoherenceModel(const AddressSpace &memory, uint64_t seed)
    : memory(memory), chance(seed) {
  constexpr unsigned rates[] = {0, 0, 256, 32};
  evictionRate = rates[chance.below(4)];
  for (unsigned rank = 0; rank < memory.ranks(); ++rank)
    ranks.push_back(std::make_unique<RankCaches>());
}
CoherenceModel::~CoherenceModel() = default;

Cache &CoherenceModel::l1(const Agent &agent) { return ranks[agent.rank]->l1[agent.cu]; }
Cache &CoherenceModel::l2(const Agent &agent) { return ranks[agent.rank]->l2[agent.xcd]; }

// ---- waves
// ---------------------------------------------------------------------------------------

void CoherenceModel::open(Wave &wave) {
  if (freeAgents.empty()) {
    freeAgents.push_back(uint32_t(agents.size()));
    agents.push_back(std::make_unique<Agent>());
  }
  wave.memoryAgent = freeAgents.back();
  freeAgents.pop_back();
  Agent &agent = agentOf(wave);
  agent = Agent();
  stats = wave.stats;
  uint64_t workgroup = wave.workgroup->linearId();
  agent.rank = wave.workgroup->launch().rank;
  agent.xcd = unsigned(workgroup % xcds);
  agent.cu = agent.xcd * cusPerXcd + unsigned(workgroup / xcds % cusPerXcd);
  constexpr unsigned lags[] = {1, 1, 8, 64};
  agent.lag = lags[chance.below(4)];
}

void CoherenceModel::close(Wave &wave) {
  Agent &agent = agentOf(wave);
  agent.isOpen = false;
  // Nobody waits for its counters any more: the numbers of the next owner must not meet them.
  if (agent.queue.empty())
    freeAgents.push_back(wave.memoryAgent);
}

/// Takes agents without stores off the pending list.
void CoherenceModel::forgetIfDone(uint32_t id) {
  Agent &agent = *agents[id];
  if (!agent.queue.empty() || !agent.isPending)
    return;
  agent.isPending = false;
  *std::find(pending.begin(), pending.end(), id) = pending.back();
  pending.pop_back();
  if (!agent.isOpen)
    freeAgents.push_back(id);
}

// ---- stores
// --------------------------------------------------------------------------------------

void CoherenceModel::enqueue(uint32_t id, const Piece &piece) {
  Agent &agent = *agents[id];
  agent.queue.push_back(piece);
  if (!agent.isPending) {
    agent.isPending = true;
    pending.push_back(id);
  }
}

void CoherenceModel::store(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes,
                           const uint32_t *from) {
  constexpr size_t longQueue = 2048;
  complete(wave);
  Agent &agent = agentOf(wave);
  if (agent.queue.size() > longQueue)
    performFirst(agent, longQueue / 2);
  Piece piece;
  piece.number = uint32_t(wave.waitcnt.vmemIssued()) + 1;
  piece.scope = scopeOf(inst);
  for (unsigned done = 0; done < bytes; done += piece.bytes) {
    piece.address = address + done;
    piece.bytes = uint8_t(pieceBytes(piece.address, bytes - done, done == 0));
    piece.data = 0;
    std::memcpy(&piece.data, reinterpret_cast<const uint8_t *>(from) + done, piece.bytes);
    enqueue(wave.memoryAgent, piece);
  }
  if (chance.oneIn(32))
    stir();
}

/// How much of `left` bytes travels together: naturally aligned accesses of up to 8 bytes are one
/// piece, wider ones fall into dwords or pairs of dwords.
unsigned CoherenceModel::pieceBytes(uint64_t address, unsigned left, bool isFirst) {
  if (isFirst && left <= 8 && address % left == 0)
    return left;
  if (address % 4 != 0 || left < 4)
    return 1;
  return left >= 8 && address % 8 == 0 && chance.oneIn(2) ? 8 : 4;
}

/// The first `count` pieces of the queue arrive.
void CoherenceModel::performFirst(Agent &agent, size_t count) {
  auto end = agent.queue.begin() + ptrdiff_t(std::min(count, agent.queue.size()));
  std::vector<Piece> pieces(agent.queue.begin(), end);
  agent.queue.erase(agent.queue.begin(), end);
  for (const Piece &piece : pieces)
    apply(agent, piece);
}

/// One piece of the queue arrives, after the older ones that it must not overtake: those of the
/// same bytes, and all of them if it is a buffer_wbl2.
void CoherenceModel::perform(Agent &agent, size_t position) {
  Piece piece = agent.queue[position];
  if (piece.isWriteBack())
    return performFirst(agent, position + 1);
  position -= performOverlapping(agent, piece.address, piece.bytes, position);
  agent.queue.erase(agent.queue.begin() + ptrdiff_t(position));
  apply(agent, piece);
}

/// Of the first `end` pieces those that share bytes with the range arrive; returns how many.
size_t CoherenceModel::performOverlapping(Agent &agent, uint64_t address, unsigned bytes,
                                          size_t end) {
  size_t before = agent.queue.size();
  for (size_t n = 0; n < end;) {
    if (!agent.queue[n].overlaps(address, bytes)) {
      ++n;
      continue;
    }
    size_t size = agent.queue.size();
    perform(agent, n);
    end -= size - agent.queue.size();
    n = 0; // older ones may have gone too
  }
  return before - agent.queue.size();
}

void CoherenceModel::apply(Agent &agent, const Piece &piece) {
  if (piece.isWriteBack())
    return applyWriteBack(agent);
  auto *data = reinterpret_cast<const uint8_t *>(&piece.data);
  uint64_t line = lineOf(piece.address);
  unsigned first = unsigned(piece.address - line);
  ByteMask mask = ByteMask::range(first, piece.bytes);
  if (piece.scope != Scope::Wave) {
    l1(agent).erase(line);
    if (CacheLine *cached = l2(agent).find(line)) {
      cached->valid = cached->valid & ~mask;
      cached->dirty = cached->dirty & ~mask;
    }
    storeToMemory(piece.address, piece.bytes, data);
    return;
  }
  Cache &cache = l2(agent);
  CacheLine *cached = cache.find(line);
  if (!cached) {
    makeRoom(cache);
    cached = &cache.insert(line);
  }
  if (!cached->valid.contains(mask) || std::memcmp(&cached->bytes[first], data, piece.bytes) != 0)
    stats->noteMemoryChange();
  std::memcpy(&cached->bytes[first], data, piece.bytes);
  cached->valid = cached->valid | mask;
  cached->dirty = cached->dirty | mask;
  if (CacheLine *own = l1(agent).find(line)) {
    std::memcpy(&own->bytes[first], data, piece.bytes);
    own->valid = own->valid | mask;
  }
}

/// The stores of the whole CU stand in the queue before a buffer_wbl2.
void CoherenceModel::applyWriteBack(Agent &agent) {
  for (uint32_t id : std::vector<uint32_t>(pending)) {
    Agent &other = *agents[id];
    if (&other == &agent || other.rank != agent.rank || other.cu != agent.cu)
      continue;
    std::vector<Piece> stores = std::move(other.queue), kept;
    other.queue.clear();
    for (const Piece &piece : stores)
      piece.isWriteBack() ? other.queue.push_back(piece) : apply(other, piece);
    forgetIfDone(id);
  }
  Cache &cache = l2(agent);
  for (size_t n = 0; n < cache.size(); ++n)
    writeBackLine(cache.at(n));
}

void CoherenceModel::complete(Wave &wave) {
  Agent &agent = agentOf(wave);
  if (agent.queue.empty())
    return;
  uint64_t retired = wave.waitcnt.vmemRetired();
  auto isUnderWay = [&](const Piece &piece) { return piece.number > retired; };
  auto first = std::find_if(agent.queue.begin(), agent.queue.end(), isUnderWay);
  performFirst(agent, size_t(first - agent.queue.begin()));
  forgetIfDone(wave.memoryAgent);
}

// ---- chance
// --------------------------------------------------------------------------------------

bool CoherenceModel::advance() {
  if (pending.empty())
    return false;
  uint32_t id = pending[chance.below(pending.size())];
  Agent &agent = *agents[id];
  perform(agent, chance.below(agent.queue.size()));
  forgetIfDone(id);
  return true;
}

void CoherenceModel::stir() {
  if (!pending.empty() && chance.oneIn(2)) {
    uint32_t id = pending[chance.below(pending.size())];
    Agent &agent = *agents[id];
    if (chance.oneIn(agent.lag))
      for (size_t n = 1 + chance.below(8); n > 0 && !agent.queue.empty(); --n)
        perform(agent, chance.below(agent.queue.size()));
    forgetIfDone(id);
  }
  if (!chance.oneIn(evictionRate))
    return;
  Cache &cache = ranks[chance.below(ranks.size())]->l2[chance.below(xcds)];
  if (cache.size() != 0)
    evict(cache, cache.at(chance.below(cache.size())).address);
}

bool CoherenceModel::hasPending(unsigned rank) const {
  return llvm::any_of(pending, [&](uint32_t id) { return agents[id]->rank == rank; });
}

void CoherenceModel::finishLaunch(unsigned rank) {
  for (uint32_t id : std::vector<uint32_t>(pending)) {
    Agent &agent = *agents[id];
    if (agent.rank != rank)
      continue;
    performFirst(agent, agent.queue.size());
    forgetIfDone(id);
  }
  for (Cache &cache : ranks[rank]->l2) {
    for (size_t n = 0; n < cache.size(); ++n)
      writeBackLine(cache.at(n));
    cache.clear();
  }
  for (Cache &cache : ranks[rank]->l1)
    cache.clear();
  for (Cache &cache : ranks[rank]->scalar)
    cache.clear();
}

// ---- caches
// --------------------------------------------------------------------------------------

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

/// The line of an L2 with all its bytes, fetched from memory as far as they are missing.
CacheLine &CoherenceModel::lineOfL2(Cache &cache, uint64_t line) {
  CacheLine *cached = cache.find(line);
  if (!cached) {
    makeRoom(cache);
    cached = &cache.insert(line);
  }
  const Allocation *allocation = memory.find(line);
  uint64_t count = std::min(cacheLineBytes, allocation->base + allocation->size - line);
  merge(*cached, ByteMask::range(0, unsigned(count)), allocation->host(line));
  return *cached;
}

/// The line of an L1 or scalar cache, from L2 as far as bytes are missing.
CacheLine &CoherenceModel::lineOfL1(Cache &cache, Cache &behind, uint64_t line) {
  CacheLine *cached = cache.find(line);
  if (!cached) {
    makeRoom(cache);
    cached = &cache.insert(line);
  }
  if (!(~cached->valid).any())
    return *cached;
  const CacheLine &source = lineOfL2(behind, line);
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
  std::memcpy(to, &lineOfL1(l1(agent), l2(agent), line).bytes[address - line], bytes);
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
  Cache &cache = ranks[agent.rank]->scalar[agent.cu / cusPerScalarCache];
  for (unsigned n = 0; n < bytes; n += 4) {
    uint64_t line = lineOf(address + n);
    std::memcpy(&to[n / 4], &lineOfL1(cache, l2(agent), line).bytes[address + n - line], 4);
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

// ---- cache maintenance
// ---------------------------------------------------------------------------

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
  ranks[agent.rank]->scalar[agent.cu / cusPerScalarCache].clear();
}

} // namespace mono::emu
