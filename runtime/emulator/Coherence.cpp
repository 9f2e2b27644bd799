// The adversarial memory model: queues of stores, and chance.
#include "runtime/emulator/CoherenceParts.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace mono::emu {

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

// ---- waves -------------------------------------------------------------------------------------

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
  using namespace gfx950;
  agent.xcd = unsigned(workgroup % xcds);
  agent.cu = agent.xcd * computeUnitsPerXcd + unsigned(workgroup / xcds % computeUnitsPerXcd);
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

// ---- stores ------------------------------------------------------------------------------------

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
    std::vector<Piece> stores = std::move(other.queue);
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

// ---- chance ------------------------------------------------------------------------------------

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
  Cache &cache = ranks[chance.below(ranks.size())]->l2[chance.below(gfx950::xcds)];
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

} // namespace mono::emu
