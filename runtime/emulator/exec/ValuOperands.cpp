// Operand fetch and write-back of the vector ALU.
#include "runtime/emulator/exec/ValuOperands.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>

namespace mono::emu::valu {
namespace {

constexpr unsigned kLanes = Wave::lanes;

/// One dword of a scalar source.
uint32_t scalarDword(const Wave &wave, const Operand &operand, unsigned dword) {
  if (operand.isSgpr())
    return wave.sgprs[operand.index + dword];
  if (operand.isImmediate() || operand.dwords < 2)
    return dword ? uint32_t(operand.imm >> 32) : wave.readScalar32(operand);
  return uint32_t(wave.readScalar64(operand) >> (32 * dword));
}

/// All that can happen to a source dword between the register and the operation, as one formula:
/// select a field by two shifts, then set or clear the sign, then replace denormals by zero.
struct Modifiers {
  uint32_t up = 0, down = 0; ///< the field: left shift, then right shift
  bool sext = false;         ///< the right shift is arithmetic
  uint32_t keep = ~0u, flip = 0;
  uint32_t exponent = 0, sign = 0; ///< flushing: zero in `exponent` means keep only `sign`

  bool selects() const { return up | down; }
  bool flushes() const { return exponent; }
  bool changesNothing() const { return !selects() && !flushes() && keep == ~0u && flip == 0; }

  /// SDWA: byte or word of the source.
  void selectSdwa(const Operand &operand) {
    const unsigned select = operand.sdwaSel;
    if (select >= 6)
      return;
    const unsigned width = select < 4 ? 8 : 16;
    const unsigned shift = select < 4 ? 8 * select : 16 * (select - 4);
    down = 32 - width;
    up = down - shift;
    sext = operand.sext;
  }
  void setSign(const Operand &operand, uint32_t signBit) {
    keep = operand.abs ? ~signBit : ~0u;
    flip = operand.neg ? signBit : 0;
  }
  void flush(uint32_t exponentMask, uint32_t signBit) {
    exponent = exponentMask;
    sign = signBit;
  }

