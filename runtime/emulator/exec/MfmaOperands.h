// Reading A, B and C of a matrix instruction out of the registers into plain arrays, and writing D
// back. Unpacked operands are k-major: value of row i (A) or column i (B) at [k * rows + i].
#pragma once

#include "runtime/emulator/exec/MfmaLayout.h"
#include "runtime/emulator/exec/Wave.h"
#include "runtime/emulator/numeric/FloatFormat.h"

#include <algorithm>
#include <bit>

namespace mono::emu::mfma {

// ---- element types ---------------------------------------------------------------------------

struct F32Element {
  static constexpr unsigned bits = 32;
  using Value = float;
  static float decode(uint32_t code) { return std::bit_cast<float>(code); }
};
struct F16Element {
  static constexpr unsigned bits = 16;
  using Value = float;
  static float decode(uint32_t code) { return numeric::halfToFloat(uint16_t(code)); }
};
struct Bf16Element {
  static constexpr unsigned bits = 16;
  using Value = float;
  static float decode(uint32_t code) { return std::bit_cast<float>(code << 16); }
};
struct I8Element {
  static constexpr unsigned bits = 8;
  using Value = uint32_t; // sums wrap
  static uint32_t decode(uint32_t code) { return uint32_t(int32_t(int8_t(code))); }
};
template <const numeric::FloatFormat &Format> struct SmallElement {
  static constexpr unsigned bits = Format.bits();
  using Value = float;
  static float decode(uint32_t code) { return numeric::decodeSmall<Format>(code); }
};
using Fp8Element = SmallElement<numeric::kFp8E4M3>;
using Bf8Element = SmallElement<numeric::kBf8E5M2>;
using Fp6Element = SmallElement<numeric::kFp6E2M3>;
using Bf6Element = SmallElement<numeric::kBf6E3M2>;
using Fp4Element = SmallElement<numeric::kFp4E2M1>;

// ---- A and B ---------------------------------------------------------------------------------

/// Item `n` of `lane`: items are packed little-endian without gaps over consecutive registers. The
/// lane is of the width of a pointer: where an index could wrap, loops over lanes do not vectorise.
template <unsigned Bits>
[[gnu::always_inline]] inline uint32_t itemCode(const uint32_t *rows, size_t lane, unsigned n) {
  const unsigned bit = n * Bits, word = bit / 32, shift = bit % 32;
  uint32_t code = rows[word * Wave::lanes + lane] >> shift;
  if constexpr (32 % Bits != 0)
    if (shift + Bits > 32)
      code |= rows[(word + 1) * Wave::lanes + lane] << (32 - shift);
  return Bits == 32 ? code : code & ((1u << (Bits & 31)) - 1);
}

/// Unpacks `items` items of each lane. `rows` is the operand's first register row (the others
/// follow it), `kOf(group, n)` the k of item n in lane group `group`.
template <typename Element, unsigned Rows, typename KOf>
inline void unpackBlock(const uint32_t *rows, unsigned groups, unsigned groupStride,
                        unsigned firstLane, unsigned items, KOf kOf, typename Element::Value *out) {
  for (unsigned n = 0; n < items; ++n)
    for (unsigned group = 0; group < groups; ++group) {
      typename Element::Value *to = out + kOf(group, n) * Rows;
      const uint32_t *from = rows + (firstLane + group * groupStride);
      for (size_t i = 0; i < Rows; ++i)
        to[i] = Element::decode(itemCode<Element::bits>(from, i, n));
    }
}

/// Unpacks one block of a dense operand with `Rows` rows (A) or columns (B).
template <typename Element, unsigned Rows, unsigned K, unsigned Blocks>
inline void unpackDense(const uint32_t *rows, unsigned block, typename Element::Value *out) {
  constexpr unsigned groups = laneGroups(Rows, Blocks), items = itemsPerLane(Rows, K, Blocks);
  unpackBlock<Element, Rows>(
      rows, groups, Rows * Blocks, Rows * block, items,
      [](unsigned group, unsigned n) { return group * items + n; }, out);
}

/// Registers of an A or B operand.
template <typename Element, unsigned Rows, unsigned K, unsigned Blocks>
inline constexpr unsigned operandRegisters =
    (itemsPerLane(Rows, K, Blocks) * Element::bits + 31) / 32;

/// Lane that `lane` of B reads under the lane group pattern `blgp` (CDNA4 ISA 7.1.6): 1 and 2
/// broadcast a half of the lanes, 3 rotates by 16, 4-7 broadcast a group of 16. One formula for
/// all: of a switch over these, in a loop over lanes, clang 22 makes wrong code at -O3
/// -march=x86-64-v3 (lane % 32 also where it should be lane % 16).
constexpr unsigned blgpLane(unsigned blgp, unsigned lane) {
  constexpr unsigned keep[] = {63, 31, 31, 63, 15, 15, 15, 15};
  constexpr unsigned base[] = {0, 0, 32, 16, 0, 16, 32, 48};
  return ((lane & keep[blgp & 7]) + base[blgp & 7]) & 63;
}

/// Block of A that block `block` of the result uses: cbsz says that 2^cbsz blocks share block
/// `abid` of their group (CDNA4 ISA 7.1.6).
constexpr unsigned broadcastBlock(unsigned cbsz, unsigned abid, unsigned block, unsigned blocks) {
  const unsigned group = 1u << cbsz;
  return group > blocks ? block : (block & ~(group - 1)) + (abid & (group - 1));
}

/// The register rows of a B operand, lanes permuted by blgp into `buffer` where that is set.
inline const uint32_t *laneGroupRows(const uint32_t *rows, unsigned registers, unsigned blgp,
                                     uint32_t *buffer) {
  if (blgp == 0)
    return rows;
  for (unsigned n = 0; n < registers; ++n)
    for (unsigned lane = 0; lane < Wave::lanes; ++lane)
      buffer[n * Wave::lanes + lane] = rows[n * Wave::lanes + blgpLane(blgp, lane)];
  return buffer;
}

// ---- C and D ---------------------------------------------------------------------------------

/// Copies one block of C into c[i * N + j]; 32-bit elements of type T. C may be a constant.
template <typename T, Shape S>
void loadResult(Wave &wave, const Operand &c, unsigned block, T *out) {
  constexpr ResultLayout layout(S, 4);
  if (!c.isVector()) {
    std::fill_n(out, S.m * S.n, std::bit_cast<T>(wave.readScalar32(c)));
    return;
  }
  const uint32_t *rows = wave.vgpr(c);
  for (unsigned i = 0; i < S.m; ++i)
    std::copy_n(reinterpret_cast<const T *>(rows + layout.item(i, block) * Wave::lanes +
                                            layout.lane(S.n, i, block)),
                S.n, out + i * S.n);
}

/// Writes one block of D from d[i * N + j]. EXEC plays no part (CDNA4 ISA 7.1).
template <typename T, Shape S>
void storeResult(Wave &wave, const Operand &d, unsigned block, const T *in) {
  constexpr ResultLayout layout(S, 4);
  uint32_t *rows = wave.vgpr(d);
  for (unsigned i = 0; i < S.m; ++i)
    std::copy_n(in + i * S.n, S.n,
                reinterpret_cast<T *>(rows + layout.item(i, block) * Wave::lanes +
                                      layout.lane(S.n, i, block)));
}

} // namespace mono::emu::mfma
