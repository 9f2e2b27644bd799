// How lanes reach device memory, LDS and private memory: address resolution with all checks, and
// the load/store bodies that global, flat, scratch and buffer instructions share.
#pragma once

#include "runtime/emulator/CacheModel.h"
#include "runtime/emulator/Coherence.h"
#include "runtime/emulator/Memory.h"
#include "runtime/emulator/RaceGlobal.h"
#include "runtime/emulator/StoreFaults.h"
#include "runtime/emulator/Trace.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/LaneTranspose.h"
#include "runtime/emulator/exec/LdsAccess.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>

namespace mono::emu {

/// Device byte addresses of the lanes of one instruction.
struct LaneAddresses {
  uint64_t mask = 0; ///< lanes that access memory
  std::array<uint64_t, Wave::lanes> address;
  /// Lanes a buffer range check cuts: `validBytes` of them count, the rest reads 0 and is not
  /// written. Disjoint from `mask`.
  uint64_t clipped = 0;
  std::array<uint8_t, Wave::lanes> validBytes;
};

/// Resolves device addresses for one instruction of one wave to host pointers. Every failed check
/// faults the wave and yields null; the caller then stops. Keeps the last allocation, so that lanes
/// that hit the same one cost a compare.
class LaneResolver {
public:
  LaneResolver(Wave &wave, const Instruction &inst);
  ~LaneResolver() { flushTraffic(); }
  LaneResolver(const LaneResolver &) = delete;
  LaneResolver &operator=(const LaneResolver &) = delete;

  /// Host bytes of a readable and written range.
  const uint8_t *forRead(unsigned lane, uint64_t address, unsigned bytes) {
    if (!current || !current->contains(address, bytes))
      return readElsewhere(lane, address, bytes);
    if (!skipWritten && !current->isWritten(address, bytes) &&
        !reportUnwritten(lane, address, bytes))
      return nullptr;
    read += bytes;
    return current->host(address);
  }
  /// The allocation, if all lanes of `at.mask` read inside a single one whose bytes have all been
  /// written; counts the traffic. Else null: then forRead() decides lane by lane.
  const Allocation *forReadOfAll(const LaneAddresses &at, unsigned bytes);
  /// Host bytes of a writable range; marks them as written.
  uint8_t *forWrite(unsigned lane, uint64_t address, unsigned bytes) {
    if (!current || !current->contains(address, bytes))
      return writeElsewhere(lane, address, bytes);
    current->markWritten(address, bytes);
    written += bytes;
    return current->host(address);
  }
  /// Host bytes of a naturally aligned range for a read-modify-write.
  uint8_t *forAtomic(unsigned lane, uint64_t address, unsigned bytes);

  /// Loads `Bytes` bytes to dwords (fewer than 4 are zero-extended), or stores them, which planted
  /// faults may change; false after an error.
  template <unsigned Bytes> bool load(unsigned lane, uint64_t address, uint32_t *to);
  template <unsigned Bytes> bool store(unsigned lane, uint64_t address, const uint32_t *from);

  /// True if the last resolved range is device memory, which other host threads may share.
  bool isShared() const { return current != nullptr; }
  /// Says whether any byte of device memory changed; the destructor's caller need not.
  void noteChange() { changed = true; }

private:
  const uint8_t *readElsewhere(unsigned lane, uint64_t address, unsigned bytes);
  uint8_t *writeElsewhere(unsigned lane, uint64_t address, unsigned bytes);
  /// Makes the allocation of the range current; false after a fault.
  bool enter(unsigned lane, uint64_t address, unsigned bytes);
  uint8_t *aperture(unsigned lane, uint64_t address, unsigned bytes, bool isWrite);
  bool reachesLds(uint64_t address) const;
  LdsAccess &lds();
  uint8_t *outOfBounds(unsigned lane, const std::string &why);
  bool reportUnwritten(unsigned lane, uint64_t address, unsigned bytes);
  void flushTraffic();
  MemoryLevel levelOf(const Allocation &allocation) const;

