// Names of the statistics.
#include "runtime/emulator/Stats.h"

namespace mono::emu {

const char *instructionClassName(InstructionClass cls) {
  static constexpr const char *names[instructionClassCount] = {
      "salu",        "branch", "valu",    "mfma",    "smem",  "vmem-load", "vmem-store",
      "vmem-atomic", "lds",    "barrier", "waitcnt", "sleep", "other"};
  return names[unsigned(cls)];
}

const char *memoryLevelName(MemoryLevel level) {
  static constexpr const char *names[memoryLevelCount] = {"lds",          "global", "scalar",
                                                          "fine-grained", "peers",  "scratch"};
  return names[unsigned(level)];
}

} // namespace mono::emu
