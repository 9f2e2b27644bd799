// Scalar ALU: SOP1, SOP2, SOPK, SOPC (CDNA4 ISA chapter "Scalar ALU Operations", 12.1-12.4).
#include "runtime/emulator/exec/Handlers.h"
#include "runtime/emulator/exec/Wave.h"

#include <algorithm>
#include <bit>

namespace mono::emu {
namespace {

// ---- shapes: where operands come from and results go -------------------------------------------

template <auto op> void binary32(Wave &w, const Instruction &i) {
  w.writeScalar32(i.dst[0], op(w, w.readScalar32(i.src[0]), w.readScalar32(i.src[1])));
}
template <auto op> void binary64(Wave &w, const Instruction &i) {
  w.writeScalar64(i.dst[0], op(w, w.readScalar64(i.src[0]), w.readScalar64(i.src[1])));
}
/// 64-bit value, 32-bit shift or field operand.
template <auto op> void shift64(Wave &w, const Instruction &i) {
  w.writeScalar64(i.dst[0], op(w, w.readScalar64(i.src[0]), w.readScalar32(i.src[1])));
}
template <auto op> void unary32(Wave &w, const Instruction &i) {
  w.writeScalar32(i.dst[0], op(w, w.readScalar32(i.src[0])));
}
template <auto op> void unary64(Wave &w, const Instruction &i) {
  w.writeScalar64(i.dst[0], op(w, w.readScalar64(i.src[0])));
}
template <auto op> void unary64To32(Wave &w, const Instruction &i) {
  w.writeScalar32(i.dst[0], op(w, w.readScalar64(i.src[0])));
}
template <auto op> void unary32To64(Wave &w, const Instruction &i) {
  w.writeScalar64(i.dst[0], op(w, w.readScalar32(i.src[0])));
}
template <auto op> void compare32(Wave &w, const Instruction &i) {
  w.scc = op(w.readScalar32(i.src[0]), w.readScalar32(i.src[1]));
}
template <auto op> void compare64(Wave &w, const Instruction &i) {
  w.scc = op(w.readScalar64(i.src[0]), w.readScalar64(i.src[1]));
}
template <auto op> void compareK(Wave &w, const Instruction &i) {
  w.scc = op(w.readScalar32(i.src[0]), i.imm);
}

// ---- add, subtract, compare, select ------------------------------------------------------------

uint32_t addUnsigned(Wave &w, uint32_t a, uint32_t b) {
  uint32_t sum = a + b;
  w.scc = sum < a;
  return sum;
}
uint32_t subUnsigned(Wave &w, uint32_t a, uint32_t b) {
  w.scc = b > a;
  return a - b;
}
uint32_t addSigned(Wave &w, uint32_t a, uint32_t b) {
  int32_t result;
  w.scc = __builtin_add_overflow(int32_t(a), int32_t(b), &result);
  return uint32_t(result);
}
uint32_t subSigned(Wave &w, uint32_t a, uint32_t b) {
  int32_t result;
  w.scc = __builtin_sub_overflow(int32_t(a), int32_t(b), &result);
  return uint32_t(result);
}
uint32_t addCarry(Wave &w, uint32_t a, uint32_t b) {
  uint64_t sum = uint64_t(a) + b + w.scc;
  w.scc = sum >> 32;
  return uint32_t(sum);
}
uint32_t subBorrow(Wave &w, uint32_t a, uint32_t b) {
  uint64_t subtrahend = uint64_t(b) + w.scc;
  w.scc = subtrahend > a;
  return uint32_t(a - subtrahend);
}
/// SCC says that the first source was taken (ISA S_MIN/S_MAX; equal sources give 0).
template <typename T, bool wantMax> uint32_t minMax(Wave &w, uint32_t a, uint32_t b) {
  w.scc = wantMax ? T(a) > T(b) : T(a) < T(b);
  return w.scc ? a : b;
}
uint32_t absDiff(Wave &w, uint32_t a, uint32_t b) {
  uint32_t difference = a - b;
  if (int32_t(difference) < 0)
    difference = 0 - difference;
  w.scc = difference != 0;
  return difference;
}
template <unsigned shift> uint32_t shiftLeftAdd(Wave &w, uint32_t a, uint32_t b) {
  uint64_t sum = (uint64_t(a) << shift) + b;
  w.scc = sum >> 32;
  return uint32_t(sum);
}

void registerArithmetic(HandlerTable &t) {
  t.add("S_ADD_U32", binary32<addUnsigned>);
  t.add("S_SUB_U32", binary32<subUnsigned>);
  t.add("S_ADD_I32", binary32<addSigned>);
  t.add("S_SUB_I32", binary32<subSigned>);
  t.add("S_ADDC_U32", binary32<addCarry>);
  t.add("S_SUBB_U32", binary32<subBorrow>);
  t.add("S_MIN_I32", binary32<minMax<int32_t, false>>);
  t.add("S_MIN_U32", binary32<minMax<uint32_t, false>>);
  t.add("S_MAX_I32", binary32<minMax<int32_t, true>>);
  t.add("S_MAX_U32", binary32<minMax<uint32_t, true>>);
  t.add("S_ABSDIFF_I32", binary32<absDiff>);
  t.add("S_LSHL1_ADD_U32", binary32<shiftLeftAdd<1>>);
  t.add("S_LSHL2_ADD_U32", binary32<shiftLeftAdd<2>>);
  t.add("S_LSHL3_ADD_U32", binary32<shiftLeftAdd<3>>);
  t.add("S_LSHL4_ADD_U32", binary32<shiftLeftAdd<4>>);
  t.add("S_MUL_I32", binary32<[](Wave &, uint32_t a, uint32_t b) { return a * b; }>);
  t.add("S_MUL_HI_U32",
        binary32<[](Wave &, uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }>);
  t.add("S_MUL_HI_I32", binary32<[](Wave &, uint32_t a, uint32_t b) {
          return uint32_t(int64_t(int32_t(a)) * int32_t(b) >> 32);
        }>);
  t.add("S_CSELECT_B32", binary32<[](Wave &w, uint32_t a, uint32_t b) { return w.scc ? a : b; }>);
  t.add("S_CSELECT_B64", binary64<[](Wave &w, uint64_t a, uint64_t b) { return w.scc ? a : b; }>);
  t.add("S_ABS_I32", unary32<[](Wave &w, uint32_t a) {
          uint32_t result = int32_t(a) < 0 ? 0 - a : a;
          w.scc = result != 0;
          return result;
        }>);
}

// ---- bitwise -----------------------------------------------------------------------------------

/// Result with SCC = result is not zero, the rule of all logical operations and shifts.
template <typename T> T nonZero(Wave &w, T value) {
  w.scc = value != 0;
  return value;
}

template <auto op, typename T> T logical(Wave &w, T a, T b) { return nonZero<T>(w, T(op(a, b))); }

template <auto op> void addLogical(HandlerTable &t, const std::string &name) {
  t.add(name + "_B32", binary32<logical<op, uint32_t>>);
  t.add(name + "_B64", binary64<logical<op, uint64_t>>);
}

/// Field extract: offset in s1[4:0] (64 bit: [5:0]), width in s1[22:16].
template <typename T> T bitfieldExtract(Wave &w, T value, uint32_t control) {
  constexpr unsigned bits = sizeof(T) * 8;
  unsigned offset = control & (bits - 1), width = std::min(control >> 16 & 0x7F, bits);
  if (width == 0)
    return nonZero<T>(w, 0);
  width = std::min(width, bits - offset); // beyond the top: zeros, or the sign for signed T
  unsigned left = bits - offset - width;
  return nonZero<T>(w, T(T(value << left) >> (bits - width)));
}

void registerShifts(HandlerTable &t) {
  t.add("S_LSHL_B32",
        binary32<[](Wave &w, uint32_t a, uint32_t b) { return nonZero(w, a << (b & 31)); }>);
  t.add("S_LSHR_B32",
        binary32<[](Wave &w, uint32_t a, uint32_t b) { return nonZero(w, a >> (b & 31)); }>);
  t.add("S_ASHR_I32", binary32<[](Wave &w, uint32_t a, uint32_t b) {
          return nonZero(w, uint32_t(int32_t(a) >> (b & 31)));
        }>);
  t.add("S_LSHL_B64",
        shift64<[](Wave &w, uint64_t a, uint32_t b) { return nonZero(w, a << (b & 63)); }>);
  t.add("S_LSHR_B64",
        shift64<[](Wave &w, uint64_t a, uint32_t b) { return nonZero(w, a >> (b & 63)); }>);
  t.add("S_ASHR_I64", shift64<[](Wave &w, uint64_t a, uint32_t b) {
          return nonZero(w, uint64_t(int64_t(a) >> (b & 63)));
        }>);
  t.add(
      "S_BFE_U32",
      binary32<[](Wave &w, uint32_t a, uint32_t b) { return bitfieldExtract<uint32_t>(w, a, b); }>);
  t.add("S_BFE_I32", binary32<[](Wave &w, uint32_t a, uint32_t b) {
          return uint32_t(bitfieldExtract<int32_t>(w, int32_t(a), b));
        }>);
  t.add(
      "S_BFE_U64",
      shift64<[](Wave &w, uint64_t a, uint32_t b) { return bitfieldExtract<uint64_t>(w, a, b); }>);
  t.add("S_BFE_I64", shift64<[](Wave &w, uint64_t a, uint32_t b) {
          return uint64_t(bitfieldExtract<int64_t>(w, int64_t(a), b));
        }>);
  t.add(
      "S_BFM_B32",
      binary32<[](Wave &, uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }>);
  t.add("S_BFM_B64", [](Wave &w, const Instruction &i) {
    uint32_t width = w.readScalar32(i.src[0]) & 63, offset = w.readScalar32(i.src[1]) & 63;
    w.writeScalar64(i.dst[0], ((uint64_t(1) << width) - 1) << offset);
  });
}

void registerLogical(HandlerTable &t) {
  addLogical<[](auto a, auto b) { return a & b; }>(t, "S_AND");
  addLogical<[](auto a, auto b) { return a | b; }>(t, "S_OR");
  addLogical<[](auto a, auto b) { return a ^ b; }>(t, "S_XOR");
  addLogical<[](auto a, auto b) { return a & ~b; }>(t, "S_ANDN2");
  addLogical<[](auto a, auto b) { return a | ~b; }>(t, "S_ORN2");
  addLogical<[](auto a, auto b) { return ~(a & b); }>(t, "S_NAND");
  addLogical<[](auto a, auto b) { return ~(a | b); }>(t, "S_NOR");
  addLogical<[](auto a, auto b) { return ~(a ^ b); }>(t, "S_XNOR");
  t.add("S_NOT_B32", unary32<[](Wave &w, uint32_t a) { return nonZero(w, ~a); }>);
  t.add("S_NOT_B64", unary64<[](Wave &w, uint64_t a) { return nonZero(w, ~a); }>);
  t.add("S_PACK_LL_B32_B16",
        binary32<[](Wave &, uint32_t a, uint32_t b) { return (a & 0xFFFF) | b << 16; }>);
  t.add("S_PACK_LH_B32_B16",
        binary32<[](Wave &, uint32_t a, uint32_t b) { return (a & 0xFFFF) | (b & 0xFFFF0000); }>);
  t.add("S_PACK_HH_B32_B16",
        binary32<[](Wave &, uint32_t a, uint32_t b) { return a >> 16 | (b & 0xFFFF0000); }>);
}

// ---- bit counting and searching ----------------------------------------------------------------

/// Position of the first set bit from the low end, -1 if there is none.
template <typename T> uint32_t findFirst(Wave &, T value) {
  return value == 0 ? ~0u : uint32_t(std::countr_zero(value));
}
/// Number of zeros from the high end, -1 if the value is zero.
template <typename T> uint32_t findFirstHigh(Wave &, T value) {
  return value == 0 ? ~0u : uint32_t(std::countl_zero(value));
}
/// Number of bits equal to the sign from the high end; -1 if all are.
template <typename T> uint32_t findSignChange(Wave &w, T value) {
  T top = T(std::make_signed_t<T>(value) >> (sizeof(T) * 8 - 1));
  return findFirstHigh<T>(w, value ^ top);
}
template <typename T> T reverseBits(Wave &, T value) {
  T result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit)
    result |= (value >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
  return result;
}
/// Each group of four bits becomes all ones if one of them is set.
template <typename T> T wholeQuad(Wave &w, T value) {
  T result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * 8; bit += 4)
    if (value >> bit & 0xF)
      result |= T(0xF) << bit;
  return nonZero(w, result);
}
/// One bit a group of four bits.
template <typename T> T quadMask(Wave &w, T value) {
  T result = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad)
    result |= T((value >> (4 * quad) & 0xF) != 0) << quad;
  return nonZero(w, result);
}
uint64_t replicateBits(Wave &, uint32_t value) {
  uint64_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit)
    result |= uint64_t(value >> bit & 1) * 3 << (2 * bit);
  return result;
}
template <typename T> uint32_t countOnes(Wave &w, T value) {
  return nonZero(w, uint32_t(std::popcount(value)));
}
template <typename T> uint32_t countZeros(Wave &w, T value) {
  return nonZero(w, uint32_t(std::popcount(T(~value))));
}

