// Vector ALU instructions of the table: operand modifiers, DPP and SDWA selects, EXEC, output
// modifiers and destination selects, one lane at a time (CDNA4 ISA chapter 6).
#include "test/runtime/fuzz/LiteralExecution.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace mono::fuzz {

const VectorOp *findVectorOp(std::string_view name) {
  static const auto *index = [] {
    auto *map = new std::map<std::string_view, const VectorOp *>;
    for (llvm::ArrayRef<VectorOp> ops : {integerOps(), halfIntegerOps(), floatOps(),
                                         specialFloatOps(), conversionOps(), compareOps()})
      for (const VectorOp &op : ops)
        map->emplace(op.name, &op);
    return map;
  }();
  const auto found = index->find(name);
  return found == index->end() ? nullptr : found->second;
}

uint64_t LaneInput::packAs(char t, const Number &n) const {
  const Format &format = formatOf(t);
  const uint64_t code = pack(format, n, roundOf(t));
  // FP16_OVFL: a finite value too great for f16 becomes the greatest number, infinity stays.
  if (t == 'h' && modes.fp16Overflow && format.isInfinite(code) && n.kind == Number::Finite)
    return (code & format.sign()) | format.greatest();
  return code;
}

namespace {

bool isFloatType(char t) { return t == 'f' || t == 'h' || t == 'd'; }
bool isHalfType(char t) { return t == 'h' || t == 's'; }

// ---- DPP -----------------------------------------------------------------------------------

/// Source lane of `lane`, or -1 if there is none (CDNA4 ISA "DPP": all moves are within rows of 16
/// unless the name says wave).
int dppSource(const TextLine &line, int lane) {
  const int row = lane & ~15, in = lane & 15;
  auto withinRow = [&](int to) { return to >= 0 && to < 16 ? row + to : -1; };
  if (line.has("quad_perm"))
    return (lane & ~3) + int(line.item("quad_perm", size_t(lane & 3), 0));
  if (line.has("row_shl"))
    return withinRow(in + int(line.number("row_shl")));
  if (line.has("row_shr"))
    return withinRow(in - int(line.number("row_shr")));
  if (line.has("row_ror"))
    return row + ((in - int(line.number("row_ror"))) & 15);
  if (line.has("wave_shl"))
    return lane + 1 < 64 ? lane + 1 : -1;
  if (line.has("wave_shr"))
    return lane - 1;
  if (line.has("wave_rol"))
    return (lane + 1) & 63;
  if (line.has("wave_ror"))
    return (lane - 1) & 63;
  if (line.has("row_mirror"))
    return row + 15 - in;
  if (line.has("row_half_mirror"))
    return (lane & ~7) + 7 - (lane & 7);
  if (line.has("row_bcast"))
    return line.number("row_bcast") == 15 ? (row ? row - 1 : -1) : lane >= 32 ? 31 : -1;
  if (line.has("row_newbcast"))
    return row + int(line.number("row_newbcast"));
  return lane;
}

struct DppLane {
  int source;  ///< -1: reads zero
  bool writes; ///< false: the destination keeps its value
};

DppLane dppLane(const State &state, const TextLine &line, unsigned lane) {
  const bool inMask = line.number("row_mask", 15) >> (lane / 16) & 1 &&
                      line.number("bank_mask", 15) >> (lane % 16 / 4) & 1;
  int source = dppSource(line, int(lane));
  // A lane that EXEC disables gives nothing, like one that doesn't exist.
  if (source >= 0 && !state.active(unsigned(source)))
    source = -1;
  // bound_ctrl:0 of the GFX9 syntax sets BOUND_CTRL: zero is read instead of nothing written.
  return {source, inMask && (source >= 0 || line.has("bound_ctrl"))};
}

// ---- SDWA ----------------------------------------------------------------------------------

struct Select {
  unsigned shift, bits;
};
Select selectOf(const std::string &word) {
  if (word.starts_with("BYTE_"))
    return {8u * unsigned(word[5] - '0'), 8};
  if (word.starts_with("WORD_"))
    return {16u * unsigned(word[5] - '0'), 16};
  return {0, 32};
}

uint32_t sdwaSource(const TextLine &line, unsigned n, bool sext, uint32_t value) {
  const Select select = selectOf(line.word(n == 0 ? "src0_sel" : "src1_sel"));
  if (select.bits == 32)
    return value;
  const uint32_t field = value >> select.shift & ((1u << select.bits) - 1);
  return sext && field >> (select.bits - 1) ? field | ~0u << select.bits : field;
}

uint32_t sdwaResult(const TextLine &line, uint32_t old, uint32_t result) {
  const Select select = selectOf(line.word("dst_sel"));
  if (select.bits == 32)
    return result;
  const uint32_t mask = ((1u << select.bits) - 1) << select.shift;
  const uint32_t placed = result << select.shift & mask;
  const std::string unused = line.word("dst_unused");
  if (unused == "UNUSED_PRESERVE")
    return (old & ~mask) | placed;
  const bool negative = result >> (select.bits - 1) & 1;
  if (unused == "UNUSED_SEXT" && negative)
    return placed | ~(mask | (mask - 1) | ((1u << select.shift) - 1));
  return placed;
}

// ---- sources -------------------------------------------------------------------------------

/// Everything about the text of an instruction that does not depend on the lane.
struct Prepared {
  const VectorOp &op;
  Execution &e;
  bool isDpp, isSdwa;
  unsigned firstSource = 1; ///< operand number of source 0
  unsigned sources = 0;     ///< number of sources, masks not counted
  /// Source 0 before the instruction: lanes read each other through DPP.
  std::array<State::Register, 2> dppRows{};
};

uint64_t withSign(const TextOperand &o, char type, uint64_t value) {
  const bool signs = isFloatType(type) || type == 'm';
  if (!signs)
    return value;
  if (o.abs)
    value &= ~signBit(type);
  if (o.neg)
    value ^= signBit(type);
  return value;
}

bool keepsInput(const Modes &m, char type) { return type == 'f' ? m.keepInF32 : m.keepInF64F16; }
bool keepsOutput(const Modes &m, char type) { return type == 'f' ? m.keepOutF32 : m.keepOutF64F16; }

uint64_t dppBits(const Prepared &p, unsigned lane, char type) {
  const uint64_t low = p.dppRows[0][lane];
  return type == 'd' || type == 'l' ? low | uint64_t(p.dppRows[1][lane]) << 32 : low;
}

uint64_t flushedInput(const Prepared &p, char type, uint64_t value) {
  if (!isFloatType(type) || (p.op.forms & kNoInputFlush))
    return value;
  const bool always = (p.op.forms & kAlwaysFlush) && type == 'f';
  return always || !keepsInput(p.e.modes, type) ? flushed(LaneInput::formatOf(type), value) : value;
}

/// The destination as the last source.
uint64_t fetchAccumulator(const Prepared &p, unsigned n, unsigned lane) {
  const char type = p.op.types[2 + n];
  uint64_t value = p.e.bits(p.e.operand(0), lane, type);
  return flushedInput(p, type, isHalfType(type) ? value & 0xffff : value);
}

/// Source `n` of one lane. `lane` is where DPP says to read source 0; -1 reads zero.
uint64_t fetchSource(const Prepared &p, unsigned n, int lane) {
  const char type = p.op.types[2 + n];
  const TextOperand &o = p.e.operand(p.firstSource + n);
  uint64_t value = 0;
  if (p.isDpp && n == 0)
    value = lane < 0 ? 0 : dppBits(p, unsigned(lane), type);
  else
    value = p.e.bits(o, unsigned(lane), type);
  if (p.isSdwa && n < 2)
    value = sdwaSource(p.e.line, n, o.sext, uint32_t(value));
  if (isHalfType(type)) {
    // A constant has two halves as well: those of a 32-bit integer, or an f16 below zeros.
    const bool high = (p.op.forms & kOpSel) && p.e.line.item("op_sel", n, 0);
    value = (high ? value >> 16 : value) & 0xffff;
  }
  return flushedInput(p, type, withSign(o, type, value));
}

// ---- results -------------------------------------------------------------------------------

/// Power of two of the output multiplier; it counts only with IEEE off and output denormals flushed
/// (CDNA4 ISA 6.2.3).
int multiplierPower(const Prepared &p, char type) {
  if (keepsOutput(p.e.modes, type) || p.e.modes.ieee)
    return 0;
  return p.e.line.has("mul") ? int(p.e.line.number("mul") / 2) : p.e.line.has("div") ? -1 : 0;
}

/// Clamp to [0, 1]; NaN becomes 0 with DX10_CLAMP.
uint64_t clamped(const Prepared &p, char type, uint64_t code) {
  const Format &format = LaneInput::formatOf(type);
  if (format.isNan(code))
    return p.e.modes.dx10Clamp ? 0 : code;
  const Number n = unpack(format, code);
  if (n.negative || n.kind == Number::Zero)
    return 0;
  return compare(n, integer(1)) > 0 ? pack(format, integer(1), Round::Even) : code;
}

/// Output multiplier, flushing and clamp, in this order.
uint64_t finished(const Prepared &p, const LaneInput &in, uint64_t code) {
  const char type = p.op.types[0];
  if (type == 's')
    return code & 0xffff;
  if (!isFloatType(type))
    return code;
  const Format &format = LaneInput::formatOf(type);
  const bool takesModifiers = !(p.op.forms & kNoOmod);
  const int power = takesModifiers ? multiplierPower(p, type) : 0;
  if (power)
    code = in.packAs(type, scaled(unpack(format, code), power));
  const bool always = (p.op.forms & kAlwaysFlush) && type == 'f';
  if (!(p.op.forms & kNoOutputFlush) && (always || !keepsOutput(p.e.modes, type)))
    code = flushed(format, code);
  if (power && code == format.sign())
    code = 0; // the multiplier does not keep -0
  return takesModifiers && p.e.line.has("clamp") ? clamped(p, type, code) : code;
}

void writeHalf(const Prepared &p, unsigned lane, uint32_t result) {
  uint32_t &row = p.e.vector(p.e.operand(0), lane);
  if (!(p.op.forms & kOpSel))
    row = result & 0xffff; // VOP1 and VOP2 zero the upper half on GFX9
  else if (p.e.line.item("op_sel", p.sources, 0))
    row = (row & 0xffff) | result << 16;
  else
    row = (row & 0xffff0000) | (result & 0xffff);
}

void writeResult(const Prepared &p, unsigned lane, uint64_t result) {
  const char type = p.op.types[0];
  const TextOperand &o = p.e.operand(0);
  if (p.isSdwa) {
    uint32_t &row = p.e.vector(o, lane);
    row = sdwaResult(p.e.line, row, uint32_t(result));
  } else if (isHalfType(type)) {
    writeHalf(p, lane, uint32_t(result));
  } else {
    p.e.vector(o, lane) = uint32_t(result);
    if (type == 'd' || type == 'l')
      p.e.vector(o, lane, 1) = uint32_t(result >> 32);
  }
}

/// A bound of an open result after output multiplier and clamp.
double finishedBound(const Prepared &p, double bound, bool isLow) {
  bound = std::ldexp(bound, p.op.forms & kNoOmod ? 0 : multiplierPower(p, p.op.types[0]));
  // An overflow may stop at the greatest number or at infinity.
  const Format &format = LaneInput::formatOf(p.op.types[0]);
  const double greatest = toDouble(format, format.greatest());
  bound = isLow ? std::min(bound, greatest) : std::max(bound, -greatest);
  return p.e.line.has("clamp") ? std::clamp(bound, 0.0, 1.0) : bound;
}

void noteIfLoose(const Prepared &p, unsigned lane, const LaneInput &in, uint64_t result) {
  const char type = p.op.types[0];
  const TextOperand &o = p.e.operand(0);
  if (p.op.forms & kHalfPair)
    for (bool high : {false, true})
      if (kF16.isNan(result >> 16 * high & 0xffff))
        p.e.noteLoose(o, 0, lane, kF16, high);
  if (!isFloatType(type))
    return;
  const Format &format = LaneInput::formatOf(type);
  const bool high = (p.op.forms & kOpSel) && p.e.line.item("op_sel", p.sources, 0);
  if (p.isSdwa && (format.isNan(result) || in.isLoose))
    p.e.noteAny(o, lane);
  else if (format.isNan(result))
    p.e.noteLoose(o, 0, lane, format, high);
  else if (in.isLoose)
    p.e.noteRange(o, 0, lane, format, finishedBound(p, in.low, true),
                  finishedBound(p, in.high, false));
}

// ---- the instruction -----------------------------------------------------------------------

/// Where the lane masks of an instruction are. In the signature a leading c is a compare result and
/// a trailing one a carry or select source.
struct Masks {
  bool isRead = false, isWritten = false;
  unsigned source = kVcc, destination = kVcc;
};

Masks findMasks(const Prepared &p, char firstType, char lastType) {
  Masks masks;
  masks.isWritten = firstType == 'c' || (p.op.forms & kCarryOut);
  if (masks.isWritten)
    masks.destination = p.e.operand(firstType == 'c' ? 0 : 1).index;
  masks.isRead = lastType == 'c';
  if (masks.isRead && !(p.op.forms & kImplicitVcc))
    masks.source = p.e.line.operands.back().index;
  return masks;
}

void executeOneLane(const Prepared &p, unsigned lane, int sourceLane, LaneInput &in) {
  const bool accumulates = p.op.forms & kAccumulates;
  for (unsigned n = 0; n < p.sources; ++n)
    in.s[n] = accumulates && n + 1 == p.sources ? fetchAccumulator(p, n, lane)
                                                : fetchSource(p, n, n ? int(lane) : sourceLane);
  if (p.op.types[0] == 'c') {
    in.carryOut = p.op.compute(in);
    return;
  }
  in.old = p.e.bits(p.e.operand(0), lane, p.op.types[0]);
  const uint64_t result = finished(p, in, p.op.compute(in));
  writeResult(p, lane, result);
  noteIfLoose(p, lane, in, result);
}

void executeLanes(Prepared &p) {
  State &state = p.e.state;
  const std::string_view types(p.op.types);
  const Masks masks = findMasks(p, types.front(), types.back());
  p.firstSource = p.op.forms & kCarryOut ? 2 : 1;
  p.sources = unsigned(types.size()) - 2 - masks.isRead;
  const uint64_t maskIn = state.sgpr64(masks.source);
  uint64_t maskOut = 0;
  if (p.isDpp)
    for (unsigned n : {0u, 1u})
      p.dppRows[n] = state.vgprs.at(p.e.operand(p.firstSource).index + n);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const DppLane dpp = p.isDpp ? dppLane(state, p.e.line, lane) : DppLane{int(lane), true};
    if (!state.active(lane) || !dpp.writes)
      continue;
    LaneInput in{p.op.types, p.e.modes, p.e.line};
    in.bit = maskIn >> lane & 1;
    in.clamp = p.e.line.has("clamp");
    in.lane = lane;
    executeOneLane(p, lane, dpp.source, in);
    maskOut |= uint64_t(in.carryOut) << lane;
  }
  if (masks.isWritten)
    state.setSgpr64(masks.destination, maskOut);
  if (p.op.types[0] == 'c' && p.e.line.mnemonic.starts_with("v_cmpx_"))
    state.setSgpr64(kExec, maskOut);
}

} // namespace

bool executeVector(Execution &e) {
  const VectorOp *op = findVectorOp(e.line.mnemonic);
  if (!op)
    return false;
  Prepared p{*op, e, e.line.encoding == "dpp", e.line.encoding == "sdwa"};
  executeLanes(p);
  return true;
}

} // namespace mono::fuzz
