// Device calls mapped to HIP.
#include "runtime/hip/HipDevice.h"
#include "runtime/Error.h"
#include "runtime/hip/HipCodeObject.h"
#include "runtime/hip/HipGraph.h"
#include "runtime/hip/HsaMemory.h"

using namespace llvm;

namespace mono::hip {

static void *pointer(DevicePtr address) { return reinterpret_cast<void *>(address); }
static DevicePtr address(const void *pointer) { return reinterpret_cast<DevicePtr>(pointer); }

// ---- the device itself -------------------------------------------------------------------------

Expected<std::unique_ptr<HipDevice>> HipDevice::create(std::shared_ptr<const HipLibrary> library,
                                                       int ordinal) {
  std::unique_ptr<HipDevice> device(new HipDevice);
  device->hipContext = {std::move(library), ordinal};
  if (Error error = device->readProperties())
    return error;
  const HipContext &context = device->context();
  Error error = context.run([&] {
    return context.check(
        context.hip().hipStreamCreateWithFlags(&device->own.handle, api::streamNonBlocking),
        "hipStreamCreateWithFlags");
  });
  if (error)
    return error;
  return device;
}

HipDevice::~HipDevice() {
  // A destructor has nobody to tell.
  if (own.handle)
    consumeError(hipContext.run([&] {
      return hipContext.check(hipContext.hip().hipStreamDestroy(own.handle), "hipStreamDestroy");
    }));
}

template <typename Properties>
static Error queryProperties(const HipContext &context,
                             api::Status (*query)(Properties *properties, int device),
                             DeviceProperties &facts) {
  auto found = std::make_unique<Properties>();
  if (Error error = context.check(query(found.get(), context.ordinal), "hipGetDeviceProperties"))
    return error;
  auto text = [](const char (&field)[256]) { return StringRef(field, strnlen(field, 256)); };
  facts.name = text(found->name).str();
  // The name carries the target's features, as in "gfx950:sramecc+:xnack-".
  facts.arch = text(found->gcnArchName).split(':').first.str();
  facts.computeUnits = static_cast<unsigned>(found->multiProcessorCount);
  facts.ldsBytes = found->maxSharedMemoryPerMultiProcessor;
  return Error::success();
}

Error HipDevice::readProperties() {
  const api::Functions &hip = hipContext.hip();
  return hip.hipGetDevicePropertiesR0600
             ? queryProperties(hipContext, hip.hipGetDevicePropertiesR0600, facts)
             : queryProperties(hipContext, hip.hipGetDeviceProperties, facts);
}

Error HipDevice::enablePeer(const HipDevice &peer) {
  int other = peer.context().ordinal, can = 0;
  const api::Functions &hip = hipContext.hip();
  if (Error error = hipContext.check(hip.hipDeviceCanAccessPeer(&can, hipContext.ordinal, other),
                                     "hipDeviceCanAccessPeer"))
    return error;
  if (!can)
    return makeError("device {} cannot reach the memory of device {}", hipContext.ordinal, other);
  return hipContext.run([&] {
    api::Status status = hip.hipDeviceEnablePeerAccess(other, 0);
    // The application, or an earlier group, may have done it.
    if (status == api::ErrorPeerAccessAlreadyEnabled)
      status = api::Success;
    return hipContext.check(status, "hipDeviceEnablePeerAccess");
  });
}

Error HipDevice::synchronize(StreamHandle other) {
  auto synchronize = [&](api::Stream stream) {
    return hipContext.check(hipContext.hip().hipStreamSynchronize(stream), "hipStreamSynchronize");
  };
  if (!own.is(other))
    return synchronize(other);
  return own.wait([&] { return synchronize(own.handle); });
}

// ---- kernels -----------------------------------------------------------------------------------

Expected<std::unique_ptr<LoadedCodeObject>> HipDevice::load(ArrayRef<uint8_t> codeObject) {
  return HipCodeObject::load(hipContext, codeObject);
}

Expected<std::unique_ptr<PreparedLaunch>> HipDevice::prepare(const LaunchConfig &config) {
  return prepareLaunch(hipContext, facts, own, config);
}

// ---- memory ------------------------------------------------------------------------------------

/// `error` after memory was made: nothing stays behind.
static Error undo(const HipContext &context, Error error, void *memory,
                  api::Status (*release)(void *), StringRef call) {
  return memory ? joinErrors(std::move(error), context.check(release(memory), call))
                : std::move(error);
}

Expected<DevicePtr> HipDevice::allocateLocal(uint64_t bytes) {
  const api::Functions &hip = hipContext.hip();
  void *memory = nullptr;
  if (Error error = hipContext.run(
          [&] { return hipContext.check(hip.hipMalloc(&memory, bytes), "hipMalloc"); }))
    return undo(hipContext, std::move(error), memory, hip.hipFree, "hipFree");
  return address(memory);
}

Expected<DevicePtr> HipDevice::allocatePeerVisible(uint64_t bytes) {
  const api::Functions &hip = hipContext.hip();
  void *memory = nullptr;
  Error error = hipContext.run([&] {
    api::Status status = hip.hipExtMallocWithFlags(&memory, bytes, api::mallocUncached);
    if (status == api::ErrorInvalidValue)
      return makeError("HIP {} cannot allocate uncached device memory, which mailboxes between "
                       "ranks need",
                       hipContext.library->version());
    return hipContext.check(status, "hipExtMallocWithFlags");
  });
  if (!error)
    error = checkPeerVisible(address(memory), bytes);
  if (error)
    return undo(hipContext, std::move(error), memory, hip.hipFree, "hipFree");
  return address(memory);
}

Expected<DevicePtr> HipDevice::allocate(uint64_t bytes, StringRef name, MemoryKind kind) {
  if (bytes == 0)
    return makeError("'{}': expected at least 1 byte of device memory, but got 0", name);
  Expected<DevicePtr> memory =
      kind == MemoryKind::PeerVisible ? allocatePeerVisible(bytes) : allocateLocal(bytes);
  if (!memory)
    return addContext(memory.takeError(), fmt::format("{} bytes for '{}'", bytes, name));
  std::lock_guard guard(lock);
  owned[*memory] = bytes;
  return memory;
}

Error HipDevice::free(DevicePtr ptr) {
  {
    std::lock_guard guard(lock);
    if (owned.erase(ptr) == 0)
      return makeError("free of {:#x}: not the start of an allocation of device {}", ptr,
                       hipContext.ordinal);
  }
  return hipContext.check(hipContext.hip().hipFree(pointer(ptr)), "hipFree");
}

Expected<DevicePtr> HipDevice::checkRange(DevicePtr ptr, uint64_t bytes) const {
  void *base = nullptr;
  size_t size = 0;
  if (Error error =
          hipContext.check(hipContext.hip().hipMemGetAddressRange(&base, &size, pointer(ptr)),
                           "hipMemGetAddressRange"))
    return addContext(std::move(error), fmt::format("address {:#x}", ptr));
  uint64_t offset = ptr - address(base);
  if (offset > size || bytes > size - offset)
    return makeError("expected at most {} bytes at {:#x}, where the allocation ends, but got {}",
                     offset > size ? 0 : size - offset, ptr, bytes);
  return address(base);
}

Error HipDevice::copy(void *to, const void *from, uint64_t bytes) {
  Error error = hipContext.run([&] {
    return hipContext.check(
        hipContext.hip().hipMemcpyAsync(to, from, bytes, api::copyDefault, own.handle),
        "hipMemcpyAsync");
  });
  return error ? std::move(error) : synchronize();
}

Error HipDevice::write(DevicePtr to, ArrayRef<uint8_t> from) {
  Expected<DevicePtr> base = checkRange(to, from.size());
  return base ? copy(pointer(to), from.data(), from.size()) : base.takeError();
}

Error HipDevice::read(DevicePtr from, MutableArrayRef<uint8_t> to) {
  Expected<DevicePtr> base = checkRange(from, to.size());
  return base ? copy(to.data(), pointer(from), to.size()) : base.takeError();
}

Error HipDevice::fill(DevicePtr to, uint8_t value, uint64_t bytes) {
  if (Expected<DevicePtr> base = checkRange(to, bytes); !base)
    return base.takeError();
  Error error = hipContext.run([&] {
    return hipContext.check(hipContext.hip().hipMemsetAsync(pointer(to), value, bytes, own.handle),
                            "hipMemsetAsync");
  });
  return error ? std::move(error) : synchronize();
}

Error HipDevice::writeAside(ArrayRef<Patch> patches) {
  const api::Functions &hip = hipContext.hip();
  return hipContext.run([&]() -> Error {
    Expected<HipStream> aside = HipStream::create(*this);
    if (!aside)
      return aside.takeError();
    for (const Patch &patch : patches)
      if (Error error = hipContext.check(hip.hipMemcpyAsync(pointer(patch.to), patch.from.data(),
                                                            patch.from.size(), api::copyDefault,
                                                            aside->handle()),
                                         "hipMemcpyAsync"))
        return error;
    return aside->synchronize();
  });
}

// ---- memory of peers and other processes -------------------------------------------------------

/// What HIP itself says: the flags of hipExtMallocWithFlags, 0 for hipMalloc.
static Expected<MemoryGrain> grainFromHip(const HipContext &context, const void *memory) {
  api::PointerAttributes attributes = {};
  if (Error error = context.check(context.hip().hipPointerGetAttributes(&attributes, memory),
                                  "hipPointerGetAttributes"))
    return error;
  return attributes.allocationFlags == api::mallocUncached ? MemoryGrain::Fine
                                                           : MemoryGrain::Coarse;
}

Error HipDevice::checkPeerVisible(DevicePtr ptr, uint64_t bytes) {
  if (Expected<DevicePtr> base = checkRange(ptr, bytes); !base)
    return base.takeError();
  // AMD's HIP does not keep the flags of every allocation, the HSA runtime below it does.
  Expected<MemoryGrain> grain = grainFromHsa(pointer(ptr));
  if (grain && *grain == MemoryGrain::Unknown)
    grain = grainFromHip(hipContext, pointer(ptr));
  if (!grain)
    return grain.takeError();
  if (*grain != MemoryGrain::Fine)
    return makeError("expected uncached fine-grained memory for mailboxes between ranks at {:#x}, "
                     "but got coarse-grained memory; allocate it by hipExtMallocWithFlags with "
                     "hipDeviceMallocUncached",
                     ptr);
  return Error::success();
}

Expected<IpcMemory> HipDevice::exportMemory(DevicePtr ptr) {
  Expected<DevicePtr> base = checkRange(ptr, 0);
  if (!base)
    return base.takeError();
  api::IpcHandle handle = {};
  if (Error error = hipContext.run([&] {
        return hipContext.check(hipContext.hip().hipIpcGetMemHandle(&handle, pointer(*base)),
                                "hipIpcGetMemHandle");
      }))
    return error;
  IpcMemory memory;
  static_assert(sizeof handle.bytes == sizeof memory.handle);
  std::copy(std::begin(handle.bytes), std::end(handle.bytes), memory.handle.begin());
  memory.offset = ptr - *base;
  return memory;
}

Expected<DevicePtr> HipDevice::importMemory(const IpcMemory &memory) {
  api::IpcHandle handle = {};
  std::copy(memory.handle.begin(), memory.handle.end(), std::begin(handle.bytes));
  void *base = nullptr;
  if (Error error = hipContext.run([&] {
        return hipContext.check(
            hipContext.hip().hipIpcOpenMemHandle(&base, handle, api::ipcLazyEnablePeerAccess),
            "hipIpcOpenMemHandle");
      }))
    return undo(hipContext, std::move(error), base, hipContext.hip().hipIpcCloseMemHandle,
                "hipIpcCloseMemHandle");
  DevicePtr ptr = address(base) + memory.offset;
  std::lock_guard guard(lock);
  imported.emplace(ptr, address(base));
  return ptr;
}

Error HipDevice::releaseImported(DevicePtr ptr) {
  DevicePtr base = 0;
  {
    std::lock_guard guard(lock);
    auto found = imported.find(ptr);
    if (found == imported.end())
      return makeError("release of {:#x}: not memory of another process", ptr);
    base = found->second;
    imported.erase(found);
  }
  return hipContext.run([&] {
    return hipContext.check(hipContext.hip().hipIpcCloseMemHandle(pointer(base)),
                            "hipIpcCloseMemHandle");
  });
}

} // namespace mono::hip
