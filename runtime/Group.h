// A group of ranks in one process: one loaded kernel on each of several devices, their mailboxes,
// epoch words and peer tables, the operands bound by name, and the launch of all ranks together.
#pragma once

#include "runtime/Device.h"
#include "runtime/Manifest.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <vector>

namespace mono {

struct GroupOptions {
  /// Forget the contents of operands with access write before each launch, so that an element the
  /// kernel leaves out is found. Costs host work a launch; switch it off where launches must have
  /// none (graph capture, benchmarks).
  bool poisonOutputs = true;
};

class Group {
public:
  /// Loads `codeObject` on devices[0 .. ranks), one device a rank, and allocates what the manifest
  /// asks for: device mailboxes, peer mailboxes (peer-visible, owned by the receiver), epoch words,
  /// all zero, the table of peer mailboxes, and the operands with access write. Errors: no or wrong
  /// manifest, another number of devices than ranks, another chip, a grid or LDS the device does
  /// not have. The devices must outlive the group.
  static llvm::Expected<Group> create(llvm::ArrayRef<Device *> devices,
                                      llvm::ArrayRef<uint8_t> codeObject,
                                      GroupOptions options = {});
  Group(Group &&) = default;
  Group &operator=(Group &&) = default;

  const Manifest &manifest() const { return contract; }
  unsigned ranks() const { return static_cast<unsigned>(members.size()); }
  /// Registers, LDS and scratch of the loaded kernel; the same on every rank.
  const KernelInfo &kernelInfo() const { return members.front().kernel->info(); }

  /// Copies `bytes` (in the operand's layout) into the operand's memory on `rank`, allocating it on
  /// first use. The size must be the operand's.
  llvm::Error write(unsigned rank, llvm::StringRef operand, llvm::ArrayRef<uint8_t> bytes);
  /// Lets the operand be `bytes` bytes of the caller's device memory, which must outlive the group.
  llvm::Error bind(unsigned rank, llvm::StringRef operand, DevicePtr memory, uint64_t bytes);
  /// Copies the operand out, in its layout. The size must be the operand's. On the emulator a byte
  /// of an output that the kernel did not write is an error.
  llvm::Error read(unsigned rank, llvm::StringRef operand, llvm::MutableArrayRef<uint8_t> bytes);

  /// Launches every rank and waits for all. Every operand of every rank must be bound. May be
  /// called again without any reset: the kernel advances its epoch words itself.
  llvm::Error launch();

private:
  struct Member {
    Device *device = nullptr;
    std::unique_ptr<LoadedCodeObject> codeObject;
    const Kernel *kernel = nullptr;
    DeviceBuffer deviceMailboxes, peerMailboxes, epochs, peerTable;
    std::vector<DeviceBuffer> owned; ///< one an operand; empty where the caller's memory is bound
    std::vector<DevicePtr> operands; ///< one an operand; 0 while unbound
  };
  Group() = default;

  llvm::Error addMember(Device &device, llvm::ArrayRef<uint8_t> codeObject);
  llvm::Error fillPeerTables();
  llvm::Expected<size_t> operandIndex(unsigned rank, llvm::StringRef name, uint64_t bytes) const;
  llvm::Error allocateOperand(Member &member, size_t index);
  llvm::Error checkBound() const;
  llvm::Error poisonOutputs();
  std::vector<uint8_t> kernargs(unsigned rank) const;

  Manifest contract;
  GroupOptions options;
  std::vector<Member> members;
};

} // namespace mono
