// Stream-ordered allocation. A pool is a counter: memory is allocated at the call and freed when
// the stream gets there, so its address is never handed out twice at once.
#include "runtime/emulator/hip/Runtime.h"

#include <algorithm>

namespace mono::hipemu {

struct MemoryPool {
  unsigned device = 0;
  uint64_t releaseThreshold = 0;
  uint64_t used = 0, highest = 0;
  int reuse[3] = {1, 1, 1};
};

namespace {
/// hipMemPoolAttr
enum PoolAttribute : int {
  ReuseFollowEventDependencies = 1,
  ReuseAllowOpportunistic,
  ReuseAllowInternalDependencies,
  ReleaseThreshold,
  ReservedMemCurrent,
  ReservedMemHigh,
  UsedMemCurrent,
  UsedMemHigh,
};

struct Pools {
  std::mutex lock;
  std::vector<std::unique_ptr<MemoryPool>> defaults; ///< by device
  std::vector<MemoryPool *> current;
  std::set<std::unique_ptr<MemoryPool>> made;
};
} // namespace

static Pools &pools() {
  static auto *instance = [] {
    auto *fresh = new Pools;
    for (unsigned device = 0; device < Runtime::get().deviceCount(); ++device) {
      fresh->defaults.push_back(std::make_unique<MemoryPool>());
      fresh->defaults.back()->device = device;
      fresh->current.push_back(fresh->defaults.back().get());
    }
    return fresh;
  }();
  return *instance;
}

static bool isLive(const MemoryPool *pool) {
  auto same = [&](const auto &p) { return p.get() == pool; };
  std::lock_guard guard(pools().lock);
  return std::any_of(pools().defaults.begin(), pools().defaults.end(), same) ||
         std::any_of(pools().made.begin(), pools().made.end(), same);
}

static void count(MemoryPool *pool, uint64_t bytes, bool added) {
  std::lock_guard guard(pools().lock);
  pool->used = added ? pool->used + bytes : pool->used - bytes;
  pool->highest = std::max(pool->highest, pool->used);
}

static hipError_t allocateFrom(MemoryPool *pool, void **ptr, size_t bytes, hipStream_t handle) {
  return api([&](Runtime &runtime) -> hipError_t {
    Stream *stream = runtime.resolve(handle);
    if (!stream)
      return hipErrorInvalidHandle;
    if (stream->capture)
      return fail(hipErrorStreamCaptureUnsupported, "allocation in a capturing stream");
    MemoryPool *from = pool;
    if (!from) {
      std::lock_guard guard(pools().lock);
      from = pools().current[stream->device];
    }
    if (!ptr || !isLive(from))
      return hipErrorInvalidValue;
    *ptr = nullptr;
    if (bytes == 0)
      return hipSuccess;
    hipError_t status = runtime.memory().allocateDevice(from->device, bytes, 0, ptr, from);
    if (status == hipSuccess)
      count(from, bytes, true);
    return status;
  });
}

} // namespace mono::hipemu

using namespace mono::hipemu;

HIP_EXPORT hipError_t hipMallocAsync(void **ptr, size_t bytes, hipStream_t stream) {
  return allocateFrom(nullptr, ptr, bytes, stream);
}

