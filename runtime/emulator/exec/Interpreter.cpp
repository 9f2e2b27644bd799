// Runs the instructions of one wavefront, with the checks that concern registers.
#include "runtime/emulator/exec/Interpreter.h"

#include "runtime/emulator/exec/ExecStats.h"
#include "runtime/emulator/exec/Hazard.h"
#include "runtime/emulator/exec/Program.h"
#include "runtime/emulator/exec/Workgroup.h"

#include <fmt/format.h>

namespace mono::emu {

// ---- register checks ---------------------------------------------------------------------------

static unsigned archVgprLimit(const Wave &w) { return w.accumOffset; }
static unsigned accVgprLimit(const Wave &w) { return w.numVgprs - w.accumOffset; }

static std::string registerName(OperandKind kind, unsigned index) {
  return fmt::format("{}{}",
                     kind == OperandKind::Vgpr   ? 'v'
                     : kind == OperandKind::Agpr ? 'a'
                                                 : 's',
                     index);
}

static void faultRegisterLimit(Wave &w, const Instruction &i) {
  if (i.vgprEnd > archVgprLimit(w))
    w.fault(
        fmt::format("v{} is outside the {} VGPRs of this kernel", i.vgprEnd - 1, archVgprLimit(w)));
  else
    w.fault(
        fmt::format("a{} is outside the {} AGPRs of this kernel", i.agprEnd - 1, accVgprLimit(w)));
}

/// Whether a write by `i` may overtake a pending load: loads of one in-order path may not overtake
/// each other.
static const ReturnPath *overwritingPath(const Instruction &i) {
  static constexpr ReturnPath vmem = ReturnPath::Vmem, ds = ReturnPath::Ds;
  switch (i.format) {
  case Format::Global:
  case Format::Scratch:
  case Format::Mubuf:
  case Format::Mtbuf:
    return &vmem;
  case Format::Ds:
    return &ds;
  default:
    return nullptr;
  }
}

static bool faultPending(Wave &w, const RegisterSpan &span, const Instruction &load) {
  w.fault(fmt::format("{} of {} before an s_waitcnt covers the load at pc 0x{:x} ({})",
                      span.isWrite ? "overwrite" : "use", registerName(span.kind, span.first),
                      load.pc, w.program->text(load)));
  return false;
}

/// No register of the instruction may still be the target of a load.
static bool checkPending(Wave &w, const Instruction &i) {
  for (unsigned s = 0; s < i.numSpans; ++s) {
    const RegisterSpan &span = i.spans[s];
    const Instruction *load;
    if (span.kind == OperandKind::Sgpr) {
      load = w.waitcnt.pendingScalar(span.first, span.count);
    } else {
      unsigned first = span.first + (span.kind == OperandKind::Agpr ? w.accumOffset : 0);
      load =
          w.waitcnt.pendingVector(first, span.count, span.isWrite ? overwritingPath(i) : nullptr);
    }
    if (load)
      return faultPending(w, span, *load);
  }
  return true;
}

/// No register read may be one nobody wrote; notes what is written.
static bool checkWritten(Wave &w, const Instruction &i) {
  for (bool writes : {false, true})
    for (unsigned s = 0; s < i.numSpans; ++s) {
      const RegisterSpan &span = i.spans[s];
      if (span.isWrite != writes)
        continue;
      bool scalar = span.kind == OperandKind::Sgpr;
      uint64_t *bits = scalar ? w.writtenSgprs.data() : w.writtenVgprs.data();
      unsigned base = span.first + (span.kind == OperandKind::Agpr ? w.accumOffset : 0);
      for (unsigned r = base; r < base + span.count; ++r) {
        if (writes)
          bits[r / 64] |= uint64_t(1) << r % 64;
        else if (!(bits[r / 64] >> r % 64 & 1)) {
          w.fault(fmt::format("read of {}, which nobody wrote",
                              registerName(span.kind, span.first + r - base)));
          return false;
        }
      }
    }
  return true;
}

// ---- VGPR indexing and VSKIP -------------------------------------------------------------------

static bool isVectorAlu(Format format) { return format >= Format::Vop1 && format <= Format::Vop3p; }
static bool isScalar(Format format) { return format <= Format::Smem; }

/// s_set_gpr_idx: adds M0[7:0] to the VGPR numbers M0[15:12] selects (bit 0-2 sources, 3
/// destination) and runs the patched instruction (CDNA4 ISA 6.6).
static void runIndexed(Wave &w, const Instruction &i) {
  Instruction patched = i;
  unsigned index = w.m0() & 0xFF, which = w.m0() >> 12 & 0xF;
  auto patch = [&](Operand &operand) {
    if (operand.kind != OperandKind::Vgpr)
      return true;
    operand.index = uint16_t(operand.index + index);
    if (operand.index + operand.dwords <= archVgprLimit(w))
      return true;
    w.fault(fmt::format("indexed v{} is outside the {} VGPRs of this kernel", operand.index,
                        archVgprLimit(w)));
    return false;
  };
  for (unsigned s = 0; s < 3; ++s)
    if ((which >> s & 1) && !patch(patched.src[s]))
      return;
  if ((which & 8) && !patch(patched.dst[0]))
    return;
  i.handler(w, patched);
}

/// The rare modes in which an instruction is not simply executed.
static void runSpecial(Wave &w, const Instruction &i) {
  if (w.modeField(mode::vskip, 1) && !isScalar(i.format))
    return;
  if (w.modeField(mode::gprIdxEn, 1) && isVectorAlu(i.format))
    return runIndexed(w, i);
  i.handler(w, i);
}

// ---- the loop ----------------------------------------------------------------------------------

static void faultMissing(Wave &w, const Instruction *i) {
  if (!i || i->size == 0)
    w.fault("the program counter is outside the code or between two instructions");
  else if (w.program->name(*i).empty())
    w.fault("these bytes are no gfx950 instruction");
  else
    w.fault(fmt::format("instruction {} is not implemented", std::string(w.program->name(*i))));
}

uint64_t runWave(Wave &w, uint64_t limit) {
  const Checks &checks = w.workgroup->launch().checks;
  const bool checkLoads = checks.has(Check::Waitcnt);
  const bool trackRegisters = checks.has(Check::RegisterUninit);
  const unsigned vgprLimit = archVgprLimit(w), agprLimit = accVgprLimit(w);
  constexpr uint32_t specialModes = 1u << mode::gprIdxEn | 1u << mode::vskip;
  auto &counters = w.stats->instructions;

  uint64_t executed = 0;
  const Instruction *inst = w.program->at(w.pc - w.codeBase);
  while (executed < limit) {
    if (!inst || !inst->handler) {
      faultMissing(w, inst);
      break;
    }
    if (inst->vgprEnd > vgprLimit || inst->agprEnd > agprLimit) {
      faultRegisterLimit(w, *inst);
      break;
    }
    if (checkLoads && !w.waitcnt.idle() && !checkPending(w, *inst))
      break;
    if (trackRegisters && !checkWritten(w, *inst))
      break;
    if (w.hazards && !w.hazards->issue(w, *inst))
      break;

    const uint64_t following = w.pc + inst->size;
    w.nextPc = following;
    if (w.modeRegister & specialModes)
      runSpecial(w, *inst);
    else
      inst->handler(w, *inst);
    ++executed;
    ++counters[inst->counter];
    w.cycles += Wave::cyclesPerInstruction;

    if (w.status == WaveStatus::Faulted)
      break;
    w.pc = w.nextPc;
    inst = w.pc == following ? inst + 1 : w.program->at(w.pc - w.codeBase);
    if (w.status != WaveStatus::Running)
      break;
  }
  w.instructions += executed;
  return executed;
}

std::string describeWave(const Wave &w) {
  auto position = w.workgroup->coordinates();
  uint64_t offset = w.pc - w.codeBase;
  const Instruction *inst = w.program->at(offset);
  return fmt::format("rank {}, kernel '{}', workgroup ({}, {}, {}), wave {}, pc 0x{:x}: {}",
                     w.workgroup->launch().rank, w.workgroup->launch().kernel, position[0],
                     position[1], position[2], w.indexInWorkgroup, offset,
                     inst ? w.program->text(*inst) : std::string("<no instruction>"));
}

} // namespace mono::emu
