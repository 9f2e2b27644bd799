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

/// A packed source as 128 elements of type T.
template <typename T> class HalfSource {
public:
  HalfSource(Wave &wave, const Instruction &inst, unsigned index)
      : halves(fetchHalves(wave, inst, inst.src[index], kind, buffer)) {}
  HalfSource(const HalfSource &) = delete;

  T operator[](unsigned n) const {
    if constexpr (std::is_same_v<T, F16>)
      return {numeric::halfToFloat(halves[n])};
    else if constexpr (std::is_same_v<T, F16Code>)
      return {halves[n]};
    else
      return T(halves[n]);
  }
  bool anyNan() const {
    u16 found = 0;
    for (unsigned n = 0; n < 2 * Wave::lanes; ++n)
      found |= (halves[n] & 0x7fff) > 0x7c00;
    return found;
  }

private:
  static constexpr HalfKind kind = detail::isHalf<T> ? HalfKind::F16 : HalfKind::Integer;
  LaneBuffer buffer;
  const Half *halves;
};
template <> class HalfSource<FloatMode> {
public:
  HalfSource(Wave &wave, const Instruction &, unsigned) : mode(wave) {}
  FloatMode operator[](unsigned) const { return mode; }
  bool anyNan() const { return false; }

private:
  FloatMode mode;
};

/// out[n] = Fn(sources[n]...) for the 128 halves. Halves are independent: `out` may be a source.
template <auto Fn, typename R, typename... Sources>
void loopHalves(const Wave &wave, const Instruction &inst, Half *out, const Sources &...sources) {
  constexpr unsigned count = 2 * Wave::lanes;
  if constexpr (std::is_same_v<R, F16>) {
    if (needsHalfFinish(wave, inst)) [[unlikely]] {
      alignas(64) float values[count];
      for (unsigned n = 0; n < count; ++n)
        values[n] = Fn(sources[n]...).value;
      finishPackedHalves(wave, inst, values, out);
      return;
    }
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
    for (unsigned n = 0; n < count; ++n)
      out[n] = numeric::floatToHalf(Fn(sources[n]...).value);
  } else if constexpr (std::is_same_v<R, F16Code>) {
#pragma clang loop vectorize(assume_safety) vectorize_width(16)
    for (unsigned n = 0; n < count; ++n)
      out[n] = Fn(sources[n]...).bits;
    finishPackedHalfCodes(wave, inst, out);
  } else {
#pragma clang loop vectorize(assume_safety) vectorize_width(16)
    for (unsigned n = 0; n < count; ++n)
      out[n] = u16(Fn(sources[n]...));
  }
}

template <typename> struct PackedSignature;
template <typename F, typename R, typename... Ts> struct PackedSignature<R (F::*)(Ts...) const> {
  static constexpr auto indices = std::index_sequence_for<Ts...>{};

  /// Computes all halves by `Fn`, or by `Ordered` if no source holds a NaN.
  template <auto Fn, auto Ordered, std::size_t... I>
  static void run(Wave &wave, const Instruction &inst, std::index_sequence<I...>) {
    const uint64_t mask = writeMask(wave, inst);
    uint32_t *row = wave.vgpr(inst.dst[0]);
    LaneBuffer buffer;
    Half *out = reinterpret_cast<Half *>(mask == Wave::allLanes ? row : buffer.dword);
    [&](const auto &...sources) {
      if (!std::is_same_v<decltype(Fn), decltype(Ordered)> && !(sources.anyNan() | ...))
        loopHalves<Ordered, R>(wave, inst, out, sources...);
      else
        loopHalves<Fn, R>(wave, inst, out, sources...);
    }(HalfSource<Ts>(wave, inst, I)...);
    if (mask != Wave::allLanes)
      blendRow(row, buffer.dword, mask);
  }
};

template <auto Fn, auto Ordered = Fn>
[[gnu::noinline]] void runPacked(Wave &wave, const Instruction &inst) {
  using S = PackedSignature<decltype(&decltype(Fn)::operator())>;
  S::template run<Fn, Ordered>(wave, inst, S::indices);
}

/// `Nearest` is `Fn` where the host rounds to nearest.
template <auto Fn, auto Nearest = Fn> void packed(Wave &wave, const Instruction &inst) {
  if (const unsigned rounding = wave.modeField(mode::roundF64F16, 2)) {
    const RoundingScope scope(rounding);
    runPacked<Fn>(wave, inst);
    return;
  }
  runPacked<Nearest>(wave, inst);
}

