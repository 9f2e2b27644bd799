// LDS reads, writes and atomics (CDNA4 ISA 11 and 12.13). M0 does not clamp addresses on GFX9.
#include "runtime/emulator/exec/AtomicOperations.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/LaneMemory.h"
#include "runtime/emulator/exec/LaneTranspose.h"
#include "runtime/emulator/exec/LdsAccess.h"

namespace mono::emu {
namespace {

// ---- reads and writes --------------------------------------------------------------------------

/// The first `Bytes` bytes, 4, 8 or 16, in a vector of four dwords.
template <unsigned Bytes> __m128i loadDwords(const uint8_t *from) {
  if constexpr (Bytes == 16)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
  else if constexpr (Bytes == 8)
    return _mm_loadu_si64(from);
  else
    return _mm_loadu_si32(from);
}

/// read() of whole registers by all lanes.
template <unsigned Bytes> void readAll(Wave &w, const Instruction &i) {
  LdsAddresses at(w, i);
  LdsAccess lds(w, i);
  const uint8_t *from[Wave::lanes];
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    from[lane] = lds.forRead(lane, dsAddress(at.base[lane], uint32_t(i.offset)), Bytes);
    if (!from[lane])
      return;
  }
  const auto load = [&](unsigned lane) { return loadDwords<Bytes>(from[lane]); };
  transposeToRegisters<Bytes / 4>(load, w.vgpr(i.dst[0]));
  issueDs(w, i, Bytes / 4);
}

template <unsigned Bytes, Element element = Element::Dwords>
void read(Wave &w, const Instruction &i) {
  if constexpr (Bytes >= 4 && std::has_single_bit(Bytes))
    if (w.exec() == Wave::allLanes)
      return readAll<Bytes>(w, i);
  constexpr unsigned registers = registersFor(Bytes);
  LdsAddresses at(w, i);
  LdsAccess lds(w, i);
  uint32_t *to = w.vgpr(i.dst[0]);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    const uint8_t *from = lds.forRead(lane, dsAddress(at.base[lane], uint32_t(i.offset)), Bytes);
    if (!from)
      return;
    uint32_t piece[registers] = {};
    std::memcpy(piece, from, Bytes);
    if constexpr (element == Element::Dwords)
      for (unsigned d = 0; d < registers; ++d)
        to[d * Wave::lanes + lane] = piece[d];
    else
      to[lane] = placeElement<Bytes, element>(piece[0], to[lane]);
  }
  issueDs(w, i, registers);
}

template <unsigned Bytes, bool hi = false> void write(Wave &w, const Instruction &i) {
  constexpr unsigned registers = registersFor(Bytes);
  const uint32_t *base = w.vgpr(i.src[0]), *from = w.vgpr(i.src[1]);
  LdsAccess lds(w, i);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint8_t *to = lds.forWrite(lane, dsAddress(base[lane], uint32_t(i.offset)), Bytes);
    if (!to)
      return;
    uint32_t piece[registers];
    for (unsigned d = 0; d < registers; ++d)
      piece[d] = from[d * Wave::lanes + lane] >> (hi ? 16 : 0);
    std::memcpy(to, piece, Bytes);
  }
  issueDs(w, i, 0);
}

/// Two elements at offset0 and offset1, in elements of `Bytes` (st64: 64 elements).
template <unsigned Bytes, unsigned scale> void read2(Wave &w, const Instruction &i) {
  constexpr unsigned registers = Bytes / 4;
  LdsAddresses at(w, i);
  LdsAccess lds(w, i);
  uint32_t *to = w.vgpr(i.dst[0]);
  const uint32_t offsets[2] = {i.offset0 * Bytes * scale, i.offset1 * Bytes * scale};
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    for (unsigned half = 0; half < 2; ++half) {
      const uint8_t *from = lds.forRead(lane, dsAddress(at.base[lane], offsets[half]), Bytes);
      if (!from)
        return;
      for (unsigned d = 0; d < registers; ++d)
        std::memcpy(&to[(half * registers + d) * Wave::lanes + lane], from + 4 * d, 4);
    }
  }
  issueDs(w, i, 2 * registers);
}

