// Conversions between integers, f16, f32, f64, bf16 and normalised integers (CDNA4
// ISA 12.8, 12.11).
#include "test/runtime/fuzz/LiteralLane.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

using In = LaneInput;

uint64_t signedInteger(In &x, int64_t low, int64_t high) {
  return uint64_t(toInteger(x.number(0), low, high));
}
uint64_t to32(In &x, Number n) { return uint32_t(toInteger(n, INT32_MIN, INT32_MAX)); }
uint64_t fromSigned(In &x) { return x.result(integer(x.i(0))); }
uint64_t fromUnsigned(In &x) { return x.result(integer(int64_t(x.u(0)))); }
uint64_t changed(In &x) { return x.result(x.number(0)); }
uint64_t byteToFloat(In &x, unsigned n) { return x.result(integer(x.u(0) >> 8 * n & 0xff)); }

/// A number in [-1, 1] or [0, 1] to the integer nearest to it times the greatest one, ties to even.
uint64_t normalised(const Number &n, bool isSigned) {
  const int64_t greatest = isSigned ? 32767 : 65535;
  if (n.isNan())
    return 0;
  const Number one = integer(1);
  Number bounded = n;
  if (compare(n, one) > 0)
    bounded = one;
  if (compare(n, isSigned ? integer(-1) : zero(false)) < 0)
    bounded = isSigned ? integer(-1) : zero(false);
  const Number product = multiply(bounded, integer(greatest));
  return uint64_t(toInteger(toIntegral(product, Round::Even), -greatest, greatest)) & 0xffff;
}

uint64_t packHalves(uint64_t low, uint64_t high) { return (low & 0xffff) | (high & 0xffff) << 16; }

/// f32 to f16 in a given direction; FP16_OVFL as for every f16 result.
uint64_t toHalf(const In &x, unsigned n, Round round) {
  const Number number = x.number(n);
  const uint64_t code = pack(kF16, number, round);
  if (x.modes.fp16Overflow && kF16.isInfinite(code) && number.kind == Number::Finite)
    return (code & 0x8000) | kF16.greatest();
  return !x.modes.keepOutF64F16 && kF16.isDenormal(code) ? code & 0x8000 : code;
}

uint64_t unsignedByte(const In &x) { return uint64_t(toInteger(x.number(0), 0, 255)); }

constexpr uint32_t kWide = kE32 | kE64, kPair = kBare | kNoOmod;

