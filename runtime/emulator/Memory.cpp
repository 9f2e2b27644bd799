// Device memory of all ranks: allocations, address lookup, written-byte tracking.
#include "runtime/emulator/Memory.h"

#include "runtime/Error.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace mono::emu {

static uint8_t *mapZeroPages(uint64_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<uint8_t *>(p);
}

using AllocationList = std::vector<std::unique_ptr<Allocation>>;

/// The first allocation of a sorted list that begins behind an address.
static auto firstBehind(const AllocationList &list, uint64_t address) {
  return std::upper_bound(list.begin(), list.end(), address,
                          [](uint64_t a, const auto &allocation) { return a < allocation->base; });
}

static uint64_t endOf(const Allocation &allocation) { return allocation.base + allocation.size; }

/// Room behind the data so that whole-word host accesses at the end stay mapped.
static constexpr uint64_t tailBytes = 64;

Allocation::Allocation(unsigned rank, uint64_t base, uint64_t size, std::string name,
                       MemoryKind kind)
    : rank(rank), base(base), size(size), name(std::move(name)), kind(kind), owned(true),
      bytes(mapZeroPages(size + tailBytes)), writtenBits(mapZeroPages(size / 8 + tailBytes)),
      unwritten(size) {}

Allocation::Allocation(void *start, uint64_t size, std::string name)
    : rank(0), base(reinterpret_cast<uint64_t>(start)), size(size), name(std::move(name)),
      kind(MemoryKind::PeerVisible), owned(false), bytes(static_cast<uint8_t *>(start)),
      unwritten(0) {}

Allocation::~Allocation() {
  if (sharedFile >= 0)
    close(sharedFile);
  if (bytes && owned)
    munmap(bytes, size + tailBytes);
  if (writtenBits)
    munmap(writtenBits, size / 8 + tailBytes);
}

/// Calls fn(index of the bitmap byte, mask) for each bitmap byte the range touches, until fn is
/// false.
template <typename Fn>
void Allocation::forEachMaskByte(uint64_t address, uint64_t count, Fn fn) const {
  uint64_t first = address - base, end = first + count;
  while (first < end) {
    uint64_t next = std::min(end, (first | 7) + 1);
    uint8_t mask = uint8_t(((1u << (next - first)) - 1) << (first & 7));
    if (!fn(first / 8, mask))
      return;
    first = next;
  }
}

bool Allocation::isWritten(uint64_t address, uint64_t count) const {
  if (complete())
    return true;
  bool all = true;
  forEachMaskByte(address, count, [&](uint64_t index, uint8_t mask) {
    std::atomic_ref<uint8_t> bits(writtenBits[index]);
    all = (bits.load(std::memory_order_acquire) & mask) == mask;
    return all;
  });
  return all;
}

void Allocation::markWritten(uint64_t address, uint64_t count) {
  if (complete())
    return;
  uint64_t fresh = 0;
  auto markBits = [&](uint64_t index, uint8_t mask) {
    std::atomic_ref<uint8_t> bits(writtenBits[index]);
    if ((bits.load(std::memory_order_relaxed) & mask) != mask)
      fresh += std::popcount(uint8_t(mask & ~bits.fetch_or(mask)));
    return true;
  };
  // Copies of the host are long: whole words of the bitmap, each 64 bytes of memory, go at once.
  constexpr uint64_t word = 64;
  uint64_t first = address - base, end = first + count;
  uint64_t firstWord = (first + word - 1) / word, lastWord = end / word;
  if (firstWord >= lastWord) {
    forEachMaskByte(address, count, markBits);
  } else {
    forEachMaskByte(address, firstWord * word - first, markBits);
    for (uint64_t n = firstWord; n < lastWord; ++n) {
      std::atomic_ref<uint64_t> bits(reinterpret_cast<uint64_t *>(writtenBits)[n]);
      if (bits.load(std::memory_order_relaxed) != ~uint64_t(0))
        fresh += std::popcount(~bits.exchange(~uint64_t(0)));
    }
    forEachMaskByte(base + lastWord * word, end - lastWord * word, markBits);
  }
  if (fresh)
    unwritten.fetch_sub(fresh);
}

void Allocation::markUnwritten(uint64_t address, uint64_t count) {
  if (isOpenToOthers())
    return;
  uint64_t cleared = 0;
  forEachMaskByte(address, count, [&](uint64_t index, uint8_t mask) {
    cleared += std::popcount(uint8_t(writtenBits[index] & mask));
    writtenBits[index] &= uint8_t(~mask);
    return true;
  });
  unwritten.fetch_add(cleared);
}

