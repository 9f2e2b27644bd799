// VOP3P: two 16-bit operations in a dword, two f32 operations in a register pair, and v_fma_mix.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuHalfMath.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"
#include "runtime/emulator/exec/ValuMinMax.h"

#include <algorithm>
#include <cmath>

namespace mono::emu::valu {
namespace {

// ---- two 16-bit operations ---------------------------------------------------------------------

/// The low or high half of a packed source as T.
template <typename T> class HalfSource {
public:
  HalfSource(Wave &wave, const Instruction &inst, unsigned index, bool high)
      : row(fetchPackedHalf(wave, inst, inst.src[index], high,
                            detail::isHalf<T> ? HalfKind::F16 : HalfKind::Integer, buffer)) {}
  HalfSource(const HalfSource &) = delete;
  T operator[](unsigned lane) const {
    if constexpr (std::is_same_v<T, F16>)
      return {numeric::halfToFloat(u16(row[lane]))};
    else
      return T(row[lane]);
  }

private:
  LaneBuffer buffer;
  const uint32_t *row;
};
template <> inline F16Code HalfSource<F16Code>::operator[](unsigned lane) const {
  return {u16(row[lane])};
}
template <> class HalfSource<FloatMode> {
public:
  HalfSource(Wave &wave, const Instruction &, unsigned, bool) : mode(wave) {}
  FloatMode operator[](unsigned) const { return mode; }

private:
  FloatMode mode;
};

template <typename> struct PackedSignature;
template <typename F, typename R, typename... Ts> struct PackedSignature<R (F::*)(Ts...) const> {
  /// One half of all lanes, finished, in the low 16 bits of `result`.
  template <auto Fn, std::size_t... I>
  static void half(Wave &wave, const Instruction &inst, bool high, LaneBuffer &result,
                   std::index_sequence<I...>) {
    [&](const auto &...sources) {
      LaneBuffer raw;
      using Sink = detail::HalfSink<R, HighHalf::Zero>;
      for (unsigned lane = 0; lane < Wave::lanes; ++lane)
        Sink::put(raw.dword, lane, Fn(sources[lane]...));
      if constexpr (std::is_same_v<R, F16>) {
        finishHalves(wave, inst, reinterpret_cast<const float *>(raw.dword), result.dword);
      } else {
        result = raw;
        if constexpr (std::is_same_v<R, F16Code>)
          finishHalfCodes(wave, inst, result.dword);
      }
    }(HalfSource<Ts>(wave, inst, I, high)...);
  }
  template <auto Fn>
  static void half(Wave &wave, const Instruction &inst, bool high, LaneBuffer &result) {
    half<Fn>(wave, inst, high, result, std::index_sequence_for<Ts...>{});
  }
  static constexpr bool isFloat = std::is_same_v<R, F16>;
};

template <auto Fn> [[gnu::noinline]] void runPacked(Wave &wave, const Instruction &inst) {
  using S = PackedSignature<decltype(&decltype(Fn)::operator())>;
  LaneBuffer low, high;
  S::template half<Fn>(wave, inst, false, low);
  S::template half<Fn>(wave, inst, true, high);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    low.dword[lane] = pairOf(low.dword[lane], high.dword[lane]);
  blendRow(wave.vgpr(inst.dst[0]), low.dword, writeMask(wave, inst));
}

template <auto Fn> void packed(Wave &wave, const Instruction &inst) {
  if (const unsigned rounding = wave.modeField(mode::roundF64F16, 2)) {
    const RoundingScope scope(rounding);
    runPacked<Fn>(wave, inst);
    return;
  }
  runPacked<Fn>(wave, inst);
}

template <auto Wrapping, auto Saturating>
void packedSaturating(Wave &wave, const Instruction &inst) {
  if (inst.clamp)
    packed<Saturating>(wave, inst);
  else
    packed<Wrapping>(wave, inst);
}

constexpr auto kFma = [](F16 a, F16 b, F16 c) { return fmaHalf(a, b, c); };

const Entry kHalves[] = {
    {"V_PK_ADD_F16", packed<[](F16 a, F16 b) { return F16{a.value + b.value}; }>},
    {"V_PK_MUL_F16", packed<[](F16 a, F16 b) { return F16{a.value * b.value}; }>},
    {"V_PK_FMA_F16", packed<kFma>},
    {"V_PK_FMAC_F16", packed<kFma>},
    {"V_PK_MIN_F16", packed<[](F16Code a, F16Code b, FloatMode m) {
       return F16Code{minNumber(a.bits, b.bits, m.ieee)};
     }>},
    {"V_PK_MAX_F16", packed<[](F16Code a, F16Code b, FloatMode m) {
       return F16Code{maxNumber(a.bits, b.bits, m.ieee)};
     }>},
    {"V_PK_MINIMUM3_F16", packed<[](F16Code a, F16Code b, F16Code c) {
       return F16Code{minimumIeee(minimumIeee(a.bits, b.bits), c.bits)};
     }>},
    {"V_PK_MAXIMUM3_F16", packed<[](F16Code a, F16Code b, F16Code c) {
       return F16Code{maximumIeee(maximumIeee(a.bits, b.bits), c.bits)};
     }>},
    {"V_PK_ADD_I16", packedSaturating<[](i16 a, i16 b) { return i16(a + b); },
                                      [](i16 a, i16 b) { return saturate<i16>(a + b); }>},
    {"V_PK_SUB_I16", packedSaturating<[](i16 a, i16 b) { return i16(a - b); },
                                      [](i16 a, i16 b) { return saturate<i16>(a - b); }>},
    {"V_PK_ADD_U16", packedSaturating<[](u16 a, u16 b) { return u16(a + b); },
                                      [](u16 a, u16 b) { return saturate<u16>(a + b); }>},
    {"V_PK_SUB_U16", packedSaturating<[](u16 a, u16 b) { return u16(a - b); },
                                      [](u16 a, u16 b) { return saturate<u16>(a - b); }>},
    {"V_PK_MUL_LO_U16", packed<[](u16 a, u16 b) { return u16(u32(a) * b); }>},
    {"V_PK_MAD_I16",
     packedSaturating<[](i16 a, i16 b, i16 c) { return i16(i32(a) * b + c); },
                      [](i16 a, i16 b, i16 c) { return saturate<i16>(i32(a) * b + c); }>},
    {"V_PK_MAD_U16",
     packedSaturating<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); },
                      [](u16 a, u16 b, u16 c) { return saturate<u16>(i64(a) * b + c); }>},
    {"V_PK_MIN_I16", packed<[](i16 a, i16 b) { return std::min(a, b); }>},
    {"V_PK_MAX_I16", packed<[](i16 a, i16 b) { return std::max(a, b); }>},
    {"V_PK_MIN_U16", packed<[](u16 a, u16 b) { return std::min(a, b); }>},
    {"V_PK_MAX_U16", packed<[](u16 a, u16 b) { return std::max(a, b); }>},
    {"V_PK_LSHLREV_B16", packed<[](u16 a, u16 b) { return u16(b << (a & 15)); }>},
    {"V_PK_LSHRREV_B16", packed<[](u16 a, u16 b) { return u16(b >> (a & 15)); }>},
    {"V_PK_ASHRREV_I16", packed<[](u16 a, i16 b) { return i16(b >> (a & 15)); }>},
};

