// The device interface: one GPU as the runtime sees it. Two implementations stand behind it, the
// gfx950 emulator (EmulatorDevice.h) and HIP (hip/); nothing above this file knows which.
#pragma once

#include "runtime/LaunchFailure.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace mono {

/// An address in a device's memory. Peers can use it as it is when the memory is peer-visible.
using DevicePtr = uint64_t;

/// A queue of work on a device: a hipStream_t. Null is the device's own stream; the emulator has no
/// other.
using StreamHandle = void *;

enum class MemoryKind {
  /// Plain device memory, cached; only this device may touch it.
  Local,
  /// Fine-grained (uncached) memory that every rank may read and write: mailboxes, owned by the
  /// receiver.
  PeerVisible,
};

struct DeviceProperties {
  /// For people, e.g. "emulated MI355X".
  std::string name;
  /// Chip as LLVM spells it, e.g. "gfx950".
  std::string arch;
  unsigned computeUnits = 0;
  /// LDS bytes of one compute unit.
  uint64_t ldsBytes = 0;
};

/// What the loaded code says about a kernel; register counts are per lane.
struct KernelInfo {
  unsigned vgprs = 0;
  unsigned agprs = 0;
  unsigned sgprs = 0;
  uint64_t ldsBytes = 0;
  uint64_t scratchBytes = 0;
  uint64_t kernargBytes = 0;
  unsigned vgprSpills = 0;
  unsigned sgprSpills = 0;
};

/// A kernel of a loaded code object; owned by it.
class Kernel {
public:
  virtual ~Kernel() = default;
  virtual const KernelInfo &info() const = 0;
};

/// A code object on a device. Must be destroyed before its device.
class LoadedCodeObject {
public:
  virtual ~LoadedCodeObject() = default;
  /// The kernel of that name, valid as long as this object; error when there is none.
  virtual llvm::Expected<const Kernel *> kernel(llvm::StringRef name) = 0;
};

struct LaunchConfig {
  const Kernel *kernel = nullptr;
  /// Workgroups, and work-items of a workgroup, along x, y, z.
  std::array<unsigned, 3> workgroups = {1, 1, 1};
  std::array<unsigned, 3> threads = {1, 1, 1};
  /// LDS beyond what the kernel descriptor asks for.
  uint64_t dynamicLdsBytes = 0;
  /// Copied by prepare() and launch().
  llvm::ArrayRef<uint8_t> kernargs;
  /// All workgroups must be resident together, because they wait for each other. A grid that does
  /// not fit is an error, at the latest when the launch runs.
  bool resident = false;
  /// Where the device records what goes wrong once a launch has been started; may be null. On HIP
  /// only launches on the device's own stream are followed.
  std::shared_ptr<LaunchFailure> failure = nullptr;
};

/// A launch that has been checked and whose arguments are fixed. Its kernel's code object and its
/// device must outlive it.
class PreparedLaunch {
public:
  virtual ~PreparedLaunch() = default;
  /// Starts it on `stream` and returns at once. Keeps no state, allocates nothing on the device and
  /// waits for nothing, so that a capturing stream may record it.
  virtual llvm::Error start(StreamHandle stream) = 0;
};

/// What another process on this node needs to reach an allocation of peer-visible memory.
struct IpcMemory {
  /// Names the allocation (hipIpcMemHandle_t).
  std::array<uint8_t, 64> handle = {};
  /// Bytes from the start of the allocation to the address that was exported.
  uint64_t offset = 0;
};

/// Bytes of the host for a place in device memory.
struct Patch {
  DevicePtr to = 0;
  llvm::ArrayRef<uint8_t> from;
};

class Device {
public:
  virtual ~Device() = default;
  virtual const DeviceProperties &properties() const = 0;

  /// Memory of at least 256-byte alignment; `name` appears in messages and statistics. The caller
  /// frees it (DeviceBuffer does).
  virtual llvm::Expected<DevicePtr> allocate(uint64_t bytes, llvm::StringRef name,
                                             MemoryKind kind) = 0;
  /// Launches that were started on the device's own stream end first, and may still use it.
  virtual llvm::Error free(DevicePtr ptr) = 0;