uint64_t Allocation::countUnwritten(uint64_t address, uint64_t count) const {
  if (complete())
    return 0;
  uint64_t missing = 0;
  forEachMaskByte(address, count, [&](uint64_t index, uint8_t mask) {
    missing += std::popcount(uint8_t(~writtenBits[index] & mask));
    return true;
  });
  return missing;
}

int Allocation::share() {
  if (isOpenToOthers())
    return sharedFile;
  uint64_t mapped = size + tailBytes;
  int file = memfd_create("mono-device-memory", MFD_CLOEXEC);
  if (file < 0)
    return -1;
  void *view = ftruncate(file, off_t(mapped)) == 0
                   ? mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                   : MAP_FAILED;
  if (view == MAP_FAILED) {
    close(file);
    return -1;
  }
  std::memcpy(view, bytes, mapped);
  munmap(bytes, mapped);
  bytes = static_cast<uint8_t *>(view);
  unwritten = 0;
  return sharedFile = file;
}

// ---- addresses ---------------------------------------------------------------------------------

/// Allocations begin on a page, which is more than the 256 bytes promised.
static uint64_t pageUp(uint64_t address) { return llvm::alignTo(address, 4096); }

/// The first address in [from, to) for an allocation with the guard on both sides.
std::optional<uint64_t> AddressSpace::findRoom(const RankMemory &memory, uint64_t from, uint64_t to,
                                               uint64_t bytes) {
  const auto &list = memory.allocations;
  auto next = firstBehind(list, from);
  uint64_t free = next == list.begin() ? from : std::max(from, pageUp(endOf(**std::prev(next))));
  while (true) {
    const bool isLast = next == list.end() || (*next)->base >= to;
    uint64_t base = free + guardBytes;
    if (pageUp(base + bytes) + guardBytes <= (isLast ? to : (*next)->base))
      return base;
    if (isLast)
      return std::nullopt;
    free = pageUp(endOf(**next++));
  }
}

llvm::Expected<Allocation *> AddressSpace::allocate(unsigned rank, uint64_t bytes,
                                                    llvm::StringRef name, MemoryKind kind,
                                                    Part part) {
  if (rank >= ranks())
    return makeError("expected a rank below {}, but got {}", ranks(), rank);
  if (bytes == 0)
    return makeError("allocation '{}': expected at least 1 byte, but got 0", name);
  RankMemory &memory = perRank[rank];
  if (bytes > bytesPerRank - memory.used)
    return makeError("allocation '{}': expected at most {} bytes, what rank {} has left of {}, but "
                     "got {}",
                     name, bytesPerRank - memory.used, rank, bytesPerRank, bytes);
  const bool isLaunch = part == Part::Launch;
  const uint64_t window = windowOf(rank), begin = window + (isLaunch ? launchPart : 0),
                 end = window + (isLaunch ? windowBytes : launchPart);
  uint64_t &cursor = memory.cursor[unsigned(part)];
  std::optional<uint64_t> base = findRoom(memory, window + cursor, end, bytes);
  if (!base)
    base = findRoom(memory, begin, end, bytes);
  if (!base)
    return makeError("allocation '{}': expected {} free addresses in a row, but rank {} has fewer; "
                     "free what lies between",
                     name, bytes, rank);
  auto allocation = std::make_unique<Allocation>(rank, *base, bytes, name.str(), kind);
  if (!allocation->isBacked())
    return makeError("allocation '{}': the host has no {} bytes of memory", name, bytes);

  cursor = pageUp(*base + bytes) - window;
  memory.used += bytes;
  number(*allocation);
  auto &list = memory.allocations;
  return list.insert(firstBehind(list, *base), std::move(allocation))->get();
}

/// Gives an allocation its dense index.
void AddressSpace::number(Allocation &allocation) {
  if (freeIds.empty()) {
    freeIds.push_back(unsigned(byId.size()));
    byId.push_back(nullptr);
  }
  allocation.id = freeIds.back();
  freeIds.pop_back();
  byId[allocation.id] = &allocation;
}

void AddressSpace::forget(const Allocation &allocation) {
  byId[allocation.id] = nullptr;
  freeIds.push_back(allocation.id);
}

llvm::Error AddressSpace::free(unsigned rank, uint64_t base) {
  if (rank >= ranks())
    return makeError("expected a rank below {}, but got {}", ranks(), rank);
  Allocation *allocation = find(base);
  if (!allocation || allocation->base != base || allocation->rank != rank || allocation->isHost())
    return makeError("free of 0x{:x}: not the start of an allocation of rank {}", base, rank);
  RankMemory &memory = perRank[rank];
  memory.used -= allocation->size;
  forget(*allocation);
  memory.allocations.erase(std::prev(firstBehind(memory.allocations, base)));
  return llvm::Error::success();
}

