// The adversarial memory model: caches that keep stale data and stores that arrive late, in any
// order and in pieces, as far as gfx950 allows it (CDNA4 ISA 9.1.10; AMDGPUUsage, memory model).
#pragma once

#include "runtime/emulator/CoherenceCache.h"
#include "runtime/emulator/CoherenceRandom.h"
#include "runtime/emulator/Memory.h"
#include "runtime/emulator/exec/Wave.h"

#include <memory>
#include <vector>

namespace mono::emu {

/// Who sees an access at the latest, from the SC bits: the instruction's SC1 reaches the device,
/// SC0 with SC1 the system. SC0 alone (workgroup) is no more than Wave here: a workgroup has one
/// L1.
enum class Scope : uint8_t { Wave, Device, System };

inline Scope scopeOf(const Instruction &inst) {
  return !inst.sc1 ? Scope::Wave : inst.sc0 ? Scope::System : Scope::Device;
}

/// Memory as the waves of one run see it. Each rank has 8 XCDs with an L2 each (write-back, byte
/// dirty masks) and 32 CUs with an L1 each (write-through); workgroup i sits on XCD i % 8. Every
/// wave has a queue of stores that have not arrived. Memory behind the L2s is coherent.
///
///  - A load below device scope is served by L1, then L2, then memory, and fills whole lines: what
///    lies in a cache stays there, however old, until it is invalidated or evicted by chance.
///  - A load of device scope first writes back its L2's dirty bytes of the line, then reads memory.
///  - A store leaves the queue when a wait for vmcnt covers it or by chance, in any order but that
///    of overlapping ones. Below device scope it then is dirty in the L2 of its XCD; else it is in
///    memory. Stores wider than 8 bytes, or unaligned, are queued in pieces of 4 or 8.
///  - Atomics act on memory at once. buffer_wbl2 sc1 drains its CU's queues and then writes its L2
///    back, when it leaves the queue; buffer_inv sc1 drops L1 and the clean lines of L2.
///
/// One thread. All choices come from the seed.
class CoherenceModel {
public:
  CoherenceModel(const AddressSpace &memory, uint64_t seed);
  ~CoherenceModel();

  /// Enters a wave that starts: Wave::memoryAgent.
  void open(Wave &wave);
  /// The wave has ended; what it has stored is still under way.
  void close(Wave &wave);

  /// Loads 1, 2, 4, 8, 12 or 16 bytes of device memory; the range must have been checked. Data
  /// shorter than a dword are zero-extended.
  void load(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes, uint32_t *to);
  /// A scalar load, through the scalar cache of the CU.
  void loadScalar(Wave &wave, uint64_t address, unsigned bytes, uint32_t *to);
  void store(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes,
             const uint32_t *from);
  /// Makes memory what the wave's next read-modify-write of the range acts on.
  void prepareAtomic(Wave &wave, uint64_t address, unsigned bytes);

  void writeBack(Wave &wave);        ///< buffer_wbl2 of device scope or wider
  void invalidate(Wave &wave);       ///< buffer_inv of device scope or wider
  void invalidateScalar(Wave &wave); ///< s_dcache_inv

  /// All stores that the wave's counters say are complete arrive.
  void complete(Wave &wave);
  /// Lets a few random things happen.
  void stir();
  /// Lets some store arrive that is under way; false if there is none.
  bool advance();
  /// Stores of this rank are under way.
  bool hasPending(unsigned rank) const;
  /// The launch of `rank` has ended: everything arrives, all its caches are written back and
  /// empty.
  void finishLaunch(unsigned rank);

  Random &random() { return chance; }

private:
  struct Piece;
  struct Agent;
  struct RankCaches;

  Agent &agentOf(const Wave &wave) { return *agents[wave.memoryAgent]; }
  Cache &l1(const Agent &agent);
  Cache &l2(const Agent &agent);

  void enqueue(uint32_t id, const Piece &piece);
  unsigned pieceBytes(uint64_t address, unsigned left, bool isFirst);
  void perform(Agent &agent, size_t position);
  void performFirst(Agent &agent, size_t count);
  size_t performOverlapping(Agent &agent, uint64_t address, unsigned bytes, size_t end);
  void apply(Agent &agent, const Piece &piece);
  void applyWriteBack(Agent &agent);
  void forgetIfDone(uint32_t id);

  void loadPiece(Agent &agent, Scope scope, bool streaming, uint64_t address, unsigned bytes,
                 uint8_t *to);
  CacheLine &lineOfL1(Cache &cache, Cache &behind, uint64_t address);
  CacheLine &lineOfL2(Cache &cache, uint64_t address);
  void makeRoom(Cache &cache);
  void evict(Cache &cache, uint64_t line);
  void writeBackLine(CacheLine &line);
  void storeToMemory(uint64_t address, unsigned bytes, const uint8_t *from);

  const AddressSpace &memory;
  Random chance;
  ExecStats *stats = nullptr; ///< where memory changes are counted
  /// One in so many accesses evicts a line; 0: lines go only when a cache is full.
  unsigned evictionRate;
  std::vector<std::unique_ptr<RankCaches>> ranks;
  std::vector<std::unique_ptr<Agent>> agents; ///< by Wave::memoryAgent
  std::vector<uint32_t> freeAgents;
  std::vector<uint32_t> pending; ///< agents with stores under way
};

} // namespace mono::emu
