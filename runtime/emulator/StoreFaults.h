// Planted defects of links and memory: stores of kernels that get lost or change on their way.
#pragma once

#include "runtime/emulator/Emulator.h"

#include <mutex>
#include <vector>

namespace mono::emu {

/// The faults that Machine::inject() planted and no store has met yet. Safe from several threads.
class StoreFaults {
public:
  void add(const StoreFault &fault);
  size_t waiting() const;

  /// What becomes of a store of `bytes` bytes at `address`: false if it is lost. Turns bits of
  /// `data`, whose dwords hold the bytes, over. A fault that has happened is over.
  bool pass(uint64_t address, unsigned bytes, uint32_t *data);

private:
  mutable std::mutex lock;
  std::vector<StoreFault> faults;
};

} // namespace mono::emu
