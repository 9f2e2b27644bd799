// 32- and 64-bit integer instructions of the vector ALU (CDNA4 ISA 12.7 to 12.9, 12.11).
#include "test/runtime/fuzz/LiteralLane.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

using In = LaneInput;

int64_t signed24(uint64_t v) { return int32_t(uint32_t(v) << 8) >> 8; }
uint64_t unsigned24(uint64_t v) { return v & 0xffffff; }
uint32_t byteOf(uint64_t v, unsigned n) { return uint32_t(v >> 8 * n) & 0xff; }

uint64_t wrapOrClampUnsigned(const In &x, int64_t value) {
  return x.clamp ? uint64_t(std::clamp<int64_t>(value, 0, 0xffffffff)) : uint64_t(uint32_t(value));
}
uint64_t wrapOrClampSigned(const In &x, int64_t value) {
  return x.clamp ? uint32_t(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)) : uint32_t(value);
}
uint64_t difference(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

uint64_t addCarry(In &x, uint64_t carry) {
  const uint64_t sum = uint64_t(x.u(0)) + x.u(1) + carry;
  x.carryOut = sum >> 32;
  return wrapOrClampUnsigned(x, int64_t(sum));
}
uint64_t subtractBorrow(In &x, uint32_t a, uint32_t b, unsigned borrow) {
  const int64_t result = int64_t(a) - b - borrow;
  x.carryOut = result < 0;
  return wrapOrClampUnsigned(x, result);
}

uint32_t sumOfByteDifferences(uint32_t a, uint32_t b, bool skipZeroReference) {
  uint32_t sum = 0;
  for (unsigned n = 0; n < 4; ++n)
    if (!skipZeroReference || byteOf(b, n))
      sum += uint32_t(difference(byteOf(a, n), byteOf(b, n)));
  return sum;
}
/// Four sums of byte differences at byte offsets 0 to 3 of a 64-bit window, 16 bits each.
uint64_t quadSad(const In &x, bool masked) {
  uint64_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint64_t base = x.s[2] >> 16 * n & 0xffff;
    uint64_t sum = base + sumOfByteDifferences(uint32_t(x.s[0] >> 8 * n), x.u(1), masked);
    if (x.clamp)
      sum = std::min<uint64_t>(sum, 0xffff);
    result |= (sum & 0xffff) << 16 * n;
  }
  return result;
}

/// V_PERM_B32: selectors 0-3 bytes of S1, 4-7 of S0, 8-11 signs of words, 12 zero, above 0xff.
uint32_t permute(const In &x) {
  const uint64_t pool = x.s[0] << 32 | x.u(1);
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const uint32_t select = byteOf(x.s[2], n);
    uint32_t byte = 0xff;
    if (select < 8)
      byte = byteOf(pool, select);
    else if (select < 12)
      byte = pool >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
    else if (select == 12)
      byte = 0;
    result |= byte << 8 * n;
  }
  return result;
}

uint32_t bitop3(const In &x) {
  const uint32_t table = uint32_t(x.line.number("bitop3"));
  uint32_t result = 0;
  for (unsigned n = 0; n < 32; ++n) {
    const unsigned index = (x.u(0) >> n & 1) << 2 | (x.u(1) >> n & 1) << 1 | (x.u(2) >> n & 1);
    result |= (table >> index & 1) << n;
  }
  return result;
}

uint64_t findHigh(uint32_t value) {
  for (unsigned n = 0; n < 32; ++n)
    if (value >> (31 - n) & 1)
      return n;
  return uint32_t(-1);
}
uint64_t findHighSigned(uint32_t value) {
  for (unsigned n = 1; n < 32; ++n)
    if ((value >> (31 - n) & 1) != value >> 31)
      return n;
  return uint32_t(-1);
}
uint64_t findLow(uint32_t value) {
  for (unsigned n = 0; n < 32; ++n)
    if (value >> n & 1)
      return n;
  return uint32_t(-1);
}
uint32_t reverse(uint32_t value) {
  uint32_t result = 0;
  for (unsigned n = 0; n < 32; ++n)
    result |= (value >> n & 1) << (31 - n);
  return result;
}
uint32_t countOnes(uint32_t value) {
  uint32_t n = 0;
  for (; value; value >>= 1)
    n += value & 1;
  return n;
}
/// V_MBCNT: bits of the mask for lanes below this one; `base` is 0 for lo and 32 for hi.
uint64_t maskedCount(const In &x, unsigned base) {
  uint32_t sum = x.u(1);
  for (unsigned n = 0; n < 32 && base + n < x.lane; ++n)
    sum += x.u(0) >> n & 1;
  return sum;
}

template <typename T> T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