HIP_EXPORT hipError_t hipMallocFromPoolAsync(void **ptr, size_t bytes, hipMemPool_t pool,
                                             hipStream_t stream) {
  return pool ? allocateFrom(pool, ptr, bytes, stream) : remember(hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipFreeAsync(void *ptr, hipStream_t handle) {
  return api([&](Runtime &runtime) {
    Stream *stream = runtime.resolve(handle);
    auto block = runtime.memory().find(ptr);
    if (!stream)
      return hipErrorInvalidHandle;
    if (!block || block->base != reinterpret_cast<uint64_t>(ptr))
      return hipErrorInvalidValue;
    if (stream->capture)
      return hipErrorStreamCaptureUnsupported;
    HostOp op;
    op.run = [&runtime, ptr] {
      Block freed;
      hipError_t status =
          runtime.memory().release(ptr, {BlockKind::Device, BlockKind::Managed}, &freed);
      if (status == hipSuccess && freed.pool && isLive(freed.pool))
        count(freed.pool, freed.bytes, false);
      return status;
    };
    return send(runtime, handle, std::move(op));
  });
}

HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *pool, int device) {
  return api([&](Runtime &runtime) {
    if (!pool || device < 0 || unsigned(device) >= runtime.deviceCount())
      return hipErrorInvalidValue;
    *pool = pools().defaults[device].get();
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t *pool, int device) {
  return api([&](Runtime &runtime) {
    if (!pool || device < 0 || unsigned(device) >= runtime.deviceCount())
      return hipErrorInvalidValue;
    std::lock_guard guard(pools().lock);
    *pool = pools().current[device];
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return api([&](Runtime &runtime) {
    if (!isLive(pool) || device < 0 || unsigned(device) >= runtime.deviceCount() ||
        pool->device != unsigned(device))
      return hipErrorInvalidValue;
    std::lock_guard guard(pools().lock);
    pools().current[device] = pool;
    return hipSuccess;
  });
}

/// Of the properties only the device counts: allocType, handleTypes, then location {type, id}.
HIP_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t *pool, const int *properties) {
  return api([&](Runtime &runtime) {
    if (!pool || !properties)
      return hipErrorInvalidValue;
    int device = properties[3];
    if (device < 0 || unsigned(device) >= runtime.deviceCount())
      return hipErrorInvalidDevice;
    auto fresh = std::make_unique<MemoryPool>();
    fresh->device = unsigned(device);
    *pool = fresh.get();
    std::lock_guard guard(pools().lock);
    pools().made.insert(std::move(fresh));
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return api([&](Runtime &) {
    std::lock_guard guard(pools().lock);
    for (unsigned device = 0; device < pools().current.size(); ++device)
      if (pools().current[device] == pool)
        pools().current[device] = pools().defaults[device].get();
    return std::erase_if(pools().made, [&](const auto &p) { return p.get() == pool; })
               ? hipSuccess
               : hipErrorInvalidValue;
  });
}

HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return api([&](Runtime &) { return isLive(pool) ? hipSuccess : hipErrorInvalidValue; });
}

HIP_EXPORT hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void *value) {
  return api([&](Runtime &) {
    if (!isLive(pool) || !value)
      return hipErrorInvalidValue;
    std::lock_guard guard(pools().lock);
    if (attribute >= ReuseFollowEventDependencies && attribute <= ReuseAllowInternalDependencies)
      pool->reuse[attribute - ReuseFollowEventDependencies] = *static_cast<int *>(value);
    else if (attribute == ReleaseThreshold)
      pool->releaseThreshold = *static_cast<uint64_t *>(value);
    else if (attribute == ReservedMemHigh || attribute == UsedMemHigh)
      pool->highest = pool->used;
    else
      return hipErrorInvalidValue;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void *value) {
  return api([&](Runtime &) {
    if (!isLive(pool) || !value)
      return hipErrorInvalidValue;
    std::lock_guard guard(pools().lock);
    if (attribute >= ReuseFollowEventDependencies && attribute <= ReuseAllowInternalDependencies)
      *static_cast<int *>(value) = pool->reuse[attribute - ReuseFollowEventDependencies];
    else if (attribute == ReleaseThreshold)
      *static_cast<uint64_t *>(value) = pool->releaseThreshold;
    else if (attribute == ReservedMemCurrent || attribute == UsedMemCurrent)
      *static_cast<uint64_t *>(value) = pool->used;
    else if (attribute == ReservedMemHigh || attribute == UsedMemHigh)
      *static_cast<uint64_t *>(value) = pool->highest;
    else
      return hipErrorInvalidValue;
    return hipSuccess;
  });
}

/// All devices reach all memory.
HIP_EXPORT hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const void *, size_t) {
  return api([&](Runtime &) { return isLive(pool) ? hipSuccess : hipErrorInvalidValue; });
}
HIP_EXPORT hipError_t hipMemPoolGetAccess(int *flags, hipMemPool_t pool, const void *) {
  return api([&](Runtime &) {
    if (!flags || !isLive(pool))
      return hipErrorInvalidValue;
    *flags = 3; // read and write
    return hipSuccess;
  });
}
