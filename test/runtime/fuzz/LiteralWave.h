// A second, literal implementation of gfx950: one wavefront that executes assembly text one
// instruction and one lane at a time, written from the CDNA4 ISA manual. It includes nothing of
// the emulator; where the two differ, one of them is wrong.
#pragma once

#include "test/runtime/fuzz/LiteralFloat.h"
#include "test/runtime/fuzz/LiteralText.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mono::fuzz {

inline constexpr unsigned kLanes = 64, kVgprs = 64, kAgprs = 32;
/// Private memory of a lane.
inline constexpr unsigned kScratchBytes = 128;

/// The MODE register taken apart (CDNA4 ISA 3.3).
struct Modes {
  Round roundF32 = Round::Even, roundF64F16 = Round::Even;
  bool keepInF32 = true, keepOutF32 = true;       ///< denormals of f32
  bool keepInF64F16 = true, keepOutF64F16 = true; ///< denormals of f64 and f16
  bool dx10Clamp = true, ieee = true, fp16Overflow = false;

  explicit Modes(uint32_t modeRegister);
};

/// The architectural state both implementations start from and are compared in.
struct State {
  using Register = std::array<uint32_t, kLanes>;
  std::array<Register, kVgprs> vgprs{};
  std::array<Register, kAgprs> agprs{};
  std::array<uint32_t, kSgprFile> sgprs{};
  bool scc = false;
  uint32_t mode = 0;
  std::vector<uint8_t> lds;
  std::vector<uint8_t> memory;  ///< one allocation of device memory
  uint64_t memoryBase = 0;      ///< its device address
  std::vector<uint8_t> scratch; ///< private memory, kScratchBytes for each lane

  uint64_t sgpr64(unsigned n) const { return sgprs[n] | uint64_t(sgprs[n + 1]) << 32; }
  void setSgpr64(unsigned n, uint64_t value) {
    sgprs[n] = uint32_t(value);
    sgprs[n + 1] = uint32_t(value >> 32);
  }
  uint64_t exec() const { return sgpr64(kExec); }
  bool active(unsigned lane) const { return exec() >> lane & 1; }
};

/// A result the manual does not define to the bit: any NaN, or any value in [low, high]. The
/// comparer checks it and then gives the literal state the other implementation's bits.
struct LooseResult {
  enum Place : uint8_t { Vgpr, Agpr, Lds, Memory } place;
  uint32_t index = 0; ///< register number, or byte offset
  uint32_t lane = 0;
  bool highHalf = false; ///< of a 16-bit format in a register
  Format format = kF32;
  bool isNan = true; ///< any NaN will do
  double low = 0, high = 0;
  bool isAny = false; ///< anything will do
};

/// Executes instructions on a State.
class LiteralWave {
public:
  explicit LiteralWave(State &state) : state(state) {}

  /// What one instruction did besides changing the state.
  struct Outcome {
    std::string error;  ///< not empty: the literal wave does not know this instruction
    std::string target; ///< label of a branch that was taken
    std::optional<uint64_t> targetPc; ///< address a jump went to
    std::vector<LooseResult> loose;
  };
  /// `nextPc` is the address of the instruction that follows.
  Outcome execute(const TextLine &line, uint64_t nextPc = 0);

  State &state;
};

} // namespace mono::fuzz