  template <bool Select, bool Flush> uint32_t apply(uint32_t v) const {
    if constexpr (Select)
      v = sext ? uint32_t(int32_t(v << up) >> down) : v << up >> down;
    v = (v & keep) ^ flip;
    if constexpr (Flush)
      v = v & exponent ? v : v & sign;
    return v;
  }
  template <bool Select, bool Flush> void applyRow(const uint32_t *row, uint32_t *out) const {
    const Modifiers m = *this; // a local that no store can change
#pragma clang loop vectorize(assume_safety)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      out[lane] = m.apply<Select, Flush>(row[lane]);
  }
  /// `row` may be `out`.
  void applyRow(const uint32_t *row, uint32_t *out) const {
    if (selects())
      flushes() ? applyRow<true, true>(row, out) : applyRow<true, false>(row, out);
    else
      flushes() ? applyRow<false, true>(row, out) : applyRow<false, false>(row, out);
  }
  void fill(uint32_t value, uint32_t *out) const {
    const bool flushed = flushes();
    std::fill_n(out, kLanes, flushed ? apply<true, true>(value) : apply<true, false>(value));
  }
};

constexpr uint32_t kSign32 = 0x80000000, kExponent32 = 0x7f800000;
constexpr uint32_t kSign16 = 0x8000, kExponent16 = 0x7c00;

/// What `kind` and MODE make of the modifiers of `operand`.
Modifiers modifiersOf(const Wave &wave, const Instruction &inst, const Operand &operand,
                      ValueKind kind) {
  const FloatMode mode(wave);
  Modifiers result;
  if (inst.isSdwa)
    result.selectSdwa(operand);
  else if ((kind == ValueKind::Bits16 || kind == ValueKind::Float16) && operand.opSel)
    result.down = 16;
  switch (kind) {
  case ValueKind::Bits32:
  case ValueKind::Bits16:
    break;
  case ValueKind::Float32:
    result.setSign(operand, kSign32);
    if (mode.flushInF32)
      result.flush(kExponent32, kSign32);
    break;
  case ValueKind::Sign32:
  case ValueKind::Float64Hi:
    result.setSign(operand, kSign32);
    break;
  case ValueKind::Float16:
    result.setSign(operand, kSign16);
    if (mode.flushIn64)
      result.flush(kExponent16, kSign16);
    break;
  }
  return result;
}

/// The raw dwords of a vector source, through DPP where it applies.
const uint32_t *vectorRow(Wave &wave, const Instruction &inst, const Operand &operand,
                          unsigned dword, LaneBuffer &buffer) {
  const uint32_t *row = wave.vgpr(operand, dword);
  if (!inst.isDpp || &operand != &inst.src[0])
    return row;
  dppFetch(wave, inst.dpp, row, buffer.dword);
  return buffer.dword;
}

/// Host rounding mode (MXCSR.RC) of a MODE round field: 0 nearest, 1 up, 2 down, 3 zero.
unsigned hostRounding(unsigned field) {
  constexpr unsigned kModes[] = {_MM_ROUND_NEAREST, _MM_ROUND_UP, _MM_ROUND_DOWN,
                                 _MM_ROUND_TOWARD_ZERO};
  return kModes[field & 3];
}

double omodFactor(const Wave &wave, const Instruction &inst, bool flushOut) {
  if (!inst.omod || !flushOut || FloatMode(wave).ieee)
    return 0;
  constexpr double kFactors[] = {0, 2, 4, 0.5};
  return kFactors[inst.omod & 3];
}

/// Clamp to [0, 1]. A NaN becomes zero with DX10_CLAMP and stays otherwise.
template <typename Float> Float clampUnit(Float value, Float nanResult) {
  const Float low = value > 0 ? value : Float(0); // NaN too
  const Float clamped = low < 1 ? low : Float(1);
  return value != value ? nanResult : clamped;
}

/// Flushes denormals in place. Intrinsics: the compiler makes a conditional store of "unless
/// normal, write zero", and on some hosts those take tens of cycles.
void flushRow(float *values) {
  const __m256i exponent = _mm256_set1_epi32(0x7f800000), magnitude = _mm256_set1_epi32(0x7fffffff);
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    auto *at = reinterpret_cast<__m256i *>(values + lane);
    const __m256i bits = _mm256_loadu_si256(at);
    const __m256i isDenormal =
        _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), _mm256_setzero_si256());
    _mm256_storeu_si256(at, _mm256_andnot_si256(_mm256_and_si256(isDenormal, magnitude), bits));
  }
}
void flushRow(double *values) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    values[lane] = numeric::flushDenormal(values[lane]);
}

/// Flushes 128 f16 codes in place, without a conditional store as above.
void flushHalves(Half *codes) {
  for (unsigned n = 0; n < 2 * kLanes; ++n) {
    const uint16_t normal = -uint16_t((codes[n] & 0x7c00) != 0);
    codes[n] = uint16_t(codes[n] & (normal | 0x8000));
  }
}

/// FP16_OVFL: a finite value past the greatest f16 becomes that; whatever the rounding mode.
float saturateHalf(float value) {
  const float bounded = std::clamp(value, -65504.0f, 65504.0f);
  return std::fabs(value) < INFINITY ? bounded : value;
}

/// clamp on f16 codes of a type that holds at least 16 bits.
template <typename Code> void clampHalves(const Wave &wave, Code *codes, unsigned count) {
  const bool dx10 = FloatMode(wave).dx10Clamp;
  for (unsigned n = 0; n < count; ++n) {
    const float value = numeric::halfToFloat(uint16_t(codes[n]));
    codes[n] = numeric::floatToHalf(clampUnit(value, dx10 ? 0.0f : value));
  }
}

