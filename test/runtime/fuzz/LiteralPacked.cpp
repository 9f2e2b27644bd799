// Packed instructions (VOP3P): two 16-bit halves or two f32 at a time, v_fma_mix and v_pk_fmac
// (CDNA4 ISA 12.9 and 6.7).
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

// ---- halves --------------------------------------------------------------------------------

struct Half {
  const Modes &modes;
  uint16_t s[3];
  bool clamp;

  Number number(unsigned n) const { return unpack(kF16, s[n]); }
  Round round() const { return modes.roundF64F16; }
  int i(unsigned n) const { return int16_t(s[n]); }
  int u(unsigned n) const { return s[n]; }
  uint16_t result(const Number &n) const {
    const uint64_t code = pack(kF16, n, round());
    if (modes.fp16Overflow && kF16.isInfinite(code) && n.kind == Number::Finite)
      return uint16_t((code & 0x8000) | kF16.greatest());
    return uint16_t(code);
  }
  uint16_t wrapSigned(int value) const {
    return uint16_t(clamp ? std::clamp(value, -32768, 32767) : value);
  }
  uint16_t wrapUnsigned(int64_t value) const {
    return uint16_t(clamp ? std::clamp<int64_t>(value, 0, 65535) : value);
  }
};

bool isLess(uint16_t a, uint16_t b) {
  if (kF16.isZero(a) && kF16.isZero(b))
    return a > b; // -0 below +0
  return compare(unpack(kF16, a), unpack(kF16, b)) == -1;
}

uint16_t extreme(const Half &x, bool greater) {
  const uint16_t a = x.s[0], b = x.s[1];
  if (x.modes.ieee && kF16.isSignallingNan(a))
    return a | 0x200;
  if (x.modes.ieee && kF16.isSignallingNan(b))
    return b | 0x200;
  if (kF16.isNan(a))
    return b;
  if (kF16.isNan(b))
    return a;
  return isLess(a, b) != greater ? a : b;
}
uint16_t propagatingExtreme(const Half &x, bool greater) {
  uint16_t best = x.s[0];
  for (uint16_t candidate : x.s) {
    if (kF16.isNan(candidate))
      return uint16_t(kF16.nan());
    if (greater ? isLess(best, candidate) : isLess(candidate, best))
      best = candidate;
  }
  return best;
}

struct PackedOp {
  const char *name;
  unsigned sources;
  bool isFloat;
  uint16_t (*compute)(const Half &);
};
constexpr PackedOp kHalfOps[] = {
    {"v_pk_mad_i16", 3, false,
     [](const Half &x) { return x.wrapSigned(x.i(0) * x.i(1) + x.i(2)); }},
    {"v_pk_mul_lo_u16", 2, false, [](const Half &x) { return uint16_t(x.u(0) * x.u(1)); }},
    {"v_pk_add_i16", 2, false, [](const Half &x) { return x.wrapSigned(x.i(0) + x.i(1)); }},
    {"v_pk_sub_i16", 2, false, [](const Half &x) { return x.wrapSigned(x.i(0) - x.i(1)); }},
    {"v_pk_lshlrev_b16", 2, false, [](const Half &x) { return uint16_t(x.u(1) << (x.u(0) & 15)); }},
    {"v_pk_lshrrev_b16", 2, false, [](const Half &x) { return uint16_t(x.u(1) >> (x.u(0) & 15)); }},
    {"v_pk_ashrrev_i16", 2, false, [](const Half &x) { return uint16_t(x.i(1) >> (x.u(0) & 15)); }},
    {"v_pk_max_i16", 2, false, [](const Half &x) { return uint16_t(std::max(x.i(0), x.i(1))); }},
    {"v_pk_min_i16", 2, false, [](const Half &x) { return uint16_t(std::min(x.i(0), x.i(1))); }},
    {"v_pk_mad_u16", 3, false,
     [](const Half &x) { return x.wrapUnsigned(int64_t(x.u(0)) * x.u(1) + x.u(2)); }},
    {"v_pk_add_u16", 2, false, [](const Half &x) { return x.wrapUnsigned(x.u(0) + x.u(1)); }},
    {"v_pk_sub_u16", 2, false, [](const Half &x) { return x.wrapUnsigned(x.u(0) - x.u(1)); }},
    {"v_pk_max_u16", 2, false, [](const Half &x) { return uint16_t(std::max(x.u(0), x.u(1))); }},
    {"v_pk_min_u16", 2, false, [](const Half &x) { return uint16_t(std::min(x.u(0), x.u(1))); }},
    {"v_pk_fma_f16", 3, true,
     [](const Half &x) { return x.result(fma(x.number(0), x.number(1), x.number(2), x.round())); }},
    {"v_pk_add_f16", 2, true,
     [](const Half &x) { return x.result(add(x.number(0), x.number(1), x.round())); }},
    {"v_pk_mul_f16", 2, true,
     [](const Half &x) { return x.result(multiply(x.number(0), x.number(1))); }},
    {"v_pk_min_f16", 2, true, [](const Half &x) { return extreme(x, false); }},
    {"v_pk_max_f16", 2, true, [](const Half &x) { return extreme(x, true); }},
    {"v_pk_minimum3_f16", 3, true, [](const Half &x) { return propagatingExtreme(x, false); }},
    {"v_pk_maximum3_f16", 3, true, [](const Half &x) { return propagatingExtreme(x, true); }},
};

