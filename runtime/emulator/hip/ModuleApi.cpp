// Entry points for modules, function attributes, symbols and occupancy.
#include "runtime/emulator/LaunchRules.h"
#include "runtime/emulator/hip/Bundle.h"
#include "runtime/emulator/hip/Launch.h"

#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace mono::hipemu;
using mono::emu::workgroupLimit;

// ---- modules -----------------------------------------------------------------------------------

HIP_EXPORT hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return api([&](Runtime &runtime) {
    if (!module || !path)
      return hipErrorInvalidValue;
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!file)
      return fail(hipErrorFileNotFound, "{}: {}", path, file.getError().message());
    return runtime.modules().load((*file)->getBuffer(), Runtime::currentDevice(), module);
  });
}

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return api([&](Runtime &runtime) {
    if (!module || !image)
      return hipErrorInvalidValue;
    auto length = imageLength(image);
    if (!length)
      return fail(hipErrorInvalidImage, length.takeError());
    return runtime.modules().load({static_cast<const char *>(image), *length},
                                  Runtime::currentDevice(), module);
  });
}

HIP_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned, int *,
                                          void **) {
  return hipModuleLoadData(module, image);
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  return api([&](Runtime &runtime) {
    runtime.queue().waitAll();
    return runtime.modules().unload(module);
  });
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                                           const char *name) {
  return api([&](Runtime &runtime) {
    if (!function || !name)
      return hipErrorInvalidValue;
    *function = nullptr;
    return runtime.modules().function(module, name, function);
  });
}

HIP_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t *ptr, size_t *bytes, hipModule_t module,
                                         const char *name) {
  return api([&](Runtime &runtime) -> hipError_t {
    uint64_t address = 0, size = 0;
    if (!name || (!ptr && !bytes))
      return hipErrorInvalidValue;
    if (hipError_t status =
            runtime.modules().global(module, Runtime::currentDevice(), name, &address, &size))
      return status;
    if (ptr)
      *ptr = reinterpret_cast<void *>(address);
    if (bytes)
      *bytes = size;
    return hipSuccess;
  });
}

// ---- symbols -----------------------------------------------------------------------------------

