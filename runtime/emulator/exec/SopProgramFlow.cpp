// SOPP, and the scalar instructions that touch the program counter, MODE or hardware registers
// (CDNA4 ISA 4, "Program Flow Control", and 12.5 SOPP).
#include "runtime/Gfx950.h"
#include "runtime/emulator/Coherence.h"
#include "runtime/emulator/Trace.h"
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/Workgroup.h"

#include <fmt/format.h>

namespace mono::emu {
namespace {

// ---- branches ----------------------------------------------------------------------------------

/// PC = PC of the next instruction + signed simm16 * 4.
void branch(Wave &w, const Instruction &i) { w.nextPc += int64_t(int32_t(i.imm)) * 4; }

template <auto condition> void branchIf(Wave &w, const Instruction &i) {
  if (condition(w))
    branch(w, i);
}

void registerBranches(HandlerTable &t) {
  t.add("S_BRANCH", branch);
  t.add("S_CBRANCH_SCC0", branchIf<[](Wave &w) { return !w.scc; }>);
  t.add("S_CBRANCH_SCC1", branchIf<[](Wave &w) { return w.scc; }>);
  t.add("S_CBRANCH_VCCZ", branchIf<[](Wave &w) { return w.vcc() == 0; }>);
  t.add("S_CBRANCH_VCCNZ", branchIf<[](Wave &w) { return w.vcc() != 0; }>);
  t.add("S_CBRANCH_EXECZ", branchIf<[](Wave &w) { return w.exec() == 0; }>);
  t.add("S_CBRANCH_EXECNZ", branchIf<[](Wave &w) { return w.exec() != 0; }>);
  // No debugger is attached.
  for (const char *name : {"S_CBRANCH_CDBGSYS", "S_CBRANCH_CDBGUSER", "S_CBRANCH_CDBGSYS_OR_USER",
                           "S_CBRANCH_CDBGSYS_AND_USER"})
    t.add(name, [](Wave &, const Instruction &) {});

  t.add("S_GETPC_B64", [](Wave &w, const Instruction &i) { w.writeScalar64(i.dst[0], w.nextPc); });
  t.add("S_SETPC_B64", [](Wave &w, const Instruction &i) { w.nextPc = w.readScalar64(i.src[0]); });
  t.add("S_SWAPPC_B64", [](Wave &w, const Instruction &i) {
    uint64_t target = w.readScalar64(i.src[0]);
    w.writeScalar64(i.dst[0], w.nextPc);
    w.nextPc = target;
  });
  t.add("S_CALL_B64", [](Wave &w, const Instruction &i) {
    w.writeScalar64(i.dst[0], w.nextPc);
    branch(w, i);
  });
}

// ---- waiting and ending ------------------------------------------------------------------------

/// simm16: vmcnt = [15:14]:[3:0], expcnt = [6:4], lgkmcnt = [11:8].
void waitCounters(Wave &w, const Instruction &i) {
  unsigned vmcnt = (i.imm & 0xF) | (i.imm >> 14 & 3) << 4;
  w.waitcnt.wait(vmcnt, i.imm >> 8 & 0xF);
  if (CoherenceModel *coherence = w.workgroup->launch().coherence)
    coherence->complete(w);
}

/// About 64 clocks a unit; at least one unit so that a poll always lets others run.
void sleep(Wave &w, const Instruction &i) {
  w.sleepUnits = std::max(i.imm & 0x7F, 1u);
  w.cycles += w.sleepUnits * Wave::cyclesPerSleepUnit;
  w.status = WaveStatus::Sleeping;
}

void endProgram(Wave &w, const Instruction &) { w.workgroup->waveEnded(w); }

void trap(Wave &w, const Instruction &i) {
  unsigned id = i.imm & 0xFF;
  if (id == 3)
    return; // debugtrap without a debugger
  w.fault(id == 2 ? std::string("s_trap 2: the kernel aborted")
                  : fmt::format("s_trap {}: no trap handler", id));
}

void registerWaits(HandlerTable &t) {
  t.add("S_WAITCNT", waitCounters);
  t.add("S_BARRIER", [](Wave &w, const Instruction &) { w.workgroup->arriveAtBarrier(w); });
  t.add("S_SLEEP", sleep);
  t.add("S_ENDPGM", endProgram);
  t.add("S_ENDPGM_SAVED", endProgram);
  t.add("S_ENDPGM_ORDERED_PS_DONE", endProgram);
  t.add("S_TRAP", trap);
  t.add("S_SETHALT", [](Wave &w, const Instruction &i) {
    if (i.imm & 1)
      w.fault("s_sethalt 1: the wave halted itself");
  });
  t.add("S_TTRACEDATA", [](Wave &w, const Instruction &) {
    if (Trace *trace = w.workgroup->launch().trace)
      trace->marker(w, w.m0());
  });
  // Hints, and caches that the fast memory model does not have.
  for (const char *name : {"S_NOP", "S_SETPRIO", "S_WAKEUP", "S_ICACHE_INV", "S_INCPERFLEVEL",
                           "S_DECPERFLEVEL", "S_SENDMSG", "S_SENDMSGHALT", "S_SETKILL"})
    t.add(name, [](Wave &, const Instruction &) {});
}

// ---- hardware registers ------------------------------------------------------------------------

/// Operand of s_getreg/s_setreg: id [5:0], first bit [10:6], bits - 1 [15:11].
struct HardwareRegister {
  unsigned id, shift, bits;
  explicit HardwareRegister(uint32_t imm)
      : id(imm & 63), shift(imm >> 6 & 31), bits((imm >> 11 & 31) + 1) {}
  uint32_t mask() const { return bits == 32 ? ~0u : (1u << bits) - 1; }
};
enum HardwareRegisterId : unsigned {
  hwMode = 1,
  hwStatus = 2,
  hwTrapsts = 3,
  hwHwId = 4,
  hwGprAlloc = 5,
  hwLdsAlloc = 6,
  hwShMemBases = 15,
  hwXccId = 20,
};

/// HW_ID of GFX9: wave [3:0], simd [5:4], cu [11:8], se [14:13]. Placement is not architected: the
/// emulator deals workgroups to XCDs in turn, as SPX mode does.
uint32_t hardwareId(const Wave &w) {
  uint32_t cu = uint32_t(w.workgroup->linearId() / gfx950::xcds % gfx950::computeUnitsPerXcd);
  return (w.indexInWorkgroup / 4 & 0xF) | (w.indexInWorkgroup & 3) << 4 | (cu & 0xF) << 8 |
         (cu >> 4 & 3) << 13;
}

bool readHardwareRegister(Wave &w, unsigned id, uint32_t &value) {
  switch (id) {
  case hwMode:
    value = w.modeRegister;
    return true;
  case hwStatus: // scc [0], execz [9], vccz [10]
    value = uint32_t(w.scc) | uint32_t(w.exec() == 0) << 9 | uint32_t(w.vcc() == 0) << 10;
    return true;
  case hwHwId:
    value = hardwareId(w);
    return true;
  case hwGprAlloc: // vgpr base [5:0], size [13:8] in granules of 8
    value = (w.numVgprs / 8 - 1) << 8;
    return true;
  case hwLdsAlloc: // size [20:12] in granules
    value = (w.workgroup->lds().size() + gfx950::ldsGranule - 1) / gfx950::ldsGranule << 12;
    return true;
  case hwXccId:
    value = uint32_t(w.workgroup->linearId() % gfx950::xcds);
    return true;
  case hwTrapsts:
  case hwShMemBases:
    value = 0;
    return true;
  default:
    w.fault(fmt::format("s_getreg_b32 of hardware register {} is not supported", id));
    return false;
  }
}

void getRegister(Wave &w, const Instruction &i) {
  HardwareRegister reg(i.imm);
  uint32_t value;
  if (readHardwareRegister(w, reg.id, value))
    w.writeScalar32(i.dst[0], value >> reg.shift & reg.mask());
}

void setRegister(Wave &w, uint32_t imm, uint32_t value) {
  HardwareRegister reg(imm);
  if (reg.id == hwTrapsts || reg.id == hwStatus)
    return; // no traps, and STATUS is not writable by a user program
  if (reg.id != hwMode)
    return w.fault(fmt::format("s_setreg of hardware register {} is not supported", reg.id));
  uint32_t mask = reg.mask() << reg.shift;
  w.modeRegister = (w.modeRegister & ~mask) | (value << reg.shift & mask);
}

void registerHardwareRegisters(HandlerTable &t) {
  t.add("S_GETREG_B32", getRegister);
  t.add("S_SETREG_B32",
        [](Wave &w, const Instruction &i) { setRegister(w, i.imm, w.readScalar32(i.src[0])); });
  t.add("S_SETREG_IMM32_B32", [](Wave &w, const Instruction &i) { setRegister(w, i.imm, i.imm2); });
}

// ---- VGPR indexing and VSKIP: the interpreter acts on the MODE bits ----------------------------

void setModeBit(Wave &w, unsigned bit, bool on) {
  w.modeRegister = (w.modeRegister & ~(1u << bit)) | uint32_t(on) << bit;
}

void registerIndexing(HandlerTable &t) {
  t.add("S_SET_GPR_IDX_ON", [](Wave &w, const Instruction &i) {
    setModeBit(w, mode::gprIdxEn, true);
    uint32_t index = w.readScalar32(i.src[0]) & 0xFF;
    w.sgprs[sgpr::m0] = (w.m0() & ~0xF0FFu) | index | (i.imm & 0xF) << 12;
  });
  t.add("S_SET_GPR_IDX_OFF",
        [](Wave &w, const Instruction &) { setModeBit(w, mode::gprIdxEn, false); });
  t.add("S_SET_GPR_IDX_MODE", [](Wave &w, const Instruction &i) {
    w.sgprs[sgpr::m0] = (w.m0() & ~0xF000u) | (i.imm & 0xF) << 12;
  });
  t.add("S_SET_GPR_IDX_IDX", [](Wave &w, const Instruction &i) {
    w.sgprs[sgpr::m0] = (w.m0() & ~0xFFu) | (w.readScalar32(i.src[0]) & 0xFF);
  });
  t.add("S_SETVSKIP", [](Wave &w, const Instruction &i) {
    uint32_t value = w.readScalar32(i.src[0]), bit = w.readScalar32(i.src[1]) & 31;
    setModeBit(w, mode::vskip, value >> bit & 1);
  });
}

} // namespace

void registerSopProgramFlow(HandlerTable &t) {
  registerBranches(t);
  registerWaits(t);
  registerHardwareRegisters(t);
  registerIndexing(t);
}

} // namespace mono::emu
