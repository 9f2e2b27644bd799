// Conversions from and to fp8, bf8, fp6, bf6, fp4 and bf16, with and without
// scale, to nearest and stochastic (CDNA4 ISA 12.8, 12.11; gfx950.md section
// 3).
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"
#include "test/runtime/fuzz/LiteralSmallFloat.h"

#include <algorithm>
#include <cmath>

namespace mono::fuzz {

namespace {

struct NamedFormat {
  const char *name;
  const Format *format;
};
constexpr NamedFormat kFormats[] = {
    {"f32", &kF32}, {"f16", &kF16}, {"bf16", &kBf16}, {"fp8", &kFp8},
    {"bf8", &kBf8}, {"fp6", &kFp6}, {"bf6", &kBf6},   {"fp4", &kFp4},
};
const Format *formatNamed(std::string_view name) {
  for (const NamedFormat &named : kFormats)
    if (name == named.name)
      return named.format;
  return nullptr;
}

/// "v_cvt_[scalef32_][sr_][pk_|pk32_|2xpk16_]TO_FROM" taken apart.
struct Conversion {
  bool isScaled = false, isStochastic = false, isTwoSources = false;
  unsigned elements = 1;
  const Format *to = nullptr, *from = nullptr;
  bool isWidening() const { return to->bits() > from->bits(); }
};

bool parse(std::string_view name, Conversion &c) {
  auto take = [&](std::string_view prefix) {
    if (!name.starts_with(prefix))
      return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  if (!take("v_cvt_"))
    return false;
  c.isScaled = take("scalef32_");
  c.isStochastic = take("sr_");
  if (take("pk_"))
    c.elements = 2;
  else if (take("pk32_"))
    c.elements = 32;
  else if (take("2xpk16_")) {
    c.elements = 32;
    c.isTwoSources = true;
  }
  const size_t at = name.find('_');
  if (at == std::string_view::npos)
    return false;
  c.to = formatNamed(name.substr(0, at));
  c.from = formatNamed(name.substr(at + 1));
  return c.to && c.from;
}

/// Item `n` of a string of dwords that begins at operand `o`.
uint32_t itemOf(Execution &e, const TextOperand &o, unsigned lane, unsigned bits, unsigned n) {
  const unsigned bit = n * bits;
  uint64_t window = e.dword(o, lane, bit / 32);
  if (bit % 32 + bits > 32)
    window |= uint64_t(e.dword(o, lane, bit / 32 + 1)) << 32;
  return uint32_t(window >> bit % 32 & ((uint64_t(1) << bits) - 1));
}

/// One conversion in one lane.
class LaneConversion {
public:
  LaneConversion(Execution &e, const Conversion &c, unsigned lane)
      : e(e), c(c), lane(lane), operands(unsigned(e.line.operands.size())) {}

  void run() {
    std::vector<uint64_t> results;
    if (c.isStochastic)
      random = e.dword(e.operand(operands - (c.isScaled ? 2 : 1)), lane);
    for (unsigned n = 0; n < c.elements; ++n) {
      results.push_back(convert(source(n)));
      random = random << 1 ^ (random >> 31 ? 0xc5 : 0); // the step of v_prng_b32
    }
    write(results);
    for (unsigned n = 0; isOpen && n < std::max(1u, c.to->bits() * c.elements / 32); ++n) {
      TextOperand o = e.operand(0);
      o.index += n;
      e.noteAny(o, lane);
    }
  }

private:
  Execution &e;
  const Conversion &c;
  const unsigned lane, operands;
  uint32_t random = 0;
  bool isOpen = false; ///< the result may be anything

  bool opSel(unsigned n) const { return e.line.item("op_sel", n, 0); }

  /// Where a conversion from a small format finds its items: op_sel picks byte
  /// or word of the source, SDWA likewise.
  unsigned sourceOffset() const {
    if (!c.isWidening() || c.elements == 32 || c.from->bits() > 8)
      return e.line.word("src0_sel") == "WORD_1" ? 1 : 0;
    const std::string sdwa = e.line.word("src0_sel");
    if (sdwa.starts_with("BYTE_"))
      return unsigned(sdwa[5] - '0');
    if (sdwa.starts_with("WORD_"))
      return c.elements * unsigned(sdwa[5] - '0');
    // fp4 pairs are bytes, fp8 pairs words.
    const bool byByte = c.elements == 1 || c.from->bits() == 4;
    const unsigned select = byByte ? opSel(0) + 2 * opSel(1) : opSel(0);
    return select * c.elements;
  }

  uint64_t source(unsigned n) {
    if (c.isTwoSources)
      // S0 and S1 interleave: element 2k of S0, 2k + 1 of S1.
      return itemOf(e, e.operand(1 + (n & 1)), lane, 32, n / 2);
    if (c.from->bits() == 32 && c.elements == 2 && !c.isStochastic)
      return value32(1 + n);
    if (c.from->bits() == 32 && c.elements == 1)
      return value32(1);
    return itemOf(e, e.operand(1), lane, c.from->bits(), sourceOffset() + n);
  }

  /// An f32 operand with its modifiers; MODE's input denormals.
  uint64_t value32(unsigned n) {
    const TextOperand &o = e.operand(n);
    uint64_t code = e.bits(o, lane, 'f');
    if (o.abs)
      code &= 0x7fffffff;
    if (o.neg)
      code ^= 0x80000000;
    return e.modes.keepInF32 ? code : flushed(kF32, code);
  }

  /// The exponent field of an f32, read as an E8M0 scale: 255 is NaN.
  double scale() {
    const int exponent = int(e.dword(e.operand(operands - 1), lane) >> 23 & 0xff);
    return exponent == 255 ? std::nan("") : std::ldexp(1.0, exponent - 127);
  }

  uint64_t convert(uint64_t code) {
    if (c.from->bits() == 32 && !e.modes.keepInF32)
      code = flushed(kF32, code);
    double value = toDouble(*c.from, code);
    if (c.from->isNan(code))
      value = std::copysign(std::nan(""), code & c.from->sign() ? -1.0 : 1.0);
    if (c.isScaled) {
      const double factor = scale();
      // Of two NaN the manual does not say whose sign the result has.
      isOpen |= std::isnan(value) && std::isnan(factor);
      if (!std::isnan(value))
        value = std::isnan(factor) ? factor : c.isWidening() ? value * factor : value / factor;
    }
    if (c.to->bits() <= 8)
      return nearestCode(*c.to, value, {e.modes.fp16Overflow, c.isStochastic, random});
    if (c.isStochastic)
      return stochasticHalf(value);
    if (std::isnan(value))
      return c.to->nan();
    const uint64_t result = pack(*c.to, fromDouble(value), Round::Even);
    const bool saturates = c.to == &kF16 && e.modes.fp16Overflow && std::isfinite(value);
    if (saturates && kF16.isInfinite(result))
      return (result & 0x8000) | kF16.greatest();
    const bool flushes = !c.isScaled && c.to == &kF32 && !e.modes.keepOutF32;
    return flushes ? flushed(kF32, result) : result;
  }

  /// f32 to f16 or bf16: the random number is added below the last place, then
  /// the rest is cut off.
  uint64_t stochasticHalf(double value) {
    if (!std::isfinite(value))
      return std::isnan(value) ? c.to->nan() : pack(*c.to, fromDouble(value), Round::Zero);
    const uint64_t below = pack(*c.to, fromDouble(value), Round::Zero);
    const double low = std::fabs(toDouble(*c.to, below));
    const uint64_t next = (below & c.to->magnitude()) + 1;
    const double high = c.to->isInfinite(next)
                            ? 2 * low - toDouble(*c.to, (below & c.to->magnitude()) - 1)
                            : toDouble(*c.to, next);
    const long double fraction = (std::fabs(value) - low) / (high - low);
    if (fraction + random / 4294967296.0L < 1)
      return below;
    const bool saturates = c.to->isInfinite(next) && e.modes.fp16Overflow && c.to == &kF16;
    return saturates ? below : below + 1;
  }

  /// Place of the result in the destination, in units of its size: a half by
  /// the last op_sel bit, a byte by bits 2 and 3.
  unsigned destinationUnit(unsigned bits) const {
    return bits == 16 ? opSel(operands - 1) : opSel(2) + 2 * opSel(3);
  }

  void write(const std::vector<uint64_t> &results) {
    const unsigned bits = c.to->bits() * c.elements;
    const TextOperand &o = e.operand(0);
    if (bits < 32) {
      uint64_t value = 0;
      for (unsigned n = 0; n < c.elements; ++n)
        value |= results[n] << n * c.to->bits();
      const unsigned shift = bits * destinationUnit(bits);
      const uint32_t mask = ((1u << bits) - 1) << shift;
      uint32_t &row = e.vector(o, lane);
      row = (row & ~mask) | (uint32_t(value) << shift & mask);
      if (c.to->bits() == 16 && c.to->isNan(value))
        e.noteLoose(o, 0, lane, *c.to, shift);
      return;
    }
    std::vector<uint32_t> dwords(bits / 32);
    for (unsigned n = 0; n < c.elements; ++n)
      for (unsigned b = 0; b < c.to->bits(); ++b) {
        const unsigned bit = n * c.to->bits() + b;
        dwords[bit / 32] |= uint32_t(results[n] >> b & 1) << bit % 32;
      }
    for (unsigned n = 0; n < dwords.size(); ++n)
      e.vector(o, lane, n) = dwords[n];
    for (unsigned n = 0; n < c.elements; ++n)
      if (c.to->bits() >= 16 && c.to->isNan(results[n]))
        e.noteLoose(o, n * c.to->bits() / 32, lane, *c.to, c.to->bits() == 16 && n % 2);
  }
};

#define MONO_SEL2 "{p:| op_sel:[1,0]| op_sel:[0,1]| op_sel:[1,1]}"
#define MONO_WORD3 "{p:| op_sel:[0,0,1]}"
#define MONO_WORD4 "{p:| op_sel:[0,0,0,1]}"
#define MONO_BYTE4 "{p:| op_sel:[0,0,1,0]| op_sel:[0,0,0,1]| op_sel:[0,0,1,1]}"

constexpr InstructionTemplate kTemplates[] = {
    // ---- without scale
    {"v_cvt_pk_{p:fp8|bf8}_f32 {d}, {p:|-}{v}, {v}" MONO_WORD3},
    {"v_cvt_pk_{p:fp8|bf8}_f32 {d}, {f}, {f}" MONO_WORD3},
    {"v_cvt_sr_{p:fp8|bf8}_f32 {d}, {v}, {v}" MONO_BYTE4},
    {"v_cvt_f32_{p:fp8|bf8}_e32 {d}, {v}"},
    {"v_cvt_f32_{p:fp8|bf8}_sdwa {d}, {v} src0_sel:BYTE_{n:0:3}"},
    {"v_cvt_pk_f32_{p:fp8|bf8}_e32 {d2}, {v}"},
    {"v_cvt_pk_f32_{p:fp8|bf8}_sdwa {d2}, {v} src0_sel:WORD_{n:0:1}"},
    {"v_cvt_pk_bf16_f32 {d}, {p:|-}{v}, {v}"},
    {"v_cvt_pk_bf16_f32 {d}, {f}, {f}"},
    {"v_cvt_f32_bf16_e32 {d}, {v}"},
    {"v_cvt_f32_bf16_sdwa {d}, {v} dst_sel:DWORD dst_unused:UNUSED_PAD "
     "src0_sel:WORD_{n:0:1}"},
    {"v_cvt_sr_{p:f16|bf16}_f32 {d}, {v}, {v}" MONO_WORD3},
    // ---- widening with scale
    {"v_cvt_scalef32_f32_{p:fp8|bf8} {d}, {v}, {v}" MONO_SEL2},
    {"v_cvt_scalef32_pk_f32_{p:fp8|bf8} {d2}, {v}, {v}{p:| op_sel:[1,0]}"},
    {"v_cvt_scalef32_pk_{p:f16|bf16}_{p:fp8|bf8} {d}, {v}, {v}{p:| "
     "op_sel:[1,0]}"},
    {"v_cvt_scalef32_pk_f32_fp4 {d2}, {v}, {v}" MONO_SEL2},
    {"v_cvt_scalef32_pk_{p:f16|bf16}_fp4 {d}, {v}, {v}" MONO_SEL2},
    {"v_cvt_scalef32_pk32_f32_{p:fp6|bf6} {d32}, {v6}, {v}"},
    {"v_cvt_scalef32_pk32_{p:f16|bf16}_{p:fp6|bf6} {d16}, {v6}, {v}"},
    // ---- narrowing with scale
    {"v_cvt_scalef32_pk_{p:fp8|bf8}_f32 {d}, {v}, {v}, {v}" MONO_WORD4},
    {"v_cvt_scalef32_pk_{p:fp8|bf8}_{p:f16|bf16} {d}, {v}, {v}" MONO_WORD3},
    {"v_cvt_scalef32_pk_fp4_f32 {d}, {v}, {v}, {v}" MONO_BYTE4},
    {"v_cvt_scalef32_pk_fp4_{p:f16|bf16} {d}, {v}, {v}" MONO_BYTE4},
    {"v_cvt_scalef32_pk32_{p:fp6|bf6}_{p:f16|bf16} {d6}, {v16}, {v}"},
    {"v_cvt_scalef32_2xpk16_{p:fp6|bf6}_f32 {d6}, {v16}, {v16}, {v}"},
    {"v_cvt_scalef32_sr_{p:fp8|bf8}_{p:f32|f16|bf16} {d}, {v}, {v}, "
     "{v}" MONO_BYTE4},
    {"v_cvt_scalef32_sr_pk_fp4_f32 {d}, {v2}, {v}, {v}" MONO_BYTE4},
    {"v_cvt_scalef32_sr_pk_fp4_{p:f16|bf16} {d}, {v}, {v}, {v}" MONO_BYTE4},
    {"v_cvt_scalef32_sr_pk32_{p:fp6|bf6}_{p:f16|bf16} {d6}, {v16}, {v}, {v}"},
    {"v_cvt_scalef32_sr_pk32_{p:fp6|bf6}_f32 {d6}, {v32}, {v}, {v}"},
    // ---- dot products
    {"v_dot2_f32_{p:f16|bf16} {d}, {v}, {v}, {v}{p:| neg_lo:[1,0,0]| "
     "neg_hi:[0,1,0]| clamp}"},
    {"v_dot2_{p:i32_i16|u32_u16} {d}, {v}, {v}, {v}{p:| clamp}"},
    {"v_dot{p:4_i32_i8|4_u32_u8|8_i32_i4|8_u32_u4} {d}, {x}, {x}, {x}{p:| "
     "clamp}"},
    {"v_dot2c_{p:f32_f16|f32_bf16|i32_i16} {d}, {v}, {v}"},
    {"v_dot{p:4c_i32_i8|8c_i32_i4} {d}, {v}, {v}"},
};

} // namespace

bool executeScaledConversion(Execution &e) {
  Conversion conversion;
  if (!parse(e.line.mnemonic, conversion))
    return false;
  // The destination may overlap a source, but only within a lane, where all is
  // read first.
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (e.state.active(lane))
      LaneConversion(e, conversion, lane).run();
  return true;
}

llvm::ArrayRef<InstructionTemplate> conversionTemplates() { return kTemplates; }

} // namespace mono::fuzz