/// omod, flush and clamp in the hardware's order, each its own loop so that it vectorises.
template <typename Float>
void finish(const Wave &wave, const Instruction &inst, bool flushOut, unsigned round,
            Float *values) {
  const Float factor = Float(omodFactor(wave, inst, flushOut));
  if (factor != 0) {
    const RoundingScope scope(wave.modeField(round, 2));
    for (unsigned lane = 0; lane < kLanes; ++lane)
      values[lane] *= factor;
  }
  if (flushOut)
    flushRow(values);
  if (factor != 0)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      values[lane] = values[lane] == 0 ? Float(0) : values[lane]; // omod turns -0 into +0
  if (!inst.clamp)
    return;
  const bool dx10 = FloatMode(wave).dx10Clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    values[lane] = clampUnit(values[lane], dx10 ? Float(0) : values[lane]);
}

/// Puts `value` where the SDWA destination select says.
uint32_t placeSdwa(const SdwaControl &sdwa, uint32_t value, uint32_t old) {
  if (sdwa.dstSel >= 6)
    return value;
  const unsigned width = sdwa.dstSel < 4 ? 8 : 16;
  const unsigned shift = sdwa.dstSel < 4 ? 8 * sdwa.dstSel : 16 * (sdwa.dstSel - 4);
  const uint32_t field = (width == 8 ? 0xffu : 0xffffu) << shift;
  const uint32_t placed = value << shift & field;
  switch (sdwa.dstUnused) {
  case 1: { // UNUSED_SEXT: sign above, zero below
    const unsigned drop = 32 - width;
    return uint32_t(int32_t(value << drop) >> drop) << shift;
  }
  case 2: // UNUSED_PRESERVE
    return placed | (old & ~field);
  default: // UNUSED_PAD
    return placed;
  }
}

} // namespace

RoundingScope::RoundingScope(unsigned field) : saved(_mm_getcsr()) {
  _mm_setcsr((saved & ~unsigned(_MM_ROUND_MASK)) | hostRounding(field));
}
RoundingScope::~RoundingScope() { _mm_setcsr(saved); }

const uint32_t *fetchModified(Wave &wave, const Instruction &inst, const Operand &operand,
                              unsigned dword, ValueKind kind, LaneBuffer &buffer) {
  const Modifiers modifiers = modifiersOf(wave, inst, operand, kind);
  if (!operand.isVector()) {
    modifiers.fill(scalarDword(wave, operand, dword), buffer.dword);
    return buffer.dword;
  }
  const uint32_t *row = vectorRow(wave, inst, operand, dword, buffer);
  if (modifiers.changesNothing())
    return row;
  modifiers.applyRow(row, buffer.dword);
  return buffer.dword;
}

void flushDoubles(const uint32_t *&lowRow, const uint32_t *&highRow, LaneBuffer &low,
                  LaneBuffer &high) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool normal = highRow[lane] & 0x7ff00000;
    low.dword[lane] = normal ? lowRow[lane] : 0;
    high.dword[lane] = normal ? highRow[lane] : highRow[lane] & 0x80000000;
  }
  lowRow = low.dword;
  highRow = high.dword;
}

namespace {

/// Puts the halves that op_sel and op_sel_hi pick side by side.
template <bool LowFromHigh, bool HighFromHigh>
void selectHalves(const uint32_t *row, uint32_t flip, uint32_t *out) {
#pragma clang loop vectorize(assume_safety)
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t low = LowFromHigh ? row[lane] >> 16 : row[lane] & 0xffff;
    const uint32_t high = HighFromHigh ? row[lane] & 0xffff0000 : row[lane] << 16;
    out[lane] = (low | high) ^ flip;
  }
}
void selectHalves(bool lowFromHigh, bool highFromHigh, const uint32_t *row, uint32_t flip,
                  uint32_t *out) {
  if (lowFromHigh)
    highFromHigh ? selectHalves<true, true>(row, flip, out)
                 : selectHalves<true, false>(row, flip, out);
  else
    highFromHigh ? selectHalves<false, true>(row, flip, out)
                 : selectHalves<false, false>(row, flip, out);
}

} // namespace

