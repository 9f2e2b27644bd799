// The hazards gfx950 does not interlock: how many wait states a dependent instruction must keep
// behind its producer (CDNA4 ISA 4.5 and 7.6; the numbers are those LLVM's hazard recogniser uses).
#pragma once

#include "runtime/emulator/exec/Instruction.h"

#include <array>
#include <cstdint>
#include <vector>

namespace mono::emu {

class Program;
class Wave;

/// What an instruction is to the hazard rules, from its name.
struct HazardTraits {
  bool isValu = false; ///< vector ALU, v_accvgpr_* included, MFMA not
  bool isMfma = false; ///< MFMA and SMFMAC
  bool isXdl = false;  ///< of those, not f32 or f64 input
  bool isDouble = false;
  bool isTrans = false; ///< quarter-rate functions
  bool isDot = false;
  bool isCmpx = false;
  bool isReadLane = false; ///< v_readlane, v_readfirstlane
  bool isWriteLane = false;
  bool isPermlane = false;
  bool isDivFmas = false;
  bool readsM0 = false; ///< load to LDS, add-TID, sendmsg
  uint8_t rows = 0;     ///< of an MFMA: 4, 16 or 32
};

/// Traits of every name of a program; built once per launch.
class HazardTable {
public:
  explicit HazardTable(const Program &program);
  const HazardTraits &traits(const Instruction &inst) const { return byName[inst.nameId]; }

private:
  std::vector<HazardTraits> byName;
};

/// Follows one wave through its instructions, each of which is one wait state (s_nop N: N + 1).
class HazardTracker {
public:
  HazardTracker(const HazardTable &table, unsigned vgprs);

  /// Checks the instruction about to issue and notes what it produces. False, with the wave at
  /// fault, if a producer is too near.
  bool issue(Wave &wave, const Instruction &inst);

private:
  /// Ways to produce, or use up, a vector register that later instructions must stay away from.
  enum Producer : unsigned {
    valu,
    trans,
    partial, ///< SDWA or op_sel write of a part
    dot,
    mfma,
    mfmaSource, ///< read as C
    wideStore,  ///< data of a store of more than 64 bits
    producers,
  };
  struct Event {
    uint64_t time = 0; ///< wait state it issued in; 0: never
    const Instruction *inst = nullptr;
  };
  using RegisterEvents = std::array<Event, producers>;

  struct Use {
    Wave &wave;
    const Instruction &inst;
    const HazardTraits &traits;
  };

  bool require(const Use &use, const Event &producer, unsigned states, const char *what);
  bool checkReads(const Use &use);
  bool checkVectorRead(const Use &use, const RegisterSpan &span, unsigned row, unsigned count);
  bool checkMfmaResult(const Use &use, const Event &producer, bool isWrite, bool isC, unsigned row,
                       unsigned count);
  bool checkScalarRead(const Use &use, unsigned reg);
  bool checkWrites(const Use &use);
  bool checkModes(const Use &use);
  void record(const Use &use);
  void recordVector(const Use &use, unsigned row, unsigned count);
  unsigned row(const Wave &wave, const RegisterSpan &span) const;

  const HazardTable &table;
  uint64_t now = 1000; ///< far from events that never happened
  std::vector<RegisterEvents> vector;
  std::array<Event, 128> scalar{}; ///< VALU writes of SGPRs, VCC and EXEC included
  Event m0Write, setreg;
};

} // namespace mono::emu
