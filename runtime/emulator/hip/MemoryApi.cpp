// Entry points that allocate, free and describe memory.
#include "runtime/emulator/hip/Runtime.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mono::hipemu;

// ---- device memory -----------------------------------------------------------------------------

static hipError_t allocate(void **ptr, size_t bytes, unsigned flags) {
  return api([&](Runtime &runtime) {
    if (!ptr)
      return hipErrorInvalidValue;
    *ptr = nullptr;
    if (bytes == 0)
      return hipSuccess;
    return runtime.memory().allocateDevice(Runtime::currentDevice(), bytes, flags, ptr);
  });
}

HIP_EXPORT hipError_t hipMalloc(void **ptr, size_t bytes) { return allocate(ptr, bytes, 0); }

/// Fine-grained and uncached memory is what all emulated memory is.
HIP_EXPORT hipError_t hipExtMallocWithFlags(void **ptr, size_t bytes, unsigned flags) {
  constexpr unsigned knownFlags = 0x7;
  if (flags & ~knownFlags)
    return remember(hipErrorInvalidValue);
  return allocate(ptr, bytes, flags);
}

/// Waits for all work, then frees.
static hipError_t release(void *ptr, std::initializer_list<BlockKind> kinds) {
  return api([&](Runtime &runtime) {
    if (!ptr)
      return hipSuccess;
    runtime.queue().waitAll();
    return runtime.memory().release(ptr, kinds);
  });
}

HIP_EXPORT hipError_t hipFree(void *ptr) {
  return release(ptr, {BlockKind::Device, BlockKind::Managed});
}

static constexpr size_t pitchAlignment = 256;

HIP_EXPORT hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height) {
  if (!pitch || width > SIZE_MAX - pitchAlignment)
    return remember(hipErrorInvalidValue);
  *pitch = llvm::alignTo(width, pitchAlignment);
  return allocate(ptr, llvm::SaturatingMultiply(*pitch, height), 0);
}

HIP_EXPORT hipError_t hipMemAllocPitch(hipDeviceptr_t *ptr, size_t *pitch, size_t width,
                                       size_t height, unsigned) {
  return hipMallocPitch(ptr, pitch, width, height);
}

HIP_EXPORT hipError_t hipMalloc3D(hipPitchedPtr *pitched, hipExtent extent) {
  if (!pitched)
    return remember(hipErrorInvalidValue);
  pitched->xsize = extent.width;
  pitched->ysize = extent.height;
  return hipMallocPitch(&pitched->ptr, &pitched->pitch, extent.width,
                        llvm::SaturatingMultiply(extent.height, extent.depth));
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  return api([&](Runtime &runtime) {
    if (!free || !total)
      return hipErrorInvalidValue;
    *total = deviceMemoryBytes;
    *free = *total - runtime.memory().usedBytes(Runtime::currentDevice());
    return hipSuccess;
  });
}

// ---- host memory -------------------------------------------------------------------------------

static hipError_t allocateHost(BlockKind kind, void **ptr, size_t bytes, unsigned flags) {
  return api([&](Runtime &runtime) {
    if (!ptr)
      return hipErrorInvalidValue;
    *ptr = nullptr;
    if (bytes == 0)
      return kind == BlockKind::Managed ? hipErrorInvalidValue : hipSuccess;
    return runtime.memory().allocateHost(kind, Runtime::currentDevice(), bytes, flags, ptr);
  });
}

HIP_EXPORT hipError_t hipHostMalloc(void **ptr, size_t bytes, unsigned flags) {
  return allocateHost(BlockKind::Pinned, ptr, bytes, flags);
}
HIP_EXPORT hipError_t hipHostAlloc(void **ptr, size_t bytes, unsigned flags) {
  return allocateHost(BlockKind::Pinned, ptr, bytes, flags);
}
HIP_EXPORT hipError_t hipExtHostAlloc(void **ptr, size_t bytes, unsigned flags) {
  return allocateHost(BlockKind::Pinned, ptr, bytes, flags);
}
HIP_EXPORT hipError_t hipMallocHost(void **ptr, size_t bytes) {
  return allocateHost(BlockKind::Pinned, ptr, bytes, 0);
}
HIP_EXPORT hipError_t hipMemAllocHost(void **ptr, size_t bytes) {
  return allocateHost(BlockKind::Pinned, ptr, bytes, 0);
}
HIP_EXPORT hipError_t hipMallocManaged(void **ptr, size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return remember(hipErrorInvalidValue);
  return allocateHost(BlockKind::Managed, ptr, bytes, flags);
}

HIP_EXPORT hipError_t hipHostFree(void *ptr) { return release(ptr, {BlockKind::Pinned}); }
HIP_EXPORT hipError_t hipFreeHost(void *ptr) { return release(ptr, {BlockKind::Pinned}); }

HIP_EXPORT hipError_t hipHostRegister(void *ptr, size_t bytes, unsigned flags) {
  return api([&](Runtime &runtime) {
    if (!ptr || bytes == 0)
      return hipErrorInvalidValue;
    return runtime.memory().registerHost(ptr, bytes, Runtime::currentDevice(), flags);
  });
}

