// Vector memory atomics: GLOBAL, FLAT and MUBUF (CDNA4 ISA 9.2, 10.4). Real read-modify-writes on
// the host, so that waves on other host threads and other ranks see them as one step.
#include "runtime/emulator/exec/AtomicOperations.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/VectorAddress.h"

namespace mono::emu {
namespace {

template <typename T> T readLane(const uint32_t *rows, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return rows[lane] | T(rows[Wave::lanes + lane]) << 32;
  else
    return rows[lane];
}
template <typename T> void writeLane(uint32_t *rows, unsigned lane, T value) {
  rows[lane] = uint32_t(value);
  if constexpr (sizeof(T) == 8)
    rows[Wave::lanes + lane] = uint32_t(value >> 32);
}

/// Runs update(atomic, lane) for each lane in order; it returns the old value and says whether it
/// changed memory. SC0 returns the old value to dst[0].
template <typename T, typename Update>
void forEachAtomic(Wave &w, const Instruction &i, Update update) {
  LaneAddresses at = laneAddresses(w, i, sizeof(T));
  uint32_t *result = i.dst[0].isNone() ? nullptr : w.vgpr(i.dst[0]);
  std::unique_lock<std::mutex> guard;
  if (RaceGlobal *race = w.workgroup->launch().race) {
    guard = race->guard(i, RaceGlobal::Kind::Atomic);
    race->access(w, i, at, sizeof(T), RaceGlobal::Kind::Atomic);
  }
  noteCaches(w, i, at, sizeof(T), CacheModel::Kind::Atomic);
  {
    LaneResolver resolver(w, i);
    for (uint64_t rest = at.mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(std::countr_zero(rest));
      uint8_t *where = resolver.forAtomic(lane, at.address[lane], sizeof(T));
      if (!where)
        return;
      bool changed = false;
      T old = update(std::atomic_ref<T>(*reinterpret_cast<T *>(where)), lane, changed);
      if (changed)
        resolver.noteChange();
      if (result)
        writeLane<T>(result, lane, old);
    }
    if (result)
      forEachLane(at.clipped, [&](unsigned lane) { writeLane<T>(result, lane, 0); });
  }
  unsigned registers = result ? sizeof(T) / 4 : 0;
  w.waitcnt.issue(returnPath(i), i, false, result ? w.physicalIndex(i.dst[0]) : 0, registers);
}

template <typename T, auto op> void atomic(Wave &w, const Instruction &i) {
  const uint32_t *data = w.vgpr(i.src[1]);
  forEachAtomic<T>(w, i, [&](std::atomic_ref<T> memory, unsigned lane, bool &changed) {
    T operand = readLane<T>(data, lane), old = memory.load(), fresh;
    do
      fresh = op(old, operand);
    while (!memory.compare_exchange_weak(old, fresh));
    changed = fresh != old;
    return old;
  });
}

/// data[0] is the new value, data[1] what memory must hold (CDNA4 ISA, the reverse of DS order).
template <typename T> void compareSwap(Wave &w, const Instruction &i) {
  const uint32_t *data = w.vgpr(i.src[1]);
  const uint32_t *compare = data + sizeof(T) / 4 * Wave::lanes;
  forEachAtomic<T>(w, i, [&](std::atomic_ref<T> memory, unsigned lane, bool &changed) {
    T fresh = readLane<T>(data, lane), expected = readLane<T>(compare, lane), old = expected;
    bool swapped = memory.compare_exchange_strong(old, fresh);
    changed = swapped && fresh != expected;
    return old;
  });
}

template <auto op32, auto op64>
void addBoth(HandlerTable &t, const std::string &prefix, const char *name) {
  t.add(prefix + "_ATOMIC_" + name, atomic<uint32_t, op32>);
  t.add(prefix + "_ATOMIC_" + name + "_X2", atomic<uint64_t, op64>);
}

void registerPrefix(HandlerTable &t, const std::string &prefix) {
  using namespace atomics;
  using U = uint32_t;
  using UL = uint64_t;
  addBoth<swap<U>, swap<UL>>(t, prefix, "SWAP");
  addBoth<add<U>, add<UL>>(t, prefix, "ADD");
  addBoth<sub<U>, sub<UL>>(t, prefix, "SUB");
  addBoth<smin<U>, smin<UL>>(t, prefix, "SMIN");
  addBoth<umin<U>, umin<UL>>(t, prefix, "UMIN");
  addBoth<smax<U>, smax<UL>>(t, prefix, "SMAX");
  addBoth<umax<U>, umax<UL>>(t, prefix, "UMAX");
  addBoth<bitAnd<U>, bitAnd<UL>>(t, prefix, "AND");
  addBoth<bitOr<U>, bitOr<UL>>(t, prefix, "OR");
  addBoth<bitXor<U>, bitXor<UL>>(t, prefix, "XOR");
  addBoth<inc<U>, inc<UL>>(t, prefix, "INC");
  addBoth<dec<U>, dec<UL>>(t, prefix, "DEC");
  t.add(prefix + "_ATOMIC_CMPSWAP", compareSwap<U>);
  t.add(prefix + "_ATOMIC_CMPSWAP_X2", compareSwap<UL>);
  t.add(prefix + "_ATOMIC_ADD_F32", atomic<U, addF32Flush>);
  t.add(prefix + "_ATOMIC_PK_ADD_F16", atomic<U, pkAddF16>);
  t.add(prefix + "_ATOMIC_PK_ADD_BF16", atomic<U, pkAddBf16>);
  t.add(prefix + "_ATOMIC_ADD_F64", atomic<UL, addF64>);
  t.add(prefix + "_ATOMIC_MIN_F64", atomic<UL, floatMinMax<double, false, UL>>);
  t.add(prefix + "_ATOMIC_MAX_F64", atomic<UL, floatMinMax<double, true, UL>>);
}

} // namespace

void registerVmemAtomic(HandlerTable &t) {
  for (const char *prefix : {"GLOBAL", "FLAT", "BUFFER"})
    registerPrefix(t, prefix);
}

} // namespace mono::emu
