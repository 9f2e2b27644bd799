// Operands of LLVM's MCInst to the operand places of an Instruction record.
#include "runtime/emulator/decode/Operands.h"

#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"

#include <algorithm>

namespace mono::emu {

// ---- registers ---------------------------------------------------------------------------------

static bool specialFromEncoding(unsigned encoding, Operand &operand) {
  static constexpr struct {
    unsigned encoding;
    SpecialRegister reg;
  } table[] = {
      {235, SpecialRegister::SharedBase},  {236, SpecialRegister::SharedLimit},
      {237, SpecialRegister::PrivateBase}, {238, SpecialRegister::PrivateLimit},
      {239, SpecialRegister::PopsWaveId},  {251, SpecialRegister::Vccz},
      {252, SpecialRegister::Execz},       {253, SpecialRegister::Scc},
      {254, SpecialRegister::LdsDirect},
  };
  for (const auto &entry : table)
    if (entry.encoding == encoding) {
      operand.kind = OperandKind::Special;
      operand.index = uint16_t(entry.reg);
      return true;
    }
  return false;
}

/// The operand of an LLVM register: kind from the name, number from the hardware encoding, width
/// from how many pieces the name of the tuple has. None for registers gfx950 code cannot name.
static Operand operandOfRegister(llvm::StringRef name, unsigned encoding) {
  Operand operand;
  if (name.contains("_LO16") || name.contains("_HI16"))
    return operand;
  unsigned number = encoding & 0xFF;
  for (llvm::StringRef file : {"VGPR", "AGPR", "SGPR", "TTMP"}) {
    if (!name.starts_with(file) || name.starts_with("SGPR_NULL"))
      continue;
    operand.kind = file == "VGPR"   ? OperandKind::Vgpr
                   : file == "AGPR" ? OperandKind::Agpr
                                    : OperandKind::Sgpr;
    operand.index = uint16_t(number);
    operand.dwords = uint8_t(name.count(file));
    return operand;
  }
  bool isScalarFile = name.starts_with("VCC") || name.starts_with("EXEC") ||
                      name.starts_with("FLAT_SCR") || name.starts_with("XNACK_MASK") ||
                      name == "M0_gfxpre11";
  if (isScalarFile && number >= sgpr::flatScratch && number < sgpr::count) {
    operand.kind = OperandKind::Sgpr;
    operand.index = uint16_t(number);
    bool isHalf = name.contains("_LO") || name.contains("_HI") || name.starts_with("M0");
    operand.dwords = isHalf ? 1 : 2;
    return operand;
  }
  if (specialFromEncoding(number, operand))
    operand.dwords = 2;
  return operand;
}

OperandDecoder::OperandDecoder(const llvm::MCInstrInfo &instructions,
                               const llvm::MCRegisterInfo &registers)
    : instructions(instructions), registerOperands(registers.getNumRegs()) {
  for (unsigned reg = 1; reg < registers.getNumRegs(); ++reg) {
    llvm::StringRef name = registers.getName(reg);
    registerOperands[reg] = operandOfRegister(name, registers.getEncodingValue(reg));
    if (name == "VCC")
      vccId = reg;
  }
  // In v_add_f32_e64 the operand after vdst is src0_modifiers.
  for (unsigned op = 0; op < instructions.getNumOpcodes(); ++op)
    if (instructions.getName(op) == "V_ADD_F32_e64_vi")
      inputModifierType = instructions.get(op).operands()[1].OperandType;
}

// ---- roles -------------------------------------------------------------------------------------

/// A literal that an inline constant could express arrives as the expression lit(value).
static bool constantOf(const llvm::MCOperand &operand, int64_t &value) {
  if (operand.isExpr())
    return operand.getExpr()->evaluateAsAbsolute(value);
  if (!operand.isImm())
    return false;
  value = operand.getImm();
  return true;
}

bool OperandDecoder::sortRoles(const llvm::MCInst &mc, Roles &roles) const {
  const llvm::MCInstrDesc &desc = instructions.get(mc.getOpcode());
  for (unsigned k = 0; k < mc.getNumOperands(); ++k) {
    const llvm::MCOperand &mcOperand = mc.getOperand(k);
    bool described = k < desc.getNumOperands();
    if (mcOperand.isReg()) {
      if (mcOperand.getReg().id() >= registerOperands.size())
        return false;
      Operand operand = registerOperands[mcOperand.getReg().id()];
      if (operand.isNone())
        return false;
      bool isTied = described && desc.getOperandConstraint(k, llvm::MCOI::TIED_TO) >= 0;
      if (k < desc.getNumDefs()) {
        roles.defs.push_back(operand);
      } else if (isTied) {
        roles.tiedFirst |= roles.sources.empty();
        roles.tied.push_back(operand);
      } else {
        roles.sources.push_back(operand);
      }
      continue;
    }
    int64_t value;
    if (!constantOf(mcOperand, value))
      return false;
    unsigned type =
        described ? desc.operands()[k].OperandType : unsigned(llvm::MCOI::OPERAND_UNKNOWN);
    if (type == inputModifierType)
      continue;
    if (type < llvm::MCOI::OPERAND_FIRST_TARGET) {
      roles.immediates.push_back(value);
      continue;
    }
    Operand constant;
    constant.kind = OperandKind::Immediate;
    constant.imm = uint64_t(value);
    roles.sources.push_back(constant);
  }
  return true;
}

static void setDestinations(const std::vector<Operand> &defs, Instruction &inst) {
  inst.numDst = uint8_t(std::min(defs.size(), inst.dst.size()));
  std::copy_n(defs.begin(), inst.numDst, inst.dst.begin());
}
static void setSources(const std::vector<Operand> &sources, Instruction &inst) {
  inst.numSrc = uint8_t(std::min(sources.size(), inst.src.size()));
  std::copy_n(sources.begin(), inst.numSrc, inst.src.begin());
}

// ---- memory formats: fixed places --------------------------------------------------------------

static std::vector<Operand> vectorsOf(const std::vector<Operand> &operands) {
  std::vector<Operand> result;
  std::copy_if(operands.begin(), operands.end(), std::back_inserter(result),
               [](const Operand &o) { return o.isVector(); });
  return result;
}

/// Places src[0] address and src[1] data of `vectors`, which stand in this order, or the other way
/// round if `dataFirst`. A single one is the data if `dataAlone`, else the address.
static void placeAddressAndData(const std::vector<Operand> &vectors, bool dataFirst, bool dataAlone,
                                Instruction &inst) {
  if (vectors.size() == 1)
    inst.src[dataAlone ? 1 : 0] = vectors[0];
  if (vectors.size() < 2)
    return;
  inst.src[dataFirst ? 1 : 0] = vectors[0];
  inst.src[dataFirst ? 0 : 1] = vectors[1];
}

static void placeFlat(const std::vector<Operand> &sources, Instruction &inst) {
  bool isScratch = inst.format == Format::Scratch;
  bool isStore = inst.cls == InstructionClass::VmemStore;
  placeAddressAndData(vectorsOf(sources), isScratch, isScratch && isStore, inst);
  for (const Operand &o : sources)
    if (!o.isVector())
      inst.src[2] = o;
}

static void placeBuffer(const std::vector<Operand> &sources, const std::vector<Operand> &tied,
                        Instruction &inst) {
  std::vector<Operand> vectors = vectorsOf(sources);
  bool isAtomic = inst.cls == InstructionClass::VmemAtomic;
  if (isAtomic && !tied.empty())
    vectors.insert(vectors.begin(), tied[0]); // vdata, which the old value replaces
  bool hasData = isAtomic || inst.cls == InstructionClass::VmemStore;
  placeAddressAndData(vectors, true, hasData, inst);
  bool seenResource = false;
  for (const Operand &o : sources) {
    if (o.isVector())
      continue;
    inst.src[seenResource ? 3 : 2] = o;
    seenResource = true;
  }
}

static void placeScalarMemory(llvm::StringRef name, std::vector<Operand> sources,
                              const std::vector<Operand> &tied, Instruction &inst) {
  bool hasData = name.contains("_STORE_") || name.contains("_ATOMIC_");
  if (!tied.empty())
    sources.insert(sources.begin(), tied[0]);
  size_t next = 0;
  if (hasData && next < sources.size())
    inst.src[1] = sources[next++];
  if (next < sources.size())
    inst.src[2] = sources[next++];
  if (next < sources.size())
    inst.src[3] = sources[next];
}

static void placeLds(llvm::StringRef name, const std::vector<Operand> &sources, Instruction &inst) {
  size_t first = name == "DS_WRITE_ADDTID_B32" ? 1 : 0;
  for (size_t s = 0; s < sources.size() && first + s < 3; ++s)
    inst.src[first + s] = sources[s];
}

// ---- vector ALU --------------------------------------------------------------------------------

/// e32 and SDWA forms read or write VCC without naming it; the record does.
void OperandDecoder::addImpliedVcc(const llvm::MCInstrDesc &desc, Instruction &inst) const {
  Operand vcc = registerOperands[vccId];
  auto isVcc = [&](llvm::MCPhysReg reg) { return reg == vccId; };
  if (llvm::any_of(desc.implicit_defs(), isVcc) && inst.numDst < inst.dst.size())
    inst.dst[inst.numDst++] = vcc;
  if (llvm::any_of(desc.implicit_uses(), isVcc) && inst.numSrc < inst.src.size())
    inst.src[inst.numSrc++] = vcc;
}

static bool isSwap(llvm::StringRef name) { return name.contains("SWAP"); }

/// What is tied is the accumulator and the last source, except for the value that masked lanes keep
/// in DPP (it comes first) and SDWA, the index form of SMFMAC, and swaps.
void OperandDecoder::placeAlu(const llvm::MCInst &mc, llvm::StringRef name, Roles &roles,
                              Instruction &inst) const {
  bool isSdwa = instructions.getName(mc.getOpcode()).contains("_sdwa");
  bool keepTied = !roles.tiedFirst && !isSdwa && inst.format != Format::Mai && !isSwap(name);
  if (keepTied)
    roles.sources.insert(roles.sources.end(), roles.tied.begin(), roles.tied.end());
  // LLVM does not tell that this one accumulates.
  if (name == "V_PK_FMAC_F16")
    roles.sources.push_back(inst.dst[0]);
  setSources(roles.sources, inst);
  addImpliedVcc(instructions.get(mc.getOpcode()), inst);
}

// ---- instructions ------------------------------------------------------------------------------

/// The sources of an instruction where its handler looks for them.
void OperandDecoder::placeSources(const llvm::MCInst &mc, llvm::StringRef name, Roles &roles,
                                  Instruction &inst) const {
  switch (inst.format) {
  case Format::Sop1:
  case Format::Sop2:
  case Format::Sopc:
    setSources(roles.sources, inst);
    break;
  case Format::Sopk:
  case Format::Sopp:
    setSources(roles.sources, inst);
    inst.imm = uint32_t(int32_t(int16_t(inst.imm)));
    if (roles.immediates.size() == 2)
      inst.imm2 = uint32_t(roles.immediates.front());
    break;
  case Format::Smem:
    placeScalarMemory(name, roles.sources, roles.tied, inst);
    break;
  case Format::Ds:
    placeLds(name, roles.sources, inst);
    break;
  case Format::Mubuf:
  case Format::Mtbuf:
    placeBuffer(roles.sources, roles.tied, inst);
    break;
  case Format::Flat:
  case Format::Global:
  case Format::Scratch:
    placeFlat(roles.sources, inst);
    break;
  default:
    placeAlu(mc, name, roles, inst);
  }
}

// ---- checks ------------------------------------------------------------------------------------

static void addSpan(const Operand &operand, bool isWrite, Instruction &inst) {
  if (operand.isVector()) {
    uint16_t &end = operand.kind == OperandKind::Vgpr ? inst.vgprEnd : inst.agprEnd;
    end = std::max<uint16_t>(end, uint16_t(operand.index + operand.dwords));
  }
  if ((operand.isVector() || operand.isSgpr()) && inst.numSpans < inst.spans.size())
    inst.spans[inst.numSpans++] = {operand.kind, isWrite, operand.index, operand.dwords};
}

static bool isMemory(Format format) {
  return format == Format::Ds || format == Format::Mubuf || format == Format::Mtbuf ||
         format == Format::Flat || format == Format::Global || format == Format::Scratch;
}

bool OperandDecoder::decode(const llvm::MCInst &mc, llvm::StringRef name, Instruction &inst) const {
  Roles roles;
  if (!sortRoles(mc, roles))
    return false;
  // LLVM has the destination of this one as a source.
  if (name.starts_with("S_MOVRELD_") && roles.defs.empty() && !roles.sources.empty()) {
    roles.defs.push_back(roles.sources.front());
    roles.sources.erase(roles.sources.begin());
  }
  setDestinations(roles.defs, inst);
  if (!roles.immediates.empty())
    inst.imm = uint32_t(roles.immediates.back());
  placeSources(mc, name, roles, inst);
  for (unsigned d = 0; d < inst.numDst; ++d)
    addSpan(inst.dst[d], true, inst);
  for (const Operand &source : inst.src)
    addSpan(source, false, inst);
  // Tied data of plain loads (D16) are merged by the memory, which keeps the order of loads.
  if (!isMemory(inst.format))
    for (const Operand &tied : roles.tied)
      addSpan(tied, false, inst);
  return true;
}

} // namespace mono::emu
