// Finds global races.
#include "runtime/emulator/RaceGlobal.h"

#include "runtime/emulator/exec/LaneMemory.h"

#include <fmt/format.h>

namespace mono::emu {

RaceGlobal::RaceGlobal(const AddressSpace &memory, unsigned ranks)
    : memory(memory), events(ranks), shadows(memory.idLimit()) {}

/// The line of an address, counted from the one an allocation begins in.
static uint64_t lineIn(const Allocation &allocation, uint64_t address) {
  return address / cacheLineBytes - allocation.base / cacheLineBytes;
}

ShadowLine *RaceGlobal::shadowOf(const Allocation &allocation) {
  std::lock_guard guard(shadowLock);
  ShadowLines &lines = shadows[allocation.id];
  if (!lines)
    lines = allocateShadow(lineIn(allocation, allocation.base + allocation.size - 1) + 1);
  return lines.get();
}

/// The accesses of one instruction, collected to runs within a line.
class RaceGlobal::Recorder {
public:
  Recorder(RaceGlobal &race, Wave &wave, const Instruction &inst, unsigned bytes, Kind kind)
      : race(race), order(race.events), wave(wave), kind(kind), bytes(bytes) {
    access.workgroup = wave.workgroup->raceId();
    access.wave = wave.indexInWorkgroup;
    access.number = kind == Kind::ScalarLoad ? 0 : uint32_t(wave.waitcnt.vmemIssued()) + 1;
    access.isWrite = kind == Kind::Store || kind == Kind::Atomic;
    if (kind == Kind::Atomic) // SC1 alone is the scope, SC0 asks for the old value
      access.scope = inst.sc1 ? Scope::System : Scope::Device;
    else if (kind != Kind::ScalarLoad)
      access.scope = scopeOf(inst);
    acquires = kind == Kind::Load || (kind == Kind::Atomic && inst.sc0);
    order.note(wave, access.number, inst);
    view = kind == Kind::ScalarLoad                            ? RaceOrder::View::Scalar
           : kind == Kind::Load && access.scope == Scope::Wave ? RaceOrder::View::Cached
                                                               : RaceOrder::View::Fresh;
  }

  /// Adds the bytes [address, end), neighbouring accesses of `bytes` each; false after a race.
  bool add(uint64_t address, uint64_t end) {
    bool isSync = access.scope != Scope::Wave && isSingleCopyAtomic(address);
    if (isSync != access.isSync && !flush())
      return false;
    access.isSync = isSync;
    while (address < end) {
      uint64_t next = std::min(end, (address | (cacheLineBytes - 1)) + 1);
      uint64_t start = address & ~(cacheLineBytes - 1);
      if (start != line && !flush())
        return false;
      // Mapped host memory begins anywhere, so that one line may hold two allocations.
      if (!(allocation && allocation->contains(address, 1)) && !enter(address))
        return false;
      if (allocation)
        next = std::min(next, allocation->base + allocation->size);
      line = start;
      mask = mask | ByteMask::range(unsigned(address - start), unsigned(next - address));
      address = next;
    }
    return true;
  }

  /// Checks and records what has been collected.
  bool flush() {
    if (!mask.any())
      return true;
    bool good = true;
    if (allocation) {
      Stripe &stripe = race.stripe[line >> 12 & (stripes - 1)];
      std::lock_guard guard(stripe.lock);
      good = record(shadow[lineIn(*allocation, line)], stripe);
    }
    mask = {};
    return good;
  }

private:
  /// Wider or misaligned accesses may be split (AMDGPUUsage, memory model: natural alignment).
  bool isSingleCopyAtomic(uint64_t address) const {
    return bytes <= 8 && std::has_single_bit(bytes) && address % bytes == 0;
  }

  /// Turns to the allocation at `address`. False, with the wave at fault, if there is no shadow of
  /// it, or after a race before.
  bool enter(uint64_t address) {
    if (!flush())
      return false;
    allocation = race.memory.find(address);
    shadow = allocation ? race.shadowOf(*allocation) : nullptr;
    if (allocation && !shadow)
      wave.fault(fmt::format("the host has no memory to check '{}' ({} bytes) for races; without "
                             "the check race-global there is no need of it",
                             allocation->name, allocation->size));
    return !allocation || shadow;
  }

  bool record(ShadowLine &where, Stripe &stripe) {
    bool whole = !(~mask).any();
    if (!check(where.cells, 0, 0xFF))
      return false;
    if (where.detail || !whole || access.isSync) {
      if (!where.detail)
        where.detail = &stripe.details.emplace_back();
      for (unsigned n = 0; n < ShadowLine::granules; ++n)
        if (!recordGranule((*where.detail)[n], n, whole && !access.isSync))
          return false;
    }
    if (whole && !access.isSync)
      where.cells.record(ShadowCell(access, 0xFF), access.number);
    return true;
  }