// ---- two f32 operations ------------------------------------------------------------------------

/// One of the two f32 results of all lanes.
template <auto Fn, std::size_t... I>
void packedDword(Wave &wave, const Instruction &inst, bool high, LaneBuffer &result,
                 std::index_sequence<I...>) {
  LaneBuffer buffers[sizeof...(I)];
  const uint32_t *rows[] = {fetchPackedDword(wave, inst, inst.src[I], high, true, buffers[I])...};
  float *out = reinterpret_cast<float *>(result.dword);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    out[lane] = Fn(std::bit_cast<float>(rows[I][lane])...);
  if (needsFinish(wave, inst, mode::denormF32)) [[unlikely]]
    finishFloats(wave, inst, out);
}

template <auto Fn, unsigned Sources>
[[gnu::noinline]] void runPackedF32(Wave &wave, const Instruction &inst) {
  // Both halves are computed before either is written: the pair may be a source with the halves
  // exchanged.
  LaneBuffer low, high;
  packedDword<Fn>(wave, inst, false, low, std::make_index_sequence<Sources>{});
  packedDword<Fn>(wave, inst, true, high, std::make_index_sequence<Sources>{});
  const uint64_t mask = writeMask(wave, inst);
  blendRow(wave.vgpr(inst.dst[0], 0), low.dword, mask);
  blendRow(wave.vgpr(inst.dst[0], 1), high.dword, mask);
}

