// Global, flat, buffer and scalar memory instructions (CDNA4 ISA 8 to 10, 12.12, 12.15 to 12.18).
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralMemory.h"

#include <optional>

namespace mono::fuzz {

namespace {

// ---- addresses -----------------------------------------------------------------------------

constexpr uint64_t kNowhere = ~uint64_t(0);

/// Offset of a device address into the allocation; anything outside it is nowhere.
uint64_t place(const State &s, uint64_t address) { return address - s.memoryBase; }

/// global_* and flat_*: a 64-bit VGPR address, or an SGPR base plus a 32-bit VGPR offset.
uint64_t flatPlace(Execution &e, const TextOperand &address, const TextOperand *base,
                   unsigned lane) {
  const int64_t offset = e.line.number("offset");
  const bool hasBase = base && base->kind == TextOperand::Sgpr;
  const uint64_t start =
      hasBase ? e.state.sgpr64(base->index) + e.vector(address, lane) : e.bits(address, lane, 'l');
  return place(e.state, start + uint64_t(offset));
}

/// A buffer descriptor (CDNA4 ISA 9.1.5).
struct Descriptor {
  uint64_t base;
  uint32_t stride, records;

  Descriptor(const State &s, unsigned sgpr)
      : base(s.sgpr64(sgpr) & 0xffffffffffff), stride(s.sgprs[sgpr + 1] >> 16 & 0x3fff),
        records(s.sgprs[sgpr + 2]) {}
};

/// Place of dword or smaller item at byte `within` of a buffer access; nowhere if the range check
/// fails: a raw buffer compares the offset with num_records bytes, a structured one (stride not
/// zero) the index with num_records and the offset with the stride.
uint64_t bufferPlace(Execution &e, unsigned lane, unsigned within, unsigned size) {
  const unsigned first = e.line.has("lds") ? 0 : 1; // behind the data register, if there is one
  const TextOperand &address = e.operand(first), &resource = e.operand(first + 1),
                    &soffset = e.operand(first + 2);
  const Descriptor d(e.state, resource.index);
  const bool usesIndex = e.line.has("idxen"), usesOffset = e.line.has("offen");
  uint64_t index = usesIndex ? e.vector(address, lane) : 0;
  uint64_t offset = uint64_t(e.line.number("offset")) + within;
  if (usesOffset)
    offset += e.vector(address, lane, usesIndex ? 1 : 0);
  const uint64_t scalar = e.scalar(soffset, 'i');
  if (d.stride ? index >= d.records : offset + size > d.records)
    return kNowhere;
  if (d.stride && offset + size > d.stride && usesIndex)
    return kNowhere;
  return place(e.state, d.base + scalar + index * d.stride + offset);
}

/// Place in the private memory of all lanes; nowhere outside that of this lane.
uint64_t scratchPlace(Execution &e, const TextOperand &address, unsigned lane, unsigned within,
                      unsigned size) {
  uint32_t offset = uint32_t(e.line.number("offset")) + within;
  if (address.isRegister())
    offset += e.vector(address, lane);
  return uint64_t(offset) + size <= kScratchBytes ? lane * kScratchBytes + offset : kNowhere;
}

/// Where the item at byte `within` of a lane's access lies.
uint64_t itemPlace(Execution &e, bool isStore, unsigned lane, unsigned within, unsigned size) {
  if (e.line.mnemonic.starts_with("buffer_"))
    return bufferPlace(e, lane, within, size);
  if (e.line.mnemonic.starts_with("scratch_"))
    return scratchPlace(e, e.operand(isStore ? 0 : 1), lane, within, size);
  const unsigned address = isStore ? 0 : 1;
  const TextOperand *base = e.line.operands.size() > 2 ? &e.line.operands.back() : nullptr;
  return flatPlace(e, e.operand(address), base, lane) + within;
}

// ---- loads and stores ----------------------------------------------------------------------

struct Width {
  const char *name; ///< after "_load_" or "_store_"
  unsigned bytes;
  bool isSigned = false, isHalf = false, isHigh = false;
};
constexpr Width kWidths[] = {
    {"dword", 4},
    {"dwordx2", 8},
    {"dwordx3", 12},
    {"dwordx4", 16},
    {"ubyte", 1},
    {"sbyte", 1, true},
    {"ushort", 2},
    {"sshort", 2, true},
    {"byte", 1},
    {"short", 2},
    {"byte_d16_hi", 1, false, true, true},
    {"short_d16_hi", 2, false, true, true},
    {"ubyte_d16", 1, false, true},
    {"ubyte_d16_hi", 1, false, true, true},
    {"sbyte_d16", 1, true, true},
    {"sbyte_d16_hi", 1, true, true, true},
    {"short_d16", 2, false, true},
};

void loadLane(Execution &e, const Width &width, Bytes memory, unsigned lane) {
  if (width.bytes >= 4) {
    uint32_t data[4];
    for (unsigned n = 0; n < width.bytes / 4; ++n)
      data[n] = uint32_t(memory.read(itemPlace(e, false, lane, 4 * n, 4), 4));
    for (unsigned n = 0; n < width.bytes / 4; ++n)
      e.vector(e.operand(0), lane, n) = data[n];
    return;
  }
  uint32_t value = uint32_t(memory.read(itemPlace(e, false, lane, 0, width.bytes), width.bytes));
  if (width.isSigned)
    value = width.bytes == 1 ? uint32_t(int32_t(int8_t(value))) : uint32_t(int32_t(int16_t(value)));
  uint32_t &row = e.vector(e.operand(0), lane);
  row = !width.isHalf  ? value
        : width.isHigh ? (row & 0xffff) | value << 16
                       : (row & 0xffff0000) | (value & 0xffff);
}

void storeLane(Execution &e, const Width &width, Bytes memory, unsigned lane) {
  const bool isBuffer = e.line.mnemonic.starts_with("buffer_");
  const TextOperand &data = e.operand(isBuffer ? 0 : 1);
  if (width.bytes < 4) {
    const uint32_t value = e.vector(data, lane) >> (width.isHigh ? 16 : 0);
    memory.write(itemPlace(e, true, lane, 0, width.bytes), width.bytes, value);
    return;
  }
  for (unsigned n = 0; n < width.bytes / 4; ++n)
    memory.write(itemPlace(e, true, lane, 4 * n, 4), 4, e.vector(data, lane, n));
}

bool executeLoadOrStore(Execution &e, Bytes memory) {
  const std::string &name = e.line.mnemonic;
  const size_t at = name.find('_') + 1;
  const bool isLoad = name.compare(at, 5, "load_") == 0;
  if (!isLoad && name.compare(at, 6, "store_") != 0)
    return false;
  for (const Width &width : kWidths) {
    if (name.substr(at + (isLoad ? 5 : 6)) != width.name)
      continue;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (e.state.active(lane))
        isLoad ? loadLane(e, width, memory, lane) : storeLane(e, width, memory, lane);
    return true;
  }
  return false;
}

// ---- atomics -------------------------------------------------------------------------------

using A = AtomicOperation;
struct NamedAtomic {
  const char *name;
  A::Kind kind;
};
constexpr NamedAtomic kAtomics[] = {
    {"add", A::Add},
    {"sub", A::Sub},
    {"inc", A::Inc},
    {"dec", A::Dec},
    {"smin", A::SignedMin},
    {"smax", A::SignedMax},
    {"umin", A::UnsignedMin},
    {"umax", A::UnsignedMax},
    {"and", A::And},
    {"or", A::Or},
    {"xor", A::Xor},
    {"swap", A::Swap},
    {"cmpswap", A::CompareSwap},
};

std::optional<AtomicOperation> atomicOf(std::string name) {
  if (name == "add_f32")
    return A{A::FloatAdd, 4};
  if (name == "add_f64")
    return A{A::FloatAdd, 8};
  if (name == "min_f64")
    return A{A::FloatMin, 8};
  if (name == "max_f64")
    return A{A::FloatMax, 8};
  if (name == "pk_add_f16")
    return A{A::PackedAddF16, 4};
  if (name == "pk_add_bf16")
    return A{A::PackedAddBf16, 4};
  const bool isWide = name.ends_with("_x2");
  if (isWide)
    name.resize(name.size() - 3);
  for (const NamedAtomic &atomic : kAtomics)
    if (name == atomic.name)
      return A{atomic.kind, isWide ? 8u : 4u};
  return std::nullopt;
}

void noteNan(Execution &e, const A &op, uint64_t at, uint64_t value) {
  const Format *format = atomicFormat(op);
  for (unsigned n = 0; format && n < op.size * 8 / format->bits(); ++n) {
    const unsigned bits = format->bits();
    const uint64_t code = bits == 64 ? value : value >> bits * n & ((uint64_t(1) << bits) - 1);
    if (!format->isNan(code))
      continue;
    LooseResult loose;
    loose.place = LooseResult::Memory;
    loose.index = uint32_t(at) + n * bits / 8;
    loose.format = *format;
    e.outcome.loose.push_back(loose);
  }
}

/// Operands: [vdst,] vaddr, vdata, saddr or off; buffers: vdata, vaddr, srsrc, soffset, where vdata
/// takes the old value as well. Compare-and-swap has the new value first, then the comparand.
bool executeAtomic(Execution &e, Bytes memory) {
  const std::string &name = e.line.mnemonic;
  const size_t at = name.find("_atomic_");
  if (at == std::string::npos)
    return false;
  const std::optional<A> op = atomicOf(name.substr(at + 8));
  if (!op)
    return false;
  const bool isBuffer = name.starts_with("buffer_"), returns = e.line.has("sc0");
  const unsigned address = returns ? 1 : 0;
  const TextOperand &data = e.operand(isBuffer ? 0 : address + 1);
  const unsigned dwords = op->size / 4;
  const char type = op->size == 8 ? 'l' : 'i';
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    const uint64_t where =
        isBuffer ? bufferPlace(e, lane, 0, op->size)
                 : flatPlace(e, e.operand(address),
                             name.starts_with("flat_") ? nullptr : &e.line.operands.back(), lane);
    uint64_t operand = e.bits(data, lane, type), second = 0;
    if (op->kind == A::CompareSwap) {
      second = operand;
      TextOperand comparand = data;
      comparand.index += dwords;
      operand = e.bits(comparand, lane, type);
    }
    const uint64_t old = memory.read(where, op->size);
    const uint64_t value = applyAtomic(*op, old, operand, second, /*flushes=*/true);
    memory.write(where, op->size, value);
    if (memory.contains(where, op->size))
      noteNan(e, *op, where, value);
    for (unsigned n = 0; returns && n < dwords; ++n)
      e.vector(e.operand(0), lane, n) = uint32_t(old >> 32 * n);
  }
  return true;
}

// ---- loads to LDS ------------------------------------------------------------------------------

/// global_load_lds_* and buffer_load_* with lds: the element of a lane goes to M0[17:0] + offset +
/// 4 * lane, or 16 * lane for three and four dwords, extended to a dword (CDNA4 ISA 9.1.9); the
/// offset counts on both sides.
bool executeLoadToLds(Execution &e, Bytes memory) {
  const std::string &name = e.line.mnemonic;
  const bool isBuffer = e.line.has("lds");
  const std::string prefix = isBuffer ? "buffer_load_" : "global_load_lds_";
  if (!name.starts_with(prefix))
    return false;
  Bytes lds{e.state.lds};
  for (const Width &width : kWidths) {
    if (name.substr(prefix.size()) != width.name)
      continue;
    const unsigned step = width.bytes > 8 ? 16 : 4, piece = std::min(width.bytes, 4u);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!e.state.active(lane))
        continue;
      const uint64_t to =
          (e.state.sgprs[kM0] & 0x3ffff) + uint64_t(e.line.number("offset")) + step * lane;
      for (unsigned n = 0; n < width.bytes; n += piece) {
        const uint64_t from = isBuffer ? bufferPlace(e, lane, n, piece)
                                       : flatPlace(e, e.operand(0), &e.operand(1), lane) + n;
        uint32_t value = uint32_t(memory.read(from, piece));
        if (width.isSigned)
          value = piece == 1 ? uint32_t(int32_t(int8_t(value))) : uint32_t(int32_t(int16_t(value)));
        lds.write(to + n, 4, value);
      }
    }
    return true;
  }
  return false;
}

