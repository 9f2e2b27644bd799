// Operand fetch and write-back of the vector ALU: the one place that knows the register file, neg,
// abs, op_sel, SDWA selects, DPP and denormal flushing on the way in, and EXEC, op_sel, SDWA, omod,
// clamp and flushing on the way out. Handlers see 64 contiguous dwords a register.
#pragma once

#include "runtime/emulator/exec/DppLanes.h"
#include "runtime/emulator/exec/Wave.h"

namespace mono::emu::valu {

/// What a source is, which decides what its modifiers and MODE mean for it.
enum class ValueKind : uint8_t {
  Bits32,   ///< dword or part of a 64-bit integer: no sign modifiers
  Sign32,   ///< dword that neg/abs act on, never flushed (v_cndmask_b32)
  Float32,  ///< f32: neg, abs, MODE denormals of f32
  Bits16,   ///< 16-bit integer in the low half after op_sel
  Float16,  ///< f16 in the low half after op_sel: neg, abs, MODE denormals of f16/f64
  Float64Hi ///< high dword of an f64: neg and abs; flushing needs both dwords, see fetchDouble
};

/// Storage for a source that is not simply a register row.
struct alignas(64) LaneBuffer {
  uint32_t dword[Wave::lanes];
};

/// MODE as the arithmetic needs it.
struct FloatMode {
  bool flushInF32, flushOutF32, flushIn64, flushOut64;
  bool ieee, dx10Clamp, fp16Overflow;