  Wave &wave;
  const Instruction &inst;
  const LaunchContext &launch;
  Allocation *current = nullptr;
  bool skipWritten = false; ///< the current allocation is complete or the check is off
  bool changed = false;
  uint64_t read = 0, written = 0;
  std::optional<LdsAccess> ldsAccess; ///< of FLAT, once a lane meets LDS
};

/// Copies `Bytes` from shared memory. Naturally aligned pieces of up to 8 bytes are single-copy
/// atomic, as on the hardware; wider accesses may be seen in pieces.
template <unsigned Bytes> inline void loadShared(const uint8_t *from, uint32_t *to) {
  auto load = [&](auto *p) { return std::atomic_ref(*p).load(std::memory_order_relaxed); };
  uintptr_t at = reinterpret_cast<uintptr_t>(from);
  auto *bytes = const_cast<uint8_t *>(from);
  if constexpr (Bytes == 1) {
    to[0] = load(bytes);
  } else if constexpr (Bytes == 2) {
    if (at % 2 == 0)
      to[0] = load(reinterpret_cast<uint16_t *>(bytes));
    else
      to[0] = from[0] | from[1] << 8;
  } else if (at % 8 == 0) {
    for (unsigned d = 0; d + 1 < Bytes / 4; d += 2) {
      uint64_t pair = load(reinterpret_cast<uint64_t *>(bytes + 4 * d));
      to[d] = uint32_t(pair);
      to[d + 1] = uint32_t(pair >> 32);
    }
    if constexpr (Bytes / 4 % 2 == 1)
      to[Bytes / 4 - 1] = load(reinterpret_cast<uint32_t *>(bytes + Bytes - 4));
  } else if (at % 4 == 0) {
    for (unsigned d = 0; d < Bytes / 4; ++d)
      to[d] = load(reinterpret_cast<uint32_t *>(bytes + 4 * d));
  } else {
    std::memcpy(to, from, Bytes);
  }
}

/// loadShared() of 4, 8 or 16 bytes into a vector of four dwords.
template <unsigned Bytes> inline __m128i loadSharedVector(const uint8_t *from) {
  if constexpr (Bytes == 4) {
    uint32_t dword;
    loadShared<4>(from, &dword);
    return _mm_cvtsi32_si128(int(dword));
  } else {
    if (reinterpret_cast<uintptr_t>(from) % 8 != 0) [[unlikely]] {
      alignas(16) uint32_t dwords[4] = {};
      loadShared<Bytes>(from, dwords);
      return _mm_load_si128(reinterpret_cast<const __m128i *>(dwords));
    }
    auto *words = reinterpret_cast<int64_t *>(const_cast<uint8_t *>(from));
    const auto word = [&](unsigned n) {
      return Bytes > 8 * n ? std::atomic_ref(words[n]).load(std::memory_order_relaxed) : 0;
    };
    return _mm_set_epi64x(word(1), word(0));
  }
}

/// The counterpart for stores; returns whether a byte changed.
template <unsigned Bytes> inline bool storeShared(uint8_t *to, const uint32_t *from) {
  auto store = [&](auto *p, auto value) {
    std::atomic_ref ref(*p);
    bool changed = ref.load(std::memory_order_relaxed) != value;
    ref.store(value, std::memory_order_release);
    return changed;
  };
  uintptr_t at = reinterpret_cast<uintptr_t>(to);
  bool changed = false;
  if constexpr (Bytes == 1) {
    changed = store(to, uint8_t(from[0]));
  } else if constexpr (Bytes == 2) {
    if (at % 2 == 0)
      return store(reinterpret_cast<uint16_t *>(to), uint16_t(from[0]));
    changed = store(to, uint8_t(from[0]));
    changed |= store(to + 1, uint8_t(from[0] >> 8));
  } else if (at % 8 == 0) {
    for (unsigned d = 0; d + 1 < Bytes / 4; d += 2)
      changed |=
          store(reinterpret_cast<uint64_t *>(to + 4 * d), from[d] | uint64_t(from[d + 1]) << 32);
    if constexpr (Bytes / 4 % 2 == 1)
      changed |= store(reinterpret_cast<uint32_t *>(to + Bytes - 4), from[Bytes / 4 - 1]);
  } else if (at % 4 == 0) {
    for (unsigned d = 0; d < Bytes / 4; ++d)
      changed |= store(reinterpret_cast<uint32_t *>(to + 4 * d), from[d]);
  } else {
    changed = std::memcmp(to, from, Bytes) != 0;
    std::memcpy(to, from, Bytes);
  }
  return changed;
}

template <unsigned Bytes>
inline bool LaneResolver::load(unsigned lane, uint64_t address, uint32_t *to) {
  const uint8_t *from = forRead(lane, address, Bytes);
  if (!from)
    return false;
  if (launch.coherence && current)
    launch.coherence->load(wave, inst, address, Bytes, to);
  else
    loadShared<Bytes>(from, to);
  return true;
}

template <unsigned Bytes>
inline bool LaneResolver::store(unsigned lane, uint64_t address, const uint32_t *from) {
  uint8_t *to = forWrite(lane, address, Bytes);
  if (!to)
    return false;
  uint32_t damaged[(Bytes + 3) / 4];
  if (launch.faults) [[unlikely]] {
    std::memcpy(damaged, from, sizeof(damaged));
    if (!launch.faults->pass(address, Bytes, damaged))
      return true;
    from = damaged;
  }
  if (launch.coherence && current)
    launch.coherence->store(wave, inst, address, Bytes, from);
  else if (storeShared<Bytes>(to, from))
    changed = true;
  return true;
}

/// Counts what the accesses of an instruction cost the caches, if anybody wants to know.
inline void noteCaches(Wave &w, const Instruction &i, const LaneAddresses &at, unsigned bytes,
                       CacheModel::Kind kind) {
  if (CacheModel *caches = w.workgroup->launch().caches)
    caches->access(w, i, at, bytes, kind);
}

/// How a loaded or stored element meets its register.
enum class Element : uint8_t {
  Dwords,   ///< Bytes / 4 whole registers
  Zero,     ///< 1 or 2 bytes, zero-extended to a register
  Sign,     ///< 1 or 2 bytes, sign-extended
  ZeroLo16, ///< D16: to bits [15:0], the rest is kept
  SignLo16,
  ZeroHi16, ///< D16_HI: to bits [31:16]
  SignHi16,
};

/// The register value after loading `raw` over `old`.
template <unsigned Bytes, Element element>
inline uint32_t placeElement(uint32_t raw, uint32_t old) {
  constexpr bool isSigned =
      element == Element::Sign || element == Element::SignLo16 || element == Element::SignHi16;
  uint32_t value = raw;
  if constexpr (isSigned)
    value = Bytes == 1 ? uint32_t(int32_t(int8_t(raw))) : uint32_t(int32_t(int16_t(raw)));
  if constexpr (element == Element::ZeroLo16 || element == Element::SignLo16)
    return (old & 0xFFFF0000) | (value & 0xFFFF);
  if constexpr (element == Element::ZeroHi16 || element == Element::SignHi16)
    return (old & 0xFFFF) | value << 16;
  return value;
}

/// Registers one element of `Bytes` takes.
constexpr unsigned registersFor(unsigned bytes) { return bytes < 4 ? 1 : bytes / 4; }

/// The dwords of a clipped lane that the range check lets pass; the others are 0. False after an
/// error.
template <unsigned Bytes>
bool loadClipped(LaneResolver &resolver, const LaneAddresses &at, unsigned lane, uint32_t *piece) {
  for (unsigned d = 0; d < registersFor(Bytes); ++d) {
    piece[d] = 0;
    if (Bytes >= 4 && at.validBytes[lane] >= 4 * d + 4 &&
        !resolver.load<4>(lane, at.address[lane] + 4 * d, &piece[d]))
      return false;
  }
  return true;
}

/// Loads one element for each lane into the registers from `dst` on, and counts the instruction.
template <unsigned Bytes, Element element>
void loadLanes(Wave &w, const Instruction &i, const LaneAddresses &at, ReturnPath path) {
  constexpr unsigned registers = registersFor(Bytes);
  uint32_t *to = w.vgpr(i.dst[0]);
  {
    LaneResolver resolver(w, i);
    uint32_t piece[registers];
    const Allocation *common = resolver.forReadOfAll(at, Bytes);
    uint64_t remaining = at.mask;
    if constexpr (element == Element::Dwords && std::has_single_bit(Bytes))
      if (common && at.mask == Wave::allLanes) {
        transposeToRegisters<registers>(
            [&](unsigned lane) { return loadSharedVector<Bytes>(common->host(at.address[lane])); },
            to);
        remaining = 0;
      }
    for (uint64_t rest = remaining; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      if (common)
        loadShared<Bytes>(common->host(at.address[lane]), piece);
      else if (!resolver.load<Bytes>(lane, at.address[lane], piece))
        return;
      if constexpr (element == Element::Dwords)
        for (unsigned d = 0; d < registers; ++d)
          to[d * Wave::lanes + lane] = piece[d];
      else
        to[lane] = placeElement<Bytes, element>(piece[0], to[lane]);
    }
    for (uint64_t rest = at.clipped; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      if (!loadClipped<Bytes>(resolver, at, lane, piece))
        return;
      if constexpr (element == Element::Dwords)
        for (unsigned d = 0; d < registers; ++d)
          to[d * Wave::lanes + lane] = piece[d];
      else
        to[lane] = placeElement<Bytes, element>(0, to[lane]);
    }
  }
  if (RaceGlobal *race = w.workgroup->launch().race)
    race->access(w, i, at, Bytes, RaceGlobal::Kind::Load);
  if (Trace *trace = w.workgroup->launch().trace)
    trace->loaded(w, at, Bytes);
  noteCaches(w, i, at, Bytes, CacheModel::Kind::Load);
  w.waitcnt.issue(path, i, false, w.physicalIndex(i.dst[0]), registers);
}

/// Stores one element a lane from src[1]; `hi` takes bits [31:16] of the register (D16_HI).
template <unsigned Bytes, bool hi = false>
void storeLanes(Wave &w, const Instruction &i, const LaneAddresses &at, ReturnPath path) {
  constexpr unsigned registers = registersFor(Bytes);
  const uint32_t *from = w.vgpr(i.src[1]);
  std::unique_lock<std::mutex> guard;
  if (RaceGlobal *race = w.workgroup->launch().race) {
    guard = race->guard(i, RaceGlobal::Kind::Store);
    race->access(w, i, at, Bytes, RaceGlobal::Kind::Store);
  }
  if (Trace *trace = w.workgroup->launch().trace)
    trace->stored(w, at, Bytes);
  noteCaches(w, i, at, Bytes, CacheModel::Kind::Store);
  LaneResolver resolver(w, i);
  auto gather = [&](unsigned lane, uint32_t *piece) {
    for (unsigned d = 0; d < registers; ++d)
      piece[d] = from[d * Wave::lanes + lane] >> (hi ? 16 : 0);
  };
  uint32_t piece[registers];
  for (uint64_t rest = at.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    gather(lane, piece);
    if (!resolver.store<Bytes>(lane, at.address[lane], piece))
      return;
  }
  for (uint64_t rest = at.clipped; rest && Bytes >= 4; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    gather(lane, piece);
    for (unsigned d = 0; d < registers && 4 * d + 4 <= at.validBytes[lane]; ++d)
      if (!resolver.store<4>(lane, at.address[lane] + 4 * d, &piece[d]))
        return;
  }
  w.waitcnt.issue(path, i, false, 0, 0);
}

/// Loads straight into LDS (CDNA4 ISA 9.1.9 and 10.3): the element of lane l goes to
/// M0[17:0] + instruction offset + l * stride; stride 16 for 12 and 16 byte elements, else 4.
/// Inactive lanes leave holes. Sub-dword elements are extended to a dword. `ldsOffset` is the
/// instruction offset.
template <unsigned Bytes, Element element>
void loadLanesToLds(Wave &w, const Instruction &i, const LaneAddresses &at, uint32_t ldsOffset) {
  constexpr unsigned stride = Bytes > 8 ? 16 : 4, width = Bytes < 4 ? 4 : Bytes;
  Lds &lds = w.workgroup->lds();
  uint32_t base = (w.m0() & 0x3FFFF) + ldsOffset;
  uint32_t lowest = ~0u, highest = 0;
  RaceLds *race = w.workgroup->ldsRace();
  RaceLds::Access access{};
  if (race)
    access = race->begin(w, i, LdsAccessKind::Dma);
  LaneResolver resolver(w, i);
  uint32_t piece[registersFor(Bytes)];
  for (uint64_t rest = at.mask | at.clipped; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t to = base + lane * stride;
    bool isWhole = at.mask >> lane & 1;
    if (!(isWhole ? resolver.load<Bytes>(lane, at.address[lane], piece)
                  : loadClipped<Bytes>(resolver, at, lane, piece)))
      return;
    if constexpr (element != Element::Dwords)
      piece[0] = placeElement<Bytes, element>(piece[0], 0);
    if (!lds.contains(to, width))
      return w.fault("LDS write of " + std::to_string(width) + " bytes at " + std::to_string(to) +
                     " (m0 = " + std::to_string(w.m0()) + ", lane " + std::to_string(lane) +
                     ") is outside the workgroup's " + std::to_string(lds.size()) + " bytes");
    if (race && !race->note(w, access, lane, to, width))
      return;
    lds.markWritten(to, width);
    std::memcpy(lds.data() + to, piece, width);
    w.stats->level(MemoryLevel::Lds).written += width;
    lowest = std::min(lowest, to);
    highest = std::max(highest, to + width);
  }
  if (RaceGlobal *global = w.workgroup->launch().race)
    global->access(w, i, at, Bytes, RaceGlobal::Kind::Load);
  noteCaches(w, i, at, Bytes, CacheModel::Kind::Load);
  w.waitcnt.issue(ReturnPath::Vmem, i, false, 0, 0, true);
  if (highest)
    lds.addPendingDma({lowest, highest, &w, w.waitcnt.ldsDmaIssued(), &i});
}

} // namespace mono::emu
