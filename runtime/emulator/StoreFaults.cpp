// The list of faults, looked through at each store of a run that has any.
#include "runtime/emulator/StoreFaults.h"

namespace mono::emu {

void StoreFaults::add(const StoreFault &fault) {
  std::lock_guard guard(lock);
  faults.push_back(fault);
}

size_t StoreFaults::waiting() const {
  std::lock_guard guard(lock);
  return faults.size();
}

bool StoreFaults::pass(uint64_t address, unsigned bytes, uint32_t *data) {
  std::lock_guard guard(lock);
  bool arrives = true;
  std::erase_if(faults, [&](const StoreFault &fault) {
    uint64_t offset = fault.address - address;
    if (offset >= bytes)
      return false;
    if (fault.flips == 0)
      arrives = false;
    else
      data[offset / 4] ^= uint32_t(fault.flips) << (offset % 4 * 8);
    return true;
  });
  return arrives;
}

} // namespace mono::emu