// ---- scalar stores and atomics -----------------------------------------------------------------

/// Place of dword `n` behind a scalar base and offset.
uint64_t scalarPlace(Execution &e, unsigned n) {
  const uint64_t at = (e.scalar(e.operand(2), 'i') & ~uint64_t(3)) + 4 * n;
  const bool isBuffer = e.line.mnemonic.starts_with("s_buffer_");
  const unsigned base = e.operand(1).index;
  if (!isBuffer)
    return place(e.state, e.state.sgpr64(base) + at);
  const Descriptor d(e.state, base);
  return at + 4 > d.records ? kNowhere : place(e.state, d.base + at);
}

bool executeScalarStore(Execution &e, Bytes memory) {
  const std::string &name = e.line.mnemonic;
  if (!name.starts_with("s_store_") && !name.starts_with("s_buffer_store_"))
    return false;
  for (unsigned n = 0; n < e.operand(0).count; ++n)
    memory.write(scalarPlace(e, n), 4, e.state.sgprs[e.operand(0).index + n]);
  return true;
}

/// The data registers hold the new value, then the comparand; with glc the old value replaces them.
bool executeScalarAtomic(Execution &e, Bytes memory) {
  const std::string prefix = "s_atomic_";
  if (!e.line.mnemonic.starts_with(prefix))
    return false;
  const std::optional<A> op = atomicOf(e.line.mnemonic.substr(prefix.size()));
  if (!op)
    return false;
  const unsigned data = e.operand(0).index, dwords = op->size / 4;
  const auto value = [&](unsigned n) {
    return dwords == 2 ? e.state.sgpr64(n) : uint64_t(e.state.sgprs[n]);
  };
  uint64_t operand = value(data), second = 0;
  if (op->kind == A::CompareSwap) {
    second = operand;
    operand = value(data + dwords);
  }
  const uint64_t where = scalarPlace(e, 0), old = memory.read(where, op->size);
  memory.write(where, op->size, applyAtomic(*op, old, operand, second, /*flushes=*/true));
  for (unsigned n = 0; e.line.has("glc") && n < dwords; ++n)
    e.state.sgprs[data + n] = uint32_t(old >> 32 * n);
  return true;
}