template <auto Wrapping, auto Saturating>
void packedSaturating(Wave &wave, const Instruction &inst) {
  if (inst.clamp)
    packed<Saturating>(wave, inst);
  else
    packed<Wrapping>(wave, inst);
}

constexpr auto kFma = [](F16 a, F16 b, F16 c) { return fmaHalf(a, b, c); };
constexpr auto kFmaNearest = [](F16 a, F16 b, F16 c) { return fmaHalfNearest(a, b, c); };

const Entry kHalves[] = {
    {"V_PK_ADD_F16", packed<[](F16 a, F16 b) { return F16{a.value + b.value}; }>},
    {"V_PK_MUL_F16", packed<[](F16 a, F16 b) { return F16{a.value * b.value}; }>},
    {"V_PK_FMA_F16", packed<kFma, kFmaNearest>},
    {"V_PK_FMAC_F16", packed<kFma, kFmaNearest>},
    {"V_PK_MIN_F16", runPacked<[](F16Code a, F16Code b, FloatMode m) {
       return F16Code{minNumber(a.bits, b.bits, m.ieee)};
     },
                               [](F16Code a, F16Code b, FloatMode) {
                                 return F16Code{minOrdered(a.bits, b.bits)};
                               }>},
    {"V_PK_MAX_F16", runPacked<[](F16Code a, F16Code b, FloatMode m) {
       return F16Code{maxNumber(a.bits, b.bits, m.ieee)};
     },
                               [](F16Code a, F16Code b, FloatMode) {
                                 return F16Code{maxOrdered(a.bits, b.bits)};
                               }>},
    {"V_PK_MINIMUM3_F16", runPacked<[](F16Code a, F16Code b, F16Code c) {
       return F16Code{minimumIeee(minimumIeee(a.bits, b.bits), c.bits)};
     },
                                    [](F16Code a, F16Code b, F16Code c) {
                                      return F16Code{
                                          minOrdered(minOrdered(a.bits, b.bits), c.bits)};
                                    }>},
    {"V_PK_MAXIMUM3_F16", runPacked<[](F16Code a, F16Code b, F16Code c) {
       return F16Code{maximumIeee(maximumIeee(a.bits, b.bits), c.bits)};
     },
                                    [](F16Code a, F16Code b, F16Code c) {
                                      return F16Code{
                                          maxOrdered(maxOrdered(a.bits, b.bits), c.bits)};
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

/// One dword of a packed f32 source: its row and what flips its sign.
struct PackedFloat {
  const uint32_t *row;
  uint32_t flip;

  float operator[](unsigned lane) const { return std::bit_cast<float>(row[lane] ^ flip); }
};

/// The low or high dwords of all sources.
template <unsigned Count> struct PackedFloats {
  LaneBuffer buffers[Count];
  PackedFloat source[Count];

  PackedFloats(Wave &wave, const Instruction &inst, bool high) {
    for (unsigned n = 0; n < Count; ++n) {
      const Operand &operand = inst.src[n];
      const bool negate = high ? operand.negHi : operand.neg;
      source[n] = {fetchPackedDword(wave, operand, high, buffers[n]), negate ? 1u << 31 : 0};
    }
  }
  PackedFloats(const PackedFloats &) = delete;
  bool reads(const uint32_t *row) const {
    return std::any_of(source, source + Count, [=](const PackedFloat &s) { return s.row == row; });
  }
};

template <bool Flush> float flushedIf(float value) {
  return Flush ? numeric::flushDenormal(value) : value;
}

template <auto Fn, bool FlushIn, bool FlushOut, unsigned Count, std::size_t... I>
void loopPackedFloats(const PackedFloats<Count> &sources, float *out, std::index_sequence<I...>) {
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    out[lane] = flushedIf<FlushOut>(Fn(flushedIf<FlushIn>(sources.source[I][lane])...));
}

template <auto Fn, unsigned Count, bool FlushIn, bool FlushOut>
[[gnu::noinline]] void runPackedF32(Wave &wave, const Instruction &inst) {
  const PackedFloats<Count> low(wave, inst, false), high(wave, inst, true);
  const uint64_t mask = writeMask(wave, inst);
  uint32_t *rows[] = {wave.vgpr(inst.dst[0], 0), wave.vgpr(inst.dst[0], 1)};
  LaneBuffer buffers[2];
  // Straight to the registers where that overwrites nothing still needed: the pair may be a source
  // with the halves exchanged.
  const bool direct = mask == Wave::allLanes && !high.reads(rows[0]);
  for (bool second : {false, true}) {
    auto *out = reinterpret_cast<float *>(direct ? rows[second] : buffers[second].dword);
    constexpr auto indices = std::make_index_sequence<Count>{};
    loopPackedFloats<Fn, FlushIn, FlushOut, Count>(second ? high : low, out, indices);
    if (inst.clamp) [[unlikely]]
      finishFloats(wave, inst, out);
  }
  for (unsigned n = 0; n < 2 && !direct; ++n)
    blendRow(rows[n], buffers[n].dword, mask);
}

template <auto Fn, unsigned Count> void packedF32(Wave &wave, const Instruction &inst) {
  // By MODE's denormal field: bit 0 keeps those of the sources, bit 1 those of the result.
  static constexpr Handler byDenormals[] = {
      runPackedF32<Fn, Count, true, true>, runPackedF32<Fn, Count, false, true>,
      runPackedF32<Fn, Count, true, false>, runPackedF32<Fn, Count, false, false>};
  const Handler run = byDenormals[wave.modeField(mode::denormF32, 2)];
  withRounding(wave, mode::roundF32, [&] { run(wave, inst); });
}

/// V_PK_MOV_B32: op_sel[0] picks the dword of the first source for the low result, op_sel[1] that
/// of the second for the high one.
void packedMove(Wave &wave, const Instruction &inst) {
  LaneBuffer buffer, low, high;
  const auto copy = [&](unsigned n, LaneBuffer &to) {
    std::copy_n(fetchPackedDword(wave, inst.src[n], false, buffer), Wave::lanes, to.dword);
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

/// A mixed source as f32: op_sel_hi says f16, then op_sel says which half; neg_hi means abs. Either
/// the register row or `buffer`.
const float *fetchMixed(Wave &wave, const Instruction &inst, const Operand &operand,
                        LaneBuffer &buffer) {
  Operand plain = operand;
  plain.abs = operand.negHi;
  plain.opSel = operand.opSelHi && operand.opSel;
  const ValueKind kind = operand.opSelHi ? ValueKind::Float16 : ValueKind::Float32;
  const uint32_t *row = fetchRow(wave, inst, plain, 0, kind, buffer);
  if (!operand.opSelHi)
    return reinterpret_cast<const float *>(row);
  float *values = reinterpret_cast<float *>(buffer.dword);
#pragma clang loop vectorize(assume_safety) vectorize_width(8)
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    values[lane] = numeric::halfToFloat(u16(row[lane]));
  return values;
}

/// The fused multiply-add in f32; `results` is what the destination is made from.
[[gnu::noinline]] void mixedFma(Wave &wave, const Instruction &inst, float *results) {
  LaneBuffer buffers[3];
  const float *values[3];
  for (unsigned n = 0; n < 3; ++n)
    values[n] = fetchMixed(wave, inst, inst.src[n], buffers[n]);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane)
    results[lane] = std::fma(values[0][lane], values[1][lane], values[2][lane]);
}

void mixF32(Wave &wave, const Instruction &inst) {
  LaneBuffer result;
  float *values = reinterpret_cast<float *>(result.dword);
  withRounding(wave, mode::roundF32, [&] {
    mixedFma(wave, inst, values);
    if (needsFinish(wave, inst, mode::denormF32)) [[unlikely]]
      finishFloats(wave, inst, values);
  });
  blendRow(wave.vgpr(inst.dst[0]), result.dword, writeMask(wave, inst));
}

/// V_FMA_MIXLO_F16 and V_FMA_MIXHI_F16: the f32 result rounded once more, into one half.
template <HighHalf Place> void mixF16(Wave &wave, const Instruction &inst) {
  alignas(64) float values[Wave::lanes];
  LaneBuffer codes;
  withRounding(wave, mode::roundF32, [&] { mixedFma(wave, inst, values); });
  withRounding(wave, mode::roundF64F16, [&] { finishHalves(wave, inst, values, codes.dword); });
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