const VectorOp kOps[] = {
    {"v_cvt_f64_i32", kWide, "d=i", fromSigned},
    {"v_cvt_f64_u32", kWide, "d=i", fromUnsigned},
    {"v_cvt_i32_f64", kWide | kNoOmod, "i=d",
     [](In &x) { return uint64_t(uint32_t(signedInteger(x, INT32_MIN, INT32_MAX))); }},
    {"v_cvt_u32_f64", kWide | kNoOmod, "i=d",
     [](In &x) { return signedInteger(x, 0, UINT32_MAX); }},
    {"v_cvt_f32_i32", kVop, "f=i", fromSigned},
    {"v_cvt_f32_u32", kVop, "f=i", fromUnsigned},
    {"v_cvt_u32_f32", kVop, "i=f", [](In &x) { return signedInteger(x, 0, UINT32_MAX); }},
    {"v_cvt_i32_f32", kVop, "i=f",
     [](In &x) { return uint64_t(uint32_t(signedInteger(x, INT32_MIN, INT32_MAX))); }},
    {"v_cvt_f16_f32", kVop, "h=f", changed},
    {"v_cvt_f32_f16", kVop, "f=h", changed},
    {"v_cvt_rpi_i32_f32", kVop, "i=f",
     [](In &x) {
       return to32(x, toIntegral(add(x.number(0), integer(1, -1), Round::Even), Round::Down));
     }},
    {"v_cvt_flr_i32_f32", kVop, "i=f",
     [](In &x) { return to32(x, toIntegral(x.number(0), Round::Down)); }},
    {"v_cvt_off_f32_i4", kVop, "f=i",
     [](In &x) { return x.result(integer(int64_t(x.u(0) << 28) << 32 >> 60, -4)); }},
    {"v_cvt_f32_f64", kWide, "f=d", changed},
    {"v_cvt_f64_f32", kWide, "d=f", changed},
    {"v_cvt_f32_ubyte0", kVop, "f=i", [](In &x) { return byteToFloat(x, 0); }},
    {"v_cvt_f32_ubyte1", kVop, "f=i", [](In &x) { return byteToFloat(x, 1); }},
    {"v_cvt_f32_ubyte2", kVop, "f=i", [](In &x) { return byteToFloat(x, 2); }},
    {"v_cvt_f32_ubyte3", kVop, "f=i", [](In &x) { return byteToFloat(x, 3); }},
    {"v_cvt_f16_u16", kVop, "h=s", [](In &x) { return x.result(integer(uint16_t(x.s[0]))); }},
    {"v_cvt_f16_i16", kVop, "h=s", [](In &x) { return x.result(integer(int16_t(x.s[0]))); }},
    {"v_cvt_u16_f16", kVop, "s=h", [](In &x) { return signedInteger(x, 0, 65535); }},
    {"v_cvt_i16_f16", kVop, "s=h", [](In &x) { return signedInteger(x, -32768, 32767) & 0xffff; }},
    {"v_cvt_norm_i16_f16", kVop, "s=h", [](In &x) { return normalised(x.number(0), true); }},
    {"v_cvt_norm_u16_f16", kVop, "s=h", [](In &x) { return normalised(x.number(0), false); }},
    {"v_cvt_pkrtz_f16_f32", kPair | kHalfPair, "i=ff",
     [](In &x) { return packHalves(toHalf(x, 0, Round::Zero), toHalf(x, 1, Round::Zero)); }},
    // ---- VOP3
    {"v_cvt_pk_f16_f32", kPair | kHalfPair, "i=ff",
     [](In &x) {
       // Like v_cvt_pk_bf16_f32, to nearest even whatever MODE says.
       return packHalves(toHalf(x, 0, Round::Even), toHalf(x, 1, Round::Even));
     }},
    {"v_cvt_pknorm_i16_f32", kPair, "i=ff",
     [](In &x) {
       return packHalves(normalised(x.number(0), true), normalised(x.number(1), true));
     }},
    {"v_cvt_pknorm_u16_f32", kPair, "i=ff",
     [](In &x) {
       return packHalves(normalised(x.number(0), false), normalised(x.number(1), false));
     }},
    {"v_cvt_pknorm_i16_f16", kPair | kOpSel, "i=hh",
     [](In &x) {
       return packHalves(normalised(x.number(0), true), normalised(x.number(1), true));
     }},
    {"v_cvt_pknorm_u16_f16", kPair | kOpSel, "i=hh",
     [](In &x) {
       return packHalves(normalised(x.number(0), false), normalised(x.number(1), false));
     }},
    {"v_cvt_pk_u16_u32", kBare, "i=ii",
     [](In &x) { return packHalves(std::min(x.u(0), 65535u), std::min(x.u(1), 65535u)); }},
    {"v_cvt_pk_i16_i32", kBare, "i=ii",
     [](In &x) {
       return packHalves(uint64_t(std::clamp(x.i(0), -32768, 32767)),
                         uint64_t(std::clamp(x.i(1), -32768, 32767)));
     }},
    // As v_cvt_pk_u8_f32, with the old destination for the bytes that stay.
    {"v_cvt_pkaccum_u8_f32", kBare | kNoOmod, "i=fi",
     [](In &x) {
       const unsigned shift = 8 * (x.u(1) & 3);
       return (x.old & ~uint64_t(0xffu << shift)) | unsignedByte(x) << shift;
     }},
    {"v_cvt_pk_u8_f32", kBare | kNoOmod, "i=fii",
     [](In &x) {
       const unsigned shift = 8 * (x.u(1) & 3);
       return uint64_t((x.u(2) & ~(0xffu << shift)) | uint32_t(unsignedByte(x)) << shift);
     }},
};

} // namespace

llvm::ArrayRef<VectorOp> conversionOps() { return kOps; }

} // namespace mono::fuzz
