// V_CVT_SCALEF32_*: conversions between fp8, bf8, fp6, bf6, fp4 and f32, f16, bf16 with a power of
// two taken from the exponent field of an f32 operand (CDNA4 ISA 7.3). Narrowing divides by it,
// widening multiplies; either rounds once.
#include "runtime/emulator/exec/CvtElements.h"
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace mono::emu::valu {
namespace {

using numeric::FloatFormat;

/// The registers of one packed operand, all its dwords for all lanes. Elements are packed
/// little-endian without gaps: element n has bits [n * width, (n + 1) * width).
template <unsigned Dwords> class PackedRows {
public:
  PackedRows(Wave &wave, const Instruction &inst, unsigned index, ValueKind kind) {
    for (unsigned n = 0; n < Dwords; ++n)
      rows[n] = fetchRow(wave, inst, inst.src[index], n, kind, buffers[n]);
  }
  PackedRows(const PackedRows &) = delete;

  /// Element `n` of one lane, in the low bits; what is above them is rubbish. With `n` the same for
  /// all lanes, lane loops vectorise.
  uint32_t element(unsigned lane, unsigned n, unsigned width) const {
    const unsigned bit = n * width, word = bit / 32, shift = bit % 32;
    if (Dwords == 1 || shift + width <= 32)
      return rows[word][lane] >> shift;
    return rows[word][lane] >> shift | rows[word + 1][lane] << (32 - shift);
  }

private:
  LaneBuffer buffers[Dwords];
  const uint32_t *rows[Dwords];
};

/// The destination as a string of packed elements. They must be set in order: the first one of a
/// dword overwrites it.
template <unsigned Dwords> class PackedResult {
public:
  void set(unsigned lane, unsigned n, unsigned width, uint32_t code) {
    const unsigned bit = n * width, word = bit / 32, shift = bit % 32;
    uint32_t &low = rows[word].dword[lane];
    low = shift ? low | code << shift : code;
    if (shift + width > 32)
      rows[word + 1].dword[lane] = code >> (32 - shift);
  }
  void setDword(unsigned lane, unsigned n, uint32_t value) { rows[n].dword[lane] = value; }
  void store(Wave &wave, const Instruction &inst) {
    const uint64_t mask = writeMask(wave, inst);
    for (unsigned n = 0; n < Dwords; ++n)
      blendRow(wave.vgpr(inst.dst[0], n), rows[n].dword, mask);
  }
  const uint32_t *row() const { return rows[0].dword; }

private:
  std::array<LaneBuffer, Dwords> rows;
};

constexpr unsigned dwordsFor(unsigned elements, const FloatFormat &format) {
  return (elements * format.bits() + 31) / 32;
}

/// f32 sources obey MODE's denormal control; f16 and bf16 are taken as they are.
constexpr ValueKind kindOf(const FloatFormat &format) {
  return format.bits() == 32 ? ValueKind::Float32 : ValueKind::Bits32;
}

/// Value of an element in the low bits of `code`: exact in f32 for all formats here.
template <const FloatFormat &Format> float elementValue(uint32_t code) {
  if constexpr (Format.bits() == 32)
    return std::bit_cast<float>(code);
  else if constexpr (Format.bits() <= 8)
    return numeric::decodeSmall<Format>(code);
  else if constexpr (Format.mantissaBits == numeric::kFp16.mantissaBits)
    return numeric::halfToFloat(uint16_t(code));
  else
    return numeric::bf16ToFloat(uint16_t(code));
}

/// The f32 with the exponent field of E8M0 scale `field`: 2^(field - 127), NaN for 255.
constexpr float scaleOfField(uint32_t field) {
  const uint32_t normal = field == 255 ? 0x7fc00000 : field << 23;
  return std::bit_cast<float>(field == 0 ? 0x00400000 : normal);
}

/// What elements are multiplied by: the power of two in the exponent field of the scale operand, or
/// its reciprocal; exact.
class ScaleRow {
public:
  enum class Use : uint8_t { Multiply, Divide };

  ScaleRow(Wave &wave, const Instruction &inst, unsigned index, Use use) {
    LaneBuffer buffer;
    const uint32_t *row = fetchRow(wave, inst, inst.src[index], 0, ValueKind::Bits32, buffer);
    for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
      const uint32_t field = row[lane] >> 23 & 0xff;
      const uint32_t inverse = field == 255 ? field : 254 - field;
      factors[lane] = scaleOfField(use == Use::Divide ? inverse : field);
    }
  }
  float operator[](unsigned lane) const { return factors[lane]; }

private:
  alignas(64) float factors[Wave::lanes];
};

// ---- widening ------------------------------------------------------------------------------

/// A scaled element, which has at most five significant bits, to the code of a wider format. The
/// product in f32 is exact or so small that it rounds to the same denormal or zero twice as once.
template <const FloatFormat &To> uint32_t widenedCode(float scaled, bool clampHalf) {
  if constexpr (To.bits() == 32)
    return std::bit_cast<uint32_t>(scaled);
  else if constexpr (To.mantissaBits == numeric::kBf16.mantissaBits)
    return numeric::floatToBf16(scaled);
  else
    return numeric::floatToHalf(clampHalf ? std::clamp(scaled, -65504.0f, 65504.0f) : scaled);
}

/// `Count` elements of `From`, starting at element `first` of the source, to `To`. The result fills
/// whole registers, but for a single f16, which goes to the half that op_sel[3] picks.
template <const FloatFormat &From, const FloatFormat &To, unsigned Count>
[[gnu::noinline]] void widen(Wave &wave, const Instruction &inst, unsigned first) {
  constexpr unsigned sourceDwords = Count > 2 ? dwordsFor(Count, From) : 1;
  const PackedRows<sourceDwords> source(wave, inst, 0, ValueKind::Bits32);
  const ScaleRow scale(wave, inst, 1, ScaleRow::Use::Multiply);
  // FP16_OVFL keeps finite numbers finite and leaves infinity alone.
  const bool overflows = FloatMode(wave).fp16Overflow;
  PackedResult<dwordsFor(Count, To)> result;
  constexpr unsigned eachDword = To.bits() == 16 && Count > 1 ? 2 : 1;
  for (unsigned n = 0; n < Count; n += eachDword)
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
    for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
      uint32_t dword = 0;
      for (unsigned half = 0; half < eachDword; ++half) {
        const float value = elementValue<From>(source.element(lane, first + n + half, From.bits()));
        const bool clampHalf = overflows && std::fabs(value) < INFINITY;
        dword |= widenedCode<To>(value * scale[lane], clampHalf) << (16 * half);
      }
      result.setDword(lane, n / eachDword, dword);
    }
  if constexpr (Count == 1 && To.bits() == 16)
    storeElement(wave, inst, result.row(), 16, inst.opSel >> 3);
  else
    result.store(wave, inst);
}

