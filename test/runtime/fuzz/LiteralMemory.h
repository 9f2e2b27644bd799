// Bytes of LDS and device memory as the literal wave reads and writes them, and the atomic
// operations both have.
#pragma once

#include "test/runtime/fuzz/LiteralExecution.h"

namespace mono::fuzz {

/// LDS or the one allocation of device memory; addresses are byte offsets into it. What lies
/// outside reads zero and is not written.
struct Bytes {
  std::vector<uint8_t> &data;

  bool contains(uint64_t at, unsigned size) const {
    return at < data.size() && size <= data.size() - at;
  }
  /// Little-endian value of `size` bytes, at most 8.
  uint64_t read(uint64_t at, unsigned size) const {
    uint64_t value = 0;
    for (unsigned n = 0; contains(at, size) && n < size; ++n)
      value |= uint64_t(data[at + n]) << 8 * n;
    return value;
  }
  void write(uint64_t at, unsigned size, uint64_t value) {
    for (unsigned n = 0; contains(at, size) && n < size; ++n)
      data[at + n] = uint8_t(value >> 8 * n);
  }
};

/// An atomic operation by the middle of its mnemonic: "add_u32" or "smax_x2".
struct AtomicOperation {
  enum Kind : uint8_t {
    Add,
    Sub,
    ReverseSub,
    Inc,
    Dec,
    SignedMin,
    SignedMax,
    UnsignedMin,
    UnsignedMax,
    And,
    Or,
    Xor,
    Swap,
    CompareSwap,
    MaskOr,
    FloatAdd,
    FloatMin,
    FloatMax,
    FloatCompareSwap,
    PackedAddF16,
    PackedAddBf16
  } kind;
  unsigned size; ///< bytes
};

/// New value of a memory cell. `data` is the operand, `second` the second one of compare-and-swap
/// (the new value) and of mask-or. `flushes` replaces f32 denormals by zero.
uint64_t applyAtomic(const AtomicOperation &op, uint64_t old, uint64_t data, uint64_t second,
                     bool flushes);

/// Whether the result of the operation may be a NaN with any payload, and of which format.
const Format *atomicFormat(const AtomicOperation &op);

} // namespace mono::fuzz