/// One half of a source: op_sel picks for the low result, op_sel_hi (1 unless given) for the high
/// one; neg_lo and neg_hi likewise. Constants have the halves of a dword.
uint16_t sourceHalf(Execution &e, unsigned n, unsigned lane, bool high, bool isFloat) {
  const TextOperand &o = e.operand(n + 1);
  const uint32_t dword = uint32_t(e.bits(o, lane, isFloat ? 'h' : 's'));
  const bool upper = high ? e.line.item("op_sel_hi", n, 1) : e.line.item("op_sel", n, 0);
  uint64_t half = upper ? dword >> 16 : dword & 0xffff;
  if (!isFloat)
    return uint16_t(half);
  if (e.line.item(high ? "neg_hi" : "neg_lo", n, 0))
    half ^= 0x8000;
  return uint16_t(e.modes.keepInF64F16 ? half : flushed(kF16, half));
}

uint64_t clampHalf(const Execution &e, uint64_t code) {
  if (!e.line.has("clamp"))
    return code;
  if (kF16.isNan(code))
    return e.modes.dx10Clamp ? 0 : code;
  if (code & 0x8000)
    return 0;
  return std::min<uint64_t>(code, 0x3c00);
}

void executeHalves(Execution &e, const PackedOp &op) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    uint32_t result = 0;
    for (bool high : {false, true}) {
      Half x{e.modes, {}, e.line.has("clamp")};
      for (unsigned n = 0; n < op.sources; ++n)
        x.s[n] = sourceHalf(e, n, lane, high, op.isFloat);
      uint64_t code = op.compute(x);
      if (op.isFloat) {
        if (!e.modes.keepOutF64F16)
          code = flushed(kF16, code);
        code = clampHalf(e, code);
        if (kF16.isNan(code))
          e.noteLoose(e.operand(0), 0, lane, kF16, high);
      }
      result |= uint32_t(code) << 16 * high;
    }
    e.vector(e.operand(0), lane) = result;
  }
}

// ---- f32 pairs -----------------------------------------------------------------------------

/// One dword of a source pair; a constant or a literal is the same for both.
uint32_t sourceDword(Execution &e, unsigned n, unsigned lane, bool high) {
  const TextOperand &o = e.operand(n + 1);
  const bool upper = high ? e.line.item("op_sel_hi", n, 1) : e.line.item("op_sel", n, 0);
  return o.isRegister() ? e.dword(o, lane, upper) : uint32_t(e.constant(o, 'f'));
}
Number sourceFloat(Execution &e, unsigned n, unsigned lane, bool high) {
  uint64_t code = sourceDword(e, n, lane, high);
  if (e.line.item(high ? "neg_hi" : "neg_lo", n, 0))
    code ^= 0x80000000;
  return unpack(kF32, e.modes.keepInF32 ? code : flushed(kF32, code));
}

