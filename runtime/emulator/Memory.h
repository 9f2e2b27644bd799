// Device memory of all ranks: allocations, address lookup, written-byte tracking.
#pragma once

#include "runtime/Gfx950.h"
#include "runtime/emulator/Emulator.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mono::emu {

/// One allocation. Data and the written-bitmap are host mappings that start as zero pages and cost
/// nothing until touched. Fixed in place while a launch runs.
class Allocation {
public:
  /// Maps host memory for `size` bytes, if the host agrees: see isBacked().
  Allocation(unsigned rank, uint64_t base, uint64_t size, std::string name, MemoryKind kind);
  /// Host memory at its own address, visible to every rank; the caller keeps owning it.
  Allocation(void *start, uint64_t size, std::string name);
  ~Allocation();
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;

  const unsigned rank;
  const uint64_t base;
  const uint64_t size;
  const std::string name;
  const MemoryKind kind;
  unsigned id = 0; ///< dense index for traffic counters

  /// Memory of the host that the caller has mapped.
  bool isHost() const { return !owned; }
  /// False if the host has no memory for it.
  bool isBacked() const { return bytes && (writtenBits || !owned); }
  uint8_t *data() const { return bytes; }
  bool contains(uint64_t address, uint64_t count) const {
    return address - base < size && count <= size - (address - base);
  }
  /// The host byte of a device address, which must be inside.
  uint8_t *host(uint64_t address) const { return bytes + (address - base); }

  /// Every byte has been written: no further tracking is needed.
  bool complete() const { return unwritten.load(std::memory_order_acquire) == 0; }
  /// True if all bytes [address, address + count) have been written.
  bool isWritten(uint64_t address, uint64_t count) const;
  /// Marks bytes as written; safe from several threads. Call before storing the data, so that who
  /// sees the data sees the mark (x86 keeps the order of stores).
  void markWritten(uint64_t address, uint64_t count);
  /// Marks bytes as never written, unless others may write them too. Not during a launch.
  void markUnwritten(uint64_t address, uint64_t count);
  uint64_t countUnwritten(uint64_t address, uint64_t count) const;

  /// Moves the data to a memory file, so that another process can map it, and marks all as written.
  /// The descriptor, or -1 if the host refuses. Not during a launch.
  int share();
  bool isShared() const { return sharedFile >= 0; }
  /// Someone outside the machine may write it, so all of it counts as written.
  bool isOpenToOthers() const { return isHost() || isShared(); }

private:
  template <typename Fn> void forEachMaskByte(uint64_t address, uint64_t count, Fn fn) const;

  const bool owned;
  int sharedFile = -1;
  uint8_t *bytes = nullptr;
  uint8_t *writtenBits = nullptr; ///< bit n of byte m: byte 8 m + n of the allocation
  std::atomic<uint64_t> unwritten;
};

/// The memory of all ranks in one address space, a window for each (emu::rankShift).
///
/// Where the next allocation goes wanders up through the window and starts again at its bottom, so
/// that freed addresses come back as late as they can. The kernel arguments of launches, which come
/// and go with each, wander through a part of their own.
class AddressSpace {
public:
  explicit AddressSpace(unsigned ranks) : perRank(ranks) {}

  /// Unmapped bytes between allocations, so that overruns hit nothing.
  static constexpr uint64_t guardBytes = 64 * 1024;
  static constexpr uint64_t bytesPerRank = gfx950::hbmBytes;

  enum class Part { Program, Launch };
  llvm::Expected<Allocation *> allocate(unsigned rank, uint64_t bytes, llvm::StringRef name,
                                        MemoryKind kind, Part part = Part::Program);
  llvm::Error free(unsigned rank, uint64_t base);

  llvm::Error mapHost(void *start, uint64_t bytes, llvm::StringRef name);
  llvm::Error unmapHost(void *start);
  /// True if someone outside the machine may write memory that kernels read.
  bool isOpenToOthers() const;
  /// True if the address belongs to a rank of this machine, allocated or not.
  bool isDeviceAddress(uint64_t address) const {
    return (address >> rankShift) - firstWindow < perRank.size();
  }

  /// The allocation that contains `address`, or null.
  Allocation *find(uint64_t address) const;
  /// The allocation of `rank` that contains the whole range, or an error for host calls.
  llvm::Expected<Allocation *> findRange(unsigned rank, uint64_t address, uint64_t bytes) const;

  /// Why `rank` may not touch the range: which allocation is nearest and by how much it is missed,
  /// or whose private memory it is.
  std::string explainFault(unsigned rank, uint64_t address, uint64_t bytes) const;

  unsigned ranks() const { return unsigned(perRank.size()); }
  /// One more than the highest allocation id.
  unsigned idLimit() const { return unsigned(byId.size()); }
  const Allocation *allocationOf(unsigned id) const { return byId[id]; }

private:
  struct RankMemory {
    std::vector<std::unique_ptr<Allocation>> allocations; ///< sorted by base
    /// By Part: where the search for room begins, offsets into the window.
    std::array<uint64_t, 2> cursor = {0, launchPart};
    uint64_t used = 0;
  };
  /// The launches' part of a window, its end: room for a million argument buffers.
  static constexpr uint64_t launchPart = windowBytes - (uint64_t(1) << 36);
  static uint64_t windowOf(unsigned rank) { return uint64_t(firstWindow + rank) << rankShift; }
  static std::optional<uint64_t> findRoom(const RankMemory &memory, uint64_t from, uint64_t to,
                                          uint64_t bytes);
  void number(Allocation &allocation);
  void forget(const Allocation &allocation);

  std::vector<RankMemory> perRank;
  std::vector<std::unique_ptr<Allocation>> hostMapped; ///< sorted by base
  std::vector<Allocation *> byId;
  std::vector<unsigned> freeIds;
};

} // namespace mono::emu
