// Conversions from and to fp8, bf8 and bf16 without scales.
#include "runtime/emulator/exec/CvtElements.h"
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"

namespace mono::emu::valu {
namespace {

using numeric::FloatFormat;

// ---- widening ------------------------------------------------------------------------------

template <const FloatFormat &Format>
constexpr auto kByteToFloat = [](u32 x) { return numeric::decodeSmall<Format>(x); };

/// V_CVT_PK_F32_FP8 and _BF8: the two bytes of the word that SDWA or op_sel picks.
template <const FloatFormat &Format> void widenPair(Wave &wave, const Instruction &inst) {
  LaneBuffer buffer, low, high;
  const uint32_t *words = fetchRow(wave, inst, inst.src[0], 0, ValueKind::Bits16, buffer);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    low.dword[lane] = std::bit_cast<u32>(numeric::decodeSmall<Format>(words[lane]));
    high.dword[lane] = std::bit_cast<u32>(numeric::decodeSmall<Format>(words[lane] >> 8));
  }
  const uint64_t mask = writeMask(wave, inst);
  blendRow(wave.vgpr(inst.dst[0], 0), low.dword, mask);
  blendRow(wave.vgpr(inst.dst[0], 1), high.dword, mask);
}

// ---- narrowing -----------------------------------------------------------------------------

/// V_CVT_PK_FP8_F32 and _BF8: nearest even, two bytes into the half that op_sel[3] picks.
template <const FloatFormat &Format> void narrowPair(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[2], result;
  const uint32_t *rows[2];
  for (unsigned n = 0; n < 2; ++n)
    rows[n] = fetchRow(wave, inst, inst.src[n], 0, ValueKind::Float32, buffers[n]);
  const numeric::Overflow overflow = overflowOf(wave);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    const auto code = [&](unsigned n) {
      return numeric::encodeNearest<Format>(std::bit_cast<float>(rows[n][lane]), overflow);
    };
    result.dword[lane] = code(0) | code(1) << 8;
  }
  storeHalves(wave, inst, result.dword, writeMask(wave, inst), HighHalf::Keep);
}

/// FP16_OVFL for each format: fp8 and bf8 saturate, f16 does but keeps infinity, bf16 has no such
/// rule.
template <const FloatFormat &Format> numeric::Overflow overflowFor(const Wave &wave) {
  if (Format.bits() == 8)
    return overflowOf(wave);
  const bool saturates = Format.exponentBits == 5 && FloatMode(wave).fp16Overflow;
  return saturates ? numeric::Overflow::SaturateNotExact : numeric::Overflow::ToInfinity;
}

/// V_CVT_SR_*_F32: stochastic rounding with the random bits of the second source, into the byte
/// (fp8, bf8: op_sel[3:2]) or half (f16, bf16: op_sel[3]) of the destination; the rest stays.
template <const FloatFormat &Format> void narrowStochastic(Wave &wave, const Instruction &inst) {
  constexpr unsigned bits = Format.bits();
  LaneBuffer buffers[2], result;
  const uint32_t *value = fetchRow(wave, inst, inst.src[0], 0, ValueKind::Float32, buffers[0]);
  const uint32_t *random = fetchRow(wave, inst, inst.src[1], 0, ValueKind::Bits32, buffers[1]);
  const numeric::Overflow overflow = overflowFor<Format>(wave);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    result.dword[lane] = numeric::encodeStochastic<Format>(std::bit_cast<float>(value[lane]),
                                                           overflow, random[lane]);
  storeElement(wave, inst, result.dword, bits, inst.opSel >> (bits == 8 ? 2 : 3));
}

constexpr auto kPackBf16 = [](float a, float b) {
  return pairOf(numeric::floatToBf16(a), numeric::floatToBf16(b));
};

const Entry kEntries[] = {
    {"V_CVT_F32_FP8", valu<kByteToFloat<numeric::kFp8E4M3>>},
    {"V_CVT_F32_BF8", valu<kByteToFloat<numeric::kBf8E5M2>>},
    {"V_CVT_F32_BF16", valu<[](u16 x) { return numeric::bf16ToFloat(x); }>},
    {"V_CVT_PK_F32_FP8", widenPair<numeric::kFp8E4M3>},
    {"V_CVT_PK_F32_BF8", widenPair<numeric::kBf8E5M2>},
    {"V_CVT_PK_FP8_F32", narrowPair<numeric::kFp8E4M3>},
    {"V_CVT_PK_BF8_F32", narrowPair<numeric::kBf8E5M2>},
    {"V_CVT_PK_BF16_F32", valu<kPackBf16>},
    {"V_CVT_SR_FP8_F32", narrowStochastic<numeric::kFp8E4M3>},
    {"V_CVT_SR_BF8_F32", narrowStochastic<numeric::kBf8E5M2>},
    {"V_CVT_SR_F16_F32", narrowStochastic<numeric::kFp16>},
    {"V_CVT_SR_BF16_F32", narrowStochastic<numeric::kBf16>},
};

} // namespace

void registerConvertSmall(HandlerTable &table) { addAll(table, kEntries); }

} // namespace mono::emu::valu
