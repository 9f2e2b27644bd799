// Names of the statistics.
#include "runtime/emulator/Stats.h"

namespace mono::emu {

const char *instructionClassName(InstructionClass cls) {
  static constexpr const char *names[instructionClassCount] = {
      "salu",        "branch", "valu",    "mfma",    "smem",  "vmem-load", "vmem-store",
      "vmem-atomic", "lds",    "barrier", "waitcnt", "sleep", "other"};
  return names[unsigned(cls)];
}

} // namespace mono::emu