void registerBitSearch(HandlerTable &t) {
  t.add("S_BREV_B32", unary32<reverseBits<uint32_t>>);
  t.add("S_BREV_B64", unary64<reverseBits<uint64_t>>);
  t.add("S_WQM_B32", unary32<wholeQuad<uint32_t>>);
  t.add("S_WQM_B64", unary64<wholeQuad<uint64_t>>);
  t.add("S_QUADMASK_B32", unary32<quadMask<uint32_t>>);
  t.add("S_QUADMASK_B64", unary64<quadMask<uint64_t>>);
  t.add("S_BITREPLICATE_B64_B32", unary32To64<replicateBits>);
  t.add("S_BCNT0_I32_B32", unary32<countZeros<uint32_t>>);
  t.add("S_BCNT0_I32_B64", unary64To32<countZeros<uint64_t>>);
  t.add("S_BCNT1_I32_B32", unary32<countOnes<uint32_t>>);
  t.add("S_BCNT1_I32_B64", unary64To32<countOnes<uint64_t>>);
  t.add("S_FF1_I32_B32", unary32<findFirst<uint32_t>>);
  t.add("S_FF1_I32_B64", unary64To32<findFirst<uint64_t>>);
  t.add("S_FF0_I32_B32", unary32<[](Wave &w, uint32_t a) { return findFirst<uint32_t>(w, ~a); }>);
  t.add("S_FF0_I32_B64",
        unary64To32<[](Wave &w, uint64_t a) { return findFirst<uint64_t>(w, ~a); }>);
  t.add("S_FLBIT_I32_B32", unary32<findFirstHigh<uint32_t>>);
  t.add("S_FLBIT_I32_B64", unary64To32<findFirstHigh<uint64_t>>);
  t.add("S_FLBIT_I32", unary32<findSignChange<uint32_t>>);
  t.add("S_FLBIT_I32_I64", unary64To32<findSignChange<uint64_t>>);
  t.add("S_SEXT_I32_I8", unary32<[](Wave &, uint32_t a) { return uint32_t(int32_t(int8_t(a))); }>);
  t.add("S_SEXT_I32_I16",
        unary32<[](Wave &, uint32_t a) { return uint32_t(int32_t(int16_t(a))); }>);
}

