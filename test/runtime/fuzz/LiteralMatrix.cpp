// Matrix instructions, one element of D at a time from the layout formulas of
// CDNA4 ISA 7.1.4 (see gfx950.md section 3.1). The order and precision of the
// sums are not documented: a result near the exact sum, relative to the size of
// its terms, is accepted. Integer results are exact.
#include "test/runtime/fuzz/Generator.h"
#include "test/runtime/fuzz/LiteralExecution.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mono::fuzz {

namespace {

constexpr Format kMatrixFormats[] = {kFp8, kBf8, kFp6, kBf6, kFp4}; ///< by cbsz and blgp

/// What the mnemonic says: v_[s]mfma[c]_[scale_]D_MxNxK[_Bb]_A[_B].
struct Shape {
  bool isSparse = false, isScaled = false, isMixed = false; ///< mixed: f8f6f4
  bool isInteger = false, isDouble = false;
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  Format a = kF32, b = kF32;

  unsigned bitsA() const { return isInteger ? 8 : a.bits(); }
  unsigned bitsB() const { return isInteger ? 8 : b.bits(); }
};

Format formatNamed(std::string_view name) {
  return name == "f64"    ? kF64
         : name == "f16"  ? kF16
         : name == "bf16" ? kBf16
         : name == "fp8"  ? kFp8
         : name == "bf8"  ? kBf8
                          : kF32;
}

bool parse(const TextLine &line, Shape &s) {
  std::string_view name(line.mnemonic);
  s.isSparse = name.starts_with("v_smfmac_");
  if (!s.isSparse && !name.starts_with("v_mfma_"))
    return false;
  s.isScaled = name.find("_scale_") != std::string_view::npos;
  s.isInteger = name.find("_i32_") != std::string_view::npos;
  s.isDouble = name.find("mfma_f64_") != std::string_view::npos;
  const size_t at =
      name.find("32_") == std::string_view::npos ? name.find("64_") + 3 : name.find("32_") + 3;
  int used = 0;
  std::string rest(name.substr(at));
  if (std::sscanf(rest.c_str(), "%ux%ux%u%n", &s.m, &s.n, &s.k, &used) != 3)
    return false;
  rest.erase(0, size_t(used));
  if (std::sscanf(rest.c_str(), "_%ub_%n", &s.blocks, &used) == 1)
    rest.erase(0, size_t(used) - 1);
  rest.erase(0, 1);
  s.isMixed = rest == "f8f6f4";
  const size_t second = rest.find('_');
  s.a = s.isMixed ? kMatrixFormats[line.number("cbsz")] : formatNamed(rest.substr(0, second));
  s.b = s.isMixed                     ? kMatrixFormats[line.number("blgp")]
        : second == std::string::npos ? s.a
                                      : formatNamed(rest.substr(second + 1));
  return true;
}

// ---- operands ----------------------------------------------------------------------------------

/// Item `item` of `bits` bits in the registers of a lane.
uint64_t itemAt(Execution &e, const TextOperand &o, unsigned lane, unsigned bits, unsigned item) {
  uint64_t value = 0;
  for (unsigned n = 0; n < bits;) {
    const unsigned bit = item * bits + n, take = std::min(32 - bit % 32, bits - n);
    const uint64_t piece = e.dword(o, lane, bit / 32) >> bit % 32;
    value |= (take == 32 ? piece : piece & ((1u << take) - 1)) << n;
    n += take;
  }
  return value;
}

struct Place {
  unsigned lane, item;
};

/// Where row `i` (or column) of an operand keeps its k, `rows` rows a block.
/// 8-bit operands of the mixed shapes are dealt out in chunks of 16 k.
Place operandPlace(const Shape &s, unsigned rows, unsigned bits, unsigned block, unsigned i,
                   unsigned k) {
  const unsigned groups = 64 / (rows * s.blocks), perLane = s.k / groups;
  if (s.isMixed && bits == 8)
    return {i + rows * (k / 16 % groups), 16 * (k / (16 * groups)) + k % 16};
  return {i + rows * (block + s.blocks * (k / perLane)), k % perLane};
}

/// C and D: CDNA4 ISA 7.1.4 with H = 4, for f64 H = 1.
Place resultPlace(const Shape &s, unsigned block, unsigned i, unsigned j) {
  const unsigned h = s.isDouble ? 1 : 4;
  const unsigned blocksInRow = std::max(1u, 64 * h / (s.n * s.m));
  const unsigned lanesOfRows = 64 / blocksInRow / s.n, groups = s.m / (h * lanesOfRows);
  return {j + s.n * (i / h % lanesOfRows + lanesOfRows * (block % blocksInRow)),
          i % h + h * (i / (h * lanesOfRows) + groups * (block / blocksInRow))};
}

/// Lane whose B registers stand in for those of `lane` under blgp (old shapes;
/// CDNA4 ISA 7.1.6).
unsigned patternLane(unsigned pattern, unsigned lane) {
  switch (pattern) {
  case 1:
    return lane & 31;
  case 2:
    return lane | 32;
  case 3:
    return (lane + 16) & 63;
  case 4:
  case 5:
  case 6:
  case 7:
    return (lane & 15) + 16 * (pattern - 4);
  default:
    return lane;
  }
}

/// The matrices of one instruction as numbers.
class Matrices {
public:
  Matrices(Execution &e, const Shape &s)
      : e(e), s(s), cbsz(unsigned(e.line.number("cbsz"))), abid(unsigned(e.line.number("abid"))),
        blgp(unsigned(e.line.number("blgp"))) {}

