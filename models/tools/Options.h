// The command line of monorun as plain values.
#pragma once

#include "lowering/Targets.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mono::tools {

/// Exit status of the tools; scripts rely on the numbers.
enum class ExitStatus {
  Good = 0,
  BadInput = 1, ///< the input is wrong, or the result differs
  Usage = 2,
  NoDevice = 3,
};

enum class DeviceKind { Emulator, Hip };
enum class StatsFormat { None, Text, Json };

/// A name of --dump: a mailbox, or a region of LDS and behind which task.
struct DumpName {
  std::string name;
  std::string place; ///< STAGE:TASK; empty: the end of the run, or where --break stops
};

struct RunOptions {
  std::string file;
  std::vector<std::pair<std::string, int64_t>> params;
  DeviceKind device = DeviceKind::Emulator;
  std::optional<unsigned> ranks;
  std::string inputs, outputs;
  std::vector<std::string> mailboxes; ///< names, or "all" alone; what else goes to `outputs`
  unsigned repeat = 1;
  StatsFormat stats = StatsFormat::None;
  std::optional<uint64_t> verifySeed;
  std::string variant;                     ///< of the random inputs; empty: the plain ones
  std::optional<uint64_t> adversarialSeed; ///< of the emulator's memory model; none: coherent
  std::string checks; ///< of the emulator, a list as emu::Checks::apply() takes it; empty: default
  uint64_t mfmaOrder = 0; ///< emu::Options::mfmaOrder
  std::string goldenCase;
  std::string trace;   ///< file for the timeline; empty: none
  std::string breakAt; ///< STAGE:TASK to stop at; empty: nowhere

  std::vector<DumpName> dump;
  std::string dumpFile;         ///< empty: stdout
  std::optional<unsigned> rank; ///< the only one that `dump` and `breakAt` are about
  bool quiet = false;           ///< neither progress nor summary

  /// STAGE:TASK behind which the run stops for `dump`; empty: nowhere.
  llvm::StringRef dumpPlace() const;
  /// The files that the run writes.
  std::vector<Target> targets() const {
    return {{"--outputs", outputs}, {"--dump-to", dumpFile}, {"--trace", trace}};
  }
  /// Whether the code object must say which task begins.
  bool wantsMarkers() const { return !trace.empty() || !breakAt.empty() || !dumpPlace().empty(); }
};

/// Parses the command line. --help and --version print and give Good; a wrong command line is
/// reported on stderr and gives Usage.
std::variant<RunOptions, ExitStatus> parseCommandLine(int argc, char **argv);

} // namespace mono::tools
