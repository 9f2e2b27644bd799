// All memory the program got from HIP, found by any address inside.
#include "runtime/emulator/hip/MemoryTable.h"

#include "runtime/emulator/hip/Status.h"

#include <algorithm>
#include <sys/mman.h>

namespace mono::hipemu {

static uint64_t addressOf(const void *ptr) { return reinterpret_cast<uint64_t>(ptr); }
static void *pointerTo(uint64_t address) { return reinterpret_cast<void *>(address); }

bool isDeviceWindow(const void *ptr) { return emu::isDeviceWindow(addressOf(ptr)); }

static const char *kindName(BlockKind kind) {
  switch (kind) {
  case BlockKind::Device:
    return "hipMalloc";
  case BlockKind::Pinned:
    return "hipHostMalloc";
  case BlockKind::Managed:
    return "hipMallocManaged";
  case BlockKind::Registered:
    return "hipHostRegister";
  case BlockKind::Imported:
    return "hipIpcOpenMemHandle";
  }
  return "";
}

void MemoryTable::insert(Block block) {
  std::lock_guard guard(lock);
  block.id = nextId++;
  if (block.kind == BlockKind::Device)
    used[block.device] += block.bytes;
  blocks.emplace(block.base, block);
}

hipError_t MemoryTable::allocateDevice(unsigned device, uint64_t bytes, unsigned flags, void **ptr,
                                       hipMemPool_t pool) {
  std::string name;
  {
    std::lock_guard guard(lock);
    name = fmt::format("hipMalloc #{}", nextId);
  }
  // After hipDeviceEnablePeerAccess every device reaches all memory of its peers; the emulator is
  // told at once.
  auto base = machine.allocate(device, bytes, name, emu::MemoryKind::PeerVisible);
  if (!base)
    return fail(hipErrorOutOfMemory, base.takeError());
  insert({BlockKind::Device, *base, bytes, device, flags, pool, 0});
  *ptr = pointerTo(*base);
  return hipSuccess;
}

hipError_t MemoryTable::allocateHost(BlockKind kind, unsigned device, uint64_t bytes,
                                     unsigned flags, void **ptr) {
  void *place = bytes > deviceMemoryBytes
                    ? MAP_FAILED
                    : mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return fail(hipErrorOutOfMemory, "{}: the host has no {} bytes", kindName(kind), bytes);
  if (llvm::Error error = machine.mapHost(place, bytes, kindName(kind))) {
    munmap(place, bytes);
    return fail(hipErrorOutOfMemory, std::move(error));
  }
  insert({kind, addressOf(place), bytes, device, flags, nullptr, 0});
  *ptr = place;
  return hipSuccess;
}

hipError_t MemoryTable::registerHost(void *ptr, uint64_t bytes, unsigned device, unsigned flags) {
  if (llvm::Error error = machine.mapHost(ptr, bytes, "hipHostRegister"))
    return fail(hipErrorHostMemoryAlreadyRegistered, std::move(error));
  insert({BlockKind::Registered, addressOf(ptr), bytes, device, flags, nullptr, 0});
  return hipSuccess;
}

hipError_t MemoryTable::unregisterHost(void *ptr) {
  hipError_t status = release(ptr, {BlockKind::Registered});
  return status == hipErrorInvalidValue ? hipErrorHostMemoryNotRegistered : status;
}

hipError_t MemoryTable::import(void *ptr, uint64_t bytes, unsigned device) {
  if (llvm::Error error = machine.mapHost(ptr, bytes, kindName(BlockKind::Imported)))
    return fail(hipErrorMapFailed, std::move(error));
  insert({BlockKind::Imported, addressOf(ptr), bytes, device, 0, nullptr, 0});
  return hipSuccess;
}

hipError_t MemoryTable::release(void *ptr, std::initializer_list<BlockKind> kinds,
                                Block *released) {
  Block block;
  {
    std::lock_guard guard(lock);
    auto it = blocks.find(addressOf(ptr));
    if (it == blocks.end() || std::find(kinds.begin(), kinds.end(), it->second.kind) == kinds.end())
      return fail(hipErrorInvalidValue, "release of {}: not the start of such an allocation", ptr);
    block = it->second;
    blocks.erase(it);
    if (block.kind == BlockKind::Device)
      used[block.device] -= block.bytes;
  }
  if (released)
    *released = block;
  if (block.kind == BlockKind::Device)
    return toStatus(machine.free(block.device, block.base), hipErrorInvalidValue);
  if (llvm::Error error = machine.unmapHost(ptr))
    return fail(hipErrorInvalidValue, std::move(error));
  if (block.kind != BlockKind::Registered)
    munmap(ptr, block.bytes);
  return hipSuccess;
}

std::optional<Block> MemoryTable::find(const void *ptr) const { return findRange(ptr, 1); }

std::optional<Block> MemoryTable::findRange(const void *ptr, uint64_t bytes) const {
  std::lock_guard guard(lock);
  uint64_t address = addressOf(ptr);
  auto it = blocks.upper_bound(address);
  if (it == blocks.begin())
    return std::nullopt;
  const Block &block = std::prev(it)->second;
  uint64_t offset = address - block.base;
  if (offset >= block.bytes || bytes > block.bytes - offset)
    return std::nullopt;
  return block;
}

uint64_t MemoryTable::usedBytes(unsigned device) const {
  std::lock_guard guard(lock);
  return used[device];
}

} // namespace mono::hipemu
