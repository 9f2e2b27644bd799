// hsa_amd_pointer_info through the HSA runtime that HIP has loaded, by our own declarations.
#include "runtime/hip/HsaMemory.h"

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

namespace mono::hip {

namespace {

/// hsa_amd_pointer_info_t.
struct PointerInfo {
  uint32_t size = sizeof(PointerInfo); ///< on return what the runtime knows of it
  uint32_t type = 0;                   ///< 0: unknown to HSA
  void *agentBase = nullptr, *hostBase = nullptr;
  size_t bytes = 0;
  void *userData = nullptr;
  uint64_t owner = 0;
  uint32_t globalFlags = 0;
  bool registered = false;
};

using GetPointerInfo = int (*)(const void *, PointerInfo *, void *(*)(size_t), uint32_t *, void *);

// hsa_amd_memory_pool_global_flag_t: fine-grained, and fine-grained at extended scope.
constexpr uint32_t fineGrained = 2, extendedScopeFineGrained = 8;

GetPointerInfo findPointerInfo() {
  // Only the runtime that is there already: opening another one would start it.
  void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library)
    return nullptr;
  auto function = reinterpret_cast<GetPointerInfo>(dlsym(library, "hsa_amd_pointer_info"));
  dlclose(library);
  return function;
}

} // namespace

MemoryGrain grainFromHsa(const void *memory) {
  GetPointerInfo getPointerInfo = findPointerInfo();
  if (!getPointerInfo)
    return MemoryGrain::Unknown;
  PointerInfo info;
  // It fails when it is loaded but not in use: then this HIP does not stand on it.
  bool failed = getPointerInfo(memory, &info, nullptr, nullptr, nullptr) != 0;
  bool tells = info.size >= offsetof(PointerInfo, globalFlags) + sizeof(info.globalFlags);
  if (failed || info.type == 0 || !tells)
    return MemoryGrain::Unknown;
  return info.globalFlags & (fineGrained | extendedScopeFineGrained) ? MemoryGrain::Fine
                                                                     : MemoryGrain::Coarse;
}

} // namespace mono::hip