  bool recordGranule(ShadowGranule &granule, unsigned n, bool onlyCheck) {
    uint8_t bytes = uint8_t(mask.bits[n / 8] >> (n % 8 * 8));
    if (!bytes)
      return true;
    if (!check(granule.cells, n * 8, bytes))
      return false;
    // Polls are too many to be remembered: a plain write after them goes unseen here, but the next
    // poll will see that write.
    bool isPoll = access.isSync && !access.isWrite;
    if (!onlyCheck && !isPoll)
      granule.cells.record(ShadowCell(access, bytes), access.number);
    if (access.isSync)
      for (unsigned half = 0; half < 2; ++half)
        if (bytes >> (4 * half) & 0xF)
          synchronise(granule.release[half]);
    return true;
  }

  void synchronise(RaceOrder::Node &release) {
    if (acquires && release != lastAcquired) {
      order.acquire(wave, access.scope, release);
      lastAcquired = release;
    }
    if (kind == Kind::Atomic)
      release = order.release(wave, access.scope, release);
    if (kind != Kind::Store)
      return;
    if (!ownRelease)
      ownRelease = order.release(wave, access.scope, 0);
    release = ownRelease;
  }

  bool check(const ShadowCells &cells, unsigned first, uint8_t bytes) {
    return (!access.isWrite && !cells.hasWrite()) || checkEach(cells, first, bytes);
  }

  bool checkEach(const ShadowCells &cells, unsigned first, uint8_t bytes) {
    for (const ShadowCell &cell : cells.cells)
      if (!cell.isEmpty() && (cell.isWrite() || access.isWrite) && (cell.bytes() & bytes) &&
          cell.workgroup() != access.workgroup && races(cell)) {
        report(cell.unpack(),
               line + first + unsigned(std::countr_zero(uint8_t(cell.bytes() & bytes))));
        return false;
      }
    return true;
  }

  bool races(const ShadowCell &cell) {
    if (cell.isSync() && access.isSync) {
      bool bothSystem = cell.scope() == Scope::System && access.scope == Scope::System;
      if (bothSystem || order.rankOf(cell.workgroup()) == wave.workgroup->launch().rank)
        return false;
    }
    return !order.isOrdered(cell.unpack(), wave, view);
  }

  void report(const RaceAccess &earlier, uint64_t address) {
    wave.fault(fmt::format("global race at byte {} of '{}' (rank {}): this {} and the {} by {} are "
                           "not ordered; {}",
                           address - allocation->base, allocation->name, allocation->rank,
                           name(access), name(earlier), order.describe(earlier), advice(earlier)));
  }

  static std::string name(const RaceAccess &a) {
    const char *scopes[] = {"plain", "device-scope", "system-scope"};
    return fmt::format("{} {}", scopes[unsigned(a.scope)], a.isWrite ? "write" : "read");
  }

  /// What little is missing, if it is little.
  std::string advice(const RaceAccess &earlier) {
    if (view == RaceOrder::View::Scalar)
      return "the scalar cache is not coherent within a launch";
    if (view == RaceOrder::View::Cached && order.isOrdered(earlier, wave, RaceOrder::View::Fresh))
      return "the caches may hold older data: expected sc1 on this load, or buffer_inv sc1 after "
             "the load that synchronises";
    RaceAccess device = earlier;
    device.scope = Scope::Device;
    if (order.isOrdered(device, wave, view))
      return "the write may still be in its L2: expected sc1 on it, or buffer_wbl2 sc1 and "
             "s_waitcnt vmcnt(0) before the release";
    return "expected s_waitcnt vmcnt(0) behind the first, a barrier if another wave posts, a "
           "device-scope store, and a device-scope load that sees it and its s_waitcnt before the "
           "second";
  }

  RaceGlobal &race;
  RaceOrder &order;
  Wave &wave;
  Kind kind;
  unsigned bytes; ///< of one lane
  RaceAccess access;
  RaceOrder::View view;
  bool acquires;
  RaceOrder::Node ownRelease = 0, lastAcquired = 0;
  const Allocation *allocation = nullptr;
  ShadowLine *shadow = nullptr;
  uint64_t line = 0; ///< of the run
  ByteMask mask;
};

/// Lanes next to each other go together: most instructions are a few runs of them.
void RaceGlobal::access(Wave &wave, const Instruction &inst, const LaneAddresses &at,
                        unsigned bytes, Kind kind) {
  if (wave.workgroup->raceId() == RaceOrder::maxWorkgroups)
    return;
  Recorder recorder(*this, wave, inst, bytes, kind);
  uint64_t start = 0, end = 0;
  for (uint64_t rest = at.mask; rest; rest &= rest - 1) {
    uint64_t address = at.address[unsigned(std::countr_zero(rest))];
    if (address != end) {
      if (!recorder.add(start, end))
        return;
      start = address;
    }
    end = address + bytes;
  }
  if (recorder.add(start, end))
    recorder.flush();
}

void RaceGlobal::access(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes,
                        Kind kind) {
  if (wave.workgroup->raceId() == RaceOrder::maxWorkgroups)
    return;
  Recorder recorder(*this, wave, inst, bytes, kind);
  if (recorder.add(address, address + bytes))
    recorder.flush();
}

} // namespace mono::emu
