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

/// The scale of a block whose largest magnitude this is.
static uint8_t scaleOf(double largest, MxScale rule) {
  int exponent = largest > 0 ? std::ilogb(largest) - fp8MaxExponent : -126;
  if (rule == MxScale::Fit && std::ldexp(largest, -exponent) >= fp8Overflow)
    ++exponent;
  return static_cast<uint8_t>(std::clamp(exponent + 127, 1, 254));
}

static uint8_t blockScale(ArrayRef<double> values, MxScale rule) {
  double largest = 0;
  for (double value : values) {
    if (!std::isfinite(value))
      return 0xFF;
    largest = std::max(largest, std::abs(value));
  }
  return scaleOf(largest, rule);
}

static uint8_t codeOf(double value, uint8_t scale) {
  double factor = 1 / numeric::decodeE8M0(scale); // a power of two: exact
  return static_cast<uint8_t>(numeric::encode(numeric::kFp8E4M3, value * factor,
                                              numeric::Rounding::NearestEven,
                                              numeric::Overflow::Saturate));
}

void quantiseMxfp8(ArrayRef<double> values, MxScale rule, MutableArrayRef<uint8_t> codes,
                   MutableArrayRef<uint8_t> scales) {
  assert(codes.size() == values.size() && scales.size() * mxBlock == values.size());
  for (size_t block = 0; block < scales.size(); ++block) {
    ArrayRef<double> from = values.slice(block * mxBlock, mxBlock);
    scales[block] = blockScale(from, rule);
    for (size_t i = 0; i < mxBlock; ++i)
      codes[block * mxBlock + i] = codeOf(from[i], scales[block]);
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

static void reachOfBlock(ArrayRef<double> values, MxScale rule, MutableArrayRef<double> reach) {
  double least = 0, most = 0; // that the largest magnitude may be
  for (size_t i = 0; i < mxBlock; ++i) {
    least = std::max(least, std::abs(values[i]) - reach[i]);
    most = std::max(most, std::abs(values[i]) + reach[i]);
  }
  std::array<double, mxBlock> rounded;
  std::copy(values.begin(), values.end(), rounded.begin());
  roundToMxfp8(rounded, rule);
  std::array<double, mxBlock> furthest{};
  for (unsigned scale = scaleOf(least, rule); scale <= scaleOf(most, rule); ++scale)
    for (size_t i = 0; i < mxBlock; ++i)
      for (double end : {values[i] - reach[i], values[i] + reach[i]}) {
        auto byte = static_cast<uint8_t>(scale);
        double value = fp8Values[codeOf(end, byte)] * numeric::decodeE8M0(byte);
        furthest[i] = std::max(furthest[i], std::abs(value - rounded[i]));
      }
  std::copy(furthest.begin(), furthest.end(), reach.begin());
}

void reachOfMxfp8(ArrayRef<double> values, MxScale rule, MutableArrayRef<double> reach) {
  assert(values.size() == reach.size() && values.size() % mxBlock == 0);
  for (size_t first = 0; first < values.size(); first += mxBlock)
    reachOfBlock(values.slice(first, mxBlock), rule, reach.slice(first, mxBlock));
}

} // namespace mono::models
