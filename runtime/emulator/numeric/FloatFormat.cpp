// Decode tables of the formats of at most 8 bits.
#include "runtime/emulator/numeric/FloatFormat.h"

#include <array>

namespace mono::numeric {
namespace {

template <unsigned Bits> constexpr auto makeTable(FloatFormat format) {
  std::array<float, 1u << Bits> table{};
  for (uint32_t code = 0; code < table.size(); ++code)
    table[code] = float(decode(format, code));
  return table;
}

constexpr auto kTableE4M3 = makeTable<8>(kFp8E4M3);
constexpr auto kTableE5M2 = makeTable<8>(kBf8E5M2);
constexpr auto kTableE2M3 = makeTable<6>(kFp6E2M3);
constexpr auto kTableE3M2 = makeTable<6>(kBf6E3M2);
constexpr auto kTableE2M1 = makeTable<4>(kFp4E2M1);

} // namespace

const float *decodeTable(const FloatFormat &format) {
  switch (format.exponentBits << 4 | format.mantissaBits) {
  case 0x43:
    return kTableE4M3.data();
  case 0x52:
    return kTableE5M2.data();
  case 0x23:
    return kTableE2M3.data();
  case 0x32:
    return kTableE3M2.data();
  case 0x21:
    return kTableE2M1.data();
  default:
    return nullptr;
  }
}

} // namespace mono::numeric
