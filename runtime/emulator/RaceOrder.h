// What happens before what between the workgroups of a run, as the memory model of gfx950 orders it
// (AMDGPUUsage, memory model gfx942; CDNA4 ISA 9.1.10).
#pragma once

#include "runtime/emulator/Coherence.h"
#include "runtime/emulator/exec/Workgroup.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace mono::emu {

/// An access to device memory by one wave. `number` counts the wave's VMEM instructions from 1; a
/// scalar load has 0, as if it had been complete when the wave started.
struct RaceAccess {
  uint32_t workgroup = 0; ///< as RaceOrder::enter() numbers them
  unsigned wave = 0;      ///< in the workgroup
  uint32_t number = 0;
  bool isWrite = false;
  bool isSync = false; ///< single-copy atomic and of device scope or wider
  Scope scope = Scope::Wave;
};

/// A graph of synchronisation events, searched only when two workgroups touch one byte.
///
/// A store or atomic of device scope is a release; a load or atomic that finds its value acquires
/// it. What a release covers of the own workgroup:
///  - own accesses that vmcnt says are complete;
///  - accesses of the other waves that were complete when they arrived at the last barrier;
///  - of plain stores only those that a buffer_wbl2 of this workgroup has written back, which
///    covers the own stores issued before it and those the other waves had issued at the last
///    barrier (it queues behind the stores of the CU);
/// and everything that was acquired before. Acquired is what a load has found once vmcnt says that
/// it has returned: what is issued beside it may be done before it. A plain load may rely only on
/// what its wave, or another one before the last barrier, acquired before a buffer_inv; other
/// accesses on all of it.
/// Launches of a rank are ordered one after another. Thread-safe.
class RaceOrder {
public:
  using Node = uint32_t; ///< a release; 0: none

  /// What the later of two accesses may rely on.
  enum class View : uint8_t {
    Fresh,  ///< stores, atomics, loads of device scope: all that loads have returned
    Cached, ///< plain loads: what was acquired before the last buffer_inv
    Scalar, ///< scalar loads: earlier launches only, the scalar cache is never coherent
  };

  /// More workgroups than this in one run are not tracked.
  static constexpr uint32_t maxWorkgroups = 1u << 20;

  explicit RaceOrder(unsigned ranks) : launches(ranks), rankOfWorkgroup(maxWorkgroups) {}

  /// Enters a workgroup that starts and returns its number; maxWorkgroups if there is no room.
  uint32_t enter(const Workgroup &workgroup);
  unsigned rankOf(uint32_t workgroup) const { return rankOfWorkgroup[workgroup]; }

  /// The wave's access of that number is by `inst`; for reports.
  void note(const Wave &wave, uint32_t number, const Instruction &inst);
  /// The event of a store or atomic by `wave`; `previous` is the release it replaces if it is a
  /// read-modify-write, which passes that on.
  Node release(const Wave &wave, Scope scope, Node previous);
  /// The wave's next VMEM instruction finds the value that `node` released.
  void acquire(const Wave &wave, Scope scope, Node node);
  void
  writeBack(const Wave &wave); ///< buffer_wbl2 of device scope or wider is the next instruction
  void invalidate(const Wave &wave); ///< buffer_inv of device scope or wider
  /// All live waves of the workgroup have arrived at a barrier.
  void barrier(const Workgroup &workgroup);

