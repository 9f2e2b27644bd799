// Scalar ALU: SOP1, SOP2, SOPC and SOPK (CDNA4 ISA chapter 5 and 12.1 to 12.4).
#include "test/runtime/fuzz/LiteralLane.h"

#include <algorithm>
#include <map>

namespace mono::fuzz {

namespace {

using In = ScalarInput;

/// The usual rule: SCC = result is not zero.
uint64_t nonZero(In &x, uint64_t result) {
  x.scc = result != 0;
  return result;
}
uint64_t nonZero32(In &x, uint32_t result) { return nonZero(x, result); }

unsigned countOnes(uint64_t value) {
  unsigned n = 0;
  for (; value; value >>= 1)
    n += value & 1;
  return n;
}
/// Position of the first bit equal to `bit` from the low end, or -1.
uint32_t findLow(uint64_t value, unsigned bits, bool bit) {
  for (unsigned n = 0; n < bits; ++n)
    if ((value >> n & 1) == bit)
      return n;
  return uint32_t(-1);
}
/// Number of bits before the first one from the high end, or -1.
uint32_t findHigh(uint64_t value, unsigned bits) {
  for (unsigned n = 0; n < bits; ++n)
    if (value >> (bits - 1 - n) & 1)
      return n;
  return uint32_t(-1);
}
/// Number of bits from the high end equal to the sign, or -1 if all are.
uint32_t findHighSigned(uint64_t value, unsigned bits) {
  const bool sign = value >> (bits - 1) & 1;
  for (unsigned n = 1; n < bits; ++n)
    if ((value >> (bits - 1 - n) & 1) != sign)
      return n;
  return uint32_t(-1);
}
uint64_t reverse(uint64_t value, unsigned bits) {
  uint64_t result = 0;
  for (unsigned n = 0; n < bits; ++n)
    result |= (value >> n & 1) << (bits - 1 - n);
  return result;
}
/// Whole quads: a bit per group of four, or four bits where any is set.
uint64_t quadMask(uint64_t value, unsigned bits) {
  uint64_t result = 0;
  for (unsigned q = 0; q < bits / 4; ++q)
    result |= uint64_t((value >> 4 * q & 15) != 0) << q;
  return result;
}
uint64_t wholeQuads(uint64_t value, unsigned bits) {
  uint64_t result = 0;
  for (unsigned q = 0; q < bits / 4; ++q)
    if (value >> 4 * q & 15)
      result |= uint64_t(15) << 4 * q;
  return result;
}
uint64_t mask(unsigned bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

uint64_t extract(uint64_t value, unsigned offset, unsigned width, unsigned bits, bool isSigned) {
  if (width == 0)
    return 0;
  if (isSigned && bits == 32)
    value = uint64_t(int64_t(int32_t(value)));
  uint64_t field = isSigned ? uint64_t(int64_t(value) >> offset) : value >> offset;
  if (width >= bits || width >= 64)
    return field;
  field &= mask(width);
  if (isSigned && (field >> (width - 1) & 1))
    field |= ~mask(width);
  return field;
}

uint64_t addWithCarry(In &x, uint64_t carry) {
  const uint64_t sum = uint64_t(x.u(0)) + x.u(1) + carry;
  x.scc = sum >> 32;
  return sum;
}
uint64_t subtractWithBorrow(In &x, uint64_t borrow) {
  x.scc = x.u(0) < uint64_t(x.u(1)) + borrow;
  return x.u(0) - x.u(1) - borrow;
}
uint64_t addSigned(In &x, int64_t a, int64_t b) {
  const int64_t sum = a + b;
  x.scc = sum != int32_t(sum);
  return uint64_t(sum);
}
uint64_t shiftLeftAdd(In &x, unsigned by) {
  const uint64_t sum = (uint64_t(x.u(0)) << by) + x.u(1);
  x.scc = sum >> 32;
  return sum;
}

#define MONO_LOGIC(name, expression)                                                               \
  {"s_" name "_b32", "i=ii",                                                                       \
   [](In &x) {                                                                                     \
     const uint64_t a = x.s[0], b = x.s[1];                                                        \
     return nonZero32(x, uint32_t(expression));                                                    \
   }},                                                                                             \
  {                                                                                                \
    "s_" name "_b64", "l=ll", [](In &x) {                                                          \
      const uint64_t a = x.s[0], b = x.s[1];                                                       \
      return nonZero(x, expression);                                                               \
    }                                                                                              \
  }
/// D = EXEC, EXEC = S0 op EXEC; the wave writes EXEC from `exec`.
#define MONO_SAVEEXEC(name, expression)                                                            \
  {"s_" name "_saveexec_b64", "l=l", [](In &x) {                                                   \
     const uint64_t a = x.s[0], old = x.exec;                                                      \
     x.exec = nonZero(x, (expression));                                                            \
     return old;                                                                                   \
   }}
#define MONO_COMPARE(name, condition)                                                              \
  {"s_cmp_" name "_i32", "-=ii",                                                                   \
   [](In &x) {                                                                                     \
     const int32_t a = x.i(0), b = x.i(1);                                                         \
     x.scc = condition;                                                                            \
     return uint64_t(0);                                                                           \
   }},                                                                                             \
      {"s_cmp_" name "_u32", "-=ii",                                                               \
       [](In &x) {                                                                                 \
         const uint32_t a = x.u(0), b = x.u(1);                                                    \
         x.scc = condition;                                                                        \
         return uint64_t(0);                                                                       \
       }},                                                                                         \
      {"s_cmpk_" name "_i32", "-=ik",                                                              \
       [](In &x) {                                                                                 \
         const int32_t a = x.i(0), b = int16_t(x.s[1]);                                            \
         x.scc = condition;                                                                        \
         return uint64_t(0);                                                                       \
       }},                                                                                         \
  {                                                                                                \
    "s_cmpk_" name "_u32", "-=ik", [](In &x) {                                                     \
      const uint32_t a = x.u(0), b = uint16_t(x.s[1]);                                             \
      x.scc = condition;                                                                           \
      return uint64_t(0);                                                                          \
    }                                                                                              \
  }

const ScalarOp kOps[] = {
    // ---- SOP2
    {"s_add_u32", "i=ii", [](In &x) { return addWithCarry(x, 0); }},
    {"s_sub_u32", "i=ii", [](In &x) { return subtractWithBorrow(x, 0); }},
    {"s_add_i32", "i=ii", [](In &x) { return addSigned(x, x.i(0), x.i(1)); }},
    {"s_sub_i32", "i=ii", [](In &x) { return addSigned(x, x.i(0), -int64_t(x.i(1))); }},
    {"s_addc_u32", "i=ii", [](In &x) { return addWithCarry(x, x.scc); }},
    {"s_subb_u32", "i=ii", [](In &x) { return subtractWithBorrow(x, x.scc); }},
    {"s_min_i32", "i=ii",
     [](In &x) {
       x.scc = x.i(0) < x.i(1);
       return uint64_t(x.scc ? x.u(0) : x.u(1));
     }},
    {"s_min_u32", "i=ii",
     [](In &x) {
       x.scc = x.u(0) < x.u(1);
       return uint64_t(x.scc ? x.u(0) : x.u(1));
     }},
    {"s_max_i32", "i=ii",
     [](In &x) {
       x.scc = x.i(0) > x.i(1);
       return uint64_t(x.scc ? x.u(0) : x.u(1));
     }},
    {"s_max_u32", "i=ii",
     [](In &x) {
       x.scc = x.u(0) > x.u(1);
       return uint64_t(x.scc ? x.u(0) : x.u(1));
     }},
    {"s_cselect_b32", "i=ii", [](In &x) { return x.scc ? x.s[0] : x.s[1]; }},
    {"s_cselect_b64", "l=ll", [](In &x) { return x.scc ? x.s[0] : x.s[1]; }},
    MONO_LOGIC("and", a &b),
    MONO_LOGIC("or", a | b),
    MONO_LOGIC("xor", a ^ b),
    MONO_LOGIC("andn2", a & ~b),
    MONO_LOGIC("orn2", a | ~b),
    MONO_LOGIC("nand", ~(a & b)),
    MONO_LOGIC("nor", ~(a | b)),
    MONO_LOGIC("xnor", ~(a ^ b)),
    {"s_lshl_b32", "i=ii", [](In &x) { return nonZero32(x, x.u(0) << (x.u(1) & 31)); }},
    {"s_lshl_b64", "l=li", [](In &x) { return nonZero(x, x.s[0] << (x.s[1] & 63)); }},
    {"s_lshr_b32", "i=ii", [](In &x) { return nonZero32(x, x.u(0) >> (x.u(1) & 31)); }},
    {"s_lshr_b64", "l=li", [](In &x) { return nonZero(x, x.s[0] >> (x.s[1] & 63)); }},
    {"s_ashr_i32", "i=ii", [](In &x) { return nonZero32(x, uint32_t(x.i(0) >> (x.u(1) & 31))); }},
    {"s_ashr_i64", "l=li",
     [](In &x) { return nonZero(x, uint64_t(int64_t(x.s[0]) >> (x.s[1] & 63))); }},
    {"s_bfm_b32", "i=ii",
     [](In &x) { return uint64_t(uint32_t(mask(x.u(0) & 31)) << (x.u(1) & 31)); }},
    {"s_bfm_b64", "l=ii", [](In &x) { return mask(x.u(0) & 63) << (x.u(1) & 63); }},
    {"s_mul_i32", "i=ii", [](In &x) { return uint64_t(x.u(0) * x.u(1)); }},
    {"s_mul_hi_u32", "i=ii", [](In &x) { return uint64_t(x.u(0)) * x.u(1) >> 32; }},
    {"s_mul_hi_i32", "i=ii", [](In &x) { return uint64_t(int64_t(x.i(0)) * x.i(1) >> 32); }},
    {"s_bfe_u32", "i=ii",
     [](In &x) {
       return nonZero32(x, uint32_t(extract(x.u(0), x.u(1) & 31, x.u(1) >> 16 & 127, 32, false)));
     }},
    {"s_bfe_i32", "i=ii",
     [](In &x) {
       return nonZero32(x, uint32_t(extract(x.u(0), x.u(1) & 31, x.u(1) >> 16 & 127, 32, true)));
     }},
    {"s_bfe_u64", "l=li",
     [](In &x) { return nonZero(x, extract(x.s[0], x.u(1) & 63, x.u(1) >> 16 & 127, 64, false)); }},
    {"s_bfe_i64", "l=li",
     [](In &x) { return nonZero(x, extract(x.s[0], x.u(1) & 63, x.u(1) >> 16 & 127, 64, true)); }},
    {"s_absdiff_i32", "i=ii",
     [](In &x) {
       // The difference wraps to 32 bits before its absolute value is taken.
       const int32_t difference = int32_t(x.u(0) - x.u(1));
       return nonZero32(x, difference < 0 ? -uint32_t(difference) : uint32_t(difference));
     }},
    {"s_lshl1_add_u32", "i=ii", [](In &x) { return shiftLeftAdd(x, 1); }},
    {"s_lshl2_add_u32", "i=ii", [](In &x) { return shiftLeftAdd(x, 2); }},
    {"s_lshl3_add_u32", "i=ii", [](In &x) { return shiftLeftAdd(x, 3); }},
    {"s_lshl4_add_u32", "i=ii", [](In &x) { return shiftLeftAdd(x, 4); }},
    {"s_pack_ll_b32_b16", "i=ii",
     [](In &x) { return uint64_t((x.u(0) & 0xffff) | x.u(1) << 16); }},
    {"s_pack_lh_b32_b16", "i=ii",
     [](In &x) { return uint64_t((x.u(0) & 0xffff) | (x.u(1) & 0xffff0000)); }},
    {"s_pack_hh_b32_b16", "i=ii",
     [](In &x) { return uint64_t(x.u(0) >> 16 | (x.u(1) & 0xffff0000)); }},
    // ---- SOP1
    {"s_mov_b32", "i=i", [](In &x) { return x.s[0]; }},
    {"s_mov_b64", "l=l", [](In &x) { return x.s[0]; }},
    {"s_cmov_b32", "i=i",
     [](In &x) {
       x.writes = x.scc;
       return x.s[0];
     }},
    {"s_cmov_b64", "l=l",
     [](In &x) {
       x.writes = x.scc;
       return x.s[0];
     }},
    {"s_not_b32", "i=i", [](In &x) { return nonZero32(x, ~x.u(0)); }},
    {"s_not_b64", "l=l", [](In &x) { return nonZero(x, ~x.s[0]); }},
    {"s_wqm_b32", "i=i", [](In &x) { return nonZero(x, wholeQuads(x.u(0), 32)); }},
    {"s_wqm_b64", "l=l", [](In &x) { return nonZero(x, wholeQuads(x.s[0], 64)); }},
    {"s_quadmask_b32", "i=i", [](In &x) { return nonZero(x, quadMask(x.u(0), 32)); }},
    {"s_quadmask_b64", "l=l", [](In &x) { return nonZero(x, quadMask(x.s[0], 64)); }},
    {"s_brev_b32", "i=i", [](In &x) { return reverse(x.u(0), 32); }},
    {"s_brev_b64", "l=l", [](In &x) { return reverse(x.s[0], 64); }},
    {"s_bcnt0_i32_b32", "i=i", [](In &x) { return nonZero(x, 32 - countOnes(x.u(0))); }},
    {"s_bcnt0_i32_b64", "i=l", [](In &x) { return nonZero(x, 64 - countOnes(x.s[0])); }},
    {"s_bcnt1_i32_b32", "i=i", [](In &x) { return nonZero(x, countOnes(x.u(0))); }},
    {"s_bcnt1_i32_b64", "i=l", [](In &x) { return nonZero(x, countOnes(x.s[0])); }},
    {"s_ff0_i32_b32", "i=i", [](In &x) { return uint64_t(findLow(x.u(0), 32, false)); }},
    {"s_ff0_i32_b64", "i=l", [](In &x) { return uint64_t(findLow(x.s[0], 64, false)); }},
    {"s_ff1_i32_b32", "i=i", [](In &x) { return uint64_t(findLow(x.u(0), 32, true)); }},
    {"s_ff1_i32_b64", "i=l", [](In &x) { return uint64_t(findLow(x.s[0], 64, true)); }},
    {"s_flbit_i32_b32", "i=i", [](In &x) { return uint64_t(findHigh(x.u(0), 32)); }},
    {"s_flbit_i32_b64", "i=l", [](In &x) { return uint64_t(findHigh(x.s[0], 64)); }},
    {"s_flbit_i32", "i=i", [](In &x) { return uint64_t(findHighSigned(x.u(0), 32)); }},
    {"s_flbit_i32_i64", "i=l", [](In &x) { return uint64_t(findHighSigned(x.s[0], 64)); }},
    {"s_sext_i32_i8", "i=i", [](In &x) { return uint64_t(int64_t(int8_t(x.s[0]))); }},
    {"s_sext_i32_i16", "i=i", [](In &x) { return uint64_t(int64_t(int16_t(x.s[0]))); }},
    {"s_bitset0_b32", "i=i", [](In &x) { return x.old & ~(uint64_t(1) << (x.s[0] & 31)); }},
    {"s_bitset0_b64", "l=i", [](In &x) { return x.old & ~(uint64_t(1) << (x.s[0] & 63)); }},
    {"s_bitset1_b32", "i=i", [](In &x) { return x.old | uint64_t(1) << (x.s[0] & 31); }},
    {"s_bitset1_b64", "l=i", [](In &x) { return x.old | uint64_t(1) << (x.s[0] & 63); }},
    {"s_abs_i32", "i=i",
     [](In &x) { return nonZero32(x, x.i(0) < 0 ? -x.u(0) : x.u(0)); }},
    {"s_bitreplicate_b64_b32", "l=i",
     [](In &x) {
       uint64_t result = 0;
       for (unsigned n = 0; n < 32; ++n)
         if (x.u(0) >> n & 1)
           result |= uint64_t(3) << 2 * n;
       return result;
     }},
    MONO_SAVEEXEC("and", a &old),
    MONO_SAVEEXEC("or", a | old),
    MONO_SAVEEXEC("xor", a ^ old),
    MONO_SAVEEXEC("andn1", ~a & old),
    MONO_SAVEEXEC("andn2", a & ~old),
    MONO_SAVEEXEC("orn1", ~a | old),
    MONO_SAVEEXEC("orn2", a | ~old),
    MONO_SAVEEXEC("nand", ~(a & old)),
    MONO_SAVEEXEC("nor", ~(a | old)),
    MONO_SAVEEXEC("xnor", ~(a ^ old)),
    // EXEC and D both become the new mask.
    {"s_andn1_wrexec_b64", "l=l", [](In &x) { return x.exec = nonZero(x, ~x.s[0] & x.exec); }},
    {"s_andn2_wrexec_b64", "l=l", [](In &x) { return x.exec = nonZero(x, x.s[0] & ~x.exec); }},
    // ---- SOPC and SOPK
    MONO_COMPARE("eq", a == b),
    MONO_COMPARE("lg", a != b),
    MONO_COMPARE("gt", a > b),
    MONO_COMPARE("ge", a >= b),
    MONO_COMPARE("lt", a < b),
    MONO_COMPARE("le", a <= b),
    {"s_cmp_eq_u64", "-=ll",
     [](In &x) {
       x.scc = x.s[0] == x.s[1];
       return uint64_t(0);
     }},
    {"s_cmp_lg_u64", "-=ll",
     [](In &x) {
       x.scc = x.s[0] != x.s[1];
       return uint64_t(0);
     }},
    {"s_bitcmp0_b32", "-=ii",
     [](In &x) {
       x.scc = !(x.s[0] >> (x.s[1] & 31) & 1);
       return uint64_t(0);
     }},
    {"s_bitcmp1_b32", "-=ii",
     [](In &x) {
       x.scc = x.s[0] >> (x.s[1] & 31) & 1;
       return uint64_t(0);
     }},
    {"s_bitcmp0_b64", "-=li",
     [](In &x) {
       x.scc = !(x.s[0] >> (x.s[1] & 63) & 1);
       return uint64_t(0);
     }},
    {"s_bitcmp1_b64", "-=li",
     [](In &x) {
       x.scc = x.s[0] >> (x.s[1] & 63) & 1;
       return uint64_t(0);
     }},
    {"s_movk_i32", "i=k", [](In &x) { return uint64_t(int64_t(int16_t(x.s[0]))); }},
    {"s_cmovk_i32", "i=k",
     [](In &x) {
       x.writes = x.scc;
       return uint64_t(int64_t(int16_t(x.s[0])));
     }},
    {"s_addk_i32", "i=k",
     [](In &x) { return addSigned(x, int32_t(x.old), int16_t(x.s[0])); }},
    {"s_mulk_i32", "i=k",
     [](In &x) { return uint64_t(uint32_t(x.old) * uint32_t(int32_t(int16_t(x.s[0])))); }},
};

} // namespace

llvm::ArrayRef<ScalarOp> scalarOps() { return kOps; }

const ScalarOp *findScalarOp(std::string_view name) {
  static const auto *index = [] {
    auto *map = new std::map<std::string_view, const ScalarOp *>;
    for (const ScalarOp &op : kOps)
      map->emplace(op.name, &op);
    return map;
  }();
  const auto found = index->find(name);
  return found == index->end() ? nullptr : found->second;
}

} // namespace mono::fuzz
