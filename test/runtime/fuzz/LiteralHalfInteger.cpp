// 16-bit integer instructions of the vector ALU (CDNA4 ISA 12.8 and 12.11).
#include "test/runtime/fuzz/LiteralLane.h"

#include <algorithm>

namespace mono::fuzz {

namespace {

using In = LaneInput;

int64_t i16(const In &x, unsigned n) { return int16_t(x.s[n]); }
int64_t u16(const In &x, unsigned n) { return uint16_t(x.s[n]); }

uint64_t clampUnsigned(const In &x, int64_t value) {
  return uint16_t(x.clamp ? std::clamp<int64_t>(value, 0, 0xffff) : value);
}
uint64_t clampSigned(const In &x, int64_t value) {
  return uint16_t(x.clamp ? std::clamp<int64_t>(value, -32768, 32767) : value);
}
template <typename T> T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

uint64_t saturatedByte(int64_t value) { return uint64_t(std::clamp<int64_t>(value, 0, 255)); }

uint64_t bitop3(const In &x) {
  const uint64_t table = uint64_t(x.line.number("bitop3"));
  uint64_t result = 0;
  for (unsigned n = 0; n < 16; ++n)
    result |= (table >> ((x.s[0] >> n & 1) * 4 + (x.s[1] >> n & 1) * 2 + (x.s[2] >> n & 1)) & 1)
              << n;
  return result;
}

constexpr uint32_t kThree = kBare | kOpSel;

const VectorOp kOps[] = {
    {"v_add_u16", kVop | kClamp, "s=ss",
     [](In &x) { return clampUnsigned(x, u16(x, 0) + u16(x, 1)); }},
    {"v_sub_u16", kVop | kClamp, "s=ss",
     [](In &x) { return clampUnsigned(x, u16(x, 0) - u16(x, 1)); }},
    {"v_subrev_u16", kVop | kClamp, "s=ss",
     [](In &x) { return clampUnsigned(x, u16(x, 1) - u16(x, 0)); }},
    {"v_mul_lo_u16", kVop, "s=ss", [](In &x) { return uint64_t(u16(x, 0) * u16(x, 1)) & 0xffff; }},
    {"v_lshlrev_b16", kVop, "s=ss",
     [](In &x) { return uint64_t(u16(x, 1) << (x.s[0] & 15)) & 0xffff; }},
    {"v_lshrrev_b16", kVop, "s=ss", [](In &x) { return uint64_t(u16(x, 1) >> (x.s[0] & 15)); }},
    {"v_ashrrev_i16", kVop, "s=ss",
     [](In &x) { return uint64_t(i16(x, 1) >> (x.s[0] & 15)) & 0xffff; }},
    {"v_max_u16", kVop, "s=ss", [](In &x) { return uint64_t(std::max(u16(x, 0), u16(x, 1))); }},
    {"v_min_u16", kVop, "s=ss", [](In &x) { return uint64_t(std::min(u16(x, 0), u16(x, 1))); }},
    {"v_max_i16", kVop, "s=ss",
     [](In &x) { return uint64_t(std::max(i16(x, 0), i16(x, 1))) & 0xffff; }},
    {"v_min_i16", kVop, "s=ss",
     [](In &x) { return uint64_t(std::min(i16(x, 0), i16(x, 1))) & 0xffff; }},
    {"v_sat_pk_u8_i16", kVop, "i=i",
     [](In &x) {
       return saturatedByte(int16_t(x.s[0])) | saturatedByte(int16_t(x.s[0] >> 16)) << 8;
     }},
    // ---- VOP3
    {"v_mad_u16", kThree | kClamp, "s=sss",
     [](In &x) { return clampUnsigned(x, u16(x, 0) * u16(x, 1) + u16(x, 2)); }},
    {"v_mad_i16", kThree | kClamp, "s=sss",
     [](In &x) { return clampSigned(x, i16(x, 0) * i16(x, 1) + i16(x, 2)); }},
    {"v_mad_legacy_u16", kBare | kClamp, "s=sss",
     [](In &x) { return clampUnsigned(x, u16(x, 0) * u16(x, 1) + u16(x, 2)); }},
    {"v_mad_legacy_i16", kBare | kClamp, "s=sss",
     [](In &x) { return clampSigned(x, i16(x, 0) * i16(x, 1) + i16(x, 2)); }},
    {"v_add_i16", kThree | kClamp, "s=ss",
     [](In &x) { return clampSigned(x, i16(x, 0) + i16(x, 1)); }},
    {"v_sub_i16", kThree | kClamp, "s=ss",
     [](In &x) { return clampSigned(x, i16(x, 0) - i16(x, 1)); }},
    {"v_min3_i16", kThree, "s=sss",
     [](In &x) { return uint64_t(std::min({i16(x, 0), i16(x, 1), i16(x, 2)})) & 0xffff; }},
    {"v_min3_u16", kThree, "s=sss",
     [](In &x) { return uint64_t(std::min({u16(x, 0), u16(x, 1), u16(x, 2)})); }},
    {"v_max3_i16", kThree, "s=sss",
     [](In &x) { return uint64_t(std::max({i16(x, 0), i16(x, 1), i16(x, 2)})) & 0xffff; }},
    {"v_max3_u16", kThree, "s=sss",
     [](In &x) { return uint64_t(std::max({u16(x, 0), u16(x, 1), u16(x, 2)})); }},
    {"v_med3_i16", kThree, "s=sss",
     [](In &x) { return uint64_t(median(i16(x, 0), i16(x, 1), i16(x, 2))) & 0xffff; }},
    {"v_med3_u16", kThree, "s=sss",
     [](In &x) { return uint64_t(median(u16(x, 0), u16(x, 1), u16(x, 2))); }},
    {"v_mad_u32_u16", kThree | kClamp, "i=ssi",
     [](In &x) {
       const int64_t sum = u16(x, 0) * u16(x, 1) + x.u(2);
       return uint64_t(x.clamp ? std::min<int64_t>(sum, 0xffffffff) : uint32_t(sum));
     }},
    {"v_mad_i32_i16", kThree | kClamp, "i=ssi",
     [](In &x) {
       const int64_t sum = i16(x, 0) * i16(x, 1) + x.i(2);
       return uint64_t(uint32_t(x.clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum));
     }},
    {"v_bitop3_b16", kThree, "s=sss", [](In &x) { return bitop3(x); }},
};

} // namespace

llvm::ArrayRef<VectorOp> halfIntegerOps() { return kOps; }

} // namespace mono::fuzz