uint32_t lerp(const In &x) {
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n)
    result |= ((byteOf(x.s[0], n) + byteOf(x.s[1], n) + (byteOf(x.s[2], n) & 1)) >> 1) << 8 * n;
  return result;
}
/// Two signed values shifted right and saturated to bytes: V_ASHR_PK_{I8,U8}_I32.
uint32_t shiftAndPack(const In &x, int low, int high) {
  const unsigned by = x.u(2) & 31;
  const uint32_t first = uint32_t(std::clamp(x.i(0) >> by, low, high)) & 0xff;
  const uint32_t second = uint32_t(std::clamp(x.i(1) >> by, low, high)) & 0xff;
  return first | second << 8;
}

const VectorOp kOps[] = {
    // ---- VOP1
    {"v_mov_b32", kVop, "i=i", [](In &x) { return x.s[0]; }},
    {"v_mov_b64", kE32 | kE64, "l=l", [](In &x) { return x.s[0]; }},
    {"v_not_b32", kVop, "i=i", [](In &x) { return uint64_t(~x.u(0)); }},
    {"v_bfrev_b32", kVop, "i=i", [](In &x) { return uint64_t(reverse(x.u(0))); }},
    {"v_ffbh_u32", kVop, "i=i", [](In &x) { return findHigh(x.u(0)); }},
    {"v_ffbl_b32", kVop, "i=i", [](In &x) { return findLow(x.u(0)); }},
    {"v_ffbh_i32", kVop, "i=i", [](In &x) { return findHighSigned(x.u(0)); }},
    {"v_prng_b32", kVop, "i=i",
     [](In &x) { return uint64_t(x.u(0) << 1 ^ (x.u(0) >> 31 ? 0xc5u : 0)); }},
    // ---- VOP2
    {"v_cndmask_b32", kVop, "m=mmc", [](In &x) { return x.bit ? x.s[1] : x.s[0]; }},
    {"v_add_u32", kVop | kClamp, "i=ii",
     [](In &x) { return wrapOrClampUnsigned(x, int64_t(x.u(0)) + x.u(1)); }},
    {"v_sub_u32", kVop | kClamp, "i=ii",
     [](In &x) { return wrapOrClampUnsigned(x, int64_t(x.u(0)) - x.u(1)); }},
    {"v_subrev_u32", kVop | kClamp, "i=ii",
     [](In &x) { return wrapOrClampUnsigned(x, int64_t(x.u(1)) - x.u(0)); }},
    {"v_add_co_u32", kVop | kCarryOut | kClamp, "i=ii", [](In &x) { return addCarry(x, 0); }},
    {"v_sub_co_u32", kVop | kCarryOut | kClamp, "i=ii",
     [](In &x) { return subtractBorrow(x, x.u(0), x.u(1), 0); }},
    {"v_subrev_co_u32", kVop | kCarryOut | kClamp, "i=ii",
     [](In &x) { return subtractBorrow(x, x.u(1), x.u(0), 0); }},
    {"v_addc_co_u32", kVop | kCarryOut | kClamp, "i=iic",
     [](In &x) { return addCarry(x, x.bit); }},
    {"v_subb_co_u32", kVop | kCarryOut | kClamp, "i=iic",
     [](In &x) { return subtractBorrow(x, x.u(0), x.u(1), x.bit); }},
    {"v_subbrev_co_u32", kVop | kCarryOut | kClamp, "i=iic",
     [](In &x) { return subtractBorrow(x, x.u(1), x.u(0), x.bit); }},
    {"v_mul_i32_i24", kVop, "i=ii",
     [](In &x) { return uint64_t(uint32_t(signed24(x.s[0]) * signed24(x.s[1]))); }},
    {"v_mul_hi_i32_i24", kVop, "i=ii",
     [](In &x) { return uint64_t(uint32_t(signed24(x.s[0]) * signed24(x.s[1]) >> 32)); }},
    {"v_mul_u32_u24", kVop, "i=ii",
     [](In &x) { return uint64_t(uint32_t(unsigned24(x.s[0]) * unsigned24(x.s[1]))); }},
    {"v_mul_hi_u32_u24", kVop, "i=ii",
     [](In &x) { return unsigned24(x.s[0]) * unsigned24(x.s[1]) >> 32; }},
    {"v_min_i32", kVop, "i=ii", [](In &x) { return uint64_t(uint32_t(std::min(x.i(0), x.i(1)))); }},
    {"v_max_i32", kVop, "i=ii", [](In &x) { return uint64_t(uint32_t(std::max(x.i(0), x.i(1)))); }},
    {"v_min_u32", kVop, "i=ii", [](In &x) { return uint64_t(std::min(x.u(0), x.u(1))); }},
    {"v_max_u32", kVop, "i=ii", [](In &x) { return uint64_t(std::max(x.u(0), x.u(1))); }},
    {"v_lshrrev_b32", kVop, "i=ii", [](In &x) { return uint64_t(x.u(1) >> (x.u(0) & 31)); }},
    {"v_ashrrev_i32", kVop, "i=ii",
     [](In &x) { return uint64_t(uint32_t(x.i(1) >> (x.u(0) & 31))); }},
    {"v_lshlrev_b32", kVop, "i=ii", [](In &x) { return uint64_t(x.u(1) << (x.u(0) & 31)); }},
    {"v_and_b32", kVop, "i=ii", [](In &x) { return x.s[0] & x.s[1]; }},
    {"v_or_b32", kVop, "i=ii", [](In &x) { return x.s[0] | x.s[1]; }},
    {"v_xor_b32", kVop, "i=ii", [](In &x) { return x.s[0] ^ x.s[1]; }},
    {"v_xnor_b32", kVop, "i=ii", [](In &x) { return uint64_t(~(x.u(0) ^ x.u(1))); }},
    // ---- VOP3
    {"v_add_i32", kBare | kClamp, "i=ii",
     [](In &x) { return wrapOrClampSigned(x, int64_t(x.i(0)) + x.i(1)); }},
    {"v_sub_i32", kBare | kClamp, "i=ii",
     [](In &x) { return wrapOrClampSigned(x, int64_t(x.i(0)) - x.i(1)); }},
    {"v_mad_i32_i24", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampSigned(x, signed24(x.s[0]) * signed24(x.s[1]) + x.i(2));
     }},
    {"v_mad_u32_u24", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampUnsigned(x, int64_t(unsigned24(x.s[0]) * unsigned24(x.s[1]) + x.u(2)));
     }},
    {"v_bfe_u32", kBare, "i=iii",
     [](In &x) {
       return uint64_t(x.u(0) >> (x.u(1) & 31) & ((1u << (x.u(2) & 31)) - 1));
     }},
    {"v_bfe_i32", kBare, "i=iii",
     [](In &x) {
       const unsigned width = x.u(2) & 31;
       if (width == 0)
         return uint64_t(0);
       const uint32_t field = uint32_t(x.i(0) >> (x.u(1) & 31)) & ((1u << width) - 1);
       return uint64_t(field >> (width - 1) ? field | ~0u << width : field);
     }},
    {"v_bfi_b32", kBare, "i=iii",
     [](In &x) { return (x.s[0] & x.s[1]) | (~x.u(0) & x.s[2]); }},
    {"v_bfm_b32", kBare, "i=ii",
     [](In &x) { return uint64_t(((1u << (x.u(0) & 31)) - 1) << (x.u(1) & 31)); }},
    {"v_lerp_u8", kBare, "i=iii", [](In &x) { return uint64_t(lerp(x)); }},
    {"v_alignbit_b32", kBare, "i=iii",
     [](In &x) { return uint64_t(uint32_t((x.s[0] << 32 | x.u(1)) >> (x.u(2) & 31))); }},
    {"v_alignbyte_b32", kBare, "i=iii",
     [](In &x) { return uint64_t(uint32_t((x.s[0] << 32 | x.u(1)) >> 8 * (x.u(2) & 3))); }},
    {"v_min3_i32", kBare, "i=iii",
     [](In &x) { return uint64_t(uint32_t(std::min({x.i(0), x.i(1), x.i(2)}))); }},
    {"v_min3_u32", kBare, "i=iii",
     [](In &x) { return uint64_t(std::min({x.u(0), x.u(1), x.u(2)})); }},
    {"v_max3_i32", kBare, "i=iii",
     [](In &x) { return uint64_t(uint32_t(std::max({x.i(0), x.i(1), x.i(2)}))); }},
    {"v_max3_u32", kBare, "i=iii",
     [](In &x) { return uint64_t(std::max({x.u(0), x.u(1), x.u(2)})); }},
    {"v_med3_i32", kBare, "i=iii",
     [](In &x) { return uint64_t(uint32_t(median(x.i(0), x.i(1), x.i(2)))); }},
    {"v_med3_u32", kBare, "i=iii",
     [](In &x) { return uint64_t(median(x.u(0), x.u(1), x.u(2))); }},
    {"v_sad_u8", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampUnsigned(x, int64_t(sumOfByteDifferences(x.u(0), x.u(1), false)) + x.u(2));
     }},
    {"v_sad_hi_u8", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampUnsigned(
           x, (int64_t(sumOfByteDifferences(x.u(0), x.u(1), false)) << 16) + x.u(2));
     }},
    {"v_sad_u16", kBare | kClamp, "i=iii",
     [](In &x) {
       const uint64_t sum = difference(x.u(0) & 0xffff, x.u(1) & 0xffff) +
                            difference(x.u(0) >> 16, x.u(1) >> 16) + x.u(2);
       return wrapOrClampUnsigned(x, int64_t(sum));
     }},
    {"v_sad_u32", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampUnsigned(x, int64_t(difference(x.u(0), x.u(1)) + x.u(2)));
     }},
    {"v_msad_u8", kBare | kClamp, "i=iii",
     [](In &x) {
       return wrapOrClampUnsigned(x, int64_t(sumOfByteDifferences(x.u(0), x.u(1), true)) + x.u(2));
     }},
    {"v_qsad_pk_u16_u8", kBare | kClamp, "l=lil", [](In &x) { return quadSad(x, false); }},
    {"v_mqsad_pk_u16_u8", kBare | kClamp, "l=lil", [](In &x) { return quadSad(x, true); }},
    {"v_mad_u64_u32", kBare | kCarryOut, "l=iil",
     [](In &x) {
       const Wide sum = Wide(uint64_t(x.u(0)) * x.u(1)) + x.s[2];
       x.carryOut = uint64_t(sum >> 64);
       return uint64_t(sum);
     }},
    {"v_mad_i64_i32", kBare | kCarryOut, "l=iil",
     [](In &x) {
       const __int128 sum = __int128(int64_t(x.i(0)) * x.i(1)) + int64_t(x.s[2]);
       x.carryOut = sum < 0; // bit 64 of a 65-bit sum
       return uint64_t(sum);
     }},
    {"v_mul_lo_u32", kBare, "i=ii", [](In &x) { return uint64_t(x.u(0) * x.u(1)); }},
    {"v_mul_hi_u32", kBare, "i=ii", [](In &x) { return uint64_t(x.u(0)) * x.u(1) >> 32; }},
    {"v_mul_hi_i32", kBare, "i=ii",
     [](In &x) { return uint64_t(uint32_t(int64_t(x.i(0)) * x.i(1) >> 32)); }},
    {"v_bcnt_u32_b32", kBare, "i=ii",
     [](In &x) { return uint64_t(countOnes(x.u(0)) + x.u(1)); }},
    {"v_mbcnt_lo_u32_b32", kBare, "i=ii", [](In &x) { return maskedCount(x, 0); }},
    {"v_mbcnt_hi_u32_b32", kBare, "i=ii", [](In &x) { return maskedCount(x, 32); }},
    {"v_lshlrev_b64", kBare, "l=il", [](In &x) { return x.s[1] << (x.u(0) & 63); }},
    {"v_lshrrev_b64", kBare, "l=il", [](In &x) { return x.s[1] >> (x.u(0) & 63); }},
    {"v_ashrrev_i64", kBare, "l=il",
     [](In &x) { return uint64_t(int64_t(x.s[1]) >> (x.u(0) & 63)); }},
    {"v_perm_b32", kBare, "i=iii", [](In &x) { return uint64_t(permute(x)); }},
    {"v_bitop3_b32", kBare, "i=iii", [](In &x) { return uint64_t(bitop3(x)); }},
    {"v_xad_u32", kBare, "i=iii",
     [](In &x) { return uint64_t((x.u(0) ^ x.u(1)) + x.u(2)); }},
    {"v_lshl_add_u32", kBare, "i=iii",
     [](In &x) { return uint64_t((x.u(0) << (x.u(1) & 31)) + x.u(2)); }},
    {"v_add_lshl_u32", kBare, "i=iii",
     [](In &x) { return uint64_t((x.u(0) + x.u(1)) << (x.u(2) & 31)); }},
    {"v_add3_u32", kBare, "i=iii",
     [](In &x) { return uint64_t(x.u(0) + x.u(1) + x.u(2)); }},
    {"v_lshl_or_b32", kBare, "i=iii",
     [](In &x) { return uint64_t(x.u(0) << (x.u(1) & 31) | x.u(2)); }},
    {"v_and_or_b32", kBare, "i=iii",
     [](In &x) { return (x.s[0] & x.s[1]) | x.s[2]; }},
    {"v_or3_b32", kBare, "i=iii", [](In &x) { return x.s[0] | x.s[1] | x.s[2]; }},
    // The shift count has three bits: CDNA3 added the instruction for address arithmetic.
    {"v_lshl_add_u64", kBare, "l=lil",
     [](In &x) { return (x.s[0] << (x.u(1) & 7)) + x.s[2]; }},
    {"v_ashr_pk_i8_i32", kBare | kOpSel, "s=iii",
     [](In &x) { return uint64_t(shiftAndPack(x, -128, 127)); }},
    {"v_ashr_pk_u8_i32", kBare | kOpSel, "s=iii",
     [](In &x) { return uint64_t(shiftAndPack(x, 0, 255)); }},
};

} // namespace

llvm::ArrayRef<VectorOp> integerOps() { return kOps; }

} // namespace mono::fuzz
