// f16 arithmetic and 16-bit integer instructions of VOP2 and VOP3.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuHalfMath.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"
#include "runtime/emulator/exec/ValuMinMax.h"

#include <algorithm>

namespace mono::emu::valu {
namespace {

constexpr HighHalf Keep = HighHalf::Keep;

constexpr auto kFma = [](F16 a, F16 b, F16 c) { return fmaHalfNearest(a, b, c); };
constexpr auto kFmaDirected = [](F16 a, F16 b, F16 c) { return fmaHalf(a, b, c); };
constexpr auto kMad = [](F16 a, F16 b, F16 c, FloatMode m) { return madHalf(a, b, c, m); };

constexpr auto kMin = [](F16Code a, F16Code b, FloatMode m) {
  return F16Code{minNumber(a.bits, b.bits, m.ieee)};
};
constexpr auto kMax = [](F16Code a, F16Code b, FloatMode m) {
  return F16Code{maxNumber(a.bits, b.bits, m.ieee)};
};
constexpr auto kMinOrdered = [](F16Code a, F16Code b, FloatMode) {
  return F16Code{minOrdered(a.bits, b.bits)};
};
constexpr auto kMaxOrdered = [](F16Code a, F16Code b, FloatMode) {
  return F16Code{maxOrdered(a.bits, b.bits)};
};

const Entry kFloat[] = {
    {"V_ADD_F16", valu<[](F16 a, F16 b) { return F16{a.value + b.value}; }>},
    {"V_SUB_F16", valu<[](F16 a, F16 b) { return F16{a.value - b.value}; }>},
    {"V_SUBREV_F16", valu<[](F16 a, F16 b) { return F16{b.value - a.value}; }>},
    {"V_MUL_F16", valu<[](F16 a, F16 b) { return F16{a.value * b.value}; }>},
    {"V_MAC_F16", valu<kMad>},
    {"V_MADAK_F16", valu<kMad>},
    {"V_MADMK_F16", valu<kMad>},
    {"V_MAD_F16", valu<kMad, Keep>},
    {"V_MAD_LEGACY_F16", valu<kMad>},
    {"V_FMA_F16", valuByRounding<kFma, kFmaDirected, Keep>},
    {"V_FMA_LEGACY_F16", valuByRounding<kFma, kFmaDirected>},
    {"V_MIN_F16", valuUnlessNan<kMin, kMinOrdered>},
    {"V_MAX_F16", valuUnlessNan<kMax, kMaxOrdered>},
    {"V_MIN3_F16", valuUnlessNan<[](F16Code a, F16Code b, F16Code c, FloatMode m) {
       return kMin(kMin(a, b, m), c, m);
     },
                                 [](F16Code a, F16Code b, F16Code c, FloatMode m) {
                                   return kMinOrdered(kMinOrdered(a, b, m), c, m);
                                 },
                                 Keep>},
    {"V_MAX3_F16", valuUnlessNan<[](F16Code a, F16Code b, F16Code c, FloatMode m) {
       return kMax(kMax(a, b, m), c, m);
     },
                                 [](F16Code a, F16Code b, F16Code c, FloatMode m) {
                                   return kMaxOrdered(kMaxOrdered(a, b, m), c, m);
                                 },
                                 Keep>},
    {"V_MED3_F16", valuUnlessNan<[](F16Code a, F16Code b, F16Code c, FloatMode m) {
       return F16Code{medianNumber(a.bits, b.bits, c.bits, m.ieee)};
     },
                                 [](F16Code a, F16Code b, F16Code c, FloatMode) {
                                   return F16Code{medianOrdered(a.bits, b.bits, c.bits)};
                                 },
                                 Keep>},
};

constexpr auto kMadI16 = [](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); };
constexpr auto kMadI16Clamp = [](i16 a, i16 b, i16 c) { return saturate<i16>(i32(a) * b + c); };
constexpr auto kMadU16 = [](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); };
constexpr auto kMadU16Clamp = [](u16 a, u16 b, u16 c) { return saturate<u16>(i64(a) * b + c); };

const Entry kInteger[] = {
    {"V_ADD_U16", valuSaturating<[](u16 a, u16 b) { return u16(a + b); },
                                 [](u16 a, u16 b) { return saturate<u16>(a + b); }>},
    {"V_SUB_U16", valuSaturating<[](u16 a, u16 b) { return u16(a - b); },
                                 [](u16 a, u16 b) { return saturate<u16>(a - b); }>},
    {"V_SUBREV_U16", valuSaturating<[](u16 a, u16 b) { return u16(b - a); },
                                    [](u16 a, u16 b) { return saturate<u16>(b - a); }>},
    {"V_ADD_I16", valuSaturating<[](i16 a, i16 b) { return i16(a + b); },
                                 [](i16 a, i16 b) { return saturate<i16>(a + b); }, Keep>},
    {"V_SUB_I16", valuSaturating<[](i16 a, i16 b) { return i16(a - b); },
                                 [](i16 a, i16 b) { return saturate<i16>(a - b); }, Keep>},
    {"V_MUL_LO_U16", valu<[](u16 a, u16 b) { return u16(u32(a) * b); }>},
    {"V_MAD_I16", valuSaturating<kMadI16, kMadI16Clamp, Keep>},
    {"V_MAD_LEGACY_I16", valuSaturating<kMadI16, kMadI16Clamp>},
    {"V_MAD_U16", valuSaturating<kMadU16, kMadU16Clamp, Keep>},
    {"V_MAD_LEGACY_U16", valuSaturating<kMadU16, kMadU16Clamp>},
    {"V_LSHLREV_B16", valu<[](u16 a, u16 b) { return u16(b << (a & 15)); }>},
    {"V_LSHRREV_B16", valu<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>},
    {"V_ASHRREV_I16", valu<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>},
    {"V_MIN_U16", valu<[](u16 a, u16 b) { return std::min(a, b); }>},
    {"V_MAX_U16", valu<[](u16 a, u16 b) { return std::max(a, b); }>},
    {"V_MIN_I16", valu<[](i16 a, i16 b) { return std::min(a, b); }>},
    {"V_MAX_I16", valu<[](i16 a, i16 b) { return std::max(a, b); }>},
    {"V_MIN3_U16", valu<[](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); }, Keep>},
    {"V_MAX3_U16", valu<[](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); }, Keep>},
    {"V_MIN3_I16", valu<[](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); }, Keep>},
    {"V_MAX3_I16", valu<[](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); }, Keep>},
    {"V_MED3_U16", valu<[](u16 a, u16 b, u16 c) { return median(a, b, c); }, Keep>},
    {"V_MED3_I16", valu<[](i16 a, i16 b, i16 c) { return median(a, b, c); }, Keep>},
    {"V_SAT_PK_U8_I16", valu<[](u32 a) {
       const auto byte = [](u32 half) { return u32(std::clamp<i32>(i16(half), 0, 255)); };
       return u16(byte(a & 0xffff) | byte(a >> 16) << 8);
     }>},
};

/// V_PACK_B32_F16: two f16 sources, each picked by op_sel, side by side.
constexpr auto kPack = [](F16Code a, F16Code b) { return pairOf(a.bits, b.bits); };

} // namespace

void registerHalf(HandlerTable &table) {
  addAll(table, kFloat);
  addAll(table, kInteger);
  table.add("V_PACK_B32_F16", valu<kPack>);
}

} // namespace mono::emu::valu