static hipError_t symbolFacts(const void *symbol, void **ptr, size_t *bytes) {
  return api([&](Runtime &runtime) -> hipError_t {
    uint64_t address = 0, size = 0;
    if (hipError_t status =
            runtime.modules().globalOfSymbol(symbol, Runtime::currentDevice(), &address, &size))
      return status;
    if (ptr)
      *ptr = reinterpret_cast<void *>(address);
    if (bytes)
      *bytes = size;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGetSymbolAddress(void **ptr, const void *symbol) {
  return ptr ? symbolFacts(symbol, ptr, nullptr) : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol) {
  return bytes ? symbolFacts(symbol, nullptr, bytes) : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *stub) {
  return api([&](Runtime &runtime) {
    return function ? runtime.modules().functionOfStub(stub, function) : hipErrorInvalidValue;
  });
}
HIP_EXPORT const char *hipKernelNameRef(hipFunction_t function) {
  bool known =
      Runtime::get().startupStatus() == hipSuccess && Runtime::get().modules().isLive(function);
  return known ? function->name.c_str() : nullptr;
}

// ---- attributes of functions -------------------------------------------------------------------

HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *stub) {
  return api([&](Runtime &runtime) -> hipError_t {
    Function *function = nullptr;
    if (!attributes)
      return hipErrorInvalidValue;
    if (hipError_t status = runtime.modules().functionOfStub(stub, &function))
      return status;
    const auto &info = function->info;
    *attributes = {};
    attributes->binaryVersion = attributes->ptxVersion = 95;
    attributes->localSizeBytes = info.scratchBytes;
    attributes->maxDynamicSharedSizeBytes = int(gfx950::ldsBytes - info.ldsBytes);
    attributes->maxThreadsPerBlock = int(workgroupLimit(function->info));
    attributes->numRegs = int(info.archVgprs ? info.archVgprs : info.vgprs);
    attributes->sharedSizeBytes = info.ldsBytes;
    return hipSuccess;
  });
}

static hipError_t functionAttribute(const Function &function, hipFunction_attribute attribute,
                                    int *value) {
  const auto &info = function.info;
  switch (attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = int(workgroupLimit(function.info));
    break;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = int(info.ldsBytes);
    break;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = int(info.scratchBytes);
    break;
  case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    *value = int(info.archVgprs ? info.archVgprs : info.vgprs);
    break;
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = int(gfx950::ldsBytes - info.ldsBytes);
    break;
  case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = 95;
    break;
  case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
  case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = 0;
    break;
  default:
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}

HIP_EXPORT hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute,
                                          hipFunction_t function) {
  return api([&](Runtime &runtime) {
    if (!value)
      return hipErrorInvalidValue;
    return runtime.modules().isLive(function) ? functionAttribute(*function, attribute, value)
                                              : hipErrorInvalidHandle;
  });
}

/// A workgroup may always have all of the LDS.
HIP_EXPORT hipError_t hipFuncSetAttribute(const void *stub, int, int) {
  return stub ? hipSuccess : remember(hipErrorInvalidDeviceFunction);
}
HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void *, int) { return hipSuccess; }
HIP_EXPORT hipError_t hipFuncSetSharedMemConfig(const void *, int) { return hipSuccess; }

// ---- occupancy ---------------------------------------------------------------------------------

static hipError_t occupancy(int *groups, const Function &function, int blockSize,
                            size_t dynamicLdsBytes) {
  if (!groups || blockSize <= 0)
    return hipErrorInvalidValue;
  bool fits = unsigned(blockSize) <= workgroupLimit(function.info);
  *groups =
      fits ? int(workgroupsPerComputeUnit(function, unsigned(blockSize), dynamicLdsBytes)) : 0;
  return hipSuccess;
}

/// The workgroup size with the most waves on a compute unit; of equals the largest.
static hipError_t bestBlock(int *gridSize, int *blockSize, const Function &function,
                            size_t dynamicLdsBytes, int limit) {
  if (!gridSize || !blockSize || limit < 0)
    return hipErrorInvalidValue;
  unsigned most = workgroupLimit(function.info);
  if (limit > 0)
    most = std::min(most, unsigned(limit));
  unsigned best = 0, bestWaves = 0, bestGroups = 0;
  for (unsigned size = waveSize; size <= most; size += waveSize) {
    unsigned groups = workgroupsPerComputeUnit(function, size, dynamicLdsBytes);
    if (groups * size >= bestWaves && groups) {
      best = size;
      bestGroups = groups;
      bestWaves = groups * size;
    }
  }
  *blockSize = int(best);
  *gridSize = int(bestGroups * computeUnits);
  return hipSuccess;
}

template <typename Fn> static hipError_t withStub(const void *stub, Fn fn) {
  return api([&](Runtime &runtime) -> hipError_t {
    Function *function = nullptr;
    if (hipError_t status = runtime.modules().functionOfStub(stub, &function))
      return status;
    return fn(*function);
  });
}

template <typename Fn> static hipError_t withFunction(hipFunction_t function, Fn fn) {
  return api([&](Runtime &runtime) {
    return runtime.modules().isLive(function) ? fn(*function) : hipErrorInvalidHandle;
  });
}

HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, const void *stub,
                                                                   int blockSize, size_t ldsBytes) {
  return withStub(stub,
                  [&](const Function &f) { return occupancy(groups, f, blockSize, ldsBytes); });
}
HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *groups, const void *stub, int blockSize, size_t ldsBytes, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(groups, stub, blockSize, ldsBytes);
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *groups,
                                                                         hipFunction_t function,
                                                                         int blockSize,
                                                                         size_t ldsBytes) {
  return withFunction(function,
                      [&](const Function &f) { return occupancy(groups, f, blockSize, ldsBytes); });
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *groups, hipFunction_t function, int blockSize, size_t ldsBytes, unsigned) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(groups, function, blockSize, ldsBytes);
}
HIP_EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize,
                                                        const void *stub, size_t ldsBytes,
                                                        int limit) {
  return withStub(
      stub, [&](const Function &f) { return bestBlock(gridSize, blockSize, f, ldsBytes, limit); });
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize,
                                                              hipFunction_t function,
                                                              size_t ldsBytes, int limit) {
  return withFunction(function, [&](const Function &f) {
    return bestBlock(gridSize, blockSize, f, ldsBytes, limit);
  });
}
HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    int *gridSize, int *blockSize, hipFunction_t function, size_t ldsBytes, int limit, unsigned) {
  return hipModuleOccupancyMaxPotentialBlockSize(gridSize, blockSize, function, ldsBytes, limit);
}
