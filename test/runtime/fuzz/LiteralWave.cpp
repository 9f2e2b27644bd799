// The literal wave: which family an instruction belongs to, operand fetch, scalar instructions and
// program flow.
#include "test/runtime/fuzz/LiteralWave.h"

#include "test/runtime/fuzz/LiteralExecution.h"

#include <bit>

namespace mono::fuzz {

Modes::Modes(uint32_t mode)
    : roundF32(Round(mode & 3)), roundF64F16(Round(mode >> 2 & 3)), keepInF32(mode >> 4 & 1),
      keepOutF32(mode >> 5 & 1), keepInF64F16(mode >> 6 & 1), keepOutF64F16(mode >> 7 & 1),
      dx10Clamp(mode >> 8 & 1), ieee(mode >> 9 & 1), fp16Overflow(mode >> 23 & 1) {}

// ---- operands ------------------------------------------------------------------------------

static bool isInlineInteger(int64_t value) { return value >= -16 && value <= 64; }

uint64_t Execution::constant(const TextOperand &o, char type) const {
  if (o.kind == TextOperand::Word) {
    if (o.word == "src_scc")
      return state.scc;
    if (o.word == "src_vccz")
      return state.sgpr64(kVcc) == 0;
    if (o.word == "src_execz")
      return state.exec() == 0;
    outcome.error = "unknown operand '" + o.word + "'";
    return 0;
  }
  if (o.kind == TextOperand::Real) {
    const Format &format = type == 'h' || type == 's'   ? kF16
                           : type == 'd' || type == 'l' ? kF64
                                                        : kF32;
    return pack(format, fromDouble(o.real), Round::Even);
  }
  const bool isLiteral = !isInlineInteger(o.integer);
  switch (type) {
  case 'd':
    return isLiteral ? uint64_t(uint32_t(o.integer)) << 32 : uint64_t(o.integer);
  case 'l':
    return uint64_t(o.integer);
  default:
    return uint32_t(o.integer);
  }
}

uint64_t Execution::scalar(const TextOperand &o, char type) const {
  if (o.kind != TextOperand::Sgpr)
    return constant(o, type);
  if (type == 'l' || type == 'd' || type == 'c')
    return state.sgpr64(o.index);
  return state.sgprs[o.index];
}

void Execution::writeScalar(const TextOperand &o, uint64_t value, bool wide) {
  if (wide)
    state.setSgpr64(o.index, value);
  else
    state.sgprs[o.index] = uint32_t(value);
}

uint32_t Execution::dword(const TextOperand &o, unsigned lane, unsigned n) {
  if (o.kind == TextOperand::Vgpr || o.kind == TextOperand::Agpr)
    return vector(o, lane, n);
  if (o.kind == TextOperand::Sgpr)
    return state.sgprs[o.index + n];
  return uint32_t(constant(o, n ? 'l' : 'i') >> 32 * n);
}

uint64_t Execution::bits(const TextOperand &o, unsigned lane, char type) {
  if (o.kind != TextOperand::Vgpr && o.kind != TextOperand::Agpr)
    return scalar(o, type);
  const uint64_t low = vector(o, lane);
  return type == 'l' || type == 'd' ? low | uint64_t(vector(o, lane, 1)) << 32 : low;
}

static LooseResult looseRegister(const TextOperand &o, unsigned n, unsigned lane,
                                 const Format &format) {
  LooseResult loose;
  loose.place = o.kind == TextOperand::Agpr ? LooseResult::Agpr : LooseResult::Vgpr;
  loose.index = o.index + n;
  loose.lane = lane;
  loose.format = format;
  return loose;
}

void Execution::noteLoose(const TextOperand &o, unsigned n, unsigned lane, const Format &format,
                          bool highHalf) {
  LooseResult loose = looseRegister(o, n, lane, format);
  loose.highHalf = highHalf;
  outcome.loose.push_back(loose);
}

void Execution::noteAny(const TextOperand &o, unsigned lane) {
  LooseResult loose = looseRegister(o, 0, lane, kF32);
  loose.isAny = true;
  outcome.loose.push_back(loose);
}

void Execution::noteRange(const TextOperand &o, unsigned n, unsigned lane, const Format &format,
                          double low, double high, bool mayBeNan) {
  LooseResult loose = looseRegister(o, n, lane, format);
  loose.isNan = mayBeNan;
  loose.low = low;
  loose.high = high;
  outcome.loose.push_back(loose);
}

// ---- scalar instructions -------------------------------------------------------------------

static bool isWide(char type) { return type == 'l'; }

bool executeScalar(Execution &e) {
  const ScalarOp *op = findScalarOp(e.line.mnemonic);
  if (!op)
    return false;
  const char *types = op->types;
  const bool hasDestination = types[0] != '-';
  ScalarInput in;
  in.scc = e.state.scc;
  in.exec = e.state.exec();
  if (hasDestination)
    in.old = e.scalar(e.operand(0), types[0]);
  for (unsigned n = 0; types[2 + n]; ++n) {
    const TextOperand &source = e.operand(n + hasDestination);
    in.s[n] = types[2 + n] == 'k' ? uint64_t(source.integer) : e.scalar(source, types[2 + n]);
  }
  const uint64_t before = in.exec;
  const uint64_t result = op->compute(in);
  e.state.scc = in.scc;
  if (in.exec != before)
    e.state.setSgpr64(kExec, in.exec);
  if (hasDestination && in.writes)
    e.writeScalar(e.operand(0), result, isWide(types[0]));
  return true;
}

/// hwreg(HW_REG_MODE, offset, size) fields of MODE.
static bool executeModeAccess(Execution &e) {
  const std::string &name = e.line.mnemonic;
  const bool isGet = name == "s_getreg_b32";
  if (!isGet && name != "s_setreg_b32" && name != "s_setreg_imm32_b32")
    return false;
  const std::string &reg = e.operand(isGet ? 1 : 0).word;
  unsigned offset = 0, size = 32;
  if (reg.find(',') != std::string::npos &&
      std::sscanf(reg.c_str(), "hwreg(HW_REG_MODE,%u,%u)", &offset, &size) != 2) {
    e.outcome.error = "unknown hardware register " + reg;
    return true;
  }
  const uint32_t mask = size == 32 ? ~0u : (1u << size) - 1;
  if (isGet) {
    e.writeScalar(e.operand(0), e.state.mode >> offset & mask, false);
    return true;
  }
  const uint32_t value = uint32_t(e.scalar(e.operand(1), 'i')) & mask;
  e.state.mode = (e.state.mode & ~(mask << offset)) | value << offset;
  return true;
}

static bool branchTaken(const State &s, const std::string &name) {
  return name == "s_branch" || (name == "s_cbranch_scc0" && !s.scc) ||
         (name == "s_cbranch_scc1" && s.scc) || (name == "s_cbranch_vccz" && !s.sgpr64(kVcc)) ||
         (name == "s_cbranch_vccnz" && s.sgpr64(kVcc)) ||
         (name == "s_cbranch_execz" && !s.exec()) || (name == "s_cbranch_execnz" && s.exec());
}

/// s_movrels, s_movreld: M0 is added to the number of the source or destination register.
bool executeMoveRelative(Execution &e) {
  const std::string &name = e.line.mnemonic;
  if (!name.starts_with("s_movrel"))
    return false;
  const bool isWide = name.ends_with("b64");
  TextOperand to = e.operand(0), from = e.operand(1);
  (name.starts_with("s_movrels") ? from : to).index += e.state.sgprs[kM0];
  e.writeScalar(to, e.scalar(from, isWide ? 'l' : 'i'), isWide);
  return true;
}

constexpr unsigned kGprIdxEn = 27; ///< bit of MODE

/// s_set_gpr_idx_*: M0[7:0] is added to the VGPR numbers that M0[15:12] selects, SRC0 to SRC2 and
/// DST (CDNA4 ISA 6.6).
static bool executeIndexing(Execution &e) {
  const std::string &name = e.line.mnemonic;
  if (!name.starts_with("s_set_gpr_idx_"))
    return false;
  const bool isOn = name.ends_with("_on"), isOff = name.ends_with("_off");
  uint32_t &m0 = e.state.sgprs[kM0];
  if (isOn || isOff)
    e.state.mode = (e.state.mode & ~(1u << kGprIdxEn)) | uint32_t(isOn) << kGprIdxEn;
  if (!isOff)
    m0 = (m0 & ~0xffu) | (uint32_t(e.scalar(e.operand(0), 'i')) & 0xff);
  for (unsigned n = 0; isOn && n < 4; ++n) {
    static constexpr const char *kSelected[] = {"SRC0", "SRC1", "SRC2", "DST"};
    const bool isSet = e.operand(1).word.find(kSelected[n]) != std::string::npos;
    m0 = (m0 & ~(0x1000u << n)) | uint32_t(isSet) << (12 + n);
  }
  return true;
}

/// `line` with the register numbers that indexing makes of it. Of a vector instruction the first
/// operand is the destination.
static TextLine indexed(TextLine line, uint32_t m0) {
  for (unsigned n = 0; n < line.operands.size(); ++n)
    if (line.operands[n].kind == TextOperand::Vgpr && (m0 >> (n ? 11 + n : 15) & 1))
      line.operands[n].index += m0 & 0xff;
  return line;
}

/// s_getpc, s_setpc, s_swappc, s_call (CDNA4 ISA 12.3, 12.2): addresses are those of the
/// instruction that follows.
static bool executeJump(Execution &e) {
  const std::string &name = e.line.mnemonic;
  const bool isCall = name == "s_call_b64", isSet = name == "s_setpc_b64";
  if (!isCall && !isSet && name != "s_getpc_b64" && name != "s_swappc_b64")
    return false;
  if (name == "s_swappc_b64" || isSet)
    e.outcome.targetPc = e.scalar(e.operand(isSet ? 0 : 1), 'l');
  if (isCall)
    e.outcome.target = e.operand(1).word;
  if (!isSet)
    e.writeScalar(e.operand(0), e.nextPc, true);
  return true;
}

bool executeProgramFlow(Execution &e) {
  const std::string &name = e.line.mnemonic;
  if (name == "s_branch" || name.starts_with("s_cbranch_")) {
    if (branchTaken(e.state, name))
      e.outcome.target = e.operand(0).word;
    return true;
  }
  if (name == "s_nop" || name == "s_waitcnt" || name == "v_nop" || name == "s_setprio" ||
      name == "s_endpgm")
    return true;
  return executeJump(e) || executeIndexing(e) || executeModeAccess(e);
}

// ---- families ------------------------------------------------------------------------------

LiteralWave::Outcome LiteralWave::execute(const TextLine &line, uint64_t nextPc) {
  Outcome outcome;
  if (state.mode >> kGprIdxEn & 1 && line.mnemonic.starts_with("v_")) {
    state.mode ^= 1u << kGprIdxEn;
    outcome = execute(indexed(line, state.sgprs[kM0]), nextPc);
    state.mode ^= 1u << kGprIdxEn;
    return outcome;
  }
  Execution e{state, line, outcome, Modes(state.mode), nextPc};
  using Family = bool (*)(Execution &);
  static constexpr Family kFamilies[] = {
      executeScalar, executeMoveRelative,     executeProgramFlow, executeVector,
      executeLane,   executePacked,           executeDot,         executeMatrix,
      executeLds,    executeScaledConversion, executeDeviceMemory};
  for (Family family : kFamilies)
    if (family(e))
      return outcome;
  outcome.error = "unknown instruction " + line.mnemonic;
  return outcome;
}

} // namespace mono::fuzz
