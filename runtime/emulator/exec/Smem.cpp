// Scalar memory: SMEM loads, stores and atomics (CDNA4 ISA 8).
#include "runtime/emulator/exec/AtomicOperations.h"
#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/LaneMemory.h"

#include <fmt/format.h>

namespace mono::emu {
namespace {

/// Byte offset of an access: immediate plus SGPR.
uint64_t smemOffset(Wave &w, const Instruction &i) {
  uint64_t offset = uint64_t(int64_t(i.offset));
  if (!i.src[3].isNone())
    offset += w.readScalar32(i.src[3]);
  return offset;
}

/// The hardware ignores the low two bits; an address that has them set is a mistake.
uint64_t plainAddress(Wave &w, const Instruction &i) {
  uint64_t address = w.readScalar64(i.src[2]) + smemOffset(w, i);
  if (address % 4 != 0 && w.workgroup->launch().checks.has(Check::Alignment))
    w.fault(fmt::format("scalar memory access at 0x{:x}: expected a multiple of 4", address));
  return address & ~uint64_t(3);
}

/// Loads through the scalar cache, which only the adversarial memory model has.
template <unsigned dwords>
bool loadDwords(Wave &w, const Instruction &i, LaneResolver &resolver, uint64_t address,
                uint32_t *to) {
  const LaunchContext &launch = w.workgroup->launch();
  const uint8_t *from = resolver.forRead(0, address, dwords * 4);
  if (!from)
    return false;
  if (launch.coherence && resolver.isShared())
    launch.coherence->loadScalar(w, address, dwords * 4, to);
  else
    loadShared<dwords * 4>(from, to);
  if (launch.race)
    launch.race->access(w, i, address, dwords * 4, RaceGlobal::Kind::ScalarLoad);
  if (launch.caches)
    launch.caches->access(w, i, address, dwords * 4, CacheModel::Kind::Load);
  return true;
}

/// s_scratch_*: the offset counts in units of 64 bytes, a dword of each lane of swizzled private
/// memory.
uint64_t scratchAddress(Wave &w, const Instruction &i) {
  return (w.readScalar64(i.src[2]) + smemOffset(w, i) * 64) & ~uint64_t(3);
}

template <unsigned dwords, auto addressOf = plainAddress> void load(Wave &w, const Instruction &i) {
  {
    LaneResolver resolver(w, i);
    if (!loadDwords<dwords>(w, i, resolver, addressOf(w, i), &w.sgprs[i.dst[0].index]))
      return;
  }
  w.waitcnt.issue(ReturnPath::Smem, i, true, i.dst[0].index, dwords);
}

/// A buffer resource as scalar instructions see it. NUM_RECORDS counts bytes, or records if the
/// resource has a stride.
struct ScalarBuffer {
  uint64_t base, limit;

