// What the workgroups of a run did, on a clock of steps.
#pragma once

#include "runtime/emulator/Emulator.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mono::emu {

class Wave;
class Workgroup;
struct LaneAddresses;

/// Records tasks and waits. A wavefront's clock counts its instructions. Where it reads a word of
/// watched memory that another wavefront has written in this run, its clock is after the store; at
/// a barrier the clocks of a workgroup become equal. Polls that find nothing new take no steps. So
/// steps are a logical time: what depends on what, with an instruction as the unit. They are no
/// cycles, and don't depend on the order in which the emulator runs the workgroups.
///
/// Given to a machine as Options::trace, which then uses one host thread.
class Trace {
public:
  /// Words of these bytes carry data from workgroup to workgroup; 8-byte words.
  void watch(DevicePtr start, uint64_t bytes);
  /// Where a run ends with an error: at the s_ttracedata with this value in m0.
  struct Stop {
    uint32_t marker = 0;
    std::optional<unsigned> rank = std::nullopt; ///< any, if none
    /// Not there, but when all wavefronts of the workgroup have left what comes before the next:
    /// they wait for each other at its begin, or at the end of the program.
    bool behind = false;
  };
  void stopAt(const Stop &place) { stop = place; }
  /// A workgroup when it was stopped.
  struct Stopped {
    unsigned rank = 0;
    uint64_t workgroup = 0;
    std::string registers; ///< of the wavefront that came there first, or last if `behind`; as text
    std::vector<uint8_t> lds;
    std::vector<bool> ldsWritten; ///< by byte
  };
  /// What stopAt() stopped, if anything.
  const std::optional<Stopped> &stopped() const { return stoppedAt; }

  struct Place {
    unsigned rank = 0;
    uint64_t workgroup = 0;
    uint64_t step = 0;
    bool operator==(const Place &) const = default;
  };
  /// From the first wavefront of a workgroup that executes s_ttracedata to the last that leaves
  /// what comes before the next.
  struct Task {
    Place begin;
    uint64_t end = 0;
    uint32_t marker = 0; ///< m0
  };
  /// A wavefront that had to wait for a word.
  struct Wait {
    Place begin;
    uint64_t end = 0;
    DevicePtr word = 0; ///< the last of its words to come
    Place stored;       ///< by whom and when
  };
  /// In the order of ranks, workgroups and time.
  std::vector<Task> tasks() const;
  const std::vector<Wait> &waits() const { return waitList; }

  // ---- called by the emulator --------------------------------------------------------------

  /// Clocks go on where the last run ended.
  void beginRun() { base = latest; }
  void marker(Wave &wave, uint32_t value);
  /// Lanes of `at` store or load `bytes` bytes each.
  void stored(Wave &wave, const LaneAddresses &at, unsigned bytes);
  void loaded(Wave &wave, const LaneAddresses &at, unsigned bytes);
  /// The waves at the barrier go on. The instruction of `arriving` is not counted yet.
  void barrier(Workgroup &workgroup, const Wave *arriving);
  /// Before the wave ends. False: it has to stay, because the run stops here.
  bool mayEnd(Wave &wave);
  /// The last `cycles` of the wave's modelled clock went by in a poll that found nothing new.
  void polledInVain(Wave &wave, uint64_t cycles);

private:
  struct Row {
    std::vector<Task> tasks;
    std::vector<size_t> begun; ///< by each wavefront
  };
  Place now(const Wave &wave) const;
  Row &rowOf(const Wave &wave);
  void leave(Row &row, const Wave &wave);
  bool isStop(const Wave &wave, uint32_t value) const;
  bool holds(Wave &wave);
  void end(Wave &wave, const char *why);
  /// Calls `visit` with each watched word the lanes touch.
  template <typename Visit>
  void forEachWord(const LaneAddresses &at, unsigned bytes, Visit visit) const;

  std::map<DevicePtr, DevicePtr> watched; ///< end by start
  std::optional<Stop> stop;
  std::optional<Stopped> stoppedAt;
  std::set<const Wave *> inside; ///< of a task to stop behind
  uint64_t base = 0, latest = 0;
  std::map<std::pair<unsigned, uint64_t>, Row> rows; ///< by rank and workgroup
  llvm::DenseMap<DevicePtr, Place> words;            ///< last store to each
  std::vector<Wait> waitList;
};

} // namespace mono::emu
