// Entry points that are asked for by name.
#include "runtime/emulator/hip/Status.h"

#include "llvm/ADT/StringRef.h"

#include <dlfcn.h>

using namespace mono::hipemu;

/// This library, whatever name it was loaded by.
static void *self() {
  static void *handle = [] {
    Dl_info info;
    void *found = nullptr;
    if (dladdr(reinterpret_cast<void *>(&errorName), &info) && info.dli_fname)
      found = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return found ? found : RTLD_DEFAULT;
  }();
  return handle;
}

/// `status` gets 0 for found, 1 for not found. Versions are major * 100 + minor.
HIP_EXPORT hipError_t hipGetProcAddress(const char *name, void **function, int version, uint64_t,
                                        int *status) {
  if (!name || !function)
    return remember(hipErrorInvalidValue);
  std::string wanted = name;
  bool revised = wanted == "hipGetDeviceProperties" || wanted == "hipChooseDevice";
  if (revised && version >= 600)
    wanted += "R0600";
  *function = dlsym(self(), wanted.c_str());
  if (status)
    *status = *function ? 0 : 1;
  return *function ? hipSuccess : remember(hipErrorNotFound);
}

HIP_EXPORT const char *hipApiName(uint32_t) { return "unknown"; }
HIP_EXPORT const char *hipKernelNameRefByPtr(const void *, void *) { return nullptr; }
