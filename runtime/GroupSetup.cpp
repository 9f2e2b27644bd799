// Making a group: checks, code, and the memory of mailboxes and epochs.
#include "runtime/Error.h"
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mono {

/// An empty memory gets the smallest real size, so that every kernel argument is an address.
static uint64_t atLeastAWord(uint64_t bytes) { return std::max<uint64_t>(bytes, 8); }

static uint64_t aligned(uint64_t bytes) {
  return alignTo(atLeastAWord(bytes), WorkspaceSize::alignment);
}

WorkspaceSize workspaceSize(const Manifest &manifest) {
  return {aligned(manifest.deviceMailboxBytes) + aligned(manifest.epochBytes) +
              aligned(manifest.peerTableBytes()),
          aligned(manifest.peerMailboxBytes)};
}

/// What must hold before anything is allocated on a device.
static Error checkDevice(const Manifest &manifest, const DeviceProperties &device) {
  if (device.arch != manifest.target)
    return makeError("kernel '{}' is for chip {}, but the device is {} ({})", manifest.kernel,
                     manifest.target, device.arch, device.name);
  // One workgroup per compute unit is what the schedule counts on: it waits for all the others.
  if (manifest.ctas > device.computeUnits)
    return makeError(
        "kernel '{}' needs {} resident workgroups, but the device has {} compute units",
        manifest.kernel, manifest.ctas, device.computeUnits);
  return Error::success();
}

/// An empty group whose members can be added.
Expected<Group> Group::checked(ArrayRef<Device *> devices, ArrayRef<uint8_t> codeObject,
                               GroupOptions options) {
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  for (const Device *device : devices)
    if (Error error = checkDevice(*manifest, device->properties()))
      return error;
  if (options.sharedWith)
    if (Error error = checkSharing(*manifest, *options.sharedWith, options))
      return error;
  if (!options.workspaces.empty() && options.workspaces.size() != devices.size())
    return makeError("expected no workspaces or {}, one per device, but got {}", devices.size(),
                     options.workspaces.size());
  Group group;
  group.contract = std::move(*manifest);
  group.options = std::move(options);
  return group;
}

Expected<Group> Group::create(ArrayRef<Device *> devices, ArrayRef<uint8_t> codeObject,
                              GroupOptions options) {
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  if (devices.size() != manifest->ranks)
    return makeError("kernel '{}' was compiled for {} ranks, but the group has {} devices",
                     manifest->kernel, manifest->ranks, devices.size());
  Expected<Group> group = checked(devices, codeObject, std::move(options));
  if (!group)
    return group;
  for (unsigned rank = 0; rank < devices.size(); ++rank)
    if (Error error = group->addMember(rank, *devices[rank], codeObject))
      return addContext(std::move(error), fmt::format("rank {}", rank));
  if (group->options.sharedWith) // whose tables are filled
    return group;
  std::vector<DevicePtr> mailboxes;
  for (const Member &member : group->members)
    mailboxes.push_back(member.exchange->peerMailboxes);
  for (Member &member : group->members)
    if (Error error = group->fillPeerTable(member, mailboxes))
      return addContext(std::move(error), fmt::format("rank {}", member.rank));
  return group;
}

Error Group::addMember(unsigned rank, Device &device, ArrayRef<uint8_t> codeObject) {
  Member member;
  member.rank = rank;
  member.device = &device;
  Expected<std::unique_ptr<LoadedCodeObject>> loaded = device.load(codeObject);
  if (!loaded)
    return loaded.takeError();
  member.codeObject = std::move(*loaded);
  Expected<const Kernel *> kernel = member.codeObject->kernel(contract.kernel);
  if (!kernel)
    return kernel.takeError();
  member.kernel = *kernel;
  if (Error error =
          options.sharedWith ? shareExchange(member, *options.sharedWith) : makeExchange(member))
    return error;
  member.owned.resize(contract.operands.size());
  member.operands.resize(contract.operands.size());
  for (size_t i = 0; i < contract.operands.size(); ++i)
    if (contract.operands[i].access == OperandAccess::Write)
      if (Error error = allocateOperand(member, i))
        return error;
  members.push_back(std::move(member));
  return Error::success();
}

/// Mailboxes, epoch words and a peer table of the group's own, all zero.
Error Group::makeExchange(Member &member) {
  member.exchange = std::make_shared<Exchange>();
  member.exchange->failure =
      members.empty() ? std::make_shared<LaunchFailure>() : members.front().exchange->failure;
  member.exchange->deviceBytes = contract.deviceMailboxBytes;
  member.exchange->peerSlotBytes = contract.peerSlotBytes();
  if (Error error = options.workspaces.empty()
                        ? allocateWorkspace(member)
                        : adoptWorkspace(member, options.workspaces[members.size()]))
    return error;
  return clearWorkspace(member);
}

Error Group::allocateWorkspace(Member &member) {
  Exchange &exchange = *member.exchange;
  struct Wanted {
    DevicePtr &address;
    uint64_t bytes;
    StringRef name;
    MemoryKind kind;
  };
  for (const Wanted &wanted :
       {Wanted{exchange.deviceMailboxes, contract.deviceMailboxBytes, "device mailboxes",
               MemoryKind::Local},
        Wanted{exchange.peerMailboxes, contract.peerMailboxBytes, "peer mailboxes",
               MemoryKind::PeerVisible},
        Wanted{exchange.epochs, contract.epochBytes, "epoch words", MemoryKind::Local},
        Wanted{exchange.peerTable, contract.peerTableBytes(), "peer table", MemoryKind::Local}}) {
    Expected<DeviceBuffer> buffer = DeviceBuffer::allocate(
        *member.device, atLeastAWord(wanted.bytes), wanted.name, wanted.kind);
    if (!buffer)
      return buffer.takeError();
    wanted.address = buffer->ptr();
    exchange.owned.push_back(std::move(*buffer));
  }
  return Error::success();
}

Error Group::adoptWorkspace(Member &member, const Workspace &workspace) {
  for (DevicePtr address : {workspace.local, workspace.peers})
    if (address == 0 || address % WorkspaceSize::alignment)
      return makeError("expected a workspace at a multiple of {} bytes, but got {:#x}",
                       WorkspaceSize::alignment, address);
  if (Error error = member.device->checkPeerVisible(workspace.peers, workspaceSize(contract).peers))
    return addContext(std::move(error), "workspace");
  Exchange &exchange = *member.exchange;
  exchange.deviceMailboxes = workspace.local;
  exchange.epochs = exchange.deviceMailboxes + aligned(contract.deviceMailboxBytes);
  exchange.peerTable = exchange.epochs + aligned(contract.epochBytes);
  exchange.peerMailboxes = workspace.peers;
  return Error::success();
}

Error Group::clearWorkspace(Member &member) {
  const Exchange &exchange = *member.exchange;
  for (auto [address, bytes] : {std::pair(exchange.deviceMailboxes, contract.deviceMailboxBytes),
                                std::pair(exchange.peerMailboxes, contract.peerMailboxBytes),
                                std::pair(exchange.epochs, contract.epochBytes),
                                std::pair(exchange.peerTable, contract.peerTableBytes())})
    if (Error error = member.device->fill(address, 0, atLeastAWord(bytes)))
      return error;
  return Error::success();
}

Error Group::fillPeerTable(Member &member, ArrayRef<DevicePtr> mailboxes) {
  std::vector<uint8_t> table(contract.peerTableBytes());
  for (size_t rank = 0; rank < mailboxes.size(); ++rank)
    support::endian::write64le(&table[8 * rank], mailboxes[rank]);
  support::endian::write64le(&table[8 * mailboxes.size()], member.exchange->peerSlotBytes);
  return member.device->write(member.exchange->peerTable, table);
}

} // namespace mono