template <unsigned Bytes, unsigned scale> void write2(Wave &w, const Instruction &i) {
  constexpr unsigned registers = Bytes / 4;
  const uint32_t *base = w.vgpr(i.src[0]);
  LdsAccess lds(w, i);
  const uint32_t offsets[2] = {i.offset0 * Bytes * scale, i.offset1 * Bytes * scale};
  const uint32_t *data[2] = {w.vgpr(i.src[1]), w.vgpr(i.src[2])};
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    for (unsigned half = 0; half < 2; ++half) {
      uint8_t *to = lds.forWrite(lane, dsAddress(base[lane], offsets[half]), Bytes);
      if (!to)
        return;
      for (unsigned d = 0; d < registers; ++d)
        std::memcpy(to + 4 * d, &data[half][d * Wave::lanes + lane], 4);
    }
  }
  issueDs(w, i, 0);
}

/// ds_read/write_addtid_b32: address M0[15:0] + offset + 4 * lane, no address register.
void readAddTid(Wave &w, const Instruction &i) {
  LdsAccess lds(w, i);
  uint32_t base = (w.m0() & 0xFFFF) + uint32_t(i.offset);
  uint32_t *to = w.vgpr(i.dst[0]);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    const uint8_t *from = lds.forRead(lane, base + 4 * lane, 4);
    if (!from)
      return;
    std::memcpy(&to[lane], from, 4);
  }
  issueDs(w, i, 1);
}
void writeAddTid(Wave &w, const Instruction &i) {
  LdsAccess lds(w, i);
  uint32_t base = (w.m0() & 0xFFFF) + uint32_t(i.offset);
  const uint32_t *from = w.vgpr(i.src[1]);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint8_t *to = lds.forWrite(lane, base + 4 * lane, 4);
    if (!to)
      return;
    std::memcpy(to, &from[lane], 4);
  }
  issueDs(w, i, 0);
}

void registerReadsAndWrites(HandlerTable &t) {
  t.add("DS_READ_U8", read<1, Element::Zero>);
  t.add("DS_READ_I8", read<1, Element::Sign>);
  t.add("DS_READ_U16", read<2, Element::Zero>);
  t.add("DS_READ_I16", read<2, Element::Sign>);
  t.add("DS_READ_U8_D16", read<1, Element::ZeroLo16>);
  t.add("DS_READ_U8_D16_HI", read<1, Element::ZeroHi16>);
  t.add("DS_READ_I8_D16", read<1, Element::SignLo16>);
  t.add("DS_READ_I8_D16_HI", read<1, Element::SignHi16>);
  t.add("DS_READ_U16_D16", read<2, Element::ZeroLo16>);
  t.add("DS_READ_U16_D16_HI", read<2, Element::ZeroHi16>);
  t.add("DS_READ_B32", read<4>);
  t.add("DS_READ_B64", read<8>);
  t.add("DS_READ_B96", read<12>);
  t.add("DS_READ_B128", read<16>);
  t.add("DS_READ2_B32", read2<4, 1>);
  t.add("DS_READ2_B64", read2<8, 1>);
  t.add("DS_READ2ST64_B32", read2<4, 64>);
  t.add("DS_READ2ST64_B64", read2<8, 64>);
  t.add("DS_WRITE_B8", write<1>);
  t.add("DS_WRITE_B16", write<2>);
  t.add("DS_WRITE_B8_D16_HI", write<1, true>);
  t.add("DS_WRITE_B16_D16_HI", write<2, true>);
  t.add("DS_WRITE_B32", write<4>);
  t.add("DS_WRITE_B64", write<8>);
  t.add("DS_WRITE_B96", write<12>);
  t.add("DS_WRITE_B128", write<16>);
  t.add("DS_WRITE2_B32", write2<4, 1>);
  t.add("DS_WRITE2_B64", write2<8, 1>);
  t.add("DS_WRITE2ST64_B32", write2<4, 64>);
  t.add("DS_WRITE2ST64_B64", write2<8, 64>);
  t.add("DS_READ_ADDTID_B32", readAddTid);
  t.add("DS_WRITE_ADDTID_B32", writeAddTid);
}

// ---- atomics -----------------------------------------------------------------------------------

template <typename T> T laneValue(const uint32_t *rows, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return rows[lane] | T(rows[Wave::lanes + lane]) << 32;
  else
    return rows[lane];
}

