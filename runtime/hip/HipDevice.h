// The device interface over HIP: memory, streams and copies of one GPU. Code objects and launches
// are in HipCodeObject.h.
#pragma once

#include "runtime/Device.h"
#include "runtime/hip/HipContext.h"
#include "runtime/hip/OwnStream.h"

#include <map>
#include <mutex>

namespace mono::hip {

/// Thread-safe as far as HIP is. Made by HipNode.
class HipDevice : public Device {
public:
  /// Device `ordinal` of the library, with a stream of its own.
  static llvm::Expected<std::unique_ptr<HipDevice>>
  create(std::shared_ptr<const HipLibrary> library, int ordinal);
  ~HipDevice() override;
  HipDevice(const HipDevice &) = delete;
  HipDevice &operator=(const HipDevice &) = delete;

  const DeviceProperties &properties() const override { return facts; }
  const HipContext &context() const { return hipContext; }
  /// The stream that stands for a null StreamHandle.
  api::Stream ownStream() const { return own.handle; }
  /// Lets kernels of this device use the memory of another; error when no link joins the two.
  llvm::Error enablePeer(const HipDevice &peer);

  llvm::Expected<DevicePtr> allocate(uint64_t bytes, llvm::StringRef name,
                                     MemoryKind kind) override;
  llvm::Error free(DevicePtr ptr) override;
  /// Copies also take memory that the caller got from HIP. They are ordered with launches on the
  /// own stream only.
  llvm::Error write(DevicePtr to, llvm::ArrayRef<uint8_t> from) override;
  llvm::Error read(DevicePtr from, llvm::MutableArrayRef<uint8_t> to) override;
  llvm::Error fill(DevicePtr to, uint8_t value, uint64_t bytes) override;
  llvm::Error poison(DevicePtr to, uint64_t bytes) override { return fill(to, 0xFF, bytes); }

  llvm::Expected<std::unique_ptr<LoadedCodeObject>>
  load(llvm::ArrayRef<uint8_t> codeObject) override;
  llvm::Expected<std::unique_ptr<PreparedLaunch>> prepare(const LaunchConfig &config) override;
  using Device::synchronize;
  llvm::Error synchronize(StreamHandle stream) override;
  llvm::Error writeAside(llvm::ArrayRef<Patch> patches) override;

  llvm::Error checkPeerVisible(DevicePtr ptr, uint64_t bytes) override;
  llvm::Expected<IpcMemory> exportMemory(DevicePtr ptr) override;
  llvm::Expected<DevicePtr> importMemory(const IpcMemory &memory) override;
  llvm::Error releaseImported(DevicePtr ptr) override;

private:
  HipDevice() = default;
  llvm::Error readProperties();
  llvm::Expected<DevicePtr> allocateLocal(uint64_t bytes);
  llvm::Expected<DevicePtr> allocatePeerVisible(uint64_t bytes);
  /// Start of the allocation that holds [ptr, ptr + bytes), or an error.
  llvm::Expected<DevicePtr> checkRange(DevicePtr ptr, uint64_t bytes) const;
  llvm::Error copy(void *to, const void *from, uint64_t bytes);

  HipContext hipContext;
  DeviceProperties facts;
  OwnStream own;
  std::mutex lock;
  std::map<DevicePtr, uint64_t> owned; ///< bytes of what allocate() gave
  std::multimap<DevicePtr, DevicePtr>
      imported; ///< what importMemory() gave -> start of the mapping
};

} // namespace mono::hip