  double a(unsigned block, unsigned i, unsigned k) {
    // Each group of 2^cbsz blocks uses its block abid.
    if (!s.isMixed && !s.isSparse && cbsz)
      block = (block >> cbsz << cbsz) + abid;
    const Place p = operandPlace(s, s.m, s.bitsA(), block, i, k);
    const double value = number(s.a, itemAt(e, e.operand(1), p.lane, s.bitsA(), p.item));
    return s.isDouble && (blgp & 1) ? -value : value;
  }
  double b(unsigned block, unsigned j, unsigned k) {
    Place p = operandPlace(s, s.n, s.bitsB(), block, j, k);
    if (!s.isMixed && !s.isSparse && !s.isDouble)
      p.lane = patternLane(blgp, p.lane);
    const double value = number(s.b, itemAt(e, e.operand(2), p.lane, s.bitsB(), p.item));
    return s.isDouble && (blgp & 2) ? -value : value;
  }
  double c(const Place &p) {
    const TextOperand &o = e.operand(s.isSparse ? 0 : 3);
    const Format &format = s.isDouble ? kF64 : kF32;
    uint64_t code = o.isRegister() ? itemAt(e, o, p.lane, format.bits(), p.item)
                                   : e.constant(o, s.isDouble    ? 'd'
                                                   : s.isInteger ? 'i'
                                                                 : 'f');
    if (s.isInteger)
      return int32_t(code);
    if (s.isDouble && (blgp & 4))
      code ^= kF64.sign();
    return toDouble(format, code);
  }

  /// k of stored item `n` of a sparse row, and the value: two of each four k
  /// are stored, two bits of the index register say which (CDNA4 ISA 7.4).
  double sparseA(unsigned i, unsigned group, unsigned n, unsigned &k) {
    const unsigned lane = i + s.m * group, perLane = s.k / (64 / s.m);
    // Without cbsz, abid picks one of the index sets that fit a register.
    const unsigned setBits = perLane, set = cbsz ? 0 : abid;
    const unsigned index = e.dword(e.operand(3), lane) >> (setBits * set + 2 * n) & 3;
    k = group * perLane + n / 2 * 4 + index;
    return number(s.a, itemAt(e, e.operand(1), lane, s.bitsA(), n));
  }

  /// Product of the scales of row i and column j for the block of 32 k that
  /// holds `k`: E8M0 in byte {op_sel_hi, op_sel} of lane i + rows * block.
  double scale(unsigned i, unsigned j, unsigned k) {
    return s.isScaled ? scaleOf(0, s.m, i, k / 32) * scaleOf(1, s.n, j, k / 32) : 1;
  }

private:
  Execution &e;
  const Shape &s;
  const unsigned cbsz, abid, blgp;