bool executePairs(Execution &e) {
  const std::string &name = e.line.mnemonic;
  const bool isFma = name == "v_pk_fma_f32", isAdd = name == "v_pk_add_f32";
  if (!isFma && !isAdd && name != "v_pk_mul_f32")
    return false;
  const Round round = e.modes.roundF32;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    uint32_t result[2];
    for (bool high : {false, true}) {
      const Number a = sourceFloat(e, 0, lane, high), b = sourceFloat(e, 1, lane, high);
      const Number exact = isFma   ? fma(a, b, sourceFloat(e, 2, lane, high), round)
                           : isAdd ? add(a, b, round)
                                   : multiply(a, b);
      uint64_t code = pack(kF32, exact, round);
      if (!e.modes.keepOutF32)
        code = flushed(kF32, code);
      result[high] = uint32_t(code);
      if (kF32.isNan(code))
        e.noteLoose(e.operand(0), high, lane, kF32);
    }
    for (unsigned n : {0u, 1u})
      e.vector(e.operand(0), lane, n) = result[n];
  }
  return true;
}

/// V_PK_MOV_B32: op_sel[0] picks the dword of S0 for the low result, op_sel[1] that of S1 for the
/// high one.
bool executePairMove(Execution &e) {
  if (e.line.mnemonic != "v_pk_mov_b32")
    return false;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    const uint32_t low = e.dword(e.operand(1), lane, unsigned(e.line.item("op_sel", 0, 0)));
    const uint32_t high = e.dword(e.operand(2), lane, unsigned(e.line.item("op_sel", 1, 0)));
    e.vector(e.operand(0), lane, 0) = low;
    e.vector(e.operand(0), lane, 1) = high;
  }
  return true;
}

// ---- v_fma_mix -----------------------------------------------------------------------------

/// A source is f32 unless op_sel_hi (0 unless given) says f16; op_sel then picks the half.
Number mixSource(Execution &e, unsigned n, unsigned lane) {
  const TextOperand &o = e.operand(n + 1);
  const bool isHalf = e.line.item("op_sel_hi", n, 0);
  const Format &format = isHalf ? kF16 : kF32;
  uint64_t code = e.bits(o, lane, isHalf ? 'h' : 'f');
  if (isHalf)
    code = (e.line.item("op_sel", n, 0) ? code >> 16 : code) & 0xffff;
  if (o.abs)
    code &= format.magnitude();
  if (o.neg)
    code ^= format.sign();
  const bool keeps = isHalf ? e.modes.keepInF64F16 : e.modes.keepInF32;
  return unpack(format, keeps ? code : flushed(format, code));
}

bool executeMix(Execution &e) {
  const std::string &name = e.line.mnemonic;
  if (!name.starts_with("v_fma_mix"))
    return false;
  const bool isHalf = name != "v_fma_mix_f32", toHigh = name == "v_fma_mixhi_f16";
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    const Number exact =
        fma(mixSource(e, 0, lane), mixSource(e, 1, lane), mixSource(e, 2, lane), e.modes.roundF32);
    uint32_t &row = e.vector(e.operand(0), lane);
    uint64_t code = pack(kF32, exact, e.modes.roundF32);
    if (!isHalf) {
      if (!e.modes.keepOutF32)
        code = flushed(kF32, code);
      if (e.line.has("clamp"))
        code = kF32.isNan(code)    ? (e.modes.dx10Clamp ? 0 : code)
               : code & 0x80000000 ? 0
                                   : std::min<uint64_t>(code, 0x3f800000);
      row = uint32_t(code);
    } else {
      const Half x{e.modes, {}, false};
      uint64_t half = x.result(unpack(kF32, code));
      if (!e.modes.keepOutF64F16)
        half = flushed(kF16, half);
      code = clampHalf(e, half);
      row = toHigh ? (row & 0xffff) | uint32_t(code) << 16 : (row & 0xffff0000) | uint32_t(code);
    }
    const Format &format = isHalf ? kF16 : kF32;
    if (format.isNan(code))
      e.noteLoose(e.operand(0), 0, lane, format, toHigh);
  }
  return true;
}

// ---- v_pk_fmac -----------------------------------------------------------------------------

bool executePackedAccumulate(Execution &e) {
  if (e.line.mnemonic != "v_pk_fmac_f16")
    return false;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!e.state.active(lane))
      continue;
    uint32_t &row = e.vector(e.operand(0), lane);
    const uint32_t sources[] = {uint32_t(e.bits(e.operand(1), lane, 'h')),
                                uint32_t(e.bits(e.operand(2), lane, 'h')), row};
    uint32_t result = 0;
    for (bool high : {false, true}) {
      Half x{e.modes, {}, false};
      for (unsigned n = 0; n < 3; ++n) {
        const uint64_t half = sources[n] >> 16 * high & 0xffff;
        x.s[n] = uint16_t(e.modes.keepInF64F16 ? half : flushed(kF16, half));
      }
      uint64_t code = x.result(fma(x.number(0), x.number(1), x.number(2), x.round()));
      if (!e.modes.keepOutF64F16)
        code = flushed(kF16, code);
      if (kF16.isNan(code))
        e.noteLoose(e.operand(0), 0, lane, kF16, high);
      result |= uint32_t(code) << 16 * high;
    }
    row = result;
  }
  return true;
}