  explicit FloatMode(const Wave &wave)
      : flushInF32(!(wave.modeRegister >> mode::denormF32 & 1)),
        flushOutF32(!(wave.modeRegister >> mode::denormF32 & 2)),
        flushIn64(!(wave.modeRegister >> mode::denormF64F16 & 1)),
        flushOut64(!(wave.modeRegister >> mode::denormF64F16 & 2)),
        ieee(wave.modeRegister >> mode::ieee & 1),
        dx10Clamp(wave.modeRegister >> mode::dx10Clamp & 1),
        fp16Overflow(wave.modeRegister >> mode::fp16Ovfl & 1) {}
};

/// Host rounding for the length of one instruction; `field` is a 2-bit MODE round field.
class RoundingScope {
public:
  explicit RoundingScope(unsigned field);
  ~RoundingScope();
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  unsigned saved;
};

/// Runs `body` with the host rounding as the MODE field at `shift` says.
template <typename Body> void withRounding(const Wave &wave, unsigned shift, Body body) {
  if (const unsigned rounding = wave.modeField(shift, 2)) [[unlikely]] {
    const RoundingScope scope(rounding);
    body();
    return;
  }
  body();
}

/// fetchRow() for everything but an unmodified vector register.
const uint32_t *fetchModified(Wave &wave, const Instruction &inst, const Operand &operand,
                              unsigned dword, ValueKind kind, LaneBuffer &buffer);

/// Whether `operand`, read as `kind`, is its register row as it stands.
inline bool isPlainRow(const Wave &wave, const Instruction &inst, const Operand &operand,
                       ValueKind kind) {
  if (!operand.isVector() || inst.isDpp || inst.isSdwa)
    return false;
  switch (kind) {
  case ValueKind::Bits32:
    return true;
  case ValueKind::Sign32:
  case ValueKind::Float64Hi:
    return !(operand.neg | operand.abs);
  case ValueKind::Float32:
    return !(operand.neg | operand.abs) && (wave.modeRegister >> mode::denormF32 & 1);
  case ValueKind::Bits16:
    return !operand.opSel;
  case ValueKind::Float16:
    return !(operand.neg | operand.abs | operand.opSel) &&
           (wave.modeRegister >> mode::denormF64F16 & 1);
  }
  return false;
}

/// 64 dwords of register `dword` of `operand`, modifiers applied; either the register row itself or
/// `buffer`. 16-bit kinds have their value in the low half and rubbish above it.
inline const uint32_t *fetchRow(Wave &wave, const Instruction &inst, const Operand &operand,
                                unsigned dword, ValueKind kind, LaneBuffer &buffer) {
  if (isPlainRow(wave, inst, operand, kind)) [[likely]]
    return wave.vgpr(operand, dword);
  return fetchModified(wave, inst, operand, dword, kind, buffer);
}

/// Flushes f64 denormals held as two rows of dwords; the result is in `low` and `high`.
void flushDoubles(const uint32_t *&lowRow, const uint32_t *&highRow, LaneBuffer &low,
                  LaneBuffer &high);

/// Elements of a packed operand: neg acts on the float ones, MODE's denormal control on f16.
enum class HalfKind : uint8_t { Integer, F16, Bf16 };

/// A 16-bit element of a register row seen as 128 of them: element 2 n is the low half of lane n.
using Half [[gnu::may_alias]] = uint16_t;

/// The 128 halves of a packed operand (VOP3P) after op_sel/op_sel_hi, neg/neg_hi and, for f16,
/// flushing; the register row itself where nothing changes it. Other formats have no selects.
const Half *fetchHalves(Wave &wave, const Instruction &inst, const Operand &operand, HalfKind kind,
                        LaneBuffer &buffer);

/// One dword of a packed f32 operand, which op_sel/op_sel_hi pick from the aligned pair. A constant
/// or single SGPR literal is the same for both. Signs and flushing are the caller's.
const uint32_t *fetchPackedDword(Wave &wave, const Operand &operand, bool high, LaneBuffer &buffer);

/// All-ones in lanes whose bit of `mask` is set, else zero.
void expandMask(uint64_t mask, uint32_t *lanes);

/// Bit per lane: whether the lane's dword has its top bit set.
uint64_t packSigns(const uint32_t *lanes);

/// The lanes this instruction writes.
inline uint64_t writeMask(const Wave &wave, const Instruction &inst) {
  return inst.isDpp ? dppWriteMask(wave, inst.dpp) : wave.exec();
}

/// row[lane] = values[lane] where `mask` has the lane's bit.
void blendRow(uint32_t *row, const uint32_t *values, uint64_t mask);

/// Writes a dword result with the SDWA destination select, or as it is without SDWA.
void storeDwords(Wave &wave, const Instruction &inst, const uint32_t *values, uint64_t mask);

/// What happens to the upper half of the destination of a 16-bit operation. GFX9 zeroes it for the
/// operations it inherits from VOP1/VOP2 and GFX8 and keeps it for its own VOP3 ones; with
/// op_sel[3] the result goes to the upper half and the lower one stays; Write says so for
/// v_fma_mixhi_f16.
enum class HighHalf : uint8_t { Zero, Keep, Write };

/// Writes 16-bit results (low half of each dword) with op_sel[3] or SDWA.
void storeHalves(Wave &wave, const Instruction &inst, const uint32_t *values, uint64_t mask,
                 HighHalf highHalf);

/// Writes 16-bit results where HighHalf::Zero or Keep applies and no SDWA, op_sel, omod, clamp or
/// MODE asks for more than the conversion: row = f16 of the value, upper halves & `keep`.
void storePlainHalves(uint32_t *row, const float *values, uint32_t keep, uint64_t mask);

/// Whether f32 results of `inst` need finishFloats().
inline bool needsFinish(const Wave &wave, const Instruction &inst, unsigned denormShift) {
  return inst.omod | inst.clamp | !(wave.modeRegister >> denormShift & 2);
}

/// omod, clamp and output flushing on 64 results, in place. omod applies only with IEEE off and
/// output denormals flushed (CDNA4 ISA "Output Modifiers"); clamp is to [0, 1], NaN to 0 with
/// DX10_CLAMP.
void finishFloats(const Wave &wave, const Instruction &inst, float *values);
void finishDoubles(const Wave &wave, const Instruction &inst, double *values);

/// Rounds 64 values to f16 codes in the host's rounding mode, with omod, clamp, flushing and
/// MODE.FP16_OVFL.
void finishHalves(const Wave &wave, const Instruction &inst, const float *values, uint32_t *codes);

/// The same for the 128 results of a packed operation, which has no omod.
void finishPackedHalves(const Wave &wave, const Instruction &inst, const float *values,
                        Half *codes);
/// Whether packed f16 results need finishPackedHalves() rather than a mere conversion.
inline bool needsHalfFinish(const Wave &wave, const Instruction &inst) {
  const FloatMode mode(wave);
  return inst.clamp | mode.flushOut64 | mode.fp16Overflow;
}

/// MODE.FP16_OVFL before a rounding to f16: finite values past the greatest f16 become that. The
/// result is in `buffer`, which may hold `row`.
const uint32_t *saturateForHalves(const uint32_t *row, LaneBuffer &buffer);

/// What is left to do to f16 codes that need no rounding: clamp on 64 of them, or output flushing
/// and clamp on 128 packed ones; in place.
void finishHalfCodes(const Wave &wave, const Instruction &inst, uint32_t *codes);
void finishPackedHalfCodes(const Wave &wave, const Instruction &inst, Half *codes);

} // namespace mono::emu::valu