  double number(const Format &format, uint64_t code) const {
    if (s.isInteger)
      return int8_t(code);
    if (format.bits() == 32 && !e.modes.keepInF32)
      code = flushed(kF32, code);
    return format.isNan(code) ? std::nan("") : toDouble(format, code);
  }
  double scaleOf(unsigned which, unsigned rows, unsigned i, unsigned block) {
    const unsigned byte = unsigned(e.line.item("op_sel", which, 0)) +
                          2 * unsigned(e.line.item("op_sel_hi", which, 0));
    const unsigned code = e.vector(e.operand(4 + which), i + rows * block) >> 8 * byte & 0xff;
    return code == 255 ? std::nan("") : std::ldexp(1.0, int(code) - 127);
  }
};

// ---- sums --------------------------------------------------------------------------------------

struct Sum {
  long double value = 0, size = 0; ///< size: of the absolute terms
  void add(long double term) {
    value += term;
    size += std::fabs(term);
  }
};

Sum sumOf(Matrices &m, const Shape &s, unsigned block, unsigned i, unsigned j) {
  Sum sum;
  sum.add(m.c(resultPlace(s, block, i, j)));
  if (!s.isSparse) {
    for (unsigned k = 0; k < s.k; ++k)
      sum.add((long double)m.a(block, i, k) * m.b(block, j, k) * m.scale(i, j, k));
    return sum;
  }
  const unsigned groups = 64 / s.m, stored = s.k / groups / 2;
  for (unsigned group = 0; group < groups; ++group)
    for (unsigned n = 0; n < stored; ++n) {
      unsigned k = 0;
      const long double a = m.sparseA(i, group, n, k);
      sum.add(a * m.b(0, j, k));
    }
  return sum;
}

/// Whether every product that has no NaN or infinity in it is far from
/// overflow.
void note(Execution &e, const Shape &s, const Place &p, const Sum &sum) {
  TextOperand o = e.operand(0);
  const Format &format = s.isDouble ? kF64 : kF32;
  const unsigned first = p.item * format.bits() / 32;
  if (!(sum.size < toDouble(format, format.greatest()) / 4)) {
    // Order decides between infinity and NaN, and whether an overflow happens
    // on the way.
    for (unsigned n = 0; n < format.bits() / 32; ++n) {
      o.index = e.operand(0).index + first + n;
      e.noteAny(o, p.lane);
    }
    return;
  }
  const long double unit = std::ldexp(1.0L, -int(format.mantissaBits));
  const long double slack = sum.size * unit * s.k + std::ldexp(1.0L, 3 - format.bias) * s.k;
  e.noteRange(o, first, p.lane, format, double(sum.value - slack), double(sum.value + slack));
}

} // namespace

bool executeMatrix(Execution &e) {
  Shape s;
  if (!parse(e.line, s))
    return false;
  Matrices matrices(e, s);
  struct Element {
    Place place;
    Sum sum;
  };
  std::vector<Element> elements; // D may overlap the sources
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.n; ++j)
        elements.push_back({resultPlace(s, block, i, j), sumOf(matrices, s, block, i, j)});
  for (const auto &[place, sum] : elements) {
    const TextOperand &d = e.operand(0);
    if (s.isInteger) {
      e.vector(d, place.lane, place.item) = uint32_t(int64_t(sum.value));
      continue;
    }
    const uint64_t code =
        pack(s.isDouble ? kF64 : kF32, fromDouble(double(sum.value)), Round::Even);
    const unsigned dwords = s.isDouble ? 2 : 1;
    for (unsigned n = 0; n < dwords; ++n)
      e.vector(d, place.lane, place.item * dwords + n) = uint32_t(code >> 32 * n);
    note(e, s, place, sum);
  }
  return true;
}

// ---- texts -------------------------------------------------------------------------------------

#define MONO_D4 "{p:v[0:3]|v[4:7]}"
#define MONO_C4 "{p:v[8:11]|v[12:15]|0|1.0|-4.0}"
#define MONO_A4 "{p:v[16:19]|v[20:23]|v[30:33]|a[16:19]}"
#define MONO_A2 "{p:v[16:17]|v[20:21]|v[40:41]|a[16:17]}"
#define MONO_A1 "{p:v16|v21|v47|a17}"
#define MONO_PATTERN "{p:|| blgp:1| blgp:2| blgp:3| blgp:4| blgp:5| blgp:6| blgp:7}"
#define MONO_FORMAT8 " cbsz:{n:0:1} blgp:{n:0:1}"
#define MONO_SCALES "v{n:40:47}, v{n:40:47}"
#define MONO_BYTES " op_sel:[{n:0:1},{n:0:1},0] op_sel_hi:[{n:0:1},{n:0:1},0]"

