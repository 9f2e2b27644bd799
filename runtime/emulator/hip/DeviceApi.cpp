// Entry points for the choice of device, peers, contexts and versions.
#include "runtime/emulator/hip/DeviceFacts.h"

#include <algorithm>

using namespace mono::hipemu;

/// HIP 6.4 is the interface this library follows.
static constexpr int runtimeVersion = 60443483;

// ---- choice of device --------------------------------------------------------------------------

HIP_EXPORT hipError_t hipInit(unsigned flags) {
  return api([&](Runtime &) { return flags ? hipErrorInvalidValue : hipSuccess; });
}

HIP_EXPORT hipError_t hipGetDeviceCount(int *count) {
  return api([&](Runtime &runtime) {
    if (!count)
      return hipErrorInvalidValue;
    *count = int(runtime.deviceCount());
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipSetDevice(int device) {
  return api([&](Runtime &) {
    if (!isDevice(device))
      return hipErrorInvalidDevice;
    Runtime::currentDevice() = unsigned(device);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipGetDevice(int *device) {
  return api([&](Runtime &) {
    if (!device)
      return hipErrorInvalidValue;
    *device = int(Runtime::currentDevice());
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceGet(hipDevice_t *device, int ordinal) {
  return api([&](Runtime &) {
    if (!device)
      return hipErrorInvalidValue;
    if (!isDevice(ordinal))
      return hipErrorInvalidDevice;
    *device = ordinal;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipChooseDeviceR0600(int *device, const hipDeviceProp_tR0600 *) {
  return hipDeviceGet(device, 0);
}
HIP_EXPORT hipError_t hipChooseDevice(int *device, const hipDeviceProp_tR0000 *) {
  return hipDeviceGet(device, 0);
}

static hipError_t giveText(char *out, int room, const std::string &text) {
  if (!out || room <= 0)
    return hipErrorInvalidValue;
  size_t count = std::min(text.size(), size_t(room) - 1);
  std::copy_n(text.begin(), count, out);
  out[count] = 0;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipDeviceGetName(char *name, int room, hipDevice_t device) {
  return api([&](Runtime &) {
    return isDevice(device) ? giveText(name, room, deviceName) : hipErrorInvalidDevice;
  });
}

HIP_EXPORT hipError_t hipDeviceGetPCIBusId(char *id, int room, int device) {
  return api([&](Runtime &) {
    return isDevice(device) ? giveText(id, room, fmt::format("0000:{:02x}:00.0", device + 1))
                            : hipErrorInvalidDevice;
  });
}

HIP_EXPORT hipError_t hipDeviceGetByPCIBusId(int *device, const char *id) {
  return api([&](Runtime &runtime) {
    if (!device || !id)
      return hipErrorInvalidValue;
    for (unsigned n = 0; n < runtime.deviceCount(); ++n)
      if (fmt::format("0000:{:02x}:00.0", n + 1) == id) {
        *device = int(n);
        return hipSuccess;
      }
    return hipErrorInvalidDevice;
  });
}

HIP_EXPORT hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device) {
  return api([&](Runtime &) {
    if (!uuid || !isDevice(device))
      return uuid ? hipErrorInvalidDevice : hipErrorInvalidValue;
    *uuid = uuidOf(device);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  return api([&](Runtime &) {
    if (!bytes || !isDevice(device))
      return bytes ? hipErrorInvalidDevice : hipErrorInvalidValue;
    *bytes = deviceMemoryBytes;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  return api([&](Runtime &) {
    if (!major || !minor || !isDevice(device))
      return hipErrorInvalidValue;
    *major = 9;
    *minor = 5;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDriverGetVersion(int *version) {
  return version ? *version = runtimeVersion, hipSuccess : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipRuntimeGetVersion(int *version) { return hipDriverGetVersion(version); }

// ---- the whole device --------------------------------------------------------------------------

HIP_EXPORT hipError_t hipDeviceSynchronize() {
  return api([](Runtime &runtime) { return runtime.queue().waitDevice(Runtime::currentDevice()); });
}

/// Ends what is queued and forgets a failure; memory and modules stay, so that the program's own
/// clean-up finds them.
HIP_EXPORT hipError_t hipDeviceReset() {
  return api([](Runtime &runtime) {
    runtime.queue().waitAll();
    runtime.queue().clearFailure();
    return hipSuccess;
  });
}

/// Settings that have no meaning for the emulated device are taken and forgotten.
HIP_EXPORT hipError_t hipSetDeviceFlags(unsigned) { return hipSuccess; }
HIP_EXPORT hipError_t hipGetDeviceFlags(unsigned *flags) {
  return flags ? *flags = 0, hipSuccess : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipDeviceSetCacheConfig(int) { return hipSuccess; }
HIP_EXPORT hipError_t hipDeviceGetCacheConfig(int *config) {
  return config ? *config = 0, hipSuccess : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipDeviceSetSharedMemConfig(int) { return hipSuccess; }
HIP_EXPORT hipError_t hipDeviceGetSharedMemConfig(int *config) {
  return config ? *config = 1, hipSuccess : remember(hipErrorInvalidValue);
}
HIP_EXPORT hipError_t hipDeviceSetLimit(int, size_t) { return hipSuccess; }

/// hipLimitStackSize is 0, hipLimitPrintfFifoSize 1, hipLimitMallocHeapSize 2.
HIP_EXPORT hipError_t hipDeviceGetLimit(size_t *value, int limit) {
  if (!value || limit < 0 || limit > 2)
    return remember(hipErrorInvalidValue);
  *value = limit == 0 ? 16 << 10 : 0;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipProfilerStart() { return hipSuccess; }
HIP_EXPORT hipError_t hipProfilerStop() { return hipSuccess; }

// ---- peers -------------------------------------------------------------------------------------

namespace {
/// Which device was allowed which peer.
struct Peers {
  std::mutex lock;
  std::set<std::pair<unsigned, int>> enabled;
};
} // namespace

static Peers &peers() {
  static auto *instance = new Peers;
  return *instance;
}

HIP_EXPORT hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  return api([&](Runtime &) {
    if (!can)
      return hipErrorInvalidValue;
    if (!isDevice(device) || !isDevice(peer))
      return hipErrorInvalidDevice;
    *can = device != peer;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api([&](Runtime &) {
    if (flags)
      return hipErrorInvalidValue;
    if (!isDevice(peer) || unsigned(peer) == Runtime::currentDevice())
      return hipErrorInvalidDevice;
    std::lock_guard guard(peers().lock);
    return peers().enabled.emplace(Runtime::currentDevice(), peer).second
               ? hipSuccess
               : hipErrorPeerAccessAlreadyEnabled;
  });
}

HIP_EXPORT hipError_t hipDeviceDisablePeerAccess(int peer) {
  return api([&](Runtime &) {
    if (!isDevice(peer))
      return hipErrorInvalidDevice;
    std::lock_guard guard(peers().lock);
    return peers().enabled.erase({Runtime::currentDevice(), peer}) ? hipSuccess
                                                                   : hipErrorPeerAccessNotEnabled;
  });
}

/// All pairs are linked by xGMI: performance rank 1, access, native atomics, arrays not.
HIP_EXPORT hipError_t hipDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  return api([&](Runtime &) {
    if (!value || attribute < 0 || attribute > 3)
      return hipErrorInvalidValue;
    if (!isDevice(from) || !isDevice(to) || from == to)
      return hipErrorInvalidDevice;
    *value = attribute != 3;
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t *type,
                                                   uint32_t *hops) {
  return api([&](Runtime &) {
    if (!type || !hops)
      return hipErrorInvalidValue;
    if (!isDevice(from) || !isDevice(to) || from == to)
      return hipErrorInvalidDevice;
    *type = 4; // HSA_AMD_LINK_INFO_TYPE_XGMI
    *hops = 1;
    return hipSuccess;
  });
}

// ---- contexts: a device each, always there -----------------------------------------------------

static hipCtx_t contextOf(int device) { return reinterpret_cast<hipCtx_t>(intptr_t(device) + 1); }
static int deviceOf(hipCtx_t context) { return int(reinterpret_cast<intptr_t>(context)) - 1; }

HIP_EXPORT hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *context, hipDevice_t device) {
  return api([&](Runtime &) {
    if (!context || !isDevice(device))
      return context ? hipErrorInvalidDevice : hipErrorInvalidValue;
    *context = contextOf(device);
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return api([&](Runtime &) { return isDevice(device) ? hipSuccess : hipErrorInvalidDevice; });
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned) {
  return hipDevicePrimaryCtxRelease(device);
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  return hipDevicePrimaryCtxRelease(device);
}
HIP_EXPORT hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags,
                                                  int *active) {
  return api([&](Runtime &) {
    if (!flags || !active || !isDevice(device))
      return hipErrorInvalidValue;
    *flags = 0;
    *active = 1;
    return hipSuccess;
  });
}
HIP_EXPORT hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return context ? hipSetDevice(deviceOf(context)) : hipSuccess;
}
HIP_EXPORT hipError_t hipCtxGetCurrent(hipCtx_t *context) {
  return hipDevicePrimaryCtxRetain(context, int(Runtime::currentDevice()));
}
HIP_EXPORT hipError_t hipCtxCreate(hipCtx_t *context, unsigned, hipDevice_t device) {
  hipError_t status = hipDevicePrimaryCtxRetain(context, device);
  return status ? status : hipSetDevice(device);
}
HIP_EXPORT hipError_t hipCtxDestroy(hipCtx_t context) {
  return hipDevicePrimaryCtxRelease(deviceOf(context));
}
HIP_EXPORT hipError_t hipCtxGetDevice(hipDevice_t *device) { return hipGetDevice(device); }
HIP_EXPORT hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }
