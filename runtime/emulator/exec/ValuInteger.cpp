// 32- and 64-bit integer and bit instructions of VOP1, VOP2 and VOP3.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <immintrin.h>

namespace mono::emu::valu {
namespace {

constexpr i32 signed24(u32 value) { return i32(value << 8) >> 8; }
constexpr u32 unsigned24(u32 value) { return value & 0xffffff; }

constexpr u32 absoluteDifference(u32 a, u32 b) { return a > b ? a - b : b - a; }
constexpr u32 byteOf(u32 value, unsigned n) { return value >> (8 * n) & 0xff; }

/// Sum of absolute byte differences; `masked` leaves out bytes where the reference `b` is zero.
constexpr u32 sadBytes(u32 a, u32 b, bool masked) {
  u32 sum = 0;
  for (unsigned n = 0; n < 4; ++n)
    if (!masked || byteOf(b, n))
      sum += absoluteDifference(byteOf(a, n), byteOf(b, n));
  return sum;
}

/// Four 16-bit sums over a window that slides by one byte (V_QSAD_PK_U16_U8, V_MQSAD_PK_U16_U8).
template <bool Masked, bool Clamp>
constexpr auto kSadWindows = [](u64 a, u32 b, u64 c) {
  u64 result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    u32 sum = sadBytes(u32(a >> (8 * n)), b, Masked) + u32(c >> (16 * n) & 0xffff);
    if (Clamp)
      sum = std::min(sum, 0xffffu);
    result |= u64(sum & 0xffff) << (16 * n);
  }
  return result;
};

constexpr u32 extract(u32 value, u32 offset, u32 width) {
  return width ? value >> offset & (~0u >> (32 - width)) : 0;
}
/// A field past bit 31 is filled with the sign of the register.
constexpr i32 extractSigned(i32 value, u32 offset, u32 width) {
  return width ? i32(u32(value >> offset) << (32 - width)) >> (32 - width) : 0;
}

constexpr u32 reverseBits(u32 value) {
  value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
  value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
  value = (value >> 4 & 0x0f0f0f0f) | (value & 0x0f0f0f0f) << 4;
  return value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24;
}

constexpr u32 lerpBytes(u32 a, u32 b, u32 round) {
  u32 result = 0;
  for (unsigned n = 0; n < 4; ++n)
    result |= ((byteOf(a, n) + byteOf(b, n) + (byteOf(round, n) & 1)) >> 1) << (8 * n);
  return result;
}

constexpr u32 clampByte(i32 value, i32 low, i32 high) {
  return u32(std::clamp(value, low, high)) & 0xff;
}

const Entry kArithmetic[] = {
    {"V_ADD_U32", valuSaturating<[](u32 a, u32 b) { return a + b; },
                                 [](u32 a, u32 b) { return saturate<u32>(i64(a) + i64(b)); }>},
    {"V_SUB_U32", valuSaturating<[](u32 a, u32 b) { return a - b; },
                                 [](u32 a, u32 b) { return saturate<u32>(i64(a) - i64(b)); }>},
    {"V_SUBREV_U32", valuSaturating<[](u32 a, u32 b) { return b - a; },
                                    [](u32 a, u32 b) { return saturate<u32>(i64(b) - i64(a)); }>},
    {"V_ADD_I32", valuSaturating<[](u32 a, u32 b) { return a + b; },
                                 [](i32 a, i32 b) { return saturate<i32>(i64(a) + b); }>},
    {"V_SUB_I32", valuSaturating<[](u32 a, u32 b) { return a - b; },
                                 [](i32 a, i32 b) { return saturate<i32>(i64(a) - b); }>},
    {"V_ADD3_U32", valu<[](u32 a, u32 b, u32 c) { return a + b + c; }>},
    {"V_LSHL_ADD_U32", valu<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>},
    {"V_ADD_LSHL_U32", valu<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>},
    {"V_LSHL_ADD_U64", valu<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>},
    {"V_XAD_U32", valu<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>},
    {"V_MIN_U32", valu<[](u32 a, u32 b) { return std::min(a, b); }>},
    {"V_MAX_U32", valu<[](u32 a, u32 b) { return std::max(a, b); }>},
    {"V_MIN_I32", valu<[](i32 a, i32 b) { return std::min(a, b); }>},
    {"V_MAX_I32", valu<[](i32 a, i32 b) { return std::max(a, b); }>},
    {"V_MIN3_U32", valu<[](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); }>},
    {"V_MAX3_U32", valu<[](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); }>},
    {"V_MIN3_I32", valu<[](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); }>},
    {"V_MAX3_I32", valu<[](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); }>},
    {"V_MED3_U32", valu<[](u32 a, u32 b, u32 c) { return median(a, b, c); }>},
    {"V_MED3_I32", valu<[](i32 a, i32 b, i32 c) { return median(a, b, c); }>},
};

