// Block decoding and quantisation.
#include "models/Mxfp4.h"
#include "models/BFloat16.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace llvm;

namespace mono::models {

static constexpr std::array<double, 16> makeFp4Values() {
  std::array<double, 16> values{};
  for (unsigned code = 0; code < 16; ++code)
    values[code] = fp4Value(code);
  return values;
}
static constexpr std::array<double, 16> fp4Values = makeFp4Values();

void decodeMxfp4(ArrayRef<uint8_t> codes, ArrayRef<uint8_t> scales, MutableArrayRef<double> out) {
  assert(codes.size() * 2 == out.size() && scales.size() * mxBlock == out.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    double scale = numeric::decodeE8M0(scales[2 * i / mxBlock]);
    out[2 * i] = fp4Values[codes[i] & 15] * scale;
    out[2 * i + 1] = fp4Values[codes[i] >> 4] * scale;
  }
}

/// The E8M0 code for a block. A magnitude of at least 1.75 * 2^e is nearer to 2^(e+1) than to what
/// E2M1 can say below (1.5 * 2^e), so adding a quarter of its binade before taking the exponent
/// rounds it to the binade it will be coded in; 2^(scale + 2) is the binade of 4 and 6.
static uint8_t blockScale(ArrayRef<uint16_t> bf16) {
  float largest = 0;
  for (uint16_t value : bf16) {
    float magnitude = std::abs(toFloat(value));
    if (!std::isfinite(magnitude))
      return 0xFF;
    largest = std::max(largest, magnitude);
  }
  int exponent = static_cast<int>((std::bit_cast<uint32_t>(largest) + 0x200000) >> 23);
  return static_cast<uint8_t>(std::max(exponent - 2, 0));
}

static unsigned encode(uint16_t bf16, double scale) {
  return numeric::encode(numeric::kFp4E2M1, toFloat(bf16) / scale);
}

void quantiseMxfp4(ArrayRef<uint16_t> bf16, MutableArrayRef<uint8_t> codes,
                   MutableArrayRef<uint8_t> scales) {
  assert(codes.size() * 2 == bf16.size() && scales.size() * mxBlock == bf16.size());
  for (size_t block = 0; block < scales.size(); ++block) {
    ArrayRef<uint16_t> values = bf16.slice(block * mxBlock, mxBlock);
    scales[block] = blockScale(values);
    double scale = numeric::decodeE8M0(scales[block]);
    for (size_t i = 0; i < mxBlock; i += 2)
      codes[(block * mxBlock + i) / 2] =
          static_cast<uint8_t>(encode(values[i], scale) | encode(values[i + 1], scale) << 4);
  }
}

} // namespace mono::models
