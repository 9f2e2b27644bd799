// How far a launch on the emulator is, seen by what its stages have posted.
#pragma once

#include "models/tools/Progress.h"
#include "runtime/Group.h"
#include "runtime/emulator/Emulator.h"

namespace mono::tools {

/// Looks at a sample of the words of each mailbox while a launch runs, and tells which part of them
/// has been posted and, for each rank, the last stage that has posted something to it.
class LaunchProgress {
public:
  explicit LaunchProgress(Progress &progress) : progress(progress) {}

  /// To be given to the machine as Options::onProgress; tells nothing until a launch begins.
  void told(uint64_t executed);

  /// Before the group's launch `number`, counted from 1.
  void begin(const Group &group, const emu::Machine &machine, uint32_t number);
  void end();

private:
  struct Sample {
    unsigned rank;
    int stage; ///< that posts it; -1: not known
    DevicePtr word;
  };
  std::string describe(uint64_t executed) const;

  Progress &progress;
  const emu::Machine *machine = nullptr; ///< null: no launch
  std::vector<std::string> stages;
  unsigned ranks = 0;
  uint32_t tag = 0;
  std::vector<Sample> samples;
  std::chrono::steady_clock::time_point last;
};

/// Ranks and the stages they have reached, "ranks 0-3 at 'router', 4-7 at 'reduce'"; a stage of -1
/// is the begin.
std::string describeStages(llvm::ArrayRef<int> reached, llvm::ArrayRef<std::string> stages);

} // namespace mono::tools
