// Element formats of typed buffer instructions.
#include "runtime/emulator/exec/BufferFormat.h"

#include "runtime/emulator/numeric/FloatFormat.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mono::emu {

/// Widths by BUF_DATA_FORMAT, X first. The names list them from the highest bit down: in 2_10_10_10
/// X is the lowest 10 bits.
static constexpr std::array<uint8_t, 4> kWidths[16] = {
    {},
    {8},
    {16},
    {8, 8},
    {32},
    {16, 16},
    {11, 11, 10},
    {10, 11, 11},
    {2, 10, 10, 10},
    {10, 10, 10, 2},
    {8, 8, 8, 8},
    {32, 32},
    {16, 16, 16, 16},
    {32, 32, 32},
    {32, 32, 32, 32},
    {},
};

BufferFormat::BufferFormat(unsigned dataFormat, unsigned numberFormat)
    : widths(kWidths[dataFormat & 15]), number(Number(numberFormat & 7)) {
  unsigned bits = 0;
  bool isSupported = number != Number::Reserved;
  for (uint8_t width : widths) {
    bits += width;
    count += width != 0;
    isSupported &= number != Number::Float || width == 0 || width == 16 || width == 32;
  }
  elementBytes = bits / 8;
  if (!isSupported)
    count = 0;
}

static uint32_t mask(unsigned width) { return width == 32 ? ~0u : (1u << width) - 1; }
static int32_t signExtend(uint32_t raw, unsigned width) {
  return int32_t(raw << (32 - width)) >> (32 - width);
}
static uint32_t bitsOf(double value) { return std::bit_cast<uint32_t>(float(value)); }

uint32_t BufferFormat::toRegister(uint32_t raw, unsigned width) const {
  const int32_t value = signExtend(raw, width);
  switch (number) {
  case Number::Unorm:
    return bitsOf(double(raw) / mask(width));
  case Number::Snorm: // the lowest two codes are both -1
    return bitsOf(std::max(double(value) / (mask(width) >> 1), -1.0));
  case Number::Uscaled:
    return bitsOf(raw);
  case Number::Sscaled:
    return bitsOf(value);
  case Number::Sint:
    return uint32_t(value);
  case Number::Float:
    return width == 16 ? std::bit_cast<uint32_t>(numeric::halfToFloat(uint16_t(raw))) : raw;
  default:
    return raw;
  }
}

/// To the nearest integer in [low, high]; NaN gives 0.
static uint32_t toInteger(double value, double low, double high) {
  return std::isnan(value) ? 0 : uint32_t(int64_t(std::nearbyint(std::clamp(value, low, high))));
}

uint32_t BufferFormat::fromRegister(uint32_t bits, unsigned width) const {
  const double value = std::bit_cast<float>(bits);
  const double most = mask(width), mostSigned = mask(width) >> 1;
  switch (number) {
  case Number::Unorm:
    return toInteger(value * most, 0, most);
  case Number::Snorm:
    return toInteger(value * mostSigned, -mostSigned, mostSigned);
  case Number::Uscaled:
    return toInteger(value, 0, most);
  case Number::Sscaled:
    return toInteger(value, -mostSigned - 1, mostSigned);
  case Number::Uint:
    return std::min(bits, mask(width));
  case Number::Sint:
    return uint32_t(int32_t(std::clamp(double(int32_t(bits)), -mostSigned - 1, mostSigned)));
  case Number::Float:
    return width == 16 ? numeric::floatToHalf(std::bit_cast<float>(bits)) : bits;
  default:
    return bits;
  }
}

BufferFormat::Components BufferFormat::unpack(const uint32_t *element) const {
  const uint32_t one = isInteger() ? 1 : std::bit_cast<uint32_t>(1.0f);
  Components values = {0, 0, 0, one};
  unsigned bit = 0;
  for (unsigned n = 0; n < count; bit += widths[n++])
    values[n] = toRegister(element[bit / 32] >> bit % 32 & mask(widths[n]), widths[n]);
  return values;
}

void BufferFormat::pack(const Components &values, uint32_t *element) const {
  std::fill_n(element, (elementBytes + 3) / 4, 0);
  unsigned bit = 0;
  for (unsigned n = 0; n < count; bit += widths[n++])
    element[bit / 32] |= (fromRegister(values[n], widths[n]) & mask(widths[n])) << bit % 32;
}

} // namespace mono::emu