constexpr WithCarry sumOf(u32 a, u32 b, u32 carry) {
  const u64 sum = u64(a) + b + carry;
  return {u32(sum), (sum >> 32) != 0};
}
constexpr WithCarry differenceOf(u32 a, u32 b, u32 borrow) {
  return {a - b - borrow, u64(b) + borrow > a};
}
/// What clamp makes of a sum and of a difference; the carry stays.
constexpr WithCarry clampSum(WithCarry sum) { return {sum.carry ? ~0u : sum.value, sum.carry}; }
constexpr WithCarry clampDifference(WithCarry difference) {
  return {difference.carry ? 0 : difference.value, difference.carry};
}

const Entry kCarry[] = {
    {"V_ADD_CO_U32", valuSaturating<[](u32 a, u32 b) { return sumOf(a, b, 0); },
                                    [](u32 a, u32 b) { return clampSum(sumOf(a, b, 0)); }>},
    {"V_SUB_CO_U32",
     valuSaturating<[](u32 a, u32 b) { return differenceOf(a, b, 0); },
                    [](u32 a, u32 b) { return clampDifference(differenceOf(a, b, 0)); }>},
    {"V_SUBREV_CO_U32",
     valuSaturating<[](u32 a, u32 b) { return differenceOf(b, a, 0); },
                    [](u32 a, u32 b) { return clampDifference(differenceOf(b, a, 0)); }>},
    {"V_ADDC_CO_U32",
     valuSaturating<[](u32 a, u32 b, MaskBit c) { return sumOf(a, b, c.value); },
                    [](u32 a, u32 b, MaskBit c) { return clampSum(sumOf(a, b, c.value)); }>},
    {"V_SUBB_CO_U32",
     valuSaturating<[](u32 a, u32 b, MaskBit c) { return differenceOf(a, b, c.value); },
                    [](u32 a, u32 b, MaskBit c) {
                      return clampDifference(differenceOf(a, b, c.value));
                    }>},
    {"V_SUBBREV_CO_U32",
     valuSaturating<[](u32 a, u32 b, MaskBit c) { return differenceOf(b, a, c.value); },
                    [](u32 a, u32 b, MaskBit c) {
                      return clampDifference(differenceOf(b, a, c.value));
                    }>},
};

const Entry kMultiply[] = {
    {"V_MUL_LO_U32", valu<[](u32 a, u32 b) { return a * b; }>},
    {"V_MUL_HI_U32", valu<[](u32 a, u32 b) { return u32(u64(a) * b >> 32); }>},
    {"V_MUL_HI_I32", valu<[](i32 a, i32 b) { return i32(i64(a) * b >> 32); }>},
    {"V_MUL_I32_I24", valu<[](u32 a, u32 b) { return u32(signed24(a)) * u32(signed24(b)); }>},
    {"V_MUL_HI_I32_I24",
     valu<[](u32 a, u32 b) { return i32(i64(signed24(a)) * signed24(b) >> 32); }>},
    {"V_MUL_U32_U24", valu<[](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); }>},
    {"V_MUL_HI_U32_U24",
     valu<[](u32 a, u32 b) { return u32(u64(unsigned24(a)) * unsigned24(b) >> 32); }>},
    {"V_MAD_I32_I24",
     valuSaturating<[](u32 a, u32 b, u32 c) { return u32(signed24(a)) * u32(signed24(b)) + c; },
                    [](u32 a, u32 b, i32 c) {
                      return saturate<i32>(i64(signed24(a)) * signed24(b) + c);
                    }>},
    {"V_MAD_U32_U24",
     valuSaturating<[](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; },
                    [](u32 a, u32 b, u32 c) {
                      return saturate<u32>(i64(unsigned24(a)) * unsigned24(b) + c);
                    }>},
    {"V_MAD_I32_I16",
     valuSaturating<[](int16_t a, int16_t b, u32 c) { return u32(i32(a) * b) + c; },
                    [](int16_t a, int16_t b, i32 c) { return saturate<i32>(i64(a) * b + c); }>},
    {"V_MAD_U32_U16",
     valuSaturating<[](uint16_t a, uint16_t b, u32 c) { return u32(a) * b + c; },
                    [](uint16_t a, uint16_t b, u32 c) { return saturate<u32>(i64(a) * b + c); }>},
};

