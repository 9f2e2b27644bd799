// Setting up, binding and launching a group of ranks.
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace mono {

/// What must hold before anything is allocated on a device.
static Error checkDevice(const Manifest &manifest, const DeviceProperties &device) {
  if (device.arch != manifest.target)
    return makeError("kernel '{}' is for chip {}, but the device is {} ({})", manifest.kernel,
                     manifest.target, device.arch, device.name);
  // One workgroup a compute unit is what the schedule counts on: it waits for all the others.
  if (manifest.ctas > device.computeUnits)
    return makeError(
        "kernel '{}' needs {} resident workgroups, but the device has {} compute units",
        manifest.kernel, manifest.ctas, device.computeUnits);
  if (manifest.ldsBytes > device.ldsBytes)
    return makeError("kernel '{}' needs {} bytes of LDS a workgroup, but the device has {}",
                     manifest.kernel, manifest.ldsBytes, device.ldsBytes);
  return Error::success();
}

/// Zeroed memory. An empty one gets the smallest real size, so that every kernel argument is an
/// address.
static Expected<DeviceBuffer> allocateZeroed(Device &device, uint64_t bytes, StringRef name,
                                             MemoryKind kind) {
  Expected<DeviceBuffer> buffer =
      DeviceBuffer::allocate(device, std::max<uint64_t>(bytes, 8), name, kind);
  if (!buffer)
    return buffer;
  if (Error error = device.fill(buffer->ptr(), 0, buffer->bytes()))
    return error;
  return buffer;
}

Expected<Group> Group::create(ArrayRef<Device *> devices, ArrayRef<uint8_t> codeObject,
                              GroupOptions options) {
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  if (devices.size() != manifest->ranks)
    return makeError("kernel '{}' was compiled for {} ranks, but the group has {} devices",
                     manifest->kernel, manifest->ranks, devices.size());
  for (const Device *device : devices)
    if (Error error = checkDevice(*manifest, device->properties()))
      return error;
  Group group;
  group.contract = std::move(*manifest);
  group.options = options;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (Error error = group.addMember(*devices[rank], codeObject))
      return addContext(std::move(error), fmt::format("rank {}", rank));
  if (Error error = group.fillPeerTables())
    return error;
  return group;
}

Error Group::addMember(Device &device, ArrayRef<uint8_t> codeObject) {
  Member member;
  member.device = &device;
  Expected<std::unique_ptr<LoadedCodeObject>> loaded = device.load(codeObject);
  if (!loaded)
    return loaded.takeError();
  member.codeObject = std::move(*loaded);
  Expected<const Kernel *> kernel = member.codeObject->kernel(contract.kernel);
  if (!kernel)
    return kernel.takeError();
  member.kernel = *kernel;

  struct Wanted {
    DeviceBuffer &buffer;
    uint64_t bytes;
    StringRef name;
    MemoryKind kind;
  };
  for (auto &[buffer, bytes, name, kind] :
       {Wanted{member.deviceMailboxes, contract.deviceMailboxBytes, "device mailboxes",
               MemoryKind::Local},
        Wanted{member.peerMailboxes, contract.peerMailboxBytes, "peer mailboxes",
               MemoryKind::PeerVisible},
        Wanted{member.epochs, contract.epochBytes, "epoch words", MemoryKind::Local},
        Wanted{member.peerTable, 8 * contract.ranks, "peer table", MemoryKind::Local}}) {
    Expected<DeviceBuffer> memory = allocateZeroed(device, bytes, name, kind);
    if (!memory)
      return memory.takeError();
    buffer = std::move(*memory);
  }
  member.owned.resize(contract.operands.size());
  member.operands.resize(contract.operands.size());
  for (size_t i = 0; i < contract.operands.size(); ++i)
    if (contract.operands[i].access == OperandAccess::Write)
      if (Error error = allocateOperand(member, i))
        return error;
  members.push_back(std::move(member));
  return Error::success();
}

Error Group::fillPeerTables() {
  std::vector<uint8_t> table(8 * members.size());
  for (size_t rank = 0; rank < members.size(); ++rank)
    support::endian::write64le(&table[8 * rank], members[rank].peerMailboxes.ptr());
  for (Member &member : members)
    if (Error error = member.device->write(member.peerTable.ptr(), table))
      return error;
  return Error::success();
}

Error Group::allocateOperand(Member &member, size_t index) {
  const Operand &operand = contract.operands[index];
  Expected<DeviceBuffer> memory =
      DeviceBuffer::allocate(*member.device, operand.type.bytes(), operand.name, MemoryKind::Local);
  if (!memory)
    return memory.takeError();
  member.owned[index] = std::move(*memory);
  member.operands[index] = member.owned[index].ptr();
  return Error::success();
}

Expected<size_t> Group::operandIndex(unsigned rank, StringRef name, uint64_t bytes) const {
  if (rank >= members.size())
    return makeError("expected a rank below {}, but got {}", members.size(), rank);
  Expected<const Operand *> operand = contract.findOperand(name);
  if (!operand)
    return operand.takeError();
  const TensorType &type = (*operand)->type;
  if (bytes != type.bytes())
    return makeError("operand '{}': expected {} bytes ({}), but got {}", name, type.bytes(),
                     type.describe(), bytes);
  return *operand - contract.operands.data();
}

Error Group::write(unsigned rank, StringRef operand, ArrayRef<uint8_t> bytes) {
  Expected<size_t> index = operandIndex(rank, operand, bytes.size());
  if (!index)
    return index.takeError();
  Member &member = members[rank];
  if (!member.operands[*index])
    if (Error error = allocateOperand(member, *index))
      return error;
  return member.device->write(member.operands[*index], bytes);
}

Error Group::bind(unsigned rank, StringRef operand, DevicePtr memory, uint64_t bytes) {
  Expected<size_t> index = operandIndex(rank, operand, bytes);
  if (!index)
    return index.takeError();
  if (memory == 0)
    return makeError("operand '{}' of rank {}: expected device memory, but got a null address",
                     operand, rank);
  members[rank].owned[*index] = DeviceBuffer();
  members[rank].operands[*index] = memory;
  return Error::success();
}

Error Group::read(unsigned rank, StringRef operand, MutableArrayRef<uint8_t> bytes) {
  Expected<size_t> index = operandIndex(rank, operand, bytes.size());
  if (!index)
    return index.takeError();
  const Member &member = members[rank];
  if (!member.operands[*index])
    return makeError("operand '{}' of rank {} is not bound", operand, rank);
  return addContext(member.device->read(member.operands[*index], bytes),
                    fmt::format("operand '{}' of rank {}", operand, rank));
}

Error Group::checkBound() const {
  for (size_t rank = 0; rank < members.size(); ++rank)
    for (size_t i = 0; i < contract.operands.size(); ++i)
      if (!members[rank].operands[i])
        return makeError("operand '{}' of rank {} is not bound", contract.operands[i].name, rank);
  return Error::success();
}

Error Group::poisonOutputs() {
  for (Member &member : members)
    for (size_t i = 0; i < contract.operands.size(); ++i)
      if (contract.operands[i].access == OperandAccess::Write)
        if (Error error =
                member.device->poison(member.operands[i], contract.operands[i].type.bytes()))
          return error;
  return Error::success();
}

/// The order docs/manifest.md fixes.
std::vector<uint8_t> Group::kernargs(unsigned rank) const {
  const Member &member = members[rank];
  std::vector<DevicePtr> pointers = member.operands;
  pointers.push_back(member.deviceMailboxes.ptr());
  pointers.push_back(member.peerTable.ptr());
  pointers.push_back(member.epochs.ptr());
  std::vector<uint8_t> bytes(contract.kernargBytes());
  for (size_t i = 0; i < pointers.size(); ++i)
    support::endian::write64le(&bytes[8 * i], pointers[i]);
  support::endian::write32le(&bytes[8 * pointers.size()], rank);
  return bytes;
}

Error Group::launch() {
  if (Error error = checkBound())
    return error;
  if (options.poisonOutputs)
    if (Error error = poisonOutputs())
      return error;
  Error result = Error::success();
  for (unsigned rank = 0; rank < ranks() && !result; ++rank) {
    std::vector<uint8_t> arguments = kernargs(rank);
    LaunchConfig config;
    config.kernel = members[rank].kernel;
    config.workgroups = {contract.ctas, 1, 1};
    config.threads = {contract.threads, 1, 1};
    config.dynamicLdsBytes = contract.dynamicLdsBytes;
    config.kernargs = arguments;
    config.resident = true;
    result = members[rank].device->launch(config);
  }
  // Also after a failed start: the ranks that did start must have ended before memory goes away.
  for (Member &member : members)
    result = joinErrors(std::move(result), member.device->synchronize());
  return result;
}

} // namespace mono