/// memory = op(memory, data0, data1) lane by lane; dst[0], if there is one, gets the old value.
template <typename T, auto op> void atomic(Wave &w, const Instruction &i) {
  LdsAddresses at(w, i);
  LdsAccess lds(w, i);
  const uint32_t *data0 = w.vgpr(i.src[1]);
  const uint32_t *data1 = i.src[2].isNone() ? data0 : w.vgpr(i.src[2]);
  uint32_t *result = i.dst[0].isNone() ? nullptr : w.vgpr(i.dst[0]);
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = dsAddress(at.base[lane], uint32_t(i.offset));
    uint8_t *where = lds.forAtomic(lane, address, sizeof(T));
    if (!where)
      return;
    T old;
    std::memcpy(&old, where, sizeof(T));
    T fresh = op(old, laneValue<T>(data0, lane), laneValue<T>(data1, lane));
    std::memcpy(where, &fresh, sizeof(T));
    if (!result)
      continue;
    result[lane] = uint32_t(old);
    if constexpr (sizeof(T) == 8)
      result[Wave::lanes + lane] = uint32_t(old >> 32);
  }
  issueDs(w, i, result ? sizeof(T) / 4 : 0);
}

/// Forgets the second data operand of the one-operand atomics.
template <typename T, auto op> T oneOperand(T old, T data, T) { return op(old, data); }

/// DS order: data0 is compared, data1 is written.
template <typename T> T compareStore(T old, T compare, T fresh) {
  return old == compare ? fresh : old;
}
template <typename F, typename T> T compareStoreFloat(T old, T compare, T fresh) {
  return std::bit_cast<F>(old) == std::bit_cast<F>(compare) ? fresh : old;
}
template <typename T> T maskOr(T old, T mask, T data) { return (old & ~mask) | data; }

/// DS_WRAP: a ring index that steps down by data0, or up by data1 where it would fall below 0.
template <typename T> T wrap(T old, T step, T up) { return old >= step ? old - step : old + up; }
/// DS_CONDXCHG32: each dword is written, without its top bit, if that bit is set.
inline uint64_t conditionalExchange(uint64_t old, uint64_t data) {
  auto one = [](uint32_t was, uint32_t wanted) { return wanted >> 31 ? wanted & 0x7FFFFFFF : was; };
  return one(uint32_t(old), uint32_t(data)) |
         uint64_t(one(uint32_t(old >> 32), uint32_t(data >> 32))) << 32;
}

/// DS_WRXCHG2: exchanges at two addresses; `stride` elements an offset step.
template <typename T, unsigned stride> void exchange2(Wave &w, const Instruction &i) {
  constexpr unsigned dwords = sizeof(T) / 4;
  LdsAddresses at(w, i);
  LdsAccess lds(w, i);
  const uint32_t *data[2] = {w.vgpr(i.src[1]), w.vgpr(i.src[2])};
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    T old[2];
    for (unsigned n = 0; n < 2; ++n) {
      uint32_t step = uint32_t(n ? i.offset1 : i.offset0) * sizeof(T) * stride;
      uint8_t *where = lds.forAtomic(lane, dsAddress(at.base[lane], step), sizeof(T));
      if (!where)
        return;
      T fresh = laneValue<T>(data[n], lane);
      std::memcpy(&old[n], where, sizeof(T));
      std::memcpy(where, &fresh, sizeof(T));
    }
    for (unsigned d = 0; d < 2 * dwords; ++d)
      w.vgpr(i.dst[0], d)[lane] = uint32_t(uint64_t(old[d / dwords]) >> (32 * (d % dwords)));
  }
  issueDs(w, i, 2 * dwords);
}

/// Registers "DS_<name>_<type>" and "DS_<name>_RTN_<type>".
void addPair(HandlerTable &t, const std::string &name, const std::string &type, Handler handler) {
  t.add("DS_" + name + "_" + type, handler);
  t.add("DS_" + name + "_RTN_" + type, handler);
}
template <auto op32, auto op64>
void addInteger(HandlerTable &t, const char *name, const std::string &type) {
  addPair(t, name, type + "32", atomic<uint32_t, oneOperand<uint32_t, op32>>);
  addPair(t, name, type + "64", atomic<uint64_t, oneOperand<uint64_t, op64>>);
}