const Entry kBits[] = {
    {"V_NOT_B32", valu<[](u32 a) { return ~a; }>},
    {"V_AND_B32", valu<[](u32 a, u32 b) { return a & b; }>},
    {"V_OR_B32", valu<[](u32 a, u32 b) { return a | b; }>},
    {"V_XOR_B32", valu<[](u32 a, u32 b) { return a ^ b; }>},
    {"V_XNOR_B32", valu<[](u32 a, u32 b) { return ~(a ^ b); }>},
    {"V_OR3_B32", valu<[](u32 a, u32 b, u32 c) { return a | b | c; }>},
    {"V_AND_OR_B32", valu<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>},
    {"V_LSHL_OR_B32", valu<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>},
    {"V_LSHLREV_B32", valu<[](u32 a, u32 b) { return b << (a & 31); }>},
    {"V_LSHRREV_B32", valu<[](u32 a, u32 b) { return b >> (a & 31); }>},
    {"V_ASHRREV_I32", valu<[](u32 a, i32 b) { return b >> (a & 31); }>},
    {"V_LSHLREV_B64", valu<[](u32 a, u64 b) { return b << (a & 63); }>},
    {"V_LSHRREV_B64", valu<[](u32 a, u64 b) { return b >> (a & 63); }>},
    {"V_ASHRREV_I64", valu<[](u32 a, i64 b) { return b >> (a & 63); }>},
    {"V_BFE_U32", valu<[](u32 a, u32 b, u32 c) { return extract(a, b & 31, c & 31); }>},
    {"V_BFE_I32", valu<[](i32 a, u32 b, u32 c) { return extractSigned(a, b & 31, c & 31); }>},
    {"V_BFI_B32", valu<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>},
    {"V_BFM_B32", valu<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>},
    {"V_BFREV_B32", valu<[](u32 a) { return reverseBits(a); }>},
    {"V_BCNT_U32_B32", valu<[](u32 a, u32 b) { return u32(std::popcount(a)) + b; }>},
    {"V_FFBH_U32", valu<[](u32 a) { return a ? std::countl_zero(a) : -1; }>},
    {"V_FFBL_B32", valu<[](u32 a) { return a ? std::countr_zero(a) : -1; }>},
    {"V_FFBH_I32", valu<[](i32 a) {
       const u32 differing = u32(a ^ (a >> 31)); // ones where a bit differs from the sign
       return differing ? std::countl_zero(differing) : -1;
     }>},
    {"V_ALIGNBIT_B32",
     valu<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (c & 31)); }>},
    {"V_ALIGNBYTE_B32",
     valu<[](u32 a, u32 b, u32 c) { return u32((u64(a) << 32 | b) >> (8 * (c & 3))); }>},
    {"V_MBCNT_LO_U32_B32", valu<[](u32 a, u32 b, LaneId lane) {
       const u32 below = lane.value >= 32 ? ~0u : (1u << (lane.value & 31)) - 1;
       return u32(std::popcount(a & below)) + b;
     }>},
    {"V_MBCNT_HI_U32_B32", valu<[](u32 a, u32 b, LaneId lane) {
       const u32 below = lane.value < 32 ? 0 : (1u << (lane.value & 31)) - 1;
       return u32(std::popcount(a & below)) + b;
     }>},
    {"V_PRNG_B32", valu<[](u32 a) { return nextRandom(a); }>},
};

/// A difference added to the third operand; clamp saturates the sum.
template <auto Difference>
constexpr Handler sumHandler =
    valuSaturating<[](u32 a, u32 b, u32 c) { return Difference(a, b) + c; },
                   [](u32 a, u32 b, u32 c) { return saturate<u32>(i64(Difference(a, b)) + c); }>;

