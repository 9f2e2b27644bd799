// The calls the compiler puts into single-source programs.
#include "runtime/emulator/hip/Registration.h"

#include "runtime/emulator/hip/Runtime.h"

#include <mutex>

namespace mono::hipemu {

namespace {
/// What clang's host code passes to __hipRegisterFatBinary.
struct FatBinaryWrapper {
  static constexpr uint32_t hipMagic = 0x48495046; ///< "HIPF"
  uint32_t magic, version;
  const void *image;
  void *unused;
};

struct Registry {
  std::recursive_mutex lock;
  std::vector<std::unique_ptr<RegisteredBinary>> binaries;
  std::map<const void *, RegisteredSymbol> functions, variables;
};

/// Grid, workgroup and LDS bytes of the launch that <<<...>>> announced on this thread.
struct CallConfiguration {
  dim3 grid, block;
  size_t ldsBytes;
  hipStream_t stream;
};
} // namespace

/// Never destroyed: programs unregister from static destructors.
static Registry &registry() {
  static auto *instance = new Registry;
  return *instance;
}

static const RegisteredSymbol *find(std::map<const void *, RegisteredSymbol> &map,
                                    const void *address) {
  std::lock_guard guard(registry().lock);
  auto it = map.find(address);
  return it == map.end() ? nullptr : &it->second;
}

const RegisteredSymbol *findRegisteredFunction(const void *stub) {
  return find(registry().functions, stub);
}

const RegisteredSymbol *findRegisteredVariable(const void *symbol) {
  return find(registry().variables, symbol);
}

void forEachRegisteredBinary(const std::function<void(RegisteredBinary &)> &visit) {
  std::lock_guard guard(registry().lock);
  for (const auto &binary : registry().binaries)
    visit(*binary);
}

static std::vector<CallConfiguration> &callConfigurations() {
  static thread_local std::vector<CallConfiguration> stack;
  return stack;
}

} // namespace mono::hipemu

using namespace mono::hipemu;

HIP_EXPORT void **__hipRegisterFatBinary(const void *wrapper) {
  const auto *fat = static_cast<const FatBinaryWrapper *>(wrapper);
  if (!fat || fat->magic != FatBinaryWrapper::hipMagic || fat->version != 1) {
    print("__hipRegisterFatBinary: not a HIP fat binary of version 1");
    return nullptr;
  }
  std::lock_guard guard(registry().lock);
  auto binary = std::make_unique<RegisteredBinary>();
  binary->image = fat->image;
  registry().binaries.push_back(std::move(binary));
  return reinterpret_cast<void **>(registry().binaries.back().get());
}

HIP_EXPORT void __hipUnregisterFatBinary(void **handle) {
  auto *binary = reinterpret_cast<RegisteredBinary *>(handle);
  std::lock_guard guard(registry().lock);
  auto isOfBinary = [&](const auto &entry) { return entry.second.binary == binary; };
  std::erase_if(registry().functions, isOfBinary);
  std::erase_if(registry().variables, isOfBinary);
  std::erase_if(registry().binaries, [&](const auto &known) { return known.get() == binary; });
}

HIP_EXPORT void __hipRegisterFunction(void **handle, const void *stub, char *, const char *name,
                                      unsigned, void *, void *, void *, void *, int *) {
  if (!handle)
    return;
  std::lock_guard guard(registry().lock);
  registry().functions[stub] = {reinterpret_cast<RegisteredBinary *>(handle), name};
}

HIP_EXPORT void __hipRegisterVar(void **handle, void *symbol, char *, char *name, int, size_t, int,
                                 int) {
  if (!handle)
    return;
  std::lock_guard guard(registry().lock);
  registry().variables[symbol] = {reinterpret_cast<RegisteredBinary *>(handle), name};
}

HIP_EXPORT void __hipRegisterManagedVar(void *handle, void **pointer, void *initial,
                                        const char *name, size_t bytes, unsigned) {
  if (!handle)
    return;
  {
    std::lock_guard guard(registry().lock);
    auto *binary = static_cast<RegisteredBinary *>(handle);
    *pointer = nullptr;
    binary->managed.push_back({pointer, initial, name, bytes});
    registry().variables[pointer] = {binary, name};
  }
  // Host code may use the variable before its first HIP call.
  Runtime &runtime = Runtime::get();
  if (runtime.startupStatus() == hipSuccess)
    remember(runtime.modules().prepareManaged());
}

HIP_EXPORT void __hipRegisterTexture(void **, void *, const char *, const char *, int, int, int) {}
HIP_EXPORT void __hipRegisterSurface(void **, void *, const char *, const char *, int, int) {}

HIP_EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t ldsBytes,
                                                 hipStream_t stream) {
  callConfigurations().push_back({grid, block, ldsBytes, stream});
  return hipSuccess;
}

HIP_EXPORT hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *ldsBytes,
                                                hipStream_t *stream) {
  if (callConfigurations().empty())
    return remember(hipErrorMissingConfiguration);
  CallConfiguration call = callConfigurations().back();
  callConfigurations().pop_back();
  *grid = call.grid;
  *block = call.block;
  *ldsBytes = call.ldsBytes;
  *stream = call.stream;
  return hipSuccess;
}
