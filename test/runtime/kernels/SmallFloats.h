// The small float formats as tables of values, written from their definition (OCP 8-bit Floating
// Point and Microscaling specifications) and independent of the emulator's own conversions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace mono::emu::test {

/// A format of one sign bit; codes beyond the finite ones are infinity or NaN where there are any.
struct SmallFloat {
  unsigned exponentBits, mantissaBits;
  int bias;
  unsigned finiteCodes; ///< positive codes below this one are finite

  unsigned bits() const { return 1 + exponentBits + mantissaBits; }

  /// Value of a code; NaN for the codes of E4M3 and E5M2 that are not finite (infinity at E5M2's).
  double decode(unsigned code) const {
    unsigned magnitude = code & ((1u << (bits() - 1)) - 1);
    double sign = code >> (bits() - 1) & 1 ? -1 : 1;
    if (magnitude >= finiteCodes)
      return mantissaBits == 2 && magnitude == finiteCodes && bits() == 8
                 ? sign * std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::quiet_NaN();
    int exponent = int(magnitude >> mantissaBits);
    double fraction = double(magnitude & ((1u << mantissaBits) - 1)) / (1 << mantissaBits);
    return sign *
           (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
  }

  double largest() const { return decode(finiteCodes - 1); }

  /// Code of the finite value nearest to `value` (not NaN), ties to the even code; beyond the
  /// largest value it is the largest.
  unsigned nearest(double value) const {
    double magnitude = std::abs(value);
    unsigned best = 0;
    for (unsigned code = 1; code < finiteCodes; ++code) {
      double better = std::abs(decode(best) - magnitude) - std::abs(decode(code) - magnitude);
      if (better > 0 || (better == 0 && code % 2 == 0))
        best = code;
    }
    return best | unsigned(std::signbit(value)) << (bits() - 1);
  }
  /// Whether rounding `value` with an unbounded exponent gives more than the largest value.
  bool overflows(double value) const {
    double step = largest() - decode(finiteCodes - 2);
    return std::abs(value) >= largest() + step / 2;
  }
};

inline constexpr SmallFloat fp8 = {4, 3, 7, 0x7f};  // E4M3: S.1111.111 is NaN, no infinity
inline constexpr SmallFloat bf8 = {5, 2, 15, 0x7c}; // E5M2: as IEEE
inline constexpr SmallFloat fp6 = {2, 3, 1, 0x20};  // E2M3, all finite
inline constexpr SmallFloat bf6 = {3, 2, 3, 0x20};  // E3M2, all finite
inline constexpr SmallFloat fp4 = {2, 1, 1, 0x8};   // E2M1, all finite

/// Item `n` of `width` bits in a string of little-endian dwords.
inline unsigned itemOf(const uint32_t *words, unsigned n, unsigned width) {
  unsigned bit = n * width;
  uint64_t pair =
      words[bit / 32] | (bit % 32 + width > 32 ? uint64_t(words[bit / 32 + 1]) << 32 : 0);
  return unsigned(pair >> bit % 32) & ((1u << width) - 1);
}
inline void setItem(uint32_t *words, unsigned n, unsigned width, unsigned code) {
  for (unsigned b = 0; b < width; ++b) {
    unsigned bit = n * width + b;
    words[bit / 32] = (words[bit / 32] & ~(1u << bit % 32)) | (code >> b & 1) << bit % 32;
  }
}

} // namespace mono::emu::test
