// Atomic operations on memory (CDNA4 ISA 12.13, 12.15 to 12.18).
#include "test/runtime/fuzz/LiteralMemory.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

uint64_t masked(uint64_t value, unsigned size) {
  return size == 8 ? value : value & ((uint64_t(1) << 8 * size) - 1);
}
int64_t signExtended(uint64_t value, unsigned size) {
  return size == 8 ? int64_t(value) : int64_t(int32_t(value));
}

uint64_t addFloats(const Format &f, uint64_t a, uint64_t b, bool flushes) {
  if (flushes) {
    a = flushed(f, a);
    b = flushed(f, b);
  }
  const uint64_t sum = pack(f, add(unpack(f, a), unpack(f, b), Round::Even), Round::Even);
  return flushes ? flushed(f, sum) : sum;
}

uint64_t addPairs(const Format &f, uint64_t a, uint64_t b) {
  const uint64_t low = addFloats(f, a & 0xffff, b & 0xffff, false);
  const uint64_t high = addFloats(f, a >> 16 & 0xffff, b >> 16 & 0xffff, false);
  return low | high << 16;
}

/// Minimum or maximum of an atomic: a NaN gives way to a number, as in IEEE 754-2008 minNum.
uint64_t extreme(const Format &f, uint64_t old, uint64_t data, bool greater) {
  if (f.isNan(data))
    return f.isNan(old) ? f.nan() : old;
  if (f.isNan(old))
    return data;
  const int order = compare(unpack(f, data), unpack(f, old));
  const bool bothZero = f.isZero(data) && f.isZero(old);
  const bool dataIsLess = bothZero ? (data & f.sign()) && !(old & f.sign()) : order == -1;
  const bool dataIsGreater = bothZero ? !(data & f.sign()) && (old & f.sign()) : order == 1;
  return (greater ? dataIsGreater : dataIsLess) ? data : old;
}

} // namespace

const Format *atomicFormat(const AtomicOperation &op) {
  switch (op.kind) {
  case AtomicOperation::FloatAdd:
  case AtomicOperation::FloatMin:
  case AtomicOperation::FloatMax:
    return op.size == 8 ? &kF64 : &kF32;
  case AtomicOperation::PackedAddF16:
    return &kF16;
  case AtomicOperation::PackedAddBf16:
    return &kBf16;
  default:
    return nullptr;
  }
}

uint64_t applyAtomic(const AtomicOperation &op, uint64_t old, uint64_t data, uint64_t second,
                     bool flushes) {
  using A = AtomicOperation;
  const Format &f = op.size == 8 ? kF64 : kF32;
  const int64_t signedOld = signExtended(old, op.size), signedData = signExtended(data, op.size);
  switch (op.kind) {
  case A::Add:
    return masked(old + data, op.size);
  case A::Sub:
    return masked(old - data, op.size);
  case A::ReverseSub:
    return masked(data - old, op.size);
  case A::Inc:
    return old >= data ? 0 : old + 1;
  case A::Dec:
    return old == 0 || old > data ? data : old - 1;
  case A::SignedMin:
    return signedData < signedOld ? data : old;
  case A::SignedMax:
    return signedData > signedOld ? data : old;
  case A::UnsignedMin:
    return std::min(old, data);
  case A::UnsignedMax:
    return std::max(old, data);
  case A::And:
    return old & data;
  case A::Or:
    return old | data;
  case A::Xor:
    return old ^ data;
  case A::Swap:
    return data;
  case A::CompareSwap:
    return old == data ? second : old;
  case A::MaskOr:
    return (old & ~data) | second;
  case A::FloatCompareSwap:
    return compare(unpack(f, old), unpack(f, data)) == 0 ? second : old;
  case A::FloatAdd:
    return addFloats(f, old, data, flushes && op.size == 4);
  case A::FloatMin:
    return extreme(f, old, data, false);
  case A::FloatMax:
    return extreme(f, old, data, true);
  case A::PackedAddF16:
    return addPairs(kF16, old, data);
  case A::PackedAddBf16:
    return addPairs(kBf16, old, data);
  }
  return old;
}

} // namespace mono::fuzz
