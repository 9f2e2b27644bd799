// DS instructions: reads, writes, two-address forms, atomics, cross-lane permutes, transpose reads
// (CDNA4 ISA 11 and 12.13; gfx950.md section 3.2 for the transposes).
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralMemory.h"

#include <map>

namespace mono::fuzz {

namespace {

uint32_t offsetOf(const Execution &e) { return uint32_t(e.line.number("offset")); }

/// Byte address of a lane: the address register plus the instruction's offset, modulo 2^32.
uint64_t addressOf(Execution &e, const TextOperand &o, unsigned lane, uint32_t offset) {
  return uint32_t(e.vector(o, lane)) + offset;
}

// ---- plain reads and writes ----------------------------------------------------------------

/// How a read or write of one address moves data.
struct Access {
  const char *name;
  unsigned bytes;
  bool isSigned = false;
  enum Place : uint8_t { Whole, Low, High } place = Whole; ///< D16 forms touch one half
};

constexpr Access kReads[] = {
    {"ds_read_b32", 4},
    {"ds_read_b64", 8},
    {"ds_read_b96", 12},
    {"ds_read_b128", 16},
    {"ds_read_u8", 1},
    {"ds_read_i8", 1, true},
    {"ds_read_u16", 2},
    {"ds_read_i16", 2, true},
    {"ds_read_u8_d16", 1, false, Access::Low},
    {"ds_read_u8_d16_hi", 1, false, Access::High},
    {"ds_read_i8_d16", 1, true, Access::Low},
    {"ds_read_i8_d16_hi", 1, true, Access::High},
    {"ds_read_u16_d16", 2, false, Access::Low},
    {"ds_read_u16_d16_hi", 2, false, Access::High},
};
constexpr Access kWrites[] = {
    {"ds_write_b32", 4},
    {"ds_write_b64", 8},
    {"ds_write_b96", 12},
    {"ds_write_b128", 16},
    {"ds_write_b8", 1},
    {"ds_write_b16", 2},
    {"ds_write_b8_d16_hi", 1, false, Access::High},
    {"ds_write_b16_d16_hi", 2, false, Access::High},
};

const Access *findAccess(llvm::ArrayRef<Access> list, const std::string &name) {
  for (const Access &access : list)
    if (name == access.name)
      return &access;
  return nullptr;
}

uint32_t extended(uint64_t value, const Access &access) {
  if (access.isSigned)
    return access.bytes == 1 ? uint32_t(int32_t(int8_t(value))) : uint32_t(int32_t(int16_t(value)));
  return uint32_t(value);
}

void readOne(Execution &e, const Access &access, Bytes lds, unsigned lane) {
  const uint64_t at = addressOf(e, e.operand(1), lane, offsetOf(e));
  if (access.bytes >= 4) {
    // An access that is partly outside reads nothing.
    const bool inside = lds.contains(at, access.bytes);
    uint32_t data[4];
    for (unsigned n = 0; n < access.bytes / 4; ++n)
      data[n] = inside ? uint32_t(lds.read(at + 4 * n, 4)) : 0;
    for (unsigned n = 0; n < access.bytes / 4; ++n)
      e.vector(e.operand(0), lane, n) = data[n];
    return;
  }
  const uint32_t value = extended(lds.read(at, access.bytes), access);
  uint32_t &row = e.vector(e.operand(0), lane);
  row = access.place == Access::Whole  ? value
        : access.place == Access::High ? (row & 0xffff) | value << 16
                                       : (row & 0xffff0000) | (value & 0xffff);
}

void writeOne(Execution &e, const Access &access, Bytes lds, unsigned lane) {
  const uint64_t at = addressOf(e, e.operand(0), lane, offsetOf(e));
  if (!lds.contains(at, access.bytes))
    return;
  if (access.bytes < 4) {
    const uint32_t data = e.vector(e.operand(1), lane);
    lds.write(at, access.bytes, access.place == Access::High ? data >> 16 : data);
    return;
  }
  for (unsigned n = 0; n < access.bytes / 4; ++n)
    lds.write(at + 4 * n, 4, e.vector(e.operand(1), lane, n));
}

bool executePlain(Execution &e, Bytes lds) {
  const Access *read = findAccess(kReads, e.line.mnemonic);
  const Access *write = findAccess(kWrites, e.line.mnemonic);
  if (!read && !write)
    return false;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane))
      read ? readOne(e, *read, lds, lane) : writeOne(e, *write, lds, lane);
  return true;
}