const Entry kDifferences[] = {
    {"V_SAD_U8", sumHandler<[](u32 a, u32 b) { return sadBytes(a, b, false); }>},
    {"V_MSAD_U8", sumHandler<[](u32 a, u32 b) { return sadBytes(a, b, true); }>},
    {"V_SAD_HI_U8", sumHandler<[](u32 a, u32 b) { return sadBytes(a, b, false) << 16; }>},
    {"V_SAD_U16", sumHandler<[](u32 a, u32 b) {
       return absoluteDifference(a & 0xffff, b & 0xffff) + absoluteDifference(a >> 16, b >> 16);
     }>},
    {"V_SAD_U32", sumHandler<[](u32 a, u32 b) { return absoluteDifference(a, b); }>},
    {"V_QSAD_PK_U16_U8", valuSaturating<kSadWindows<false, false>, kSadWindows<false, true>>},
    {"V_MQSAD_PK_U16_U8", valuSaturating<kSadWindows<true, false>, kSadWindows<true, true>>},
    {"V_LERP_U8", valu<[](u32 a, u32 b, u32 c) { return lerpBytes(a, b, c); }>},
    {"V_ASHR_PK_I8_I32", valu<[](i32 a, i32 b, u32 c) {
       return uint16_t(clampByte(a >> (c & 31), -128, 127) | clampByte(b >> (c & 31), -128, 127)
                                                                 << 8);
     },
                              HighHalf::Keep>},
    {"V_ASHR_PK_U8_I32", valu<[](i32 a, i32 b, u32 c) {
       return uint16_t(clampByte(a >> (c & 31), 0, 255) | clampByte(b >> (c & 31), 0, 255) << 8);
     },
                              HighHalf::Keep>},
};

/// V_PERM_B32 on eight lanes: each byte of `select` picks one of {a, b}: 0-3 a byte of b, 4-7 of a,
/// 8-11 the sign of b's then a's odd bytes, 12 zero, anything above all ones.
__m256i permuteBytes(__m256i a, __m256i b, __m256i select) {
  // A byte shuffle picks within 16 bytes, so the byte number starts at the lane's own dword.
  const __m256i ownDword = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, //
                                            0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  const auto pick = [&](__m256i byte, __m256i fromA) {
    const __m256i index = _mm256_add_epi8(byte, ownDword);
    return _mm256_blendv_epi8(_mm256_shuffle_epi8(b, index), _mm256_shuffle_epi8(a, index), fromA);
  };
  const __m256i zero = _mm256_setzero_si256(), three = _mm256_set1_epi8(3);
  // Bit 2 of the selector on top of its byte.
  const __m256i plain = pick(_mm256_and_si256(select, three), _mm256_slli_epi16(select, 5));
  const __m256i isPlain =
      _mm256_cmpeq_epi8(_mm256_and_si256(select, _mm256_set1_epi8(char(0xf8))), zero);
  if (_mm256_movemask_epi8(isPlain) == -1) [[likely]]
    return plain;
  const __m256i odd = _mm256_and_si256(
      _mm256_or_si256(_mm256_add_epi8(select, select), _mm256_set1_epi8(1)), three);
  const __m256i sign = _mm256_cmpgt_epi8(zero, pick(odd, _mm256_slli_epi16(select, 6)));
  const __m256i isSign = _mm256_cmpeq_epi8(_mm256_and_si256(select, _mm256_set1_epi8(char(0xfc))),
                                           _mm256_set1_epi8(8));
  const __m256i isTwelve = _mm256_cmpeq_epi8(select, _mm256_set1_epi8(12));
  const __m256i constant = _mm256_andnot_si256(isTwelve, _mm256_set1_epi8(-1));
  return _mm256_blendv_epi8(_mm256_blendv_epi8(constant, sign, isSign), plain, isPlain);
}

void perm(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[3], result;
  const uint32_t *rows[3];
  for (unsigned n = 0; n < 3; ++n)
    rows[n] = fetchRow(wave, inst, inst.src[n], 0, ValueKind::Bits32, buffers[n]);
  const auto load = [](const uint32_t *at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(at));
  };
  for (unsigned lane = 0; lane < Wave::lanes; lane += 8)
    _mm256_store_si256(
        reinterpret_cast<__m256i *>(result.dword + lane),
        permuteBytes(load(rows[0] + lane), load(rows[1] + lane), load(rows[2] + lane)));
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}

/// V_BITOP3: bit {a, b, c} of the truth table, for every bit position. `rows[n]` is all ones where
/// the table has a one in row n; by Shannon expansion on a, then b, then c.
u32 truthTable(const u32 (&rows)[8], u32 a, u32 b, u32 c) {
  const auto onC = [&](unsigned row) { return (rows[row] & ~c) | (rows[row + 1] & c); };
  const auto onB = [&](unsigned row) { return (onC(row) & ~b) | (onC(row + 2) & b); };
  return (onB(0) & ~a) | (onB(4) & a);
}

