// All memory the program got from HIP, found by any address inside.
#pragma once

#include "runtime/Gfx950.h"
#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/hip/HipAbi.h"

#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace mono::hipemu {

enum class BlockKind {
  Device,     ///< hipMalloc and its kin: device memory of one rank
  Pinned,     ///< hipHostMalloc: host memory that kernels of all devices reach at the same address
  Managed,    ///< hipMallocManaged: the same, with another name in queries
  Registered, ///< hipHostRegister: the program's own memory
  Imported,   ///< hipIpcOpenMemHandle: device memory of another process, mapped here
};

struct Block {
  BlockKind kind = BlockKind::Device;
  uint64_t base = 0;
  uint64_t bytes = 0;
  unsigned device = 0;
  unsigned flags = 0;
  hipMemPool_t pool = nullptr; ///< pool of a stream-ordered allocation
  uint64_t id = 0;             ///< unique in the process

  bool isHostVisible() const { return kind != BlockKind::Device; }
};

/// Thread-safe. Addresses of different blocks never overlap.
class MemoryTable {
public:
  explicit MemoryTable(emu::Machine &machine) : machine(machine), used(machine.ranks()) {}

  /// Device memory; hipErrorOutOfMemory beyond the 288 GiB of an MI355X.
  hipError_t allocateDevice(unsigned device, uint64_t bytes, unsigned flags, void **ptr,
                            hipMemPool_t pool = nullptr);
  /// Page-aligned zeroed host memory that all devices reach at the same address.
  hipError_t allocateHost(BlockKind kind, unsigned device, uint64_t bytes, unsigned flags,
                          void **ptr);
  /// Makes the program's own memory reachable.
  hipError_t registerHost(void *ptr, uint64_t bytes, unsigned device, unsigned flags);
  hipError_t unregisterHost(void *ptr);
  /// Takes over a mapping of `bytes` at `ptr` (munmap at release).
  hipError_t import(void *ptr, uint64_t bytes, unsigned device);
  /// Releases a block that starts at `ptr`, if its kind is one of `kinds`; `released`, if given,
  /// gets what it was.
  hipError_t release(void *ptr, std::initializer_list<BlockKind> kinds, Block *released = nullptr);

  std::optional<Block> find(const void *ptr) const;
  /// The block, if [ptr, ptr + bytes) lies inside it.
  std::optional<Block> findRange(const void *ptr, uint64_t bytes) const;

  uint64_t usedBytes(unsigned device) const;

private:
  void insert(Block block);

  emu::Machine &machine;
  mutable std::mutex lock;
  std::map<uint64_t, Block> blocks; ///< by base
  std::vector<uint64_t> used;       ///< device bytes by rank
  uint64_t nextId = 1;
};

/// True for addresses in the windows that belong to emulated devices.
bool isDeviceWindow(const void *ptr);

/// What hipMemGetInfo and the properties call the memory of a device.
inline constexpr uint64_t deviceMemoryBytes = gfx950::hbmBytes;

} // namespace mono::hipemu
