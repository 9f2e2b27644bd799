// Finds global races: workgroups that touch one byte of device memory, at least one writing,
// without the synchronisation that gfx950 needs.
#pragma once

#include "runtime/emulator/RaceShadow.h"

namespace mono::emu {

struct LaneAddresses;

/// Checks the accesses of one run. Two accesses of different workgroups to one byte, at least one a
/// write, race unless the earlier happens before the later (RaceOrder) or both are synchronising:
/// of device scope (system scope between ranks) or atomics, of at most 8 naturally aligned bytes.
/// Thread-safe.
class RaceGlobal {
public:
  enum class Kind : uint8_t { Load, ScalarLoad, Store, Atomic };

  RaceGlobal(const AddressSpace &memory, unsigned ranks);

  RaceOrder &order() { return events; }

  /// Notes the lanes' accesses of `bytes` bytes each by the wave's next VMEM instruction; faults
  /// the wave if one races. Addresses that are no device memory are ignored. A load is noted after
  /// it has read, a store before it writes, an atomic while guard() is held.
  void access(Wave &wave, const Instruction &inst, const LaneAddresses &at, unsigned bytes,
              Kind kind);
  /// The same for one address.
  void access(Wave &wave, const Instruction &inst, uint64_t address, unsigned bytes, Kind kind);

  /// To be held around noting and doing a synchronising store or an atomic, so that the order of
  /// events is that of the values.
  std::unique_lock<std::mutex> guard(const Instruction &inst, Kind kind) {
    bool needed = kind == Kind::Atomic || (kind == Kind::Store && scopeOf(inst) != Scope::Wave);
    return needed ? std::unique_lock(syncLock) : std::unique_lock<std::mutex>();
  }

private:
  class Recorder;
  static constexpr unsigned stripes = 64;
  struct alignas(64) Stripe {
    std::mutex lock;
    std::deque<ShadowLine::Detail> details;
  };

  ShadowLine *shadowOf(const Allocation &allocation);

  const AddressSpace &memory;
  RaceOrder events;
  std::mutex syncLock;
  std::array<Stripe, stripes> stripe; ///< by 4 KB page: who may touch the shadow
  std::mutex shadowLock;
  std::vector<ShadowLines> shadows; ///< by allocation id
};

} // namespace mono::emu
