// Dot products of packed small elements, added to a 32-bit accumulator.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuIntegerMath.h"
#include "runtime/emulator/exec/ValuLanes.h"

#include <algorithm>
#include <limits>

namespace mono::emu::valu {
namespace {

/// Element `n` of a dword of packed integers of `Bits` bits.
template <unsigned Bits, bool Signed> constexpr int64_t element(uint32_t dword, unsigned n) {
  const uint32_t top = dword << (32 - Bits * (n + 1));
  return Signed ? int64_t(int32_t(top) >> (32 - Bits)) : int64_t(top >> (32 - Bits));
}

/// The sum modulo 2^32.
template <unsigned Bits, bool Signed>
constexpr uint32_t dotProductWrapped(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned n = 0; n < 32 / Bits; ++n)
    c += uint32_t(element<Bits, Signed>(a, n)) * uint32_t(element<Bits, Signed>(b, n));
  return c;
}
/// The exact sum, for saturation.
template <unsigned Bits, bool Signed>
constexpr int64_t dotProduct(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = Signed ? int64_t(int32_t(c)) : int64_t(c);
  for (unsigned n = 0; n < 32 / Bits; ++n)
    sum += element<Bits, Signed>(a, n) * element<Bits, Signed>(b, n);
  return sum;
}

template <unsigned Bits, bool Signed>
constexpr auto kWrapping =
    [](uint32_t a, uint32_t b, uint32_t c) { return dotProductWrapped<Bits, Signed>(a, b, c); };
template <unsigned Bits, bool Signed>
constexpr auto kSaturating = [](uint32_t a, uint32_t b, uint32_t c) {
  using Limits = std::numeric_limits<std::conditional_t<Signed, int32_t, uint32_t>>;
  return uint32_t(
      std::clamp<int64_t>(dotProduct<Bits, Signed>(a, b, c), Limits::min(), Limits::max()));
};

/// Integer dot product: op_sel is ignored but for the 16-bit forms, whose halves are picked first.
template <unsigned Bits, bool Signed> void dotInteger(Wave &wave, const Instruction &inst) {
  valuSaturating<kWrapping<Bits, Signed>, kSaturating<Bits, Signed>>(wave, inst);
}

/// The first two sources after op_sel: the elements to multiply are the low and the high halves of
/// each dword.
struct HalfPairs {
  LaneBuffer buffers[2];
  const uint32_t *a, *b;

  HalfPairs(Wave &wave, const Instruction &inst, HalfKind kind) {
    const auto fetch = [&](unsigned n) {
      const Half *halves = fetchHalves(wave, inst, inst.src[n], kind, buffers[n]);
      return reinterpret_cast<const uint32_t *>(halves);
    };
    a = fetch(0);
    b = fetch(1);
  }
  HalfPairs(const HalfPairs &) = delete;
};

template <bool Signed> void dotShorts(Wave &wave, const Instruction &inst) {
  const HalfPairs pairs(wave, inst, HalfKind::Integer);
  LaneBuffer buffer, result;
  const uint32_t *c = fetchRow(wave, inst, inst.src[2], 0, ValueKind::Bits32, buffer);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    const uint32_t a = pairs.a[lane], b = pairs.b[lane];
    result.dword[lane] =
        inst.clamp ? kSaturating<16, Signed>(a, b, c[lane]) : kWrapping<16, Signed>(a, b, c[lane]);
  }
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}

struct HalfElement {
  static constexpr HalfKind kind = HalfKind::F16;
  static float low(uint32_t pair) { return numeric::halfToFloat(uint16_t(pair)); }
  static float high(uint32_t pair) { return numeric::halfToFloat(uint16_t(pair >> 16)); }
};
struct Bf16Element {
  static constexpr HalfKind kind = HalfKind::Bf16;
  static float low(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
  static float high(uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000); }
};

/// Products of two f16 or bf16 are exact in f32; each addition rounds to nearest.
/// `AccumulatorFirst` starts the sum from the accumulator; v_dot2_f32_bf16 adds it last (CDNA4 ISA
/// pseudocode).
template <typename Element, bool AccumulatorFirst>
[[gnu::noinline]] void dotFloats(Wave &wave, const Instruction &inst) {
  const HalfPairs pairs(wave, inst, Element::kind);
  LaneBuffer buffer, result;
  const uint32_t *c = fetchRow(wave, inst, inst.src[2], 0, ValueKind::Float32, buffer);
  float *out = reinterpret_cast<float *>(result.dword);
  for (unsigned lane = 0; lane < Wave::lanes; ++lane) {
    const uint32_t a = pairs.a[lane], b = pairs.b[lane];
    const float first = Element::low(a) * Element::low(b);
    const float second = Element::high(a) * Element::high(b);
    const float accumulator = std::bit_cast<float>(c[lane]);
    out[lane] = AccumulatorFirst ? (accumulator + first) + second : (first + second) + accumulator;
  }
  if (inst.clamp)
    finishFloats(wave, inst, out);
  storeDwords(wave, inst, result.dword, writeMask(wave, inst));
}

const Entry kEntries[] = {
    {"V_DOT2_F32_F16", dotFloats<HalfElement, true>},
    {"V_DOT2C_F32_F16", dotFloats<HalfElement, true>},
    {"V_DOT2_F32_BF16", dotFloats<Bf16Element, false>},
    {"V_DOT2C_F32_BF16", dotFloats<Bf16Element, true>},
    {"V_DOT2_I32_I16", dotShorts<true>},
    {"V_DOT2_U32_U16", dotShorts<false>},
    {"V_DOT2C_I32_I16", dotShorts<true>},
    {"V_DOT4_I32_I8", dotInteger<8, true>},
    {"V_DOT4C_I32_I8", dotInteger<8, true>},
    {"V_DOT4_U32_U8", dotInteger<8, false>},
    {"V_DOT8_I32_I4", dotInteger<4, true>},
    {"V_DOT8C_I32_I4", dotInteger<4, true>},
    {"V_DOT8_U32_U4", dotInteger<4, false>},
};

} // namespace

void registerDot(HandlerTable &table) { addAll(table, kEntries); }

} // namespace mono::emu::valu