template <auto Fn, unsigned Sources> void packedF32(Wave &wave, const Instruction &inst) {
  if (const unsigned rounding = wave.modeField(mode::roundF32, 2)) {
    const RoundingScope scope(rounding);
    runPackedF32<Fn, Sources>(wave, inst);
    return;
  }
  runPackedF32<Fn, Sources>(wave, inst);
}

/// V_PK_MOV_B32: op_sel[0] picks the dword of the first source for the low result, op_sel[1] that
/// of the second for the high one.
void packedMove(Wave &wave, const Instruction &inst) {
  LaneBuffer buffer, low, high;
  const auto copy = [&](unsigned n, LaneBuffer &to) {
    std::copy_n(fetchPackedDword(wave, inst, inst.src[n], false, false, buffer), Wave::lanes,
                to.dword);
  };
  copy(0, low);
  copy(1, high);
  const uint64_t mask = writeMask(wave, inst);
  blendRow(wave.vgpr(inst.dst[0], 0), low.dword, mask);
  blendRow(wave.vgpr(inst.dst[0], 1), high.dword, mask);
}

const Entry kDwords[] = {
    {"V_PK_ADD_F32", packedF32<[](float a, float b) { return a + b; }, 2>},
    {"V_PK_MUL_F32", packedF32<[](float a, float b) { return a * b; }, 2>},
    {"V_PK_FMA_F32", packedF32<[](float a, float b, float c) { return std::fma(a, b, c); }, 3>},
    {"V_PK_MOV_B32", packedMove},
};

// ---- v_fma_mix -----------------------------------------------------------------------------

/// A mixed source as f32: op_sel_hi says f16, then op_sel says which half; neg_hi means abs.
void fetchMixed(Wave &wave, const Instruction &inst, const Operand &operand, float *out) {
  Operand plain = operand;
  plain.abs = operand.negHi;
  plain.opSel = operand.opSelHi && operand.opSel;
  LaneBuffer buffer;
  const ValueKind kind = operand.opSelHi ? ValueKind::Float16 : ValueKind::Float32;
  const uint32_t *row = fetchRow(wave, inst, plain, 0, kind, buffer);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    out[lane] =
        operand.opSelHi ? numeric::halfToFloat(u16(row[lane])) : std::bit_cast<float>(row[lane]);
}

/// The fused multiply-add in f32; `results` is what the destination is made from.
[[gnu::noinline]] void mixedFma(Wave &wave, const Instruction &inst, float *results) {
  alignas(64) float values[3][Wave::lanes];
  for (unsigned n = 0; n < 3; ++n)
    fetchMixed(wave, inst, inst.src[n], values[n]);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    results[lane] = std::fma(values[0][lane], values[1][lane], values[2][lane]);
}

void mixF32(Wave &wave, const Instruction &inst) {
  const RoundingScope scope(wave.modeField(mode::roundF32, 2));
  LaneBuffer result;
  float *values = reinterpret_cast<float *>(result.dword);
  mixedFma(wave, inst, values);
  finishFloats(wave, inst, values);
  blendRow(wave.vgpr(inst.dst[0]), result.dword, writeMask(wave, inst));
}

/// V_FMA_MIXLO_F16 and V_FMA_MIXHI_F16: the f32 result rounded once more, into one half.
template <HighHalf Place> void mixF16(Wave &wave, const Instruction &inst) {
  alignas(64) float values[Wave::lanes];
  LaneBuffer codes;
  {
    const RoundingScope scope(wave.modeField(mode::roundF32, 2));
    mixedFma(wave, inst, values);
  }
  const RoundingScope scope(wave.modeField(mode::roundF64F16, 2));
  finishHalves(wave, inst, values, codes.dword);
  storeHalves(wave, inst, codes.dword, writeMask(wave, inst), Place);
}

const Entry kMixed[] = {
    {"V_FMA_MIX_F32", mixF32},
    {"V_FMA_MIXLO_F16", mixF16<HighHalf::Keep>},
    {"V_FMA_MIXHI_F16", mixF16<HighHalf::Write>},
};

} // namespace

void registerPacked(HandlerTable &table) {
  addAll(table, kHalves);
  addAll(table, kDwords);
  addAll(table, kMixed);
}

} // namespace mono::emu::valu
