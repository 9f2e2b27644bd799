// Between memory, where the dwords of a lane lie side by side, and registers, where those of one
// number do.
#pragma once

#include "runtime/emulator/exec/Wave.h"

#include <immintrin.h>

namespace mono::emu {

/// Registers to[0 .. Dwords), 64 dwords each, from `load(lane)`, which gives the first `Dwords` of
/// a lane's dwords in a vector of four. For all 64 lanes.
template <unsigned Dwords, typename Load>
inline void transposeToRegisters(Load load, uint32_t *to) {
  const auto store = [&](unsigned dword, unsigned lane, __m128i values) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + dword * Wave::lanes + lane), values);
  };
  for (unsigned lane = 0; lane < Wave::lanes; lane += 4) {
    const __m128i a = load(lane), b = load(lane + 1), c = load(lane + 2), d = load(lane + 3);
    const __m128i abLow = _mm_unpacklo_epi32(a, b), cdLow = _mm_unpacklo_epi32(c, d);
    store(0, lane, _mm_unpacklo_epi64(abLow, cdLow));
    if constexpr (Dwords > 1)
      store(1, lane, _mm_unpackhi_epi64(abLow, cdLow));
    if constexpr (Dwords > 2) {
      const __m128i abHigh = _mm_unpackhi_epi32(a, b), cdHigh = _mm_unpackhi_epi32(c, d);
      store(2, lane, _mm_unpacklo_epi64(abHigh, cdHigh));
      if constexpr (Dwords > 3)
        store(3, lane, _mm_unpackhi_epi64(abHigh, cdHigh));
    }
  }
}

} // namespace mono::emu
