// Operand fetch and write-back of the vector ALU.
#include "runtime/emulator/exec/ValuOperands.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>

namespace mono::emu::valu {
namespace {

constexpr unsigned kLanes = Wave::lanes;

template <typename Fn> void transform(LaneBuffer &buffer, Fn fn) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    buffer.dword[lane] = fn(buffer.dword[lane]);
}

/// One dword of a scalar source.
uint32_t scalarDword(const Wave &wave, const Operand &operand, unsigned dword) {
  if (operand.isSgpr())
    return wave.sgprs[operand.index + dword];
  if (operand.isImmediate() || operand.dwords < 2)
    return dword ? uint32_t(operand.imm >> 32) : wave.readScalar32(operand);
  return uint32_t(wave.readScalar64(operand) >> (32 * dword));
}

/// Copies the raw dwords, through DPP where it applies.
void copyRaw(Wave &wave, const Instruction &inst, const Operand &operand, unsigned dword,
             LaneBuffer &buffer) {
  if (!operand.isVector()) {
    std::fill_n(buffer.dword, kLanes, scalarDword(wave, operand, dword));
    return;
  }
  const uint32_t *row = wave.vgpr(operand, dword);
  if (inst.isDpp && &operand == &inst.src[0])
    dppFetch(wave, inst.dpp, row, buffer.dword);
  else
    std::copy_n(row, kLanes, buffer.dword);
}

/// Moves the SDWA-selected byte or word to the bottom, zero- or sign-extended.
void selectSdwa(const Operand &operand, LaneBuffer &buffer) {
  const unsigned select = operand.sdwaSel;
  if (select >= 6)
    return;
  const unsigned width = select < 4 ? 8 : 16;
  const unsigned shift = select < 4 ? 8 * select : 16 * (select - 4);
  const unsigned drop = 32 - width;
  if (operand.sext)
    transform(buffer, [=](uint32_t v) { return uint32_t(int32_t(v << (drop - shift)) >> drop); });
  else
    transform(buffer, [=](uint32_t v) { return v << (drop - shift) >> drop; });
}

void applySign(const Operand &operand, uint32_t signBit, LaneBuffer &buffer) {
  const uint32_t keep = operand.abs ? ~signBit : ~0u;
  const uint32_t flip = operand.neg ? signBit : 0;
  if (operand.abs || operand.neg)
    transform(buffer, [=](uint32_t v) { return (v & keep) ^ flip; });
}

void flushFloats(LaneBuffer &buffer) {
  transform(buffer, [](uint32_t v) { return v & 0x7f800000 ? v : v & 0x80000000; });
}
void flushHalves(LaneBuffer &buffer) {
  transform(buffer, [](uint32_t v) { return v & 0x7c00 ? v : v & 0x8000; });
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
template <typename Float> Float clampUnit(Float value, bool dx10) {
  if (value != value)
    return dx10 ? Float(0) : value;
  return value <= 0 ? Float(0) : std::min(value, Float(1));
}

/// omod, flush and clamp in the hardware's order.
template <typename Float>
void finish(const Wave &wave, const Instruction &inst, bool flushOut, Float *values) {
  const bool dx10 = FloatMode(wave).dx10Clamp;
  const Float factor = Float(omodFactor(wave, inst, flushOut));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Float value = values[lane];
    if (factor != 0)
      value *= factor;
    if (flushOut)
      value = numeric::flushDenormal(value);
    if (factor != 0)
      value += Float(0); // omod turns -0 into +0
    values[lane] = inst.clamp ? clampUnit(value, dx10) : value;
  }
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
  copyRaw(wave, inst, operand, dword, buffer);
  if (inst.isSdwa)
    selectSdwa(operand, buffer);
  const FloatMode mode(wave);
  switch (kind) {
  case ValueKind::Bits32:
    break;
  case ValueKind::Float32:
    applySign(operand, 0x80000000, buffer);
    if (mode.flushInF32)
      flushFloats(buffer);
    break;
  case ValueKind::Sign32:
  case ValueKind::Float64Hi:
    applySign(operand, 0x80000000, buffer);
    break;
  case ValueKind::Bits16:
  case ValueKind::Float16:
    if (operand.opSel)
      transform(buffer, [](uint32_t v) { return v >> 16; });
    if (kind == ValueKind::Float16) {
      applySign(operand, 0x8000, buffer);
      if (mode.flushIn64)
        flushHalves(buffer);
    }
    break;
  }
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

const uint32_t *fetchPackedHalf(Wave &wave, const Instruction &inst, const Operand &operand,
                                bool high, HalfKind kind, LaneBuffer &buffer) {
  copyRaw(wave, inst, operand, 0, buffer);
  const bool packedFormat = inst.format == Format::Vop3p;
  const bool upper = packedFormat ? (high ? operand.opSelHi : operand.opSel) : high;
  const uint32_t shift = upper ? 16 : 0;
  const bool negate =
      kind != HalfKind::Integer && packedFormat && (high ? operand.negHi : operand.neg);
  const uint32_t flip = negate ? 0x8000 : 0;
  transform(buffer, [=](uint32_t v) { return (v >> shift & 0xffff) ^ flip; });
  if (kind == HalfKind::F16 && FloatMode(wave).flushIn64)
    flushHalves(buffer);
  return buffer.dword;
}

const uint32_t *fetchPackedDword(Wave &wave, const Instruction &inst, const Operand &operand,
                                 bool high, bool isFloat, LaneBuffer &buffer) {
  const bool second = high ? operand.opSelHi : operand.opSel;
  const bool negate = isFloat && (high ? operand.negHi : operand.neg);
  const bool flush = isFloat && FloatMode(wave).flushInF32;
  if (operand.isVector() && !negate && !flush)
    return wave.vgpr(operand, second);
  copyRaw(wave, inst, operand, operand.isImmediate() ? 0 : second, buffer);
  if (negate)
    transform(buffer, [](uint32_t v) { return v ^ 0x80000000; });
  if (flush)
    flushFloats(buffer);
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

void finishFloats(const Wave &wave, const Instruction &inst, float *values) {
  finish(wave, inst, FloatMode(wave).flushOutF32, values);
}

void finishDoubles(const Wave &wave, const Instruction &inst, double *values) {
  finish(wave, inst, FloatMode(wave).flushOut64, values);
}

void finishHalves(const Wave &wave, const Instruction &inst, const float *values, uint32_t *codes) {
  const FloatMode mode(wave);
  const float factor = float(omodFactor(wave, inst, mode.flushOut64));
  const float scale = factor != 0 ? factor : 1;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    codes[lane] = numeric::floatToHalf(values[lane] * scale);
  if (mode.fp16Overflow)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((codes[lane] & 0x7fff) == 0x7c00 && std::isfinite(values[lane]))
        codes[lane] = (codes[lane] & 0x8000) | 0x7bff;
  if (mode.flushOut64)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = numeric::flushDenormalHalf(uint16_t(codes[lane]));
  if (factor != 0)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      codes[lane] = codes[lane] == 0x8000 ? 0 : codes[lane]; // omod turns -0 into +0
  finishHalfCodes(wave, inst, codes);
}

void finishHalfCodes(const Wave &wave, const Instruction &inst, uint32_t *codes) {
  if (!inst.clamp)
    return;
  const bool dx10 = FloatMode(wave).dx10Clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    codes[lane] =
        numeric::floatToHalf(clampUnit(numeric::halfToFloat(uint16_t(codes[lane])), dx10));
}

} // namespace mono::emu::valu