// ---- two addresses -------------------------------------------------------------------------

/// ds_{read,write}2[st64]_{b32,b64} and ds_wrxchg2: offsets in elements, or in 64 of them.
bool executePair(Execution &e, Bytes lds) {
  const std::string &name = e.line.mnemonic;
  const bool isRead = name.starts_with("ds_read2"), isWrite = name.starts_with("ds_write2");
  if (!isRead && !isWrite)
    return false;
  const unsigned size = name.ends_with("b64") ? 8 : 4, dwords = size / 4;
  const unsigned unit = name.find("st64") != std::string::npos ? size * 64 : size;
  const uint32_t offsets[] = {uint32_t(e.line.number("offset0")) * unit,
                              uint32_t(e.line.number("offset1")) * unit};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    uint64_t data[2];
    for (unsigned n : {0u, 1u}) {
      const uint64_t at = addressOf(e, e.operand(isRead ? 1 : 0), lane, offsets[n]);
      if (isRead)
        data[n] = lds.read(at, size);
      else
        lds.write(at, size, e.bits(e.operand(1 + n), lane, size == 8 ? 'l' : 'i'));
    }
    for (unsigned n = 0; isRead && n < 2 * dwords; ++n)
      e.vector(e.operand(0), lane, n) = uint32_t(data[n / dwords] >> 32 * (n % dwords));
  }
  return true;
}

// ---- atomics -------------------------------------------------------------------------------

struct NamedAtomic {
  const char *name; ///< between "ds_" and the end, without "rtn_"
  AtomicOperation operation;
};
using A = AtomicOperation;
constexpr NamedAtomic kAtomics[] = {
    {"add_u32", {A::Add, 4}},
    {"add_u64", {A::Add, 8}},
    {"sub_u32", {A::Sub, 4}},
    {"sub_u64", {A::Sub, 8}},
    {"rsub_u32", {A::ReverseSub, 4}},
    {"rsub_u64", {A::ReverseSub, 8}},
    {"inc_u32", {A::Inc, 4}},
    {"inc_u64", {A::Inc, 8}},
    {"dec_u32", {A::Dec, 4}},
    {"dec_u64", {A::Dec, 8}},
    {"min_i32", {A::SignedMin, 4}},
    {"min_i64", {A::SignedMin, 8}},
    {"max_i32", {A::SignedMax, 4}},
    {"max_i64", {A::SignedMax, 8}},
    {"min_u32", {A::UnsignedMin, 4}},
    {"min_u64", {A::UnsignedMin, 8}},
    {"max_u32", {A::UnsignedMax, 4}},
    {"max_u64", {A::UnsignedMax, 8}},
    {"and_b32", {A::And, 4}},
    {"and_b64", {A::And, 8}},
    {"or_b32", {A::Or, 4}},
    {"or_b64", {A::Or, 8}},
    {"xor_b32", {A::Xor, 4}},
    {"xor_b64", {A::Xor, 8}},
    {"wrxchg_b32", {A::Swap, 4}},
    {"wrxchg_b64", {A::Swap, 8}},
    {"cmpst_b32", {A::CompareSwap, 4}},
    {"cmpst_b64", {A::CompareSwap, 8}},
    {"cmpst_f32", {A::FloatCompareSwap, 4}},
    {"cmpst_f64", {A::FloatCompareSwap, 8}},
    {"mskor_b32", {A::MaskOr, 4}},
    {"mskor_b64", {A::MaskOr, 8}},
    {"add_f32", {A::FloatAdd, 4}},
    {"add_f64", {A::FloatAdd, 8}},
    {"min_f32", {A::FloatMin, 4}},
    {"min_f64", {A::FloatMin, 8}},
    {"max_f32", {A::FloatMax, 4}},
    {"max_f64", {A::FloatMax, 8}},
    {"pk_add_f16", {A::PackedAddF16, 4}},
    {"pk_add_bf16", {A::PackedAddBf16, 4}},
};