llvm::Error AddressSpace::mapHost(void *start, uint64_t bytes, llvm::StringRef name) {
  uint64_t begin = reinterpret_cast<uint64_t>(start), end = begin + bytes;
  if (bytes == 0 || end < begin)
    return makeError("host memory '{}': expected at least 1 byte, but got {}", name, bytes);
  if (isDeviceAddress(begin) || isDeviceAddress(end - 1))
    return makeError("host memory '{}': 0x{:x} is a device address", name, begin);
  auto after = std::find_if(hostMapped.begin(), hostMapped.end(),
                            [&](const auto &a) { return a->base + a->size > begin; });
  if (after != hostMapped.end() && (*after)->base < end)
    return makeError("host memory '{}': {} bytes at 0x{:x} overlap '{}'", name, bytes, begin,
                     (*after)->name);
  auto allocation = std::make_unique<Allocation>(start, bytes, name.str());
  number(*allocation);
  hostMapped.insert(after, std::move(allocation));
  return llvm::Error::success();
}

llvm::Error AddressSpace::unmapHost(void *start) {
  uint64_t base = reinterpret_cast<uint64_t>(start);
  auto it = std::find_if(hostMapped.begin(), hostMapped.end(),
                         [&](const auto &a) { return a->base == base; });
  if (it == hostMapped.end())
    return makeError("0x{:x} is not the start of mapped host memory", base);
  forget(**it);
  hostMapped.erase(it);
  return llvm::Error::success();
}

bool AddressSpace::isOpenToOthers() const {
  return std::any_of(byId.begin(), byId.end(),
                     [](const Allocation *a) { return a && a->isOpenToOthers(); });
}

Allocation *AddressSpace::find(uint64_t address) const {
  uint64_t rank = (address >> rankShift) - firstWindow;
  const auto &list = rank < perRank.size() ? perRank[rank].allocations : hostMapped;
  auto it = firstBehind(list, address);
  if (it == list.begin())
    return nullptr;
  Allocation *allocation = std::prev(it)->get();
  return allocation->contains(address, 1) ? allocation : nullptr;
}

llvm::Expected<Allocation *> AddressSpace::findRange(unsigned rank, uint64_t address,
                                                     uint64_t bytes) const {
  if (rank >= ranks())
    return makeError("expected a rank below {}, but got {}", ranks(), rank);
  Allocation *allocation = find(address);
  bool isOther = allocation && allocation->rank != rank && !allocation->isHost();
  if (!allocation || isOther || !allocation->contains(address, bytes))
    return makeError("{}", explainFault(rank, address, bytes));
  return allocation;
}

/// "N bytes past the end of 'x'" for the allocation of `list` nearest to the range.
static std::string describeNearest(const AllocationList &list, uint64_t address, uint64_t bytes) {
  const Allocation *nearest = nullptr;
  uint64_t best = ~uint64_t(0);
  std::string where;
  for (const auto &a : list) {
    uint64_t end = endOf(*a);
    bool behind = address >= a->base;
    uint64_t distance = behind ? (address >= end ? address - end : 0) : a->base - address;
    if (nearest && distance >= best)
      continue;
    nearest = a.get();
    best = distance;
    if (!behind)
      where = fmt::format("starts {} bytes before", distance);
    else if (address >= end)
      where = fmt::format("starts {} bytes past the end of", distance);
    else
      where = fmt::format("runs {} bytes past the end of", address + bytes - end);
  }
  if (!nearest)
    return "no memory is allocated there";
  return fmt::format("it {} '{}' ({} bytes at 0x{:x}, rank {})", where, nearest->name,
                     nearest->size, nearest->base, nearest->rank);
}

std::string AddressSpace::explainFault(unsigned rank, uint64_t address, uint64_t bytes) const {
  std::string what = fmt::format("address 0x{:x}, {} bytes: ", address, bytes);
  uint64_t owner = (address >> rankShift) - firstWindow;
  if (owner >= perRank.size())
    return what + "not a device address of this machine";
  Allocation *allocation = find(address);
  if (allocation && allocation->contains(address, bytes))
    return what + fmt::format("inside '{}' of rank {}, which is not visible to rank {}",
                              allocation->name, owner, rank);
  return what + describeNearest(perRank[owner].allocations, address, bytes);
}

} // namespace mono::emu