/// One byte, picked by op_sel[1:0].
template <const FloatFormat &From, const FloatFormat &To>
void widenByte(Wave &wave, const Instruction &inst) {
  widen<From, To, 1>(wave, inst, inst.opSel & 3);
}
/// Two 8-bit elements of the half that op_sel[0] picks, or two 4-bit ones of the byte that
/// op_sel[1:0] picks.
template <const FloatFormat &From, const FloatFormat &To>
void widenPair(Wave &wave, const Instruction &inst) {
  widen<From, To, 2>(wave, inst, 2 * (From.bits() == 4 ? inst.opSel & 3 : inst.opSel & 1));
}
template <const FloatFormat &From, const FloatFormat &To>
void widen32(Wave &wave, const Instruction &inst) {
  widen<From, To, 32>(wave, inst, 0);
}

// ---- narrowing -----------------------------------------------------------------------------

/// Which element of which source becomes element n of the result.
enum class Sources : uint8_t {
  One,        ///< element n of the first source
  Pair,       ///< n-th source (two f32 operands)
  Interleaved ///< even elements from the first source, odd from the second (2xpk16)
};

/// Narrows `Count` elements; stochastic forms step the random number once an element.
template <const FloatFormat &From, const FloatFormat &To, unsigned Count, Sources Layout,
          bool Stochastic>
class Narrow {
  static constexpr unsigned sourceCount = Layout == Sources::One ? 1 : 2;
  static constexpr unsigned elementsEach = Count / sourceCount;
  static constexpr unsigned sourceDwords = dwordsFor(elementsEach, From);
  static constexpr unsigned scaleIndex = sourceCount + Stochastic;
  using Source = PackedRows<sourceDwords>;

public:
  [[gnu::noinline]] static void run(Wave &wave, const Instruction &inst) {
    const Source first(wave, inst, 0, kindOf(From));
    const Source second(wave, inst, sourceCount - 1, kindOf(From));
    const ScaleRow scale(wave, inst, scaleIndex, ScaleRow::Use::Divide);
    const numeric::Overflow overflow = overflowOf(wave);
    LaneBuffer random;
    if constexpr (Stochastic)
      copySeeds(wave, inst, random);
    PackedResult<dwordsFor(Count, To)> result;
    for (unsigned n = 0; n < Count; ++n)
      for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
        // The quotient is exact, or Inf, or below every format's least denormal.
        const float value = elementValue<From>(sourceCode(first, second, lane, n));
        const float quotient = value * scale[lane];
        result.set(lane, n, To.bits(), code(quotient, overflow, random.dword[lane]));
      }
    store(wave, inst, result);
  }