template <ValueKind Kind> void bitop3Rows(Wave &wave, const Instruction &inst, LaneBuffer &result) {
  // The modifier bits of this encoding hold the table, so the operands have none of their own.
  LaneBuffer buffers[3];
  const uint32_t *sources[3];
  for (unsigned n = 0; n < 3; ++n)
    sources[n] = fetchRow(wave, inst, inst.src[n], 0, Kind, buffers[n]);
  u32 rows[8];
  for (unsigned n = 0; n < 8; ++n)
    rows[n] = -(inst.imm >> n & 1);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    result.dword[lane] = truthTable(rows, sources[0][lane], sources[1][lane], sources[2][lane]);
}

void bitop3B32(Wave &wave, const Instruction &inst) {
  LaneBuffer result;
  bitop3Rows<ValueKind::Bits32>(wave, inst, result);
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}
void bitop3B16(Wave &wave, const Instruction &inst) {
  LaneBuffer result;
  bitop3Rows<ValueKind::Bits16>(wave, inst, result);
  storeHalves(wave, inst, result.dword, writeMask(wave, inst), HighHalf::Keep);
}

/// V_MAD_U64_U32 and V_MAD_I64_I32: a 64-bit sum with its carry in dst[1].
template <bool Signed> void mad64(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[4];
  const auto row = [&](unsigned src, unsigned dword, unsigned n) {
    return fetchRow(wave, inst, inst.src[src], dword, ValueKind::Bits32, buffers[n]);
  };
  const uint32_t *a = row(0, 0, 0), *b = row(1, 0, 1), *low = row(2, 0, 2), *high = row(2, 1, 3);
  LaneBuffer sumLow, sumHigh, carry;
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    const u64 addend = low[lane] | u64(high[lane]) << 32;
    const u64 product = Signed ? u64(i64(i32(a[lane])) * i32(b[lane])) : u64(a[lane]) * b[lane];
    const u64 sum = product + addend;
    sumLow.dword[lane] = u32(sum);
    sumHigh.dword[lane] = u32(sum >> 32);
    // Bit 64 of the sum: the carry, and for sign-extended terms their signs at that place too.
    const bool signs = Signed && ((product ^ addend) >> 63);
    carry.dword[lane] = -u32((sum < product) ^ signs);
  }
  const uint64_t mask = writeMask(wave, inst);
  blendRow(wave.vgpr(inst.dst[0], 0), sumLow.dword, mask);
  blendRow(wave.vgpr(inst.dst[0], 1), sumHigh.dword, mask);
  wave.writeScalar64(inst.dst[1], packSigns(carry.dword) & mask);
}

/// V_MQSAD_U32_U8: four masked sums, each added to a dword of the 128-bit third operand.
void mqsadU32(Wave &wave, const Instruction &inst) {
  LaneBuffer buffers[7], result[4];
  const auto row = [&](unsigned src, unsigned dword, unsigned n) {
    return fetchRow(wave, inst, inst.src[src], dword, ValueKind::Bits32, buffers[n]);
  };
  const uint32_t *low = row(0, 0, 0), *high = row(0, 1, 1), *reference = row(1, 0, 2);
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t *addend = row(2, n, 3 + n);
    for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
      const u64 data = low[lane] | u64(high[lane]) << 32;
      result[n].dword[lane] = sadBytes(u32(data >> (8 * n)), reference[lane], true) + addend[lane];
    }
  }
  const uint64_t mask = writeMask(wave, inst);
  for (unsigned n = 0; n < 4; ++n)
    blendRow(wave.vgpr(inst.dst[0], n), result[n].dword, mask);
}

} // namespace

void registerInteger(HandlerTable &table) {
  addAll(table, kArithmetic);
  addAll(table, kCarry);
  addAll(table, kMultiply);
  addAll(table, kBits);
  addAll(table, kDifferences);
  table.add("V_PERM_B32", perm);
  table.add("V_BITOP3_B32", bitop3B32);
  table.add("V_BITOP3_B16", bitop3B16);
  table.add("V_MAD_U64_U32", mad64<false>);
  table.add("V_MAD_I64_I32", mad64<true>);
  table.add("V_MQSAD_U32_U8", mqsadU32);
}

} // namespace mono::emu::valu