// ---- moves -------------------------------------------------------------------------------------

template <bool value, typename T> void bitSet(Wave &w, const Instruction &i) {
  unsigned bit = w.readScalar32(i.src[0]) & (sizeof(T) * 8 - 1);
  T mask = T(1) << bit;
  uint64_t old = sizeof(T) == 8 ? w.sgpr64(i.dst[0].index) : w.sgprs[i.dst[0].index];
  uint64_t result = value ? old | mask : old & ~mask;
  if (sizeof(T) == 8)
    w.writeScalar64(i.dst[0], result);
  else
    w.writeScalar32(i.dst[0], uint32_t(result));
}

/// The register M0 places behind `base`; an error outside s0-s101.
bool relativeRegister(Wave &w, const Operand &base, unsigned dwords, unsigned &index) {
  uint64_t target = uint64_t(base.index) + w.m0();
  if (target + dwords > sgpr::flatScratch) {
    w.fault("scalar register s" + std::to_string(base.index) + " + m0 = " + std::to_string(target) +
            " is outside s0-s101");
    return false;
  }
  index = unsigned(target);
  return true;
}
template <unsigned dwords> void moveRelativeSource(Wave &w, const Instruction &i) {
  unsigned index;
  if (!relativeRegister(w, i.src[0], dwords, index))
    return;
  for (unsigned d = 0; d < dwords; ++d)
    w.sgprs[i.dst[0].index + d] = w.sgprs[index + d];
}
template <unsigned dwords> void moveRelativeDestination(Wave &w, const Instruction &i) {
  unsigned index;
  if (!relativeRegister(w, i.dst[0], dwords, index))
    return;
  uint64_t value = dwords == 2 ? w.readScalar64(i.src[0]) : w.readScalar32(i.src[0]);
  for (unsigned d = 0; d < dwords; ++d)
    w.sgprs[index + d] = uint32_t(value >> (32 * d));
}

