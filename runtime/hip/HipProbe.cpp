// dlopen of libamdhip64 and hipGetDeviceCount, nothing else.
#include "runtime/hip/HipProbe.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace mono::hip {

static constexpr const char *libraryNames[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                               "libamdhip64.so.5"};

ProbeResult probe() {
  ProbeResult result;
  void *library = nullptr;
  for (const char *name : libraryNames) {
    // The library stays open: unloading HIP while its threads live is not safe.
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) {
      result.library = name;
      break;
    }
  }
  if (!library) {
    result.message = "libamdhip64.so.7, .6 and .5 cannot be opened";
    return result;
  }
  using GetDeviceCount = int (*)(int *);
  auto getDeviceCount = reinterpret_cast<GetDeviceCount>(dlsym(library, "hipGetDeviceCount"));
  if (!getDeviceCount) {
    result.message = fmt::format("{} has no hipGetDeviceCount", result.library);
    return result;
  }
  int count = 0;
  if (int status = getDeviceCount(&count); status != 0) {
    result.message =
        fmt::format("{} is there, but hipGetDeviceCount returns error {}", result.library, status);
    return result;
  }
  result.devices = count;
  result.message = fmt::format("{} reports {} devices", result.library, count);
  return result;
}

} // namespace mono::hip
