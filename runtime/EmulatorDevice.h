// The device interface over the gfx950 emulator: N devices of one emulated machine, so that ranks
// can reach each other's mailboxes and wait for each other.
#pragma once

#include "runtime/Device.h"
#include "runtime/emulator/Emulator.h"

#include <vector>

namespace mono {

/// One emulated node. Owns its devices; everything allocated on them must be gone before it.
class EmulatorNode {
public:
  /// Error when the host CPU cannot run the emulator or `ranks` is not in [1, 8].
  static llvm::Expected<std::unique_ptr<EmulatorNode>> create(unsigned ranks,
                                                              const emu::Options &options = {});
  ~EmulatorNode();

  /// One per rank; valid as long as the node.
  std::vector<Device *> devices() const;
  /// For statistics, which are the emulator's own.
  emu::Machine &machine();

private:
  explicit EmulatorNode(unsigned ranks, const emu::Options &options);
  class EmulatorDevice;
  class EmulatedLaunch;
  emu::Machine emulator;
  std::vector<std::unique_ptr<EmulatorDevice>> members;
  /// Started but not yet run: the machine runs the launches of all ranks together, which happens
  /// when somebody waits for one of them.
  struct Pending {
    emu::Launch launch;
    std::shared_ptr<LaunchFailure> failure; ///< may be null
  };
  std::vector<Pending> pending;
  /// Runs them, and records what goes wrong with those it concerns.
  llvm::Error runPending();
  static bool recordFailure(llvm::ArrayRef<Pending> launches, llvm::ArrayRef<emu::LaunchEnd> ends,
                            const std::string &text);
};

} // namespace mono