void registerMoves(HandlerTable &t) {
  t.add("S_MOV_B32", unary32<[](Wave &, uint32_t a) { return a; }>);
  t.add("S_MOV_B64", unary64<[](Wave &, uint64_t a) { return a; }>);
  t.add("S_CMOV_B32", [](Wave &w, const Instruction &i) {
    if (w.scc)
      w.writeScalar32(i.dst[0], w.readScalar32(i.src[0]));
  });
  t.add("S_CMOV_B64", [](Wave &w, const Instruction &i) {
    if (w.scc)
      w.writeScalar64(i.dst[0], w.readScalar64(i.src[0]));
  });
  t.add("S_BITSET0_B32", bitSet<false, uint32_t>);
  t.add("S_BITSET1_B32", bitSet<true, uint32_t>);
  t.add("S_BITSET0_B64", bitSet<false, uint64_t>);
  t.add("S_BITSET1_B64", bitSet<true, uint64_t>);
  t.add("S_MOVRELS_B32", moveRelativeSource<1>);
  t.add("S_MOVRELS_B64", moveRelativeSource<2>);
  t.add("S_MOVRELD_B32", moveRelativeDestination<1>);
  t.add("S_MOVRELD_B64", moveRelativeDestination<2>);
}

/// D = EXEC; EXEC = op(S0, EXEC); SCC = EXEC is not zero.
template <auto op> void saveExec(Wave &w, const Instruction &i) {
  uint64_t source = w.readScalar64(i.src[0]), old = w.exec();
  w.setExec(nonZero(w, uint64_t(op(source, old))));
  w.writeScalar64(i.dst[0], old);
}
/// EXEC = D = op(S0, EXEC); SCC = result is not zero.
template <auto op> void writeExec(Wave &w, const Instruction &i) {
  uint64_t result = nonZero(w, uint64_t(op(w.readScalar64(i.src[0]), w.exec())));
  w.setExec(result);
  w.writeScalar64(i.dst[0], result);
}

