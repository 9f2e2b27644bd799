// Conversions between integers, f16, f32 and f64.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <limits>

namespace mono::emu::valu {
namespace {

/// Toward zero, saturating, NaN to 0. Written with selects so that lane loops vectorise; the value
/// converted is always in range.
template <typename Float> i32 toI32(Float x) {
  const bool tooHigh = x >= Float(2147483648.0), inRange = x > Float(-2147483648.0) && !tooHigh;
  const i32 converted = i32(inRange ? x : Float(0));
  const i32 outside = tooHigh                     ? std::numeric_limits<i32>::max()
                      : x <= Float(-2147483648.0) ? std::numeric_limits<i32>::min()
                                                  : 0;
  return inRange ? converted : outside;
}
template <typename Float> u32 toU32(Float x) {
  const Float half = 2147483648.0;
  const bool upper = x >= half, tooHigh = x >= 2 * half;
  const Float reduced = upper ? x - half : x;
  const u32 converted = u32(i32(reduced > 0 && !tooHigh ? reduced : Float(0)));
  return tooHigh ? std::numeric_limits<u32>::max() : converted + (upper ? 0x80000000u : 0u);
}

template <typename Int> Int toShort(float x) {
  if (x != x)
    return 0;
  using Limits = std::numeric_limits<Int>;
  return Int(std::clamp(x, float(Limits::min()), float(Limits::max())));
}

/// Float in [-1, 1] or [0, 1] to a fraction of the greatest integer, to nearest even; NaN to 0. The
/// product is exact in double: rounded to float first, it would find ties that are none.
i16 toSnorm16(float x) {
  return x != x ? 0 : i16(__builtin_roundeven(std::clamp(x, -1.0f, 1.0f) * 32767.0));
}
u16 toUnorm16(float x) {
  return x != x ? 0 : u16(__builtin_roundeven(std::clamp(x, 0.0f, 1.0f) * 65535.0));
}

/// u32 to float where the host does not round to nearest: one lane at a time, which the barrier
/// sees to, as the compiler's code for vectors makes -0 of 0 where the host rounds down.
template <typename Float> Float unsignedDirected(u32 x) {
  asm("" : "+r"(x));
  return Float(x);
}

/// V_CVT_RPI_I32_F32: to the nearest integer, ties upward.
i32 roundHalfUp(float x) { return toI32(std::floor(double(x) + 0.5)); }

/// V_CVT_OFF_F32_I4: a signed 4-bit number of sixteenths.
float offsetI4(u32 x) { return float(i32(x << 28) >> 28) / 16; }

/// f32 to u8 toward zero and saturating, put into byte `n` of `old` (V_CVT_PK_U8_F32).
u32 insertU8(float x, u32 n, u32 old) {
  const u32 shift = 8 * (n & 3);
  return (old & ~(0xffu << shift)) | std::min(toU32(x), 255u) << shift;
}

const Entry kWords[] = {
    {"V_CVT_F32_I32", valu<[](i32 x) { return float(x); }>},
    {"V_CVT_F32_U32", valuByRounding<[](u32 x) { return float(x); },
                                     [](u32 x) { return unsignedDirected<float>(x); }>},
    {"V_CVT_I32_F32", valu<[](float x) { return toI32(x); }>},
    {"V_CVT_U32_F32", valu<[](float x) { return toU32(x); }>},
    {"V_CVT_RPI_I32_F32", valu<[](float x) { return roundHalfUp(x); }>},
    {"V_CVT_FLR_I32_F32", valu<[](float x) { return toI32(std::floor(x)); }>},
    {"V_CVT_OFF_F32_I4", valu<[](u32 x) { return offsetI4(x); }>},
    {"V_CVT_F32_UBYTE0", valu<[](u32 x) { return float(x & 0xff); }>},
    {"V_CVT_F32_UBYTE1", valu<[](u32 x) { return float(x >> 8 & 0xff); }>},
    {"V_CVT_F32_UBYTE2", valu<[](u32 x) { return float(x >> 16 & 0xff); }>},
    {"V_CVT_F32_UBYTE3", valu<[](u32 x) { return float(x >> 24); }>},
    {"V_CVT_F64_I32", valu<[](i32 x) { return double(x); }>},
    {"V_CVT_F64_U32", valuByRounding<[](u32 x) { return double(x); },
                                     [](u32 x) { return unsignedDirected<double>(x); }>},
    {"V_CVT_I32_F64", valu<[](double x) { return toI32(x); }>},
    {"V_CVT_U32_F64", valu<[](double x) { return toU32(x); }>},
    {"V_CVT_F32_F64", valu<[](double x) { return float(x); }>},
    {"V_CVT_F64_F32", valu<[](float x) { return double(x); }>},
};

const Entry kHalves[] = {
    {"V_CVT_F16_F32", valu<[](float x) { return F16{x}; }>},
    {"V_CVT_F32_F16", valu<[](F16 x) { return x.value; }>},
    {"V_CVT_F16_U16", valu<[](u16 x) { return F16{float(x)}; }>},
    {"V_CVT_F16_I16", valu<[](i16 x) { return F16{float(x)}; }>},
    {"V_CVT_U16_F16", valu<[](F16 x) { return toShort<u16>(x.value); }>},
    {"V_CVT_I16_F16", valu<[](F16 x) { return toShort<i16>(x.value); }>},
    {"V_CVT_NORM_I16_F16", valu<[](F16 x) { return toSnorm16(x.value); }>},
    {"V_CVT_NORM_U16_F16", valu<[](F16 x) { return toUnorm16(x.value); }>},
};

const Entry kPacks[] = {
    {"V_CVT_PKNORM_I16_F32",
     valu<[](float a, float b) { return pairOf(u16(toSnorm16(a)), u16(toSnorm16(b))); }>},
    {"V_CVT_PKNORM_U16_F32",
     valu<[](float a, float b) { return pairOf(toUnorm16(a), toUnorm16(b)); }>},
    {"V_CVT_PKNORM_I16_F16",
     valu<[](F16 a, F16 b) { return pairOf(u16(toSnorm16(a.value)), u16(toSnorm16(b.value))); }>},
    {"V_CVT_PKNORM_U16_F16",
     valu<[](F16 a, F16 b) { return pairOf(toUnorm16(a.value), toUnorm16(b.value)); }>},
    {"V_CVT_PK_I16_I32",
     valu<[](i32 a, i32 b) { return pairOf(u16(saturate<i16>(a)), u16(saturate<i16>(b))); }>},
    {"V_CVT_PK_U16_U32",
     valu<[](u32 a, u32 b) { return pairOf(saturate<u16>(a), saturate<u16>(b)); }>},
    {"V_CVT_PK_U8_F32", valu<[](float x, u32 n, u32 old) { return insertU8(x, n, old); }>},
};

/// Eight f32 to f16 codes in dwords.
template <int HostRounding> __m256i halvesOf(const uint32_t *lanes) {
  const __m256 values = _mm256_loadu_ps(reinterpret_cast<const float *>(lanes));
  return _mm256_cvtepu16_epi32(_mm256_cvtps_ph(values, HostRounding | _MM_FROUND_NO_EXC));
}

/// V_CVT_PKRTZ_F16_F32 and V_CVT_PK_F16_F32: two f32 to f16 side by side, rounded toward zero (then
/// overflow gives the greatest finite number) or to nearest even, whatever MODE's round field says.
template <int HostRounding> void packHalves(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[2], result;
  const uint32_t *low = fetchRow(wave, inst, inst.src[0], 0, ValueKind::Float32, buffers[0]);
  const uint32_t *high = fetchRow(wave, inst, inst.src[1], 0, ValueKind::Float32, buffers[1]);
  const FloatMode mode(wave);
  if (mode.fp16Overflow && HostRounding == _MM_FROUND_TO_NEAREST_INT) [[unlikely]] {
    low = saturateForHalves(low, buffers[0]);
    high = saturateForHalves(high, buffers[1]);
  }
  for (unsigned lane = 0; lane < Wave::lanes; lane += 8)
    _mm256_store_si256(reinterpret_cast<__m256i *>(result.dword + lane),
                       _mm256_or_si256(halvesOf<HostRounding>(low + lane),
                                       _mm256_slli_epi32(halvesOf<HostRounding>(high + lane), 16)));
  finishPackedHalfCodes(wave, inst, reinterpret_cast<Half *>(result.dword));
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}

/// V_CVT_PKACCUM_U8_F32: as V_CVT_PK_U8_F32 with the destination as the third source.
void packAccumulate(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[2], result;
  const uint32_t *value = fetchRow(wave, inst, inst.src[0], 0, ValueKind::Float32, buffers[0]);
  const uint32_t *byte = fetchRow(wave, inst, inst.src[1], 0, ValueKind::Bits32, buffers[1]);
  const uint32_t *old = wave.vgpr(inst.dst[0]);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    result.dword[lane] = insertU8(std::bit_cast<float>(value[lane]), byte[lane], old[lane]);
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}

} // namespace

void registerConvert(HandlerTable &table) {
  addAll(table, kWords);
  addAll(table, kHalves);
  addAll(table, kPacks);
  table.add("V_CVT_PKRTZ_F16_F32", packHalves<_MM_FROUND_TO_ZERO>);
  table.add("V_CVT_PK_F16_F32", packHalves<_MM_FROUND_TO_NEAREST_INT>);
  table.add("V_CVT_PKACCUM_U8_F32", packAccumulate);
}

} // namespace mono::emu::valu
