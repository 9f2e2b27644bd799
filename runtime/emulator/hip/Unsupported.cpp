// Entry points that programs link but the emulator does not have: they say so once and fail.
#include "runtime/emulator/hip/Status.h"

#include <mutex>
#include <set>

using namespace mono::hipemu;

static hipError_t unsupported(const char *name) {
  static std::mutex lock;
  static auto *seen = new std::set<std::string>;
  std::lock_guard guard(lock);
  if (seen->insert(name).second)
    print(fmt::format("{} is not supported", name));
  return remember(hipErrorNotSupported);
}

// The arguments differ and are ignored, which the calling convention allows.
#define UNSUPPORTED(name)                                                                          \
  HIP_EXPORT hipError_t name() { return unsupported(#name); }
#include "runtime/emulator/hip/Unsupported.def"

// hiprtcResult: internal error.
#define UNSUPPORTED_RTC(name)                                                                      \
  HIP_EXPORT int name() {                                                                          \
    unsupported(#name);                                                                            \
    return 11;                                                                                     \
  }
#include "runtime/emulator/hip/Unsupported.def"