void registerSaveExec(HandlerTable &t) {
  using U = uint64_t;
  t.add("S_AND_SAVEEXEC_B64", saveExec<[](U s, U e) { return s & e; }>);
  t.add("S_OR_SAVEEXEC_B64", saveExec<[](U s, U e) { return s | e; }>);
  t.add("S_XOR_SAVEEXEC_B64", saveExec<[](U s, U e) { return s ^ e; }>);
  t.add("S_ANDN2_SAVEEXEC_B64", saveExec<[](U s, U e) { return s & ~e; }>);
  t.add("S_ORN2_SAVEEXEC_B64", saveExec<[](U s, U e) { return s | ~e; }>);
  t.add("S_NAND_SAVEEXEC_B64", saveExec<[](U s, U e) { return ~(s & e); }>);
  t.add("S_NOR_SAVEEXEC_B64", saveExec<[](U s, U e) { return ~(s | e); }>);
  t.add("S_XNOR_SAVEEXEC_B64", saveExec<[](U s, U e) { return ~(s ^ e); }>);
  t.add("S_ANDN1_SAVEEXEC_B64", saveExec<[](U s, U e) { return ~s & e; }>);
  t.add("S_ORN1_SAVEEXEC_B64", saveExec<[](U s, U e) { return ~s | e; }>);
  t.add("S_ANDN1_WREXEC_B64", writeExec<[](U s, U e) { return ~s & e; }>);
  t.add("S_ANDN2_WREXEC_B64", writeExec<[](U s, U e) { return s & ~e; }>);
}