void registerAtomics(HandlerTable &t) {
  using namespace atomics;
  using U = uint32_t;
  using UL = uint64_t;
  addInteger<add<U>, add<UL>>(t, "ADD", "U");
  addInteger<sub<U>, sub<UL>>(t, "SUB", "U");
  addInteger<rsub<U>, rsub<UL>>(t, "RSUB", "U");
  addInteger<inc<U>, inc<UL>>(t, "INC", "U");
  addInteger<dec<U>, dec<UL>>(t, "DEC", "U");
  addInteger<smin<U>, smin<UL>>(t, "MIN", "I");
  addInteger<smax<U>, smax<UL>>(t, "MAX", "I");
  addInteger<umin<U>, umin<UL>>(t, "MIN", "U");
  addInteger<umax<U>, umax<UL>>(t, "MAX", "U");
  addInteger<bitAnd<U>, bitAnd<UL>>(t, "AND", "B");
  addInteger<bitOr<U>, bitOr<UL>>(t, "OR", "B");
  addInteger<bitXor<U>, bitXor<UL>>(t, "XOR", "B");
  addPair(t, "MSKOR", "B32", atomic<U, maskOr<U>>);
  addPair(t, "MSKOR", "B64", atomic<UL, maskOr<UL>>);
  addPair(t, "CMPST", "B32", atomic<U, compareStore<U>>);
  addPair(t, "CMPST", "B64", atomic<UL, compareStore<UL>>);
  addPair(t, "CMPST", "F32", atomic<U, compareStoreFloat<float, U>>);
  addPair(t, "CMPST", "F64", atomic<UL, compareStoreFloat<double, UL>>);
  t.add("DS_WRXCHG_RTN_B32", atomic<U, oneOperand<U, swap<U>>>);
  t.add("DS_WRXCHG_RTN_B64", atomic<UL, oneOperand<UL, swap<UL>>>);
  t.add("DS_WRXCHG2_RTN_B32", exchange2<U, 1>);
  t.add("DS_WRXCHG2_RTN_B64", exchange2<UL, 1>);
  t.add("DS_WRXCHG2ST64_RTN_B32", exchange2<U, 64>);
  t.add("DS_WRXCHG2ST64_RTN_B64", exchange2<UL, 64>);
  t.add("DS_WRAP_RTN_B32", atomic<U, wrap<U>>);
  t.add("DS_CONDXCHG32_RTN_B64", atomic<UL, oneOperand<UL, conditionalExchange>>);
  addPair(t, "ADD", "F32", atomic<U, oneOperand<U, addF32>>);
  addPair(t, "ADD", "F64", atomic<UL, oneOperand<UL, addF64>>);
  addPair(t, "MIN", "F32", atomic<U, oneOperand<U, floatMinMax<float, false, U>>>);
  addPair(t, "MAX", "F32", atomic<U, oneOperand<U, floatMinMax<float, true, U>>>);
  addPair(t, "MIN", "F64", atomic<UL, oneOperand<UL, floatMinMax<double, false, UL>>>);
  addPair(t, "MAX", "F64", atomic<UL, oneOperand<UL, floatMinMax<double, true, UL>>>);
  addPair(t, "PK_ADD", "F16", atomic<U, oneOperand<U, pkAddF16>>);
  addPair(t, "PK_ADD", "BF16", atomic<U, oneOperand<U, pkAddBf16>>);
}

/// ds_append/ds_consume: adds the number of active lanes to the counter at M0 + offset, or
/// subtracts it, and returns the old value in every active lane. M0 holds the LDS address itself,
/// as llvm.amdgcn.ds.append has it; the base in M0[31:16] is that of GDS.
template <bool isAppend> void appendConsume(Wave &w, const Instruction &i) {
  LdsAccess lds(w, i);
  uint8_t *where = lds.forAtomic(0, uint64_t(w.m0()) + uint32_t(i.offset), 4);
  if (!where)
    return;
  uint32_t old, count = uint32_t(std::popcount(w.exec()));
  std::memcpy(&old, where, 4);
  uint32_t fresh = isAppend ? old + count : old - count;
  std::memcpy(where, &fresh, 4);
  uint32_t *to = w.vgpr(i.dst[0]);
  forEachLane(w.exec(), [&](unsigned lane) { to[lane] = old; });
  issueDs(w, i, 1);
}

/// Global wave sync belongs to a graphics driver's resources; HSA kernels have none.
void globalWaveSync(Wave &w, const Instruction &) {
  w.fault(
      "global wave sync (ds_gws_*) is not supported: compute kernels own no GWS resource; use a "
      "counter in memory");
}

} // namespace

void registerDs(HandlerTable &t) {
  registerReadsAndWrites(t);
  registerAtomics(t);
  t.add("DS_APPEND", appendConsume<true>);
  t.add("DS_CONSUME", appendConsume<false>);
  for (const char *name : {"DS_GWS_INIT", "DS_GWS_BARRIER", "DS_GWS_SEMA_V", "DS_GWS_SEMA_P",
                           "DS_GWS_SEMA_BR", "DS_GWS_SEMA_RELEASE_ALL"})
    t.add(name, globalWaveSync);
  t.add("DS_NOP", [](Wave &, const Instruction &) {});
}

} // namespace mono::emu