/// Notes NaN results in LDS.
void noteAtomic(Execution &e, const AtomicOperation &op, uint64_t at, uint64_t value) {
  const Format *format = atomicFormat(op);
  if (!format)
    return;
  const unsigned bits = format->bits();
  for (unsigned n = 0; n < op.size * 8 / bits; ++n) {
    const uint64_t code = bits == 64 ? value : value >> bits * n & ((uint64_t(1) << bits) - 1);
    if (!format->isNan(code))
      continue;
    LooseResult loose;
    loose.place = LooseResult::Lds;
    loose.index = uint32_t(at) + n * bits / 8;
    loose.format = *format;
    e.outcome.loose.push_back(loose);
  }
}

bool executeAtomic(Execution &e, Bytes lds) {
  std::string name = e.line.mnemonic.substr(3);
  bool returns = false;
  if (const size_t at = name.find("rtn_"); at != std::string::npos) {
    name.erase(at, 4);
    returns = true;
  }
  for (const NamedAtomic &atomic : kAtomics) {
    if (name != atomic.name)
      continue;
    const AtomicOperation &op = atomic.operation;
    const char type = op.size == 8 ? 'l' : 'i';
    const bool hasSecond =
        op.kind == A::CompareSwap || op.kind == A::FloatCompareSwap || op.kind == A::MaskOr;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!e.state.active(lane))
        continue;
      const uint64_t at = addressOf(e, e.operand(returns), lane, offsetOf(e));
      const uint64_t old = lds.read(at, op.size);
      const uint64_t data = e.bits(e.operand(returns + 1u), lane, type);
      // DS compare-and-store has the comparand first, then the new value.
      const uint64_t second = hasSecond ? e.bits(e.operand(returns + 2u), lane, type) : 0;
      const uint64_t value = applyAtomic(op, old, data, second, /*flushes=*/false);
      lds.write(at, op.size, value);
      if (lds.contains(at, op.size))
        noteAtomic(e, op, at, value);
      if (returns) {
        e.vector(e.operand(0), lane) = uint32_t(old);
        if (op.size == 8)
          e.vector(e.operand(0), lane, 1) = uint32_t(old >> 32);
      }
    }
    return true;
  }
  return false;
}

// ---- addresses from M0 -------------------------------------------------------------------------

/// ds_append, ds_consume: one counter at M0 + offset goes up or down by the number of active lanes,
/// which all get its old value.
bool executeCounter(Execution &e, Bytes lds) {
  const bool isAppend = e.line.mnemonic == "ds_append";
  if (!isAppend && e.line.mnemonic != "ds_consume")
    return false;
  const uint64_t at = uint64_t(e.state.sgprs[kM0]) + offsetOf(e);
  const uint32_t old = uint32_t(lds.read(at, 4));
  uint32_t active = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane)) {
      e.vector(e.operand(0), lane) = old;
      ++active;
    }
  lds.write(at, 4, isAppend ? old + active : old - active);
  return true;
}

/// ds_read_addtid_b32, ds_write_addtid_b32: M0[15:0] + offset + 4 * lane.
bool executeAddTid(Execution &e, Bytes lds) {
  const bool isRead = e.line.mnemonic == "ds_read_addtid_b32";
  if (!isRead && e.line.mnemonic != "ds_write_addtid_b32")
    return false;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t at = (e.state.sgprs[kM0] & 0xffff) + offsetOf(e) + 4 * lane;
    if (e.state.active(lane) && isRead)
      e.vector(e.operand(0), lane) = uint32_t(lds.read(at, 4));
    else if (e.state.active(lane))
      lds.write(at, 4, e.vector(e.operand(0), lane));
  }
  return true;
}

// ---- cross-lane ----------------------------------------------------------------------------