const Half *fetchHalves(Wave &wave, const Instruction &inst, const Operand &operand, HalfKind kind,
                        LaneBuffer &buffer) {
  const bool selects = inst.format == Format::Vop3p;
  const bool lowFromHigh = selects && operand.opSel, highFromHigh = !selects || operand.opSelHi;
  uint32_t flip = 0;
  if (selects && kind != HalfKind::Integer)
    flip = (operand.neg ? kSign16 : 0) | (operand.negHi ? kSign32 : 0);
  const uint32_t *row = buffer.dword;
  if (operand.isVector())
    row = vectorRow(wave, inst, operand, 0, buffer);
  else
    std::fill_n(buffer.dword, kLanes, scalarDword(wave, operand, 0));
  if (lowFromHigh || !highFromHigh || flip) {
    selectHalves(lowFromHigh, highFromHigh, row, flip, buffer.dword);
    row = buffer.dword;
  }
  if (kind == HalfKind::F16 && FloatMode(wave).flushIn64) {
    if (row != buffer.dword)
      std::copy_n(row, kLanes, buffer.dword);
    flushHalves(reinterpret_cast<Half *>(buffer.dword));
    row = buffer.dword;
  }
  return reinterpret_cast<const Half *>(row);
}

void finishPackedHalves(const Wave &wave, const Instruction &inst, const float *values,
                        Half *codes) {
  const FloatMode mode(wave);
  for (unsigned n = 0; n < 2 * kLanes; ++n)
    codes[n] = numeric::floatToHalf(mode.fp16Overflow ? saturateHalf(values[n]) : values[n]);
  if (mode.flushOut64)
    flushHalves(codes);
  if (inst.clamp)
    clampHalves(wave, codes, 2 * kLanes);
}

const uint32_t *saturateForHalves(const uint32_t *row, LaneBuffer &buffer) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    buffer.dword[lane] = std::bit_cast<uint32_t>(saturateHalf(std::bit_cast<float>(row[lane])));
  return buffer.dword;
}

void finishPackedHalfCodes(const Wave &wave, const Instruction &inst, Half *codes) {
  if (FloatMode(wave).flushOut64)
    flushHalves(codes);
  if (inst.clamp)
    clampHalves(wave, codes, 2 * kLanes);
}

const uint32_t *fetchPackedDword(Wave &wave, const Operand &operand, bool high,
                                 LaneBuffer &buffer) {
  const bool second = high ? operand.opSelHi : operand.opSel;
  if (operand.isVector())
    return wave.vgpr(operand, second);
  std::fill_n(buffer.dword, kLanes, scalarDword(wave, operand, operand.isImmediate() ? 0 : second));
  return buffer.dword;
}

namespace {

/// All-ones in those of eight lanes, from `lane` on, whose bit of `mask` is set.
__m256i laneMask8(uint64_t mask, unsigned lane) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i byte = _mm256_set1_epi32(int(mask >> lane & 0xff));
  return _mm256_cmpeq_epi32(_mm256_and_si256(byte, bit), bit);
}

__m256i loadLanes8(const uint32_t *lanes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(lanes));
}
void storeLanes8(uint32_t *lanes, __m256i values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(lanes), values);
}

} // namespace

void expandMask(uint64_t mask, uint32_t *lanes) {
  for (unsigned lane = 0; lane < kLanes; lane += 8)
    storeLanes8(lanes + lane, laneMask8(mask, lane));
}

uint64_t packSigns(const uint32_t *lanes) {
  uint64_t mask = 0;
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m256 row = _mm256_castsi256_ps(loadLanes8(lanes + lane));
    mask |= uint64_t(unsigned(_mm256_movemask_ps(row))) << lane;
  }
  return mask;
}

