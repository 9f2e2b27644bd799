// Groups with the lifetimes, the locking and the checks that a host application needs.
#include "mono/NodeGroup.h"

#include "mono/Status.h"

using namespace llvm;

namespace mono::facade {

/// What kernels may assume of the address of an operand: their widest access is 16 bytes per lane.
static constexpr uint64_t kOperandAlignment = 16;

NodeGroup::NodeGroup(std::shared_ptr<Node> node, Group made)
    : node(std::move(node)), group(std::move(made)), ownStreams(group.ranks()),
      bound(group.ranks() * group.manifest().operands.size()), unbound(bound.size()) {}

Expected<std::unique_ptr<NodeGroup>>
NodeGroup::make(const CompiledKernel &kernel, std::shared_ptr<Node> node, GroupOptions options) {
  std::lock_guard lock(node->mutex);
  if (kernel.manifest.ranks != node->size())
    return makeStatusError(MONO_INVALID_ARGUMENT,
                           "kernel '{}' was compiled for {} ranks, but the node has {} devices",
                           kernel.manifest.kernel, kernel.manifest.ranks, node->size());
  if (Error error = node->wait())
    return withStatus(MONO_DEVICE_ERROR, std::move(error));
  options.poisonOutputs = false;
  Expected<Group> group = Group::create(node->all(), kernel.codeObject, std::move(options));
  if (!group)
    return withStatus(MONO_DEVICE_ERROR, group.takeError());
  return std::unique_ptr<NodeGroup>(new NodeGroup(std::move(node), std::move(*group)));
}

Expected<std::unique_ptr<NodeGroup>> NodeGroup::create(std::shared_ptr<const CompiledKernel> kernel,
                                                       std::shared_ptr<Node> node,
                                                       std::vector<Workspace> workspaces) {
  return make(*kernel, std::move(node), {.workspaces = std::move(workspaces)});
}

Expected<std::unique_ptr<NodeGroup>>
NodeGroup::createSharing(std::shared_ptr<const CompiledKernel> kernel, const NodeGroup &other) {
  return make(*kernel, other.node, {.sharedWith = &other.group});
}

NodeGroup::~NodeGroup() {
  std::lock_guard lock(node->mutex);
  consumeError(node->wait());     // the owner could have asked
  Group ended = std::move(group); // frees its memory while the node is locked
}

Error NodeGroup::bind(unsigned rank, StringRef name, void *memory, uint64_t bytes) {
  std::lock_guard lock(node->mutex);
  auto address = reinterpret_cast<DevicePtr>(memory);
  if (address % kOperandAlignment != 0)
    return makeStatusError(MONO_INVALID_ARGUMENT,
                           "operand '{}' of rank {}: expected an address that is a multiple of {} "
                           "bytes, but got 0x{:x}",
                           name, rank, kOperandAlignment, address);
  if (Error error = group.bind(rank, name, address, bytes))
    return withStatus(MONO_INVALID_ARGUMENT, std::move(error));
  const std::vector<Operand> &operands = group.manifest().operands;
  size_t index = group.manifest().operand(name) - operands.data();
  auto isBound = bound[rank * operands.size() + index];
  unbound -= !isBound;
  isBound = true;
  return Error::success();
}

Error NodeGroup::checkLaunch() const {
  if (!group.failure().empty())
    return makeStatusError(MONO_DEVICE_ERROR,
                           "the group is broken by an earlier launch; make a new one: {}",
                           group.failure());
  if (unbound == 0)
    return Error::success();
  const std::vector<Operand> &operands = group.manifest().operands;
  size_t first = std::find(bound.begin(), bound.end(), false) - bound.begin();
  return makeStatusError(MONO_INVALID_ARGUMENT, "operand '{}' of rank {} is not bound",
                         operands[first % operands.size()].name, first / operands.size());
}

Error NodeGroup::launch(const StreamHandle *streams) {
  std::lock_guard lock(node->mutex);
  if (Error error = checkLaunch())
    return error;
  if (Error error = group.prepare())
    return withStatus(MONO_DEVICE_ERROR, std::move(error));
  Error error = group.enqueue(ArrayRef(streams ? streams : ownStreams.data(), ownStreams.size()));
  // If it is whole, nothing was started: it can't be on these streams.
  return withStatus(group.failure().empty() ? MONO_INVALID_ARGUMENT : MONO_DEVICE_ERROR,
                    std::move(error));
}

Error NodeGroup::synchronize() {
  std::lock_guard lock(node->mutex);
  Error error = node->wait();
  if (error && group.failure().empty())
    return withStatus(MONO_DEVICE_ERROR, std::move(error));
  consumeError(std::move(error)); // the group knows it
  return checkEnded();
}

Error NodeGroup::check() {
  std::lock_guard lock(node->mutex);
  return checkEnded();
}

Error NodeGroup::checkEnded() {
  if (!group.failure().empty())
    return makeStatusError(MONO_DEVICE_ERROR, "{}", group.failure());
  return withStatus(MONO_DEVICE_ERROR, group.check());
}

} // namespace mono::facade
