// Ownership of device memory, launches that are started once, and their errors.
#include "runtime/Device.h"
#include "runtime/Error.h"

using namespace llvm;

namespace mono {

char RecordedLaunchError::ID;

Error withoutRecorded(Error error) {
  return handleErrors(std::move(error), [](const RecordedLaunchError &) {});
}

Expected<DeviceBuffer> DeviceBuffer::allocate(Device &device, uint64_t bytes, StringRef name,
                                              MemoryKind kind) {
  Expected<DevicePtr> address = device.allocate(bytes, name, kind);
  if (!address)
    return address.takeError();
  DeviceBuffer buffer;
  buffer.device = &device;
  buffer.address = *address;
  buffer.size = bytes;
  buffer.release = &Device::free;
  return buffer;
}

Expected<DeviceBuffer> DeviceBuffer::import(Device &device, const IpcMemory &memory,
                                            uint64_t bytes) {
  Expected<DevicePtr> address = device.importMemory(memory);
  if (!address)
    return address.takeError();
  DeviceBuffer buffer;
  buffer.device = &device;
  buffer.address = *address;
  buffer.size = bytes;
  buffer.release = &Device::releaseImported;
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  // A destructor has nobody to tell; freeing what allocate() gave fails only on a lost device.
  if (device)
    consumeError((device->*release)(address));
}

Error Device::launch(const LaunchConfig &config, StreamHandle stream) {
  Expected<std::unique_ptr<PreparedLaunch>> prepared = prepare(config);
  return prepared ? (*prepared)->start(stream) : prepared.takeError();
}

} // namespace mono