void blendRow(uint32_t *row, const uint32_t *values, uint64_t mask) {
  if (mask == Wave::allLanes) {
    std::copy_n(values, kLanes, row);
    return;
  }
  // Merged by xor rather than by a blend, which the compiler would make a masked store: those take
  // tens of cycles on some hosts.
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m256i old = loadLanes8(row + lane);
    const __m256i change = _mm256_xor_si256(old, loadLanes8(values + lane));
    storeLanes8(row + lane, _mm256_xor_si256(old, _mm256_and_si256(change, laneMask8(mask, lane))));
  }
}

void storeDwords(Wave &wave, const Instruction &inst, const uint32_t *values, uint64_t mask) {
  uint32_t *row = wave.vgpr(inst.dst[0]);
  if (!inst.isSdwa) {
    blendRow(row, values, mask);
    return;
  }
  LaneBuffer placed;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    placed.dword[lane] = placeSdwa(inst.sdwa, values[lane], row[lane]);
  blendRow(row, placed.dword, mask);
}

void storeHalves(Wave &wave, const Instruction &inst, const uint32_t *values, uint64_t mask,
                 HighHalf highHalf) {
  uint32_t *row = wave.vgpr(inst.dst[0]);
  LaneBuffer merged;
  if (inst.isSdwa) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      merged.dword[lane] = placeSdwa(inst.sdwa, values[lane] & 0xffff, row[lane]);
  } else if (inst.dstOpSel || highHalf == HighHalf::Write) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      merged.dword[lane] = values[lane] << 16 | (row[lane] & 0xffff);
  } else {
    const uint32_t keep = highHalf == HighHalf::Keep ? 0xffff0000 : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      merged.dword[lane] = (values[lane] & 0xffff) | (row[lane] & keep);
  }
  blendRow(row, merged.dword, mask);
}

void storePlainHalves(uint32_t *row, const float *values, uint32_t keep, uint64_t mask) {
  LaneBuffer buffer;
  uint32_t *out = mask == Wave::allLanes ? row : buffer.dword;
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = numeric::floatToHalf(values[lane]) | (row[lane] & keep);
  if (mask != Wave::allLanes)
    blendRow(row, out, mask);
}

void finishFloats(const Wave &wave, const Instruction &inst, float *values) {
  finish(wave, inst, FloatMode(wave).flushOutF32, mode::roundF32, values);
}

void finishDoubles(const Wave &wave, const Instruction &inst, double *values) {
  finish(wave, inst, FloatMode(wave).flushOut64, mode::roundF64F16, values);
}

void finishHalves(const Wave &wave, const Instruction &inst, const float *values, uint32_t *codes) {
  const FloatMode mode(wave);
  const float factor = float(omodFactor(wave, inst, mode.flushOut64));
  const float scale = factor != 0 ? factor : 1;
  if (mode.fp16Overflow)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = numeric::floatToHalf(saturateHalf(values[lane] * scale));
  else
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = numeric::floatToHalf(values[lane] * scale);
  if (mode.flushOut64)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = numeric::flushDenormalHalf(uint16_t(codes[lane]));
  if (factor != 0)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = codes[lane] == 0x8000 ? 0 : codes[lane]; // omod turns -0 into +0
  if (inst.clamp)
    clampHalves(wave, codes, kLanes);
}

void finishHalfCodes(const Wave &wave, const Instruction &inst, uint32_t *codes) {
  if (!needsFinish(wave, inst, mode::denormF64F16))
    return;
  float values[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    values[lane] = numeric::halfToFloat(uint16_t(codes[lane]));
  const RoundingScope scope(wave.modeField(mode::roundF64F16, 2));
  finishHalves(wave, inst, values, codes);
}

} // namespace mono::emu::valu