HIP_EXPORT hipError_t hipHostUnregister(void *ptr) {
  return api([&](Runtime &runtime) {
    if (!ptr)
      return hipErrorInvalidValue;
    runtime.queue().waitAll();
    return runtime.memory().unregisterHost(ptr);
  });
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(host);
    if (!device || !block || !block->isHostVisible())
      return hipErrorInvalidValue;
    *device = host;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipHostGetFlags(unsigned *flags, void *host) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(host);
    if (!flags || !block || block->kind != BlockKind::Pinned)
      return hipErrorInvalidValue;
    *flags = block->flags;
    return hipSuccess;
  });
}

// ---- hints: managed memory is where everyone reaches it ----------------------------------------

static hipError_t hint(const void *ptr, size_t bytes) {
  return api([&](Runtime &runtime) {
    return runtime.memory().findRange(ptr, bytes) ? hipSuccess : hipErrorInvalidValue;
  });
}
HIP_EXPORT hipError_t hipMemPrefetchAsync(const void *ptr, size_t bytes, int, hipStream_t) {
  return hint(ptr, bytes);
}
HIP_EXPORT hipError_t hipMemAdvise(const void *ptr, size_t bytes, int, int) {
  return hint(ptr, bytes);
}

// ---- questions ---------------------------------------------------------------------------------

/// The number for a kind of memory in the interface version of the program.
static hipMemoryType typeNumber(const Runtime &runtime, BlockKind kind) {
  // HIP 5: host 0, device 1, managed 4.
  bool hip5 = runtime.isHip5();
  switch (kind) {
  case BlockKind::Pinned:
  case BlockKind::Registered:
    return hip5 ? hipMemoryType(0) : hipMemoryTypeHost;
  case BlockKind::Managed:
    return hip5 ? hipMemoryType(4) : hipMemoryTypeManaged;
  case BlockKind::Device:
  case BlockKind::Imported:
    break;
  }
  return hip5 ? hipMemoryType(1) : hipMemoryTypeDevice;
}

HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *ptr) {
  return api([&](Runtime &runtime) {
    if (!attributes || !ptr)
      return hipErrorInvalidValue;
    auto block = runtime.memory().find(ptr);
    if (!block) {
      // HIP 6 answers for foreign memory as well.
      if (runtime.isHip5())
        return hipErrorInvalidValue;
      *attributes = {hipMemoryTypeUnregistered, -2, nullptr, nullptr, 0, 0};
      return hipSuccess;
    }
    void *pointer = const_cast<void *>(ptr);
    bool onHost = block->isHostVisible() && block->kind != BlockKind::Imported;
    *attributes = {
        typeNumber(runtime, block->kind),  int(block->device), pointer, onHost ? pointer : nullptr,
        block->kind == BlockKind::Managed, block->flags};
    return hipSuccess;
  });
}

static hipError_t pointerAttribute(Runtime &runtime, const Block &block, void *ptr,
                                   hipPointer_attribute attribute, void *value) {
  bool onHost = block.isHostVisible() && block.kind != BlockKind::Imported;
  switch (attribute) {
  case HIP_POINTER_ATTRIBUTE_CONTEXT:
    *static_cast<intptr_t *>(value) = intptr_t(block.device) + 1;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *static_cast<int *>(value) = typeNumber(runtime, block.kind);
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    *static_cast<void **>(value) = ptr;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    *static_cast<void **>(value) = onHost ? ptr : nullptr;
    return onHost ? hipSuccess : hipErrorInvalidValue;
  case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
    *static_cast<uint64_t *>(value) = block.id;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
    *static_cast<bool *>(value) =
        attribute == HIP_POINTER_ATTRIBUTE_IS_MANAGED && block.kind == BlockKind::Managed;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *static_cast<int *>(value) = int(block.device);
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
    *static_cast<bool *>(value) = block.kind == BlockKind::Device;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *static_cast<uint64_t *>(value) = block.base;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    *static_cast<size_t *>(value) = block.bytes;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_MAPPED:
    *static_cast<bool *>(value) = true;
    return hipSuccess;
  case HIP_POINTER_ATTRIBUTE_P2P_TOKENS:
    break;
  }
  return hipErrorNotSupported;
}

HIP_EXPORT hipError_t hipPointerGetAttribute(void *value, hipPointer_attribute attribute,
                                             hipDeviceptr_t ptr) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(ptr);
    return value && block ? pointerAttribute(runtime, *block, ptr, attribute, value)
                          : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *attributes,
                                                 void **values, hipDeviceptr_t ptr) {
  return api([&](Runtime &runtime) -> hipError_t {
    auto block = runtime.memory().find(ptr);
    if (!attributes || !values || !block)
      return hipErrorInvalidValue;
    for (unsigned n = 0; n < count; ++n)
      if (hipError_t status = pointerAttribute(runtime, *block, ptr, attributes[n], values[n]))
        return status;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes,
                                            hipDeviceptr_t ptr) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(ptr);
    if (!block)
      return hipErrorNotFound;
    if (base)
      *base = reinterpret_cast<void *>(block->base);
    if (bytes)
      *bytes = block->bytes;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipMemPtrGetInfo(void *ptr, size_t *bytes) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(ptr);
    if (!block || !bytes)
      return hipErrorInvalidValue;
    *bytes = block->bytes;
    return hipSuccess;
  });
}
