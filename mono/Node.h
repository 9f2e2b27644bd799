// The devices of a host application, emulated or real, one per rank.
#pragma once

#include "runtime/EmulatorDevice.h"
#include "runtime/hip/HipNode.h"

#include <map>
#include <memory>
#include <mutex>

namespace mono::facade {

/// One device a rank. Calls lock the node: the devices of an emulated one share a machine.
class Node {
public:
  /// Emulated MI355X; error unless there are 1 to 8.
  static llvm::Expected<std::shared_ptr<Node>> emulator(unsigned devices);
  /// GPUs that can run a schedule, in HIP's order, without the first `first` of them.
  static llvm::Expected<std::shared_ptr<Node>> hip(unsigned first, unsigned count);

  size_t size() const { return devices.size(); }
  /// Error for a number no device has.
  llvm::Expected<Device *> device(unsigned index) const;
  llvm::ArrayRef<Device *> all() const { return devices; }

  /// Waits for the own streams of all devices. What goes wrong in launches of groups is not
  /// returned: the groups know it.
  llvm::Error wait() const;

  /// Lets the emulated devices reach host memory; see mono_map_host().
  llvm::Error mapHost(void *memory, uint64_t bytes);
  /// Launches that were started before may still use it.
  llvm::Error unmapHost(void *memory);

  /// Held by whoever uses the devices.
  std::mutex mutex;

private:
  struct HostRange {
    uint64_t bytes;
    unsigned uses;
  };

  std::unique_ptr<EmulatorNode> emulated;   // this or
  std::unique_ptr<mono::hip::HipNode> gpus; // this
  std::vector<Device *> devices;
  std::map<void *, HostRange> hostRanges;
};

} // namespace mono::facade
