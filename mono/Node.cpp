// Opening devices, and host memory for emulated ones.
#include "mono/Node.h"

#include "mono/Status.h"

using namespace llvm;

namespace mono::facade {

Expected<std::shared_ptr<Node>> Node::emulator(unsigned devices) {
  if (devices < 1 || devices > 8)
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected 1 to 8 emulated devices, but got {}",
                           devices);
  Expected<std::unique_ptr<EmulatorNode>> emulated = EmulatorNode::create(devices);
  if (!emulated)
    return withStatus(MONO_NO_DEVICE, emulated.takeError());
  auto node = std::make_shared<Node>();
  node->emulated = std::move(*emulated);
  node->devices = node->emulated->devices();
  return node;
}

Expected<std::shared_ptr<Node>> Node::hip(unsigned first, unsigned count) {
  if (count < 1)
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected at least 1 GPU, but got 0");
  mono::hip::HipSelection selection;
  selection.first = first;
  selection.count = count;
  Expected<std::unique_ptr<mono::hip::HipNode>> gpus = mono::hip::HipNode::create(selection);
  if (!gpus)
    return withStatus(MONO_NO_DEVICE, gpus.takeError());
  auto node = std::make_shared<Node>();
  node->gpus = std::move(*gpus);
  node->devices = node->gpus->devices();
  return node;
}

Expected<Device *> Node::device(unsigned index) const {
  if (index >= devices.size())
    return makeStatusError(MONO_INVALID_ARGUMENT, "expected a device below {}, but got {}",
                           devices.size(), index);
  return devices[index];
}

Error Node::wait() const {
  Error error = Error::success();
  for (Device *device : devices)
    error = joinErrors(std::move(error), device->synchronize());
  return withoutRecorded(std::move(error));
}

Error Node::mapHost(void *memory, uint64_t bytes) {
  if (!emulated)
    return makeStatusError(MONO_INVALID_ARGUMENT,
                           "host memory can be mapped on emulated devices only");
  auto known = hostRanges.find(memory);
  if (known != hostRanges.end() && known->second.bytes == bytes) {
    ++known->second.uses;
    return Error::success();
  }
  if (Error error = emulated->machine().mapHost(memory, bytes, "host memory"))
    return withStatus(MONO_INVALID_ARGUMENT, std::move(error));
  hostRanges[memory] = {bytes, 1};
  return Error::success();
}

Error Node::unmapHost(void *memory) {
  auto known = hostRanges.find(memory);
  if (known == hostRanges.end())
    return makeStatusError(MONO_INVALID_ARGUMENT,
                           "expected the start of mapped host memory, but "
                           "got {}",
                           fmt::ptr(memory));
  if (--known->second.uses > 0)
    return Error::success();
  hostRanges.erase(known);
  Error error = withStatus(MONO_DEVICE_ERROR, wait());
  return joinErrors(std::move(error),
                    withStatus(MONO_INTERNAL_ERROR, emulated->machine().unmapHost(memory)));
}

} // namespace mono::facade
