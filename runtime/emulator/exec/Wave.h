// The architectural state of one wavefront, and what a handler may do with it.
#pragma once

#include "runtime/emulator/exec/Instruction.h"
#include "runtime/emulator/exec/Waitcnt.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace mono::emu {

class HazardTracker;
class Workgroup;
class Program;
struct ExecStats;

enum class WaveStatus : uint8_t {
  Running,
  AtBarrier,
  Sleeping,
  Held, ///< by a Trace that stops its workgroup
  Ended,
  Faulted
};

/// Bits of the MODE register (CDNA4 ISA 3.3 "Mode register").
namespace mode {
inline constexpr unsigned roundF32 = 0,
                          roundF64F16 = 2; ///< 2-bit fields: 0 RNE, 1 +inf, 2 -inf, 3 zero
inline constexpr unsigned denormF32 = 4,
                          denormF64F16 = 6; ///< 2-bit: bit 0 keep inputs, bit 1 keep outputs
inline constexpr unsigned dx10Clamp = 8, ieee = 9, fp16Ovfl = 23, gprIdxEn = 27, vskip = 28;
} // namespace mode

/// Content of registers nobody wrote: a signalling NaN as a float, absurd as an index or address.
inline constexpr uint32_t poisonDword = 0x7FA5A5A5;

/// One wavefront of 64 lanes. Plain state with the accessors handlers need; created and owned by a
/// Workgroup, touched by one host thread at a time.
class Wave {
public:
  static constexpr unsigned lanes = 64;
  static constexpr uint64_t allLanes = ~uint64_t(0);

  // ---- vector registers --------------------------------------------------------------------

  /// The unified vector register file: numVgprs rows of 64 dwords, 64-byte aligned. v0 is row 0,
  /// a0 is row accumOffset.
  uint32_t *vgprs = nullptr;
  unsigned numVgprs = 0;
  unsigned accumOffset = 0;

  /// The 64 lanes of v<index>, or of the n-th register of a Vgpr/Agpr operand; dword n follows at
  /// + 64 * n. The range has been checked before the handler runs.
  uint32_t *vgpr(unsigned index) { return vgprs + size_t(index) * lanes; }
  uint32_t *vgpr(const Operand &operand, unsigned n = 0) {
    return vgpr(physicalIndex(operand) + n);
  }
  /// Row of a Vgpr/Agpr operand in the unified file.
  unsigned physicalIndex(const Operand &operand) const {
    return operand.index + (operand.kind == OperandKind::Agpr ? accumOffset : 0);
  }

  // ---- scalar registers --------------------------------------------------------------------

  /// The SGPR file by hardware number; vcc, m0, exec and ttmp are entries of it (namespace sgpr).
  alignas(8) std::array<uint32_t, sgpr::count> sgprs{};
  bool scc = false;
  uint32_t modeRegister = 0;
  uint64_t sumOrder = 0; ///< seed of the order of sums in matrix instructions, see MfmaOrder.h

  uint64_t sgpr64(unsigned index) const { return sgprs[index] | uint64_t(sgprs[index + 1]) << 32; }
  void setSgpr64(unsigned index, uint64_t value) {
    sgprs[index] = uint32_t(value);
    sgprs[index + 1] = uint32_t(value >> 32);
  }
  uint64_t exec() const { return sgpr64(sgpr::exec); }
  void setExec(uint64_t mask) { setSgpr64(sgpr::exec, mask); }
  uint64_t vcc() const { return sgpr64(sgpr::vcc); }
  void setVcc(uint64_t mask) { setSgpr64(sgpr::vcc, mask); }
  uint32_t m0() const { return sgprs[sgpr::m0]; }
  unsigned modeField(unsigned shift, unsigned bits) const {
    return (modeRegister >> shift) & ((1u << bits) - 1);
  }

  /// The value of a scalar source: Sgpr, Immediate or Special, without modifiers. The 64-bit form
  /// of a 32-bit inline constant or literal is what the decoder put into `imm`.
  uint32_t readScalar32(const Operand &operand) const {
    if (operand.kind == OperandKind::Sgpr)
      return sgprs[operand.index];
    return operand.kind == OperandKind::Immediate ? uint32_t(operand.imm)
                                                  : uint32_t(readSpecial(operand));
  }
  uint64_t readScalar64(const Operand &operand) const {
    if (operand.kind == OperandKind::Sgpr)
      return sgpr64(operand.index);
    return operand.kind == OperandKind::Immediate ? operand.imm : readSpecial(operand);
  }
  void writeScalar32(const Operand &operand, uint32_t value) { sgprs[operand.index] = value; }
  void writeScalar64(const Operand &operand, uint64_t value) { setSgpr64(operand.index, value); }
  /// SCC, VCCZ, EXECZ, the apertures and lds_direct.
  uint64_t readSpecial(const Operand &operand) const;

  // ---- program flow ------------------------------------------------------------------------

  /// Address of the instruction being executed, and of the one that follows; a branch sets nextPc.
  uint64_t pc = 0;
  uint64_t nextPc = 0;
  WaveStatus status = WaveStatus::Running;

  /// Records an error and stops this wave after the current instruction. The report adds rank,
  /// workgroup, wave, pc and disassembly; `message` is lower case without a final period.
  void fault(std::string message);
  const std::string &faultMessage() const { return faultText; }

  // ---- surroundings ------------------------------------------------------------------------

  Workgroup *workgroup = nullptr;
  const Program *program = nullptr;
  uint64_t codeBase =
      0; ///< device address of the code object image; pc - codeBase indexes `program`
  ExecStats *stats = nullptr; ///< counters of the host thread that runs this wave
  unsigned indexInWorkgroup = 0;
  uint32_t memoryAgent = 0; ///< its place in the CoherenceModel, if there is one
  Waitcnt waitcnt;
  std::shared_ptr<HazardTracker> hazards; ///< only under the check hazard

  /// Registers written so far, one bit each; kept only under the check register-uninit.
  std::array<uint64_t, 8> writtenVgprs{};
  std::array<uint64_t, 2> writtenSgprs{};

  // ---- clocks and scheduling ---------------------------------------------------------------

  static constexpr uint64_t cyclesPerInstruction = 4, cyclesPerSleepUnit = 64;
  uint64_t cycles = 0; ///< modelled clock for s_memtime: 4 a wave instruction, 64 a unit of s_sleep
  uint64_t instructions = 0;
  int64_t stepShift = 0;       ///< what Trace adds to the instructions in `cycles` for its clock
  uint32_t sleepUnits = 0;     ///< argument of the last s_sleep
  uint64_t sleptAt = 0;        ///< `instructions` at the last s_sleep
  uint64_t lastRound = 0;      ///< scheduler round of the last turn
  bool hadFullTurn = false;    ///< used up its quantum in the last turn
  uint64_t wakeRound = 0;      ///< scheduler round before which a sleeping wave is left alone
  uint64_t seenEpoch = 0;      ///< memory epoch before the last poll
  uint32_t fruitlessPolls = 0; ///< polls in a row that saw no memory change
  uint64_t hwStatus = 0;       ///< s_setprio and s_setreg scratch bits other than MODE

private:
  std::string faultText;
};

/// Calls fn(lane) for each set bit of `mask`, lowest lane first.
template <typename Fn> inline void forEachLane(uint64_t mask, Fn fn) {
  for (; mask; mask &= mask - 1)
    fn(unsigned(std::countr_zero(mask)));
}

} // namespace mono::emu