/// Source lane of ds_swizzle_b32 (CDNA4 ISA 11.3), within groups of 32: from 0xe000 on the lane
/// number reversed and shifted right by the ones of a mask, whose bits stay; from 0xc000 on a
/// rotation of the bits outside a mask, from 0x8000 on four 2-bit selects for every quad, below
/// that and, or and xor masks.
unsigned swizzleSource(uint32_t offset, unsigned lane) {
  const unsigned in = lane & 31;
  if (offset >= 0xe000) {
    unsigned reversed = 0, ones = 0;
    for (unsigned bit = 0; bit < 5; ++bit) {
      reversed = reversed * 2 + (in >> bit & 1);
      ones += offset >> bit & 1;
    }
    return (lane & 32) | (in & offset & 31) | reversed >> ones;
  }
  if (offset >= 0xc000) {
    const unsigned mask = offset & 31, amount = offset >> 5 & 31;
    const unsigned turned = offset >> 10 & 1 ? in - amount : in + amount;
    return (lane & 32) | (((in & mask) | (turned & ~mask)) & 31);
  }
  if (offset & 0x8000)
    return (lane & ~3u) | (offset >> 2 * (lane & 3) & 3);
  return (lane & 32) | ((((in & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) & 31);
}

bool executeCrossLane(Execution &e) {
  const std::string &name = e.line.mnemonic;
  const bool isSwizzle = name == "ds_swizzle_b32", isPull = name == "ds_bpermute_b32";
  if (!isSwizzle && !isPull && name != "ds_permute_b32")
    return false;
  State::Register result{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (isSwizzle) {
      const unsigned source = swizzleSource(offsetOf(e), lane);
      result[lane] = e.state.active(source) ? e.vector(e.operand(1), source) : 0;
      continue;
    }
    const unsigned other = unsigned(addressOf(e, e.operand(1), lane, offsetOf(e)) / 4 % kLanes);
    if (isPull)
      result[lane] = e.state.active(other) ? e.vector(e.operand(2), other) : 0;
    else if (e.state.active(lane))
      result[other] = e.vector(e.operand(2), lane); // the highest lane wins
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane))
      e.vector(e.operand(0), lane) = result[lane];
  return true;
}

// ---- transpose reads -----------------------------------------------------------------------

/// Bits [bit, bit + count) of what a lane's address points to.
uint32_t bitsAt(Bytes lds, uint64_t at, unsigned bit, unsigned count) {
  uint32_t value = 0;
  for (unsigned n = 0; n < count; ++n)
    value |= uint32_t(lds.read(at + (bit + n) / 8, 1) >> (bit + n) % 8 & 1) << n;
  return value;
}

/// Which lane of the group of 16 gives element n to lane l: gfx950.md section 3.2.
unsigned transposeSource(unsigned elementBits, unsigned lane, unsigned n) {
  switch (elementBits) {
  case 16:
    return 4 * n + (lane >> 2 & 3);
  case 8:
    return 2 * n + (lane >> 3 & 1);
  default:
    return n;
  }
}

bool executeTranspose(Execution &e, Bytes lds) {
  const std::string &name = e.line.mnemonic;
  const size_t at = name.find("_tr_b");
  if (at == std::string::npos)
    return false;
  const unsigned elementBits = unsigned(std::stoi(name.substr(at + 5)));
  const unsigned totalBits = elementBits == 6 ? 96 : 64, elements = totalBits / elementBits;
  const unsigned perLane = elementBits == 16 ? 4 : elementBits == 8 ? 8 : 16;
  uint32_t result[3][kLanes] = {};
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned n = 0; n < elements; ++n) {
      const unsigned source = (lane & ~15u) + transposeSource(elementBits, lane, n);
      const uint64_t from = addressOf(e, e.operand(1), source, offsetOf(e));
      const uint64_t element = bitsAt(lds, from, lane % perLane * elementBits, elementBits);
      const unsigned bit = n * elementBits;
      result[bit / 32][lane] |= uint32_t(element << bit % 32);
      if (bit % 32 + elementBits > 32)
        result[bit / 32 + 1][lane] |= uint32_t(element >> (32 - bit % 32));
    }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned n = 0; n < totalBits / 32; ++n)
      e.vector(e.operand(0), lane, n) = result[n][lane];
  return true;
}

} // namespace

bool executeLds(Execution &e) {
  if (!e.line.mnemonic.starts_with("ds_"))
    return false;
  const Bytes lds{e.state.lds};
  return executeCrossLane(e) || executeCounter(e, lds) || executeAddTid(e, lds) ||
         executeTranspose(e, lds) || executePair(e, lds) || executePlain(e, lds) ||
         executeAtomic(e, lds);
}

} // namespace mono::fuzz
