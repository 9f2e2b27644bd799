// What the emulator needs of the host CPU.
#include "runtime/Error.h"
#include "runtime/emulator/Emulator.h"

namespace mono::emu {

llvm::Error Machine::checkHost() {
  __builtin_cpu_init();
  std::string missing;
  auto need = [&](bool present, const char *name) {
    if (!present)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(__builtin_cpu_supports("avx2"), "AVX2");
  need(__builtin_cpu_supports("fma"), "FMA");
  need(__builtin_cpu_supports("f16c"), "F16C");
  if (missing.empty())
    return llvm::Error::success();
  return makeError("the emulator needs an x86-64-v3 CPU, but this host lacks {}", missing);
}

} // namespace mono::emu
