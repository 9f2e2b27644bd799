// Wait states between dependent instructions.
#include "runtime/emulator/exec/Hazard.h"

#include "runtime/emulator/exec/Program.h"
#include "runtime/emulator/exec/Wave.h"

#include <algorithm>
#include <fmt/format.h>

namespace mono::emu {

// ---- what instructions are ---------------------------------------------------------------------

static bool isTransName(llvm::StringRef name) {
  for (const char *prefix : {"V_EXP_F", "V_LOG_F", "V_RCP_", "V_RSQ_", "V_SQRT_", "V_SIN_",
                             "V_COS_", "V_EXP_LEGACY", "V_LOG_LEGACY"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

/// V_MFMA_F32_16X16X32_BF16, V_MFMA_F32_32X32X2F32, V_SMFMAC_I32_16X16X64_I8, ...
static void readMfmaName(llvm::StringRef name, HazardTraits &t) {
  t.isMfma = true;
  t.isDouble = name.contains("F64");
  llvm::StringRef shape = name.substr(name.find('X') - 2);
  t.rows = shape.starts_with("32") ? 32 : shape.starts_with("16") ? 16 : 4;
  // Single precision input: "..X4F32". The type of the result stands before the shape.
  t.isXdl = !t.isDouble && !shape.contains("F32");
}

HazardTable::HazardTable(const Program &program) {
  for (const Instruction &inst : program.instructions()) {
    if (inst.nameId >= byName.size())
      byName.resize(inst.nameId + 1);
    HazardTraits &t = byName[inst.nameId];
    llvm::StringRef name = program.name(inst);
    t.isValu = inst.format >= Format::Vop1 && inst.format <= Format::Mai;
    if (name.starts_with("V_MFMA") || name.starts_with("V_SMFMAC")) {
      t.isValu = false;
      readMfmaName(name, t);
    }
    t.isTrans = isTransName(name);
    t.isDot = name.starts_with("V_DOT");
    t.isCmpx = name.starts_with("V_CMPX");
    t.isReadLane = name.starts_with("V_READLANE") || name.starts_with("V_READFIRSTLANE");
    t.isWriteLane = name.starts_with("V_WRITELANE");
    t.isPermlane = name.starts_with("V_PERMLANE");
    t.isDivFmas = name.starts_with("V_DIV_FMAS");
    t.readsM0 = name.contains("_LDS") || name.contains("ADDTID") || name.starts_with("S_SENDMSG");
  }
}

/// Passes of four cycles. The f8f6f4 shapes take twice as long if an operand has 8 bits; of the
/// others, the ones with several blocks have more result registers.
static unsigned passes(const Instruction &inst, const HazardTraits &t) {
  if (t.rows == 4)
    return 2;
  unsigned base = t.rows == 16 ? 4 : 8;
  if (!t.isXdl)
    return 2 * base;
  bool isF8f6f4 = inst.src[0].dwords > 4 || inst.src[1].dwords > 4 || inst.isScaled;
  if (isF8f6f4)
    return inst.src[0].dwords == 8 || inst.src[1].dwords == 8 ? 2 * base : base;
  unsigned oneBlock = t.rows == 16 ? 4 : 16;
  return inst.dst[0].dwords > oneBlock ? 2 * base : base;
}

/// Wait states until the result may be read by anything but an MFMA's C, or overwritten.
static unsigned resultStates(const Instruction &inst, const HazardTraits &t) {
  unsigned n = passes(inst, t);
  if (t.isDouble)
    return t.rows == 4 ? 6 : 11;
  if (!t.isXdl)
    return n + 2;
  return n == 2 ? 5 : n + 4;
}

/// The same for C of an MFMA whose C is not exactly the result.
static unsigned overlapStates(const Instruction &inst, const HazardTraits &t) {
  unsigned n = passes(inst, t);
  if (t.isDouble)
    return 0;
  return !t.isXdl ? n : n == 2 ? 3 : n + 2;
}

/// Until a VALU may overwrite the C an MFMA reads.
static unsigned sourceStates(const Instruction &inst, const HazardTraits &t) {
  return passes(inst, t) - 1;
}

// ---- checking ----------------------------------------------------------------------------------

HazardTracker::HazardTracker(const HazardTable &table, unsigned vgprs)
    : table(table), vector(vgprs) {}

unsigned HazardTracker::row(const Wave &wave, const RegisterSpan &span) const {
  return span.first + (span.kind == OperandKind::Agpr ? wave.accumOffset : 0);
}

/// `states` other wait states must lie between the producer and this instruction.
bool HazardTracker::require(const Use &use, const Event &producer, unsigned states,
                            const char *what) {
  if (producer.time == 0 || now - producer.time > states)
    return true;
  use.wave.fault(
      fmt::format("hazard: {} at pc 0x{:x} ({}) needs {} wait states before this, but got "
                  "{}",
                  what, producer.inst->pc, use.wave.program->text(*producer.inst), states,
                  now - producer.time - 1));
  return false;
}

bool HazardTracker::checkMfmaResult(const Use &use, const Event &producer, bool isWrite, bool isC,
                                    unsigned first, unsigned count) {
  if (producer.time == 0)
    return true;
  const Instruction &from = *producer.inst;
  const HazardTraits &t = table.traits(from);
  unsigned states = resultStates(from, t);
  if (isC) {
    const Operand &result = from.dst[0];
    unsigned start = result.index + (result.kind == OperandKind::Agpr ? use.wave.accumOffset : 0);
    bool same = start == first && result.dwords == count;
    states = same ? (t.rows == 4 && !t.isDouble ? 2 : 0) : overlapStates(from, t);
  }
  return require(use, producer, states, isWrite ? "MFMA result overwritten" : "MFMA result");
}

bool HazardTracker::checkVectorRead(const Use &use, const RegisterSpan &span, unsigned first,
                                    unsigned count) {
  const HazardTraits &t = use.traits;
  const Operand &c = use.inst.src[2];
  bool isC = t.isMfma && c.kind == span.kind && c.index == span.first && c.dwords == span.count;
  for (unsigned n = first; n < first + count; ++n) {
    const RegisterEvents &events = vector[n];
    if (!checkMfmaResult(use, events[mfma], false, isC, first, count))
      return false;
    unsigned afterValu = t.isMfma || use.inst.isDpp || t.isPermlane ? 2 : t.isReadLane ? 1 : 0;
    if (afterValu && !require(use, events[valu], afterValu, "VALU write"))
      return false;
    if (t.isValu && !t.isTrans && !require(use, events[trans], 1, "result of a trans instruction"))
      return false;
    if (t.isValu && !require(use, events[partial], 1, "write of a part of a register"))
      return false;
    bool isChain = t.isDot && events[dot].inst && events[dot].inst->nameId == use.inst.nameId &&
                   c.kind == span.kind && c.index == span.first;
    if (!isChain && !require(use, events[dot], 3, "dot product"))
      return false;
  }
  return true;
}

bool HazardTracker::checkScalarRead(const Use &use, unsigned reg) {
  const HazardTraits &t = use.traits;
  bool isVmem = use.inst.format >= Format::Mubuf;
  unsigned states = t.isDivFmas && (reg & ~1u) == sgpr::vcc ? 4 : t.isValu ? 2 : isVmem ? 5 : 0;
  if ((t.isReadLane || t.isWriteLane) && use.inst.src[1].isSgpr() && use.inst.src[1].index == reg)
    states = 4;
  return states == 0 || require(use, scalar[reg], states, "VALU write of a scalar register");
}

bool HazardTracker::checkReads(const Use &use) {
  for (unsigned s = 0; s < use.inst.numSpans; ++s) {
    const RegisterSpan &span = use.inst.spans[s];
    if (span.isWrite)
      continue;
    if (span.kind != OperandKind::Sgpr) {
      if (!checkVectorRead(use, span, row(use.wave, span), span.count))
        return false;
      continue;
    }
    for (unsigned reg = span.first; reg < unsigned(span.first) + span.count; ++reg)
      if (!checkScalarRead(use, reg))
        return false;
  }
  return true;
}

bool HazardTracker::checkWrites(const Use &use) {
  if (!use.traits.isValu)
    return true;
  for (unsigned s = 0; s < use.inst.numSpans; ++s) {
    const RegisterSpan &span = use.inst.spans[s];
    if (!span.isWrite || span.kind == OperandKind::Sgpr)
      continue;
    unsigned first = row(use.wave, span);
    for (unsigned n = first; n < first + span.count; ++n) {
      const RegisterEvents &events = vector[n];
      if (!checkMfmaResult(use, events[mfma], true, false, first, span.count))
        return false;
      if (const Event &source = events[mfmaSource]; source.time) {
        unsigned states = sourceStates(*source.inst, table.traits(*source.inst));
        if (!require(use, source, states, "overwrite of C of the MFMA"))
          return false;
      }
      if (!require(use, events[wideStore], 2, "overwrite of the data of the store"))
        return false;
      if (!use.traits.isDot && !require(use, events[dot], 3, "overwrite of a dot product"))
        return false;
    }
  }
  return true;
}

/// EXEC, M0 and hardware registers.
bool HazardTracker::checkModes(const Use &use) {
  const HazardTraits &t = use.traits;
  unsigned afterExec = t.isMfma || t.isReadLane || t.isWriteLane ? 4 : use.inst.isDpp ? 5 : 0;
  if (afterExec && !require(use, scalar[sgpr::exec], afterExec, "VALU write of exec"))
    return false;
  if (t.readsM0 && !require(use, m0Write, 1, "write of m0"))
    return false;
  bool isGetreg =
      use.inst.format == Format::Sopk && use.wave.program->name(use.inst) == "S_GETREG_B32";
  bool sameRegister = isGetreg && setreg.inst && (setreg.inst->imm & 63) == (use.inst.imm & 63);
  return !sameRegister || require(use, setreg, 2, "s_setreg of the same register");
}

// ---- recording ---------------------------------------------------------------------------------

void HazardTracker::recordVector(const Use &use, unsigned first, unsigned count) {
  const HazardTraits &t = use.traits;
  const Instruction &inst = use.inst;
  bool isPartial = (inst.isSdwa && inst.sdwa.dstSel != 6) || (t.isValu && inst.dstOpSel);
  for (unsigned n = first; n < first + count; ++n) {
    RegisterEvents &events = vector[n];
    events = {};
    Event here{now, &inst};
    if (t.isMfma)
      events[mfma] = here;
    if (!t.isValu)
      continue;
    if (t.isDot)
      events[dot] = here;
    else
      events[valu] = here;
    if (t.isTrans)
      events[trans] = here;
    if (isPartial)
      events[partial] = here;
  }
}

void HazardTracker::record(const Use &use) {
  const HazardTraits &t = use.traits;
  const Instruction &inst = use.inst;
  Event here{now, &inst};
  for (unsigned s = 0; s < inst.numSpans; ++s) {
    const RegisterSpan &span = inst.spans[s];
    if (span.isWrite && span.kind != OperandKind::Sgpr)
      recordVector(use, row(use.wave, span), span.count);
    if (!span.isWrite || span.kind != OperandKind::Sgpr)
      continue;
    for (unsigned reg = span.first; reg < unsigned(span.first) + span.count; ++reg) {
      scalar[reg] = t.isValu ? here : Event();
      if (reg == sgpr::m0 && !t.isValu)
        m0Write = here;
    }
  }
  if (t.isCmpx)
    scalar[sgpr::exec] = here;
  if (t.isMfma && inst.src[2].isVector())
    for (unsigned n = 0; n < inst.src[2].dwords; ++n)
      vector[use.wave.physicalIndex(inst.src[2]) + n][mfmaSource] = here;
  // A buffer store with a scalar offset takes longer to issue, which is enough.
  bool isWideStore = inst.cls == InstructionClass::VmemStore && inst.src[1].dwords > 2 &&
                     !(inst.format == Format::Mubuf && inst.src[3].isSgpr());
  if (isWideStore)
    for (unsigned n = 0; n < inst.src[1].dwords; ++n)
      vector[use.wave.physicalIndex(inst.src[1]) + n][wideStore] = here;
  if (inst.format == Format::Sopk && use.wave.program->name(inst).starts_with("S_SETREG"))
    setreg = here;
}

bool HazardTracker::issue(Wave &wave, const Instruction &inst) {
  Use use{wave, inst, table.traits(inst)};
  if (!checkReads(use) || !checkWrites(use) || !checkModes(use))
    return false;
  record(use);
  bool isNop = inst.format == Format::Sopp && wave.program->name(inst) == "S_NOP";
  now += isNop ? (inst.imm & 0xF) + 1 : 1;
  return true;
}

} // namespace mono::emu