  /// True if the access happened before whatever the wave does next, seen as `view` says.
  bool isOrdered(const RaceAccess &earlier, const Wave &later, View view);
  /// "rank 0, workgroup (1, 0, 0), wave 2, pc 0x40: global_load_dword ..."
  std::string describe(const RaceAccess &access);

private:
  struct Knowledge;
  struct Edge {
    uint32_t event;  ///< see eventKind
    uint32_t number; ///< of the acquiring instruction
  };
  struct WriteBack {
    uint32_t number;
    llvm::SmallVector<uint32_t, 8> issued; ///< by wave: what it covers
  };
  /// How many of a wave's edges there are, and may be relied on. Behind those only barriers count:
  /// they tell what the other waves know.
  struct EdgeCounts {
    uint32_t all = 0;
    uint32_t returned = 0;    ///< by accesses that go past the caches
    uint32_t invalidated = 0; ///< by plain loads
  };
  struct WaveState {
    std::vector<Edge> acquired;
    uint32_t returned = 0, invalidated = 0; ///< see EdgeCounts
    std::vector<WriteBack> underWay;
    std::vector<uint32_t> writtenBack; ///< beyond the workgroup's; by wave, or empty
    uint32_t snapshot = 0;             ///< of that, 0: none
    std::array<Node, 64> recent{};     ///< acquired lately
    std::vector<const Instruction *> log;
    std::unique_ptr<Knowledge> fresh, cached;
  };
  /// Counts by wave as of the last barrier.
  struct WorkgroupState {
    const LaunchContext *launch = nullptr;
    std::array<uint32_t, 3> coordinates{};
    unsigned ordinal = 0; ///< of the launch among those of its rank
    std::vector<WaveState> waves;
    std::vector<uint32_t> issued, completed, writtenBack;
    uint32_t snapshot = 0;
    uint64_t edges = 0; ///< the sum of all counts of edges after the last barrier
  };
  struct Release {
    uint32_t workgroup;
    uint8_t wave;
    Scope scope;
    uint32_t completed; ///< own accesses
    uint32_t snapshot;
    EdgeCounts edges; ///< of the wave
    Node previous;
  };
  struct Barrier {
    uint32_t workgroup;
    llvm::SmallVector<EdgeCounts, 8> edges; ///< by wave
  };
  /// The two high bits of an event say what the others count.
  enum : uint32_t { releaseEvent = 0, barrierEvent = 1u << 30, launchEvent = 2u << 30 };
  static constexpr uint32_t eventIndex = (1u << 30) - 1;

  /// Everything one wave is known to come after, completed as its edges grow.
  struct Knowledge {
    /// By workgroup: completed, then written back, each by wave.
    llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t, 16>> covered;
    llvm::DenseMap<uint32_t, uint32_t> scanned; ///< by workgroup * 16 + wave: edges
    llvm::DenseSet<uint64_t> visited;
    std::vector<unsigned> launchSeen; ///< by rank: 1 + its latest launch
    uint32_t barriersScanned = 0;     ///< of the own edges
  };
  struct Step {
    uint32_t event;
    bool cached;
  };
  using Work = std::vector<Step>;

  WaveState &stateOf(const Wave &wave);
  void settle(const Wave &wave, WaveState &state, WorkgroupState &group);
  EdgeCounts countEdges(const Wave &wave, WaveState &state);
  uint32_t snapshot(const std::vector<uint32_t> &completed, const std::vector<uint32_t> &a,
                    const std::vector<uint32_t> &b);
  const Knowledge &knowledge(const Wave &wave, View view);
  void scan(Knowledge &k, Work &work, uint32_t workgroup, unsigned wave, uint32_t count);
  void scanBarriers(Work &work, uint32_t workgroup, unsigned wave, uint32_t from, uint32_t to,
                    bool cached);
  void scan(Knowledge &k, Work &work, uint32_t workgroup, unsigned wave, const EdgeCounts &edges,
            bool cached);
  void visit(Knowledge &k, Work &work, Step step);
  void merge(Knowledge &k, const Release &release);

  std::mutex lock;
  std::vector<std::vector<std::vector<uint32_t>>> launches; ///< workgroups by rank and ordinal
  std::vector<uint8_t> rankOfWorkgroup;
  std::deque<WorkgroupState> workgroups;
  std::vector<Release> releases{1};
  std::vector<Barrier> barriers;
  std::vector<std::pair<unsigned, unsigned>> launchStarts; ///< rank, ordinal
  std::vector<uint32_t> snapshots{0};
};

} // namespace mono::emu