// ---- SOPC and SOPK -----------------------------------------------------------------------------

/// S_CMP_x and S_CMPK_x of one relation; the U form of SOPK zero-extends its constant.
template <auto op> void addCompare(HandlerTable &t, const std::string &relation) {
  t.add("S_CMP_" + relation + "_I32",
        compare32<[](uint32_t a, uint32_t b) { return op(int32_t(a), int32_t(b)); }>);
  t.add("S_CMP_" + relation + "_U32", compare32<[](uint32_t a, uint32_t b) { return op(a, b); }>);
  t.add("S_CMPK_" + relation + "_I32",
        compareK<[](uint32_t a, uint32_t k) { return op(int32_t(a), int32_t(int16_t(k))); }>);
  t.add("S_CMPK_" + relation + "_U32",
        compareK<[](uint32_t a, uint32_t k) { return op(a, k & 0xFFFF); }>);
}

void registerCompare(HandlerTable &t) {
  addCompare<[](auto a, auto b) { return a == b; }>(t, "EQ");
  addCompare<[](auto a, auto b) { return a != b; }>(t, "LG");
  addCompare<[](auto a, auto b) { return a > b; }>(t, "GT");
  addCompare<[](auto a, auto b) { return a >= b; }>(t, "GE");
  addCompare<[](auto a, auto b) { return a < b; }>(t, "LT");
  addCompare<[](auto a, auto b) { return a <= b; }>(t, "LE");
  t.add("S_CMP_EQ_U64", compare64<[](uint64_t a, uint64_t b) { return a == b; }>);
  t.add("S_CMP_LG_U64", compare64<[](uint64_t a, uint64_t b) { return a != b; }>);
  t.add("S_BITCMP0_B32", compare32<[](uint32_t a, uint32_t b) { return !(a >> (b & 31) & 1); }>);
  t.add("S_BITCMP1_B32", compare32<[](uint32_t a, uint32_t b) { return a >> (b & 31) & 1; }>);
  t.add("S_BITCMP0_B64", [](Wave &w, const Instruction &i) {
    w.scc = !(w.readScalar64(i.src[0]) >> (w.readScalar32(i.src[1]) & 63) & 1);
  });
  t.add("S_BITCMP1_B64", [](Wave &w, const Instruction &i) {
    w.scc = w.readScalar64(i.src[0]) >> (w.readScalar32(i.src[1]) & 63) & 1;
  });
}

void registerSopk(HandlerTable &t) {
  t.add("S_MOVK_I32", [](Wave &w, const Instruction &i) { w.writeScalar32(i.dst[0], i.imm); });
  t.add("S_CMOVK_I32", [](Wave &w, const Instruction &i) {
    if (w.scc)
      w.writeScalar32(i.dst[0], i.imm);
  });
  t.add("S_ADDK_I32", [](Wave &w, const Instruction &i) {
    w.writeScalar32(i.dst[0], addSigned(w, w.sgprs[i.dst[0].index], i.imm));
  });
  t.add("S_MULK_I32", [](Wave &w, const Instruction &i) {
    w.writeScalar32(i.dst[0], w.sgprs[i.dst[0].index] * i.imm);
  });
}

} // namespace

void registerSop(HandlerTable &t) {
  registerArithmetic(t);
  registerShifts(t);
  registerLogical(t);
  registerBitSearch(t);
  registerMoves(t);
  registerSaveExec(t);
  registerCompare(t);
  registerSopk(t);
}

} // namespace mono::emu