#define MONO_SELECT2 " op_sel:[{n:0:1},{n:0:1}] op_sel_hi:[{n:0:1},{n:0:1}]"
#define MONO_SELECT3 " op_sel:[{n:0:1},{n:0:1},{n:0:1}] op_sel_hi:[{n:0:1},{n:0:1},{n:0:1}]"
#define MONO_NEG2 "{p:| neg_lo:[1,0] neg_hi:[0,1]| neg_lo:[0,1]| neg_hi:[1,1]}"
#define MONO_NEG3 "{p:| neg_lo:[1,0,0] neg_hi:[0,1,0]| neg_lo:[0,1,1]| neg_hi:[1,0,1]}"
#define MONO_CLAMP "{p:||| clamp}"

constexpr InstructionTemplate kTemplates[] = {
    {"v_pk_{p:add_f16|mul_f16|min_f16|max_f16} {d}, {h}, {h}" MONO_SELECT2 MONO_NEG2 MONO_CLAMP},
    {"v_pk_{p:add_f16|mul_f16|min_f16|max_f16} {d}, {v}, {v}" MONO_NEG2 MONO_CLAMP},
    {"v_pk_fma_f16 {d}, {h}, {h}, {h}" MONO_SELECT3 MONO_NEG3 MONO_CLAMP},
    {"v_pk_{p:minimum3|maximum3}_f16 {d}, {h}, {h}, {h}" MONO_SELECT3 MONO_NEG3},
    {"v_pk_{p:add_i16|sub_i16|add_u16|sub_u16} {d}, {y}, {y}" MONO_SELECT2 MONO_CLAMP},
    {"v_pk_{p:max_i16|min_i16|max_u16|min_u16|mul_lo_u16} {d}, {y}, {y}" MONO_SELECT2},
    {"v_pk_{p:lshlrev_b16|lshrrev_b16|ashrrev_i16} {d}, {y}, {y}" MONO_SELECT2},
    {"v_pk_{p:mad_i16|mad_u16} {d}, {y}, {y}, {y}" MONO_SELECT3 MONO_CLAMP},
    {"v_pk_{p:add|mul}_f32 {d2}, {v2}, {v2}" MONO_SELECT2 MONO_NEG2},
    {"v_pk_{p:add|mul}_f32 {d2}, {s2}, {v2}" MONO_NEG2},
    {"v_pk_fma_f32 {d2}, {v2}, {v2}, {v2}" MONO_SELECT3 MONO_NEG3},
    {"v_pk_fma_f32 {d2}, {v2}, {s2}, {v2}"},
    {"v_pk_mov_b32 {d2}, {v2}, {v2} op_sel:[{n:0:1},{n:0:1}]"},
    {"v_pk_mov_b32 {d2}, {s2}, {v2} op_sel:[{n:0:1},{n:0:1}]"},
    {"v_fma_mix_f32 {d}, {p:|-}{v}, {v}, {p:||-}{v}" MONO_SELECT3 MONO_CLAMP},
    {"v_fma_mix_f32 {d}, |{v}|, {s}, -|{v}|" MONO_SELECT3},
    {"v_fma_mix{p:lo|hi}_f16 {d}, {p:|-}{v}, {v}, {p:||-}{v}" MONO_SELECT3 MONO_CLAMP},
    {"v_fma_mix{p:lo|hi}_f16 {d}, {v}, |{v}|, {v}" MONO_SELECT3},
    {"v_pk_fmac_f16 {d}, {v}, {v}"},
};

} // namespace

bool executePacked(Execution &e) {
  for (const PackedOp &op : kHalfOps)
    if (e.line.mnemonic == op.name) {
      executeHalves(e, op);
      return true;
    }
  return executePairs(e) || executePairMove(e) || executeMix(e) || executePackedAccumulate(e);
}

llvm::ArrayRef<InstructionTemplate> packedTemplates() { return kTemplates; }

} // namespace mono::fuzz