  explicit ScalarBuffer(const uint32_t *resource)
      : base(resource[0] | uint64_t(resource[1] & 0xFFFF) << 32) {
    uint64_t stride = resource[1] >> 16 & 0x3FFF;
    limit = resource[2] * (stride ? stride : 1);
  }
  bool contains(uint64_t offset, unsigned bytes) const { return offset + bytes <= limit; }
};

/// s_buffer_load: dwords beyond the buffer read 0.
template <unsigned dwords> void bufferLoad(Wave &w, const Instruction &i) {
  const ScalarBuffer buffer(&w.sgprs[i.src[2].index]);
  uint64_t offset = smemOffset(w, i) & ~uint64_t(3);
  uint32_t values[dwords] = {};
  {
    LaneResolver resolver(w, i);
    for (unsigned d = 0; d < dwords && buffer.contains(offset + 4 * d, 4); ++d) {
      if (!loadDwords<1>(w, i, resolver, buffer.base + offset + 4 * d, &values[d]))
        return;
    }
  }
  std::memcpy(&w.sgprs[i.dst[0].index], values, sizeof(values));
  w.waitcnt.issue(ReturnPath::Smem, i, true, i.dst[0].index, dwords);
}

/// s_buffer_store: dwords beyond the buffer are dropped.
template <unsigned dwords> void bufferStore(Wave &w, const Instruction &i) {
  const ScalarBuffer buffer(&w.sgprs[i.src[2].index]);
  uint64_t offset = smemOffset(w, i) & ~uint64_t(3);
  {
    LaneResolver resolver(w, i);
    for (unsigned d = 0; d < dwords && buffer.contains(offset + 4 * d, 4); ++d)
      if (!resolver.store<4>(0, buffer.base + offset + 4 * d, &w.sgprs[i.src[1].index + d]))
        return;
  }
  w.waitcnt.issue(ReturnPath::Smem, i, true, 0, 0);
}

template <unsigned dwords, auto addressOf = plainAddress>
void store(Wave &w, const Instruction &i) {
  LaneResolver resolver(w, i);
  if (!resolver.store<dwords * 4>(0, addressOf(w, i), &w.sgprs[i.src[1].index]))
    return;
  w.waitcnt.issue(ReturnPath::Smem, i, true, 0, 0);
}

template <typename T> T scalarData(Wave &w, unsigned index) {
  return sizeof(T) == 8 ? T(w.sgpr64(index)) : T(w.sgprs[index]);
}

/// memory = op(memory, data, compare), where only cmpswap has a second data operand. The data
/// register receives the old value if GLC is set.
template <typename T, auto op> void atomicAt(Wave &w, const Instruction &i, uint64_t address) {
  constexpr bool hasCompare = std::is_invocable_v<decltype(op), T, T, T>;
  constexpr unsigned dwords = sizeof(T) / 4;
  LaneResolver resolver(w, i);
  uint8_t *where = resolver.forAtomic(0, address, sizeof(T));
  if (!where)
    return;
  std::atomic_ref<T> memory(*reinterpret_cast<T *>(where));
  const unsigned index = i.src[1].index;
  T data = scalarData<T>(w, index), old = memory.load(), fresh;
  do {
    if constexpr (hasCompare)
      fresh = op(old, data, scalarData<T>(w, index + dwords));
    else
      fresh = op(old, data);
  } while (!memory.compare_exchange_weak(old, fresh));
  if (fresh != old)
    resolver.noteChange();
  unsigned returned = i.sc0 ? dwords : 0;
  for (unsigned d = 0; d < returned; ++d)
    w.sgprs[index + d] = uint32_t(uint64_t(old) >> (32 * d));
  w.waitcnt.issue(ReturnPath::Smem, i, true, index, returned);
}

template <typename T, auto op> void atomic(Wave &w, const Instruction &i) {
  atomicAt<T, op>(w, i, plainAddress(w, i));
}
/// Outside the buffer nothing happens, and the old value is 0.
template <typename T, auto op> void bufferAtomic(Wave &w, const Instruction &i) {
  const ScalarBuffer buffer(&w.sgprs[i.src[2].index]);
  uint64_t offset = smemOffset(w, i) & ~uint64_t(3);
  if (buffer.contains(offset, sizeof(T)))
    return atomicAt<T, op>(w, i, buffer.base + offset);
  unsigned returned = i.sc0 ? sizeof(T) / 4 : 0;
  std::fill_n(&w.sgprs[i.src[1].index], returned, 0);
  w.waitcnt.issue(ReturnPath::Smem, i, true, i.src[1].index, returned);
}

void readClock(Wave &w, const Instruction &i, uint64_t value) {
  w.writeScalar64(i.dst[0], value);
  w.waitcnt.issue(ReturnPath::Smem, i, true, i.dst[0].index, 2);
}

void nothing(Wave &, const Instruction &) {}

template <typename T> T compareSwap(T old, T fresh, T compare) {
  return old == compare ? fresh : old;
}

template <auto op32, auto op64> void addAtomic(HandlerTable &t, const std::string &name) {
  t.add("S_ATOMIC_" + name, atomic<uint32_t, op32>);
  t.add("S_ATOMIC_" + name + "_X2", atomic<uint64_t, op64>);
  t.add("S_BUFFER_ATOMIC_" + name, bufferAtomic<uint32_t, op32>);
  t.add("S_BUFFER_ATOMIC_" + name + "_X2", bufferAtomic<uint64_t, op64>);
}

void registerAtomics(HandlerTable &t) {
  using namespace atomics;
  using U = uint32_t;
  using UL = uint64_t;
  addAtomic<swap<U>, swap<UL>>(t, "SWAP");
  addAtomic<add<U>, add<UL>>(t, "ADD");
  addAtomic<sub<U>, sub<UL>>(t, "SUB");
  addAtomic<smin<U>, smin<UL>>(t, "SMIN");
  addAtomic<umin<U>, umin<UL>>(t, "UMIN");
  addAtomic<smax<U>, smax<UL>>(t, "SMAX");
  addAtomic<umax<U>, umax<UL>>(t, "UMAX");
  addAtomic<bitAnd<U>, bitAnd<UL>>(t, "AND");
  addAtomic<bitOr<U>, bitOr<UL>>(t, "OR");
  addAtomic<bitXor<U>, bitXor<UL>>(t, "XOR");
  addAtomic<inc<U>, inc<UL>>(t, "INC");
  addAtomic<dec<U>, dec<UL>>(t, "DEC");
  addAtomic<compareSwap<U>, compareSwap<UL>>(t, "CMPSWAP");
}

} // namespace

void registerSmem(HandlerTable &t) {
  t.add("S_LOAD_DWORD", load<1>);
  t.add("S_LOAD_DWORDX2", load<2>);
  t.add("S_LOAD_DWORDX4", load<4>);
  t.add("S_LOAD_DWORDX8", load<8>);
  t.add("S_LOAD_DWORDX16", load<16>);
  t.add("S_BUFFER_LOAD_DWORD", bufferLoad<1>);
  t.add("S_BUFFER_LOAD_DWORDX2", bufferLoad<2>);
  t.add("S_BUFFER_LOAD_DWORDX4", bufferLoad<4>);
  t.add("S_BUFFER_LOAD_DWORDX8", bufferLoad<8>);
  t.add("S_BUFFER_LOAD_DWORDX16", bufferLoad<16>);
  t.add("S_STORE_DWORD", store<1>);
  t.add("S_STORE_DWORDX2", store<2>);
  t.add("S_STORE_DWORDX4", store<4>);
  t.add("S_SCRATCH_LOAD_DWORD", load<1, scratchAddress>);
  t.add("S_SCRATCH_LOAD_DWORDX2", load<2, scratchAddress>);
  t.add("S_SCRATCH_LOAD_DWORDX4", load<4, scratchAddress>);
  t.add("S_SCRATCH_STORE_DWORD", store<1, scratchAddress>);
  t.add("S_SCRATCH_STORE_DWORDX2", store<2, scratchAddress>);
  t.add("S_SCRATCH_STORE_DWORDX4", store<4, scratchAddress>);
  t.add("S_BUFFER_STORE_DWORD", bufferStore<1>);
  t.add("S_BUFFER_STORE_DWORDX2", bufferStore<2>);
  t.add("S_BUFFER_STORE_DWORDX4", bufferStore<4>);
  registerAtomics(t);
  t.add("S_MEMTIME", [](Wave &w, const Instruction &i) { readClock(w, i, w.cycles); });
  // 100 MHz beside a 2.4 GHz core clock.
  t.add("S_MEMREALTIME", [](Wave &w, const Instruction &i) { readClock(w, i, w.cycles / 24); });
  for (const char *name : {"S_DCACHE_INV", "S_DCACHE_INV_VOL"})
    t.add(name, [](Wave &w, const Instruction &) {
      if (CoherenceModel *coherence = w.workgroup->launch().coherence)
        coherence->invalidateScalar(w);
    });
  for (const char *name : {"S_DCACHE_WB", "S_DCACHE_WB_VOL", "S_DCACHE_DISCARD",
                           "S_DCACHE_DISCARD_X2", "S_ATC_PROBE", "S_ATC_PROBE_BUFFER"})
    t.add(name, nothing);
}

} // namespace mono::emu
