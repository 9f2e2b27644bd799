// What the arithmetic instructions of the literal wave have in common: a table entry an instruction
// with its types, legal encodings and one plain function of one lane.
#pragma once

#include "test/runtime/fuzz/LiteralWave.h"

#include "llvm/ADT/ArrayRef.h"

#include <string_view>

namespace mono::fuzz {

/// One lane of one instruction: source bits after modifiers and selects, and what the operation may
/// depend on besides. `types` is the signature of the table entry, see VectorOp.
struct LaneInput {
  const char *types;
  const Modes &modes;
  const TextLine &line;
  std::array<uint64_t, 4> s{};
  uint64_t old = 0; ///< previous destination
  bool bit = false; ///< this lane's carry, select or div_fmas bit
  bool clamp = false;
  unsigned lane = 0;

  /// Set by the operation.
  bool carryOut = false;
  bool isLoose = false; ///< the result may lie anywhere in [low, high]
  double low = 0, high = 0;

  char type(unsigned n) const { return types[2 + n]; }
  /// Source n as a number of its type.
  Number number(unsigned n) const { return unpack(formatOf(type(n)), s[n]); }
  uint32_t u(unsigned n) const { return uint32_t(s[n]); }
  int32_t i(unsigned n) const { return int32_t(s[n]); }
  /// Rounding of the destination's format.
  Round round() const { return roundOf(types[0]); }
  Round roundOf(char t) const { return t == 'f' ? modes.roundF32 : modes.roundF64F16; }
  /// Code of a number in the destination's format.
  uint64_t result(const Number &n) const { return packAs(types[0], n); }
  uint64_t packAs(char t, const Number &n) const;

  static const Format &formatOf(char t) { return t == 'f' ? kF32 : t == 'd' ? kF64 : kF16; }
};

/// Which texts exist for an instruction, and where it departs from the rule of its types.
enum Forms : uint32_t {
  kE32 = 1,
  kE64 = 2,
  kDpp = 4,
  kSdwa = 8,
  kVop = kE32 | kE64 | kDpp | kSdwa, ///< VOP1 or VOP2 with all encodings
  kBare = 16,                        ///< the mnemonic takes no encoding suffix
  kClamp = 32,           ///< an integer instruction with clamp; float ones have it anyway
  kNoOmod = 64,          ///< a float result without clamp and omod
  kNoSign = 128,         ///< float sources without neg and abs
  kOpSel = 256,          ///< 16-bit VOP3 with op_sel; the half not written stays
  kAccumulates = 512,    ///< vdst is the last source (v_fmac)
  kNoInputFlush = 1024,  ///< denormal sources are kept whatever MODE says
  kNoOutputFlush = 2048, ///< the same for results
  kAlwaysFlush = 4096,   ///< f32 special functions: denormals to zero in and out
  kCarryOut = 8192,      ///< a mask in an SGPR pair is the second destination
  kImplicitVcc = 16384,  ///< reads VCC without naming it
  kLiteral = 32768,      ///< the last or second source must be a literal (v_fmaak, v_fmamk)
  kHalfPair = 65536,     ///< the 32-bit result is a pair of f16
};

/// One vector instruction. `types` is "d=abc": a letter for the destination and each source,
///   i 32-bit integer, l 64-bit integer, s 16-bit integer, f f32, h f16, d f64,
///   m 32 bits with neg and abs but no denormal flush, c one bit per lane in an SGPR pair (in front
///   a compare result, behind a carry or select), - nothing.
struct VectorOp {
  const char *name;
  uint32_t forms;
  const char *types;
  uint64_t (*compute)(LaneInput &);
};

llvm::ArrayRef<VectorOp> integerOps();
llvm::ArrayRef<VectorOp> halfIntegerOps();
llvm::ArrayRef<VectorOp> floatOps();
llvm::ArrayRef<VectorOp> specialFloatOps();
llvm::ArrayRef<VectorOp> conversionOps();
/// v_cmp_* and v_cmpx_*; made from the lists of conditions and types.
llvm::ArrayRef<VectorOp> compareOps();

/// The entry of a mnemonic without encoding suffix, or null.
const VectorOp *findVectorOp(std::string_view name);

/// One scalar instruction, the same way: types i and l, k for a 16-bit immediate.
struct ScalarInput {
  std::array<uint64_t, 2> s{};
  uint64_t old = 0;
  bool scc = false;   ///< in and out
  bool writes = true; ///< false: the destination is left alone
  uint64_t exec = 0;

  uint32_t u(unsigned n) const { return uint32_t(s[n]); }
  int32_t i(unsigned n) const { return int32_t(s[n]); }
};
struct ScalarOp {
  const char *name;
  const char *types;
  uint64_t (*compute)(ScalarInput &);
};
llvm::ArrayRef<ScalarOp> scalarOps();
const ScalarOp *findScalarOp(std::string_view name);

} // namespace mono::fuzz
