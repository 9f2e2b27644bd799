// An HSA runtime with one function that gives the answer a test wants.
#include <cstddef>
#include <cstdint>

#define STUB extern "C" __attribute__((visibility("default")))

/// The global_flags of all memory; 0: the memory is unknown.
STUB uint32_t monoStubGlobalFlags;
uint32_t monoStubGlobalFlags = 0;

namespace {
struct Info {
  uint32_t size, type;
  void *agentBase, *hostBase;
  size_t bytes;
  void *userData;
  uint64_t owner;
  uint32_t globalFlags;
  bool registered;
};
} // namespace

STUB int hsa_amd_pointer_info(const void *, Info *info, void *(*)(size_t), uint32_t *, void **) {
  info->type = monoStubGlobalFlags ? 1 : 0;
  info->globalFlags = monoStubGlobalFlags;
  return 0;
}
