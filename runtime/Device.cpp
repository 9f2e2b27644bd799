// Ownership of device memory.
#include "runtime/Device.h"
#include "runtime/Error.h"

using namespace llvm;

namespace mono {

Expected<DeviceBuffer> DeviceBuffer::allocate(Device &device, uint64_t bytes, StringRef name,
                                              MemoryKind kind) {
  Expected<DevicePtr> address = device.allocate(bytes, name, kind);
  if (!address)
    return address.takeError();
  DeviceBuffer buffer;
  buffer.device = &device;
  buffer.address = *address;
  buffer.size = bytes;
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  // A destructor has nobody to tell; freeing what allocate() gave fails only on a lost device.
  if (device)
    consumeError(device->free(address));
}

} // namespace mono