  /// Copies and fills come behind the launches that were started on the device's own stream, and
  /// are complete when the call returns. Errors: ranges outside one allocation, and what goes wrong
  /// in those launches.
  virtual llvm::Error write(DevicePtr to, llvm::ArrayRef<uint8_t> from) = 0;
  /// On the emulator, reading bytes nobody wrote is an error.
  virtual llvm::Error read(DevicePtr from, llvm::MutableArrayRef<uint8_t> to) = 0;
  virtual llvm::Error fill(DevicePtr to, uint8_t value, uint64_t bytes) = 0;
  /// Forgets the contents: the emulator treats the bytes as never written, other devices fill them
  /// with 0xFF, which is NaN in every float type and -1 in every integer.
  virtual llvm::Error poison(DevicePtr to, uint64_t bytes) = 0;

  /// Validates and loads a code object (an ELF for this chip).
  virtual llvm::Expected<std::unique_ptr<LoadedCodeObject>>
  load(llvm::ArrayRef<uint8_t> codeObject) = 0;

  /// Checks a launch against the kernel and the chip, for starting it any number of times.
  virtual llvm::Expected<std::unique_ptr<PreparedLaunch>> prepare(const LaunchConfig &config) = 0;
  /// Prepares and starts a launch. Launches on one stream run in order, launches of different
  /// devices run at the same time.
  llvm::Error launch(const LaunchConfig &config, StreamHandle stream = nullptr);
  /// Waits until all launches on `stream` have ended and returns what went wrong in them: a
  /// RecordedLaunchError if it has been recorded for each of them.
  virtual llvm::Error synchronize(StreamHandle stream) = 0;
  /// The same for this device's own stream.
  llvm::Error synchronize() { return synchronize(nullptr); }
  /// Writes memory that is peer-visible, here or on peers, while launches run and poll it. All is
  /// written when the call returns.
  virtual llvm::Error writeAside(llvm::ArrayRef<Patch> patches) = 0;

  /// Error unless [ptr, ptr + bytes) lies in one allocation that peers may write while this device
  /// polls it: fine-grained memory. Coarse-grained memory would be cached, and the poll would never
  /// end (LLVM AMDGPUUsage, "Memory Model gfx942").
  virtual llvm::Error checkPeerVisible(DevicePtr ptr, uint64_t bytes) = 0;

  /// Names peer-visible memory of this device to other processes; they may hold it while it lives.
  virtual llvm::Expected<IpcMemory> exportMemory(DevicePtr ptr) = 0;
  /// Maps memory that another process exported; releaseImported() unmaps it (DeviceBuffer does).
  virtual llvm::Expected<DevicePtr> importMemory(const IpcMemory &memory) = 0;
  virtual llvm::Error releaseImported(DevicePtr ptr) = 0;
};

/// Device memory with an owner: frees or unmaps itself. The device must outlive it.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  /// `bytes` bytes that another process exported.
  static llvm::Expected<DeviceBuffer> import(Device &device, const IpcMemory &memory,
                                             uint64_t bytes);
  static llvm::Expected<DeviceBuffer> allocate(Device &device, uint64_t bytes, llvm::StringRef name,
                                               MemoryKind kind);
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    DeviceBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~DeviceBuffer();

  explicit operator bool() const { return device != nullptr; }
  DevicePtr ptr() const { return address; }
  uint64_t bytes() const { return size; }

private:
  void swap(DeviceBuffer &other) noexcept {
    std::swap(device, other.device);
    std::swap(address, other.address);
    std::swap(size, other.size);
    std::swap(release, other.release);
  }
  Device *device = nullptr;
  DevicePtr address = 0;
  uint64_t size = 0;
  llvm::Error (Device::*release)(DevicePtr) = nullptr;
};

} // namespace mono