// ---- scalar loads --------------------------------------------------------------------------

bool executeScalarLoad(Execution &e, Bytes memory) {
  const std::string &name = e.line.mnemonic;
  const bool isBuffer = name.starts_with("s_buffer_load_dword");
  if (!isBuffer && !name.starts_with("s_load_dword"))
    return false;
  const unsigned dwords =
      name.ends_with("dword") ? 1 : unsigned(std::stoi(name.substr(name.rfind('x') + 1)));
  const TextOperand &base = e.operand(1), &offset = e.operand(2);
  const uint64_t bytes = e.scalar(offset, 'i');
  uint64_t start = e.state.sgpr64(base.index);
  uint64_t limit = kNowhere;
  if (isBuffer) {
    const Descriptor d(e.state, base.index);
    start = d.base;
    limit = d.stride ? uint64_t(d.stride) * d.records : d.records;
  }
  for (unsigned n = 0; n < dwords; ++n) {
    // The low two bits of the offset do not count.
    const uint64_t at = (bytes & ~uint64_t(3)) + 4 * n;
    const uint64_t where = at + 4 > limit ? kNowhere : place(e.state, start + at);
    e.state.sgprs[e.operand(0).index + n] = uint32_t(memory.read(where, 4));
  }
  return true;
}

} // namespace

bool executeDeviceMemory(Execution &e) {
  if (e.line.mnemonic.starts_with("scratch_"))
    return executeLoadOrStore(e, Bytes{e.state.scratch});
  const Bytes memory{e.state.memory};
  return executeScalarStore(e, memory) || executeScalarAtomic(e, memory) ||
         executeLoadToLds(e, memory) || executeScalarLoad(e, memory) || executeAtomic(e, memory) ||
         executeLoadOrStore(e, memory);
}

} // namespace mono::fuzz