private:
  static uint32_t sourceCode(const Source &first, const Source &second, unsigned lane, unsigned n) {
    if constexpr (Layout == Sources::One)
      return first.element(lane, n, From.bits());
    else
      return (n & 1 ? second : first).element(lane, n / 2, From.bits());
  }

  static void copySeeds(Wave &wave, const Instruction &inst, LaneBuffer &random) {
    const uint32_t *row = fetchRow(wave, inst, inst.src[1], 0, ValueKind::Bits32, random);
    if (row != random.dword)
      std::copy_n(row, Wave::lanes, random.dword);
  }

  static uint32_t code(float value, numeric::Overflow overflow, uint32_t &random) {
    if constexpr (!Stochastic)
      return numeric::encodeNearest<To>(value, overflow);
    const uint32_t result = numeric::encodeStochastic<To>(value, overflow, random);
    random = nextRandom(random);
    return result;
  }

  /// 8- and 16-bit results go to the byte (op_sel[3:2]) or half (op_sel[3]) of the destination.
  static void store(Wave &wave, const Instruction &inst,
                    PackedResult<dwordsFor(Count, To)> &result) {
    constexpr unsigned bits = Count * To.bits();
    if constexpr (bits == 8)
      storeElement(wave, inst, result.row(), 8, inst.opSel >> 2);
    else if constexpr (bits == 16)
      storeElement(wave, inst, result.row(), 16, inst.opSel >> 3);
    else
      result.store(wave, inst);
  }
};

// ---- registration --------------------------------------------------------------------------

constexpr const FloatFormat &F32 = numeric::kFp32;
constexpr const FloatFormat &Half = numeric::kFp16;
constexpr const FloatFormat &Bf16 = numeric::kBf16;
constexpr const FloatFormat &Fp4 = numeric::kFp4E2M1;

const std::string kPrefix = "V_CVT_SCALEF32_";

/// All forms of an 8-bit format.
template <const FloatFormat &F> void addBytes(HandlerTable &table, const std::string &name) {
  using enum Sources;
  table.add(kPrefix + "F32_" + name, widenByte<F, F32>);
  table.add(kPrefix + "F16_" + name, widenByte<F, Half>);
  table.add(kPrefix + "PK_F32_" + name, widenPair<F, F32>);
  table.add(kPrefix + "PK_F16_" + name, widenPair<F, Half>);
  table.add(kPrefix + "PK_BF16_" + name, widenPair<F, Bf16>);
  table.add(kPrefix + "PK_" + name + "_F32", Narrow<F32, F, 2, Pair, false>::run);
  table.add(kPrefix + "PK_" + name + "_F16", Narrow<Half, F, 2, One, false>::run);
  table.add(kPrefix + "PK_" + name + "_BF16", Narrow<Bf16, F, 2, One, false>::run);
  table.add(kPrefix + "SR_" + name + "_F32", Narrow<F32, F, 1, One, true>::run);
  table.add(kPrefix + "SR_" + name + "_F16", Narrow<Half, F, 1, One, true>::run);
  table.add(kPrefix + "SR_" + name + "_BF16", Narrow<Bf16, F, 1, One, true>::run);
}

/// All forms of a 6-bit format: 32 elements in six registers.
template <const FloatFormat &F> void addSixBits(HandlerTable &table, const std::string &name) {
  using enum Sources;
  table.add(kPrefix + "PK32_F32_" + name, widen32<F, F32>);
  table.add(kPrefix + "PK32_F16_" + name, widen32<F, Half>);
  table.add(kPrefix + "PK32_BF16_" + name, widen32<F, Bf16>);
  table.add(kPrefix + "2XPK16_" + name + "_F32", Narrow<F32, F, 32, Interleaved, false>::run);
  table.add(kPrefix + "PK32_" + name + "_F16", Narrow<Half, F, 32, One, false>::run);
  table.add(kPrefix + "PK32_" + name + "_BF16", Narrow<Bf16, F, 32, One, false>::run);
  table.add(kPrefix + "SR_PK32_" + name + "_F32", Narrow<F32, F, 32, One, true>::run);
  table.add(kPrefix + "SR_PK32_" + name + "_F16", Narrow<Half, F, 32, One, true>::run);
  table.add(kPrefix + "SR_PK32_" + name + "_BF16", Narrow<Bf16, F, 32, One, true>::run);
}

void addFp4(HandlerTable &table) {
  using enum Sources;
  table.add(kPrefix + "PK_F32_FP4", widenPair<Fp4, F32>);
  table.add(kPrefix + "PK_F16_FP4", widenPair<Fp4, Half>);
  table.add(kPrefix + "PK_BF16_FP4", widenPair<Fp4, Bf16>);
  table.add(kPrefix + "PK_FP4_F32", Narrow<F32, Fp4, 2, Pair, false>::run);
  table.add(kPrefix + "PK_FP4_F16", Narrow<Half, Fp4, 2, One, false>::run);
  table.add(kPrefix + "PK_FP4_BF16", Narrow<Bf16, Fp4, 2, One, false>::run);
  table.add(kPrefix + "SR_PK_FP4_F32", Narrow<F32, Fp4, 2, One, true>::run);
  table.add(kPrefix + "SR_PK_FP4_F16", Narrow<Half, Fp4, 2, One, true>::run);
  table.add(kPrefix + "SR_PK_FP4_BF16", Narrow<Bf16, Fp4, 2, One, true>::run);
}

} // namespace

void registerConvertScaled(HandlerTable &table) {
  addBytes<numeric::kFp8E4M3>(table, "FP8");
  addBytes<numeric::kBf8E5M2>(table, "BF8");
  addSixBits<numeric::kFp6E2M3>(table, "FP6");
  addSixBits<numeric::kBf6E3M2>(table, "BF6");
  addFp4(table);
}

} // namespace mono::emu::valu