static constexpr InstructionTemplate kTemplates[] = {
    {"v_mfma_f32_16x16x32_{p:f16|bf16} " MONO_D4 ", " MONO_A4 ", " MONO_A4 ", " MONO_C4},
    {"v_mfma_f32_32x32x16_{p:f16|bf16} v[0:15], " MONO_A4 ", " MONO_A4 ", {p:v[0:15]|0|2.0}"},
    {"v_mfma_f32_32x32x16_{p:f16|bf16} a[0:15], {v4}, {v4}, "
     "{p:a[0:15]|a[16:31]|0}"},
    {"v_mfma_f32_16x16x16_{p:f16|bf16} " MONO_D4 ", " MONO_A2 ", " MONO_A2 ", " MONO_C4},
    {"v_mfma_f32_32x32x8_{p:f16|bf16} v[0:15], " MONO_A2 ", " MONO_A2 ", {p:v[0:15]|0}"},
    {"v_mfma_f32_32x32x4_2b_{p:f16|bf16} v[0:31], v[32:33], v[34:35], "
     "{p:v[0:31]|0}"
     "{p:| cbsz:1| cbsz:1 abid:1}" MONO_PATTERN},
    {"v_mfma_f32_16x16x4_4b_{p:f16|bf16} v[0:15], " MONO_A2 ", " MONO_A2 ", {p:v[0:15]|0}"
     "{p:| cbsz:1| cbsz:2 abid:3}" MONO_PATTERN},
    {"v_mfma_f32_4x4x4_16b_{p:f16|bf16} " MONO_D4 ", " MONO_A2 ", " MONO_A2 ", " MONO_C4
     "{p:| cbsz:1 abid:1| cbsz:2| cbsz:3 abid:5| cbsz:4 abid:9}" MONO_PATTERN},
    {"v_mfma_f32_16x16x4_f32 " MONO_D4 ", " MONO_A1 ", " MONO_A1 ", " MONO_C4},
    {"v_mfma_f32_32x32x2_f32 v[0:15], " MONO_A1 ", " MONO_A1 ", {p:v[0:15]|0}"},
    {"v_mfma_f32_32x32x1_2b_f32 v[0:31], v32, v33, {p:v[0:31]|0}{p:| cbsz:1| "
     "cbsz:1 abid:1}" MONO_PATTERN},
    {"v_mfma_f32_16x16x1_4b_f32 v[0:15], " MONO_A1 ", " MONO_A1 ", {p:v[0:15]|0}"
     "{p:| cbsz:1| cbsz:2 abid:2}" MONO_PATTERN},
    {"v_mfma_f32_4x4x1_16b_f32 " MONO_D4 ", " MONO_A1 ", " MONO_A1 ", " MONO_C4
     "{p:| cbsz:2 abid:2| cbsz:4 abid:15}" MONO_PATTERN},
    {"v_mfma_i32_16x16x64_i8 " MONO_D4 ", " MONO_A4 ", " MONO_A4 ", {p:v[8:11]|0|64}"},
    {"v_mfma_i32_32x32x32_i8 v[0:15], " MONO_A4 ", " MONO_A4 ", {p:v[0:15]|0}"},
    {"v_mfma_i32_16x16x32_i8 " MONO_D4 ", " MONO_A2 ", " MONO_A2 ", {p:v[8:11]|0|-3}"},
    {"v_mfma_i32_32x32x16_i8 v[0:15], " MONO_A2 ", " MONO_A2 ", {p:v[0:15]|0}"},
    {"v_mfma_i32_32x32x4_2b_i8 v[0:31], v32, v33, {p:v[0:31]|0}"},
    {"v_mfma_i32_16x16x4_4b_i8 v[0:15], " MONO_A1 ", " MONO_A1 ", {p:v[0:15]|0}"},
    {"v_mfma_i32_4x4x4_16b_i8 " MONO_D4 ", " MONO_A1 ", " MONO_A1 ", {p:v[8:11]|0}"},
    {"v_mfma_f32_16x16x32_{p:fp8|bf8}_{p:fp8|bf8} " MONO_D4 ", " MONO_A2 ", " MONO_A2 ", " MONO_C4},
    {"v_mfma_f32_32x32x16_{p:fp8|bf8}_{p:fp8|bf8} v[0:15], " MONO_A2 ", " MONO_A2
     ", {p:v[0:15]|0}"},
    {"v_mfma_f64_16x16x4_f64 v[0:7], " MONO_A2 ", " MONO_A2 ", {p:v[8:15]|0}"},
    {"v_mfma_f64_4x4x4_4b_f64 v[0:1], " MONO_A2 ", " MONO_A2 ", {p:v[2:3]|0}"},
    // ---- 8, 6 and 4 bits, in several mixes
    {"v_mfma_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:23], v[24:31], " MONO_C4 MONO_FORMAT8},
    {"v_mfma_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:21], v[24:29], " MONO_C4
     " cbsz:{n:2:3} blgp:{n:2:3}"},
    {"v_mfma_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:19], v[24:27], " MONO_C4 " cbsz:4 blgp:4"},
    {"v_mfma_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:23], v[24:27], " MONO_C4
     " cbsz:{n:0:1} blgp:4"},
    {"v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], "
     "{p:v[0:15]|0}" MONO_FORMAT8},
    {"v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:19], v[24:29], {p:v[0:15]|0} "
     "cbsz:4 blgp:{n:2:3}"},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:23], v[24:31], " MONO_C4
     ", " MONO_SCALES MONO_BYTES MONO_FORMAT8},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:19], v[24:27], " MONO_C4
     ", " MONO_SCALES MONO_BYTES " cbsz:4 blgp:4"},
    {"v_mfma_scale_f32_16x16x128_f8f6f4 " MONO_D4 ", v[16:23], v[24:29], " MONO_C4
     ", " MONO_SCALES MONO_BYTES " cbsz:{n:0:1} blgp:{n:2:3}"},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:19], v[24:27], "
     "v[0:15], " MONO_SCALES MONO_BYTES " cbsz:4 blgp:4"},
    {"v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], "
     "v[0:15], " MONO_SCALES MONO_BYTES MONO_FORMAT8},
    // ---- sparse
    {"v_smfmac_f32_16x16x32_{p:f16|bf16} v[0:3], v[16:17], v[20:23], "
     "v{n:40:47}{p:| abid:1| abid:3| cbsz:1 abid:2}"},
    {"v_smfmac_f32_32x32x16_{p:f16|bf16} v[0:15], v[16:17], v[20:23], "
     "v{n:40:47}{p:| abid:2}"},
    {"v_smfmac_f32_16x16x64_{p:f16|bf16} v[0:3], v[16:19], v[20:27], "
     "v{n:40:47}{p:| abid:1| cbsz:1 abid:1}"},
    {"v_smfmac_f32_32x32x32_{p:f16|bf16} v[0:15], v[16:19], v[20:27], "
     "v{n:40:47}"},
    {"v_smfmac_i32_16x16x64_i8 v[0:3], v[16:17], v[20:23], v{n:40:47}{p:| abid:1}"},
    {"v_smfmac_i32_32x32x64_i8 v[0:15], v[16:19], v[20:27], v{n:40:47}"},
    {"v_smfmac_f32_16x16x64_{p:fp8|bf8}_{p:fp8|bf8} v[0:3], v[16:17], "
     "v[20:23], v{n:40:47}"},
    {"v_smfmac_f32_32x32x64_{p:fp8|bf8}_{p:fp8|bf8} v[0:15], v[16:19], "
     "v[20:27], v{n:40:47}"},
    {"v_smfmac_f32_16x16x128_{p:fp8|bf8}_{p:fp8|bf8} v[0:3], v[16:19], "
     "v[20:27], v{n:40:47}"},
};

llvm::ArrayRef<InstructionTemplate> matrixTemplates() { return kTemplates; }

} // namespace mono::fuzz
