// Blocks of E4M3 codes.
#include "models/Mxfp8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

using namespace llvm;

namespace mono::models {

static constexpr std::array<double, 256> makeFp8Values() {
  std::array<double, 256> values{};
  for (unsigned code = 0; code < 256; ++code)
    values[code] = numeric::decode(numeric::kFp8E4M3, code);
  return values;
}
static constexpr std::array<double, 256> fp8Values = makeFp8Values();

/// The least magnitude that rounds past 448, the greatest number: halfway to 480, which would be
/// next.
static constexpr double fp8Overflow = 464;
/// Exponent of 448.
static constexpr int fp8MaxExponent = 8;

static uint8_t blockScale(ArrayRef<double> values, MxScale rule) {
  double largest = 0;
  for (double value : values) {
    if (!std::isfinite(value))
      return 0xFF;
    largest = std::max(largest, std::abs(value));
  }
  int exponent = largest > 0 ? std::ilogb(largest) - fp8MaxExponent : -126;
  if (rule == MxScale::Fit && std::ldexp(largest, -exponent) >= fp8Overflow)
    ++exponent;
  return static_cast<uint8_t>(std::clamp(exponent + 127, 1, 254));
}

void quantiseMxfp8(ArrayRef<double> values, MxScale rule, MutableArrayRef<uint8_t> codes,
                   MutableArrayRef<uint8_t> scales) {
  assert(codes.size() == values.size() && scales.size() * mxBlock == values.size());
  for (size_t block = 0; block < scales.size(); ++block) {
    ArrayRef<double> from = values.slice(block * mxBlock, mxBlock);
    scales[block] = blockScale(from, rule);
    double factor = 1 / numeric::decodeE8M0(scales[block]); // a power of two: exact
    for (size_t i = 0; i < mxBlock; ++i)
      codes[block * mxBlock + i] = static_cast<uint8_t>(
          numeric::encode(numeric::kFp8E4M3, from[i] * factor, numeric::Rounding::NearestEven,
                          numeric::Overflow::Saturate));
  }
}

void decodeMxfp8(ArrayRef<uint8_t> codes, ArrayRef<uint8_t> scales, MutableArrayRef<double> out) {
  assert(codes.size() == out.size() && scales.size() * mxBlock == out.size());
  for (size_t i = 0; i < codes.size(); ++i)
    out[i] = fp8Values[codes[i]] * numeric::decodeE8M0(scales[i / mxBlock]);
}

void roundToMxfp8(MutableArrayRef<double> values, MxScale rule) {
  std::vector<uint8_t> codes(values.size()), scales(values.size() / mxBlock);
  quantiseMxfp8(values, rule, codes, scales);
  decodeMxfp8(codes, scales, values);
}

} // namespace mono::models
