// Element formats of typed buffer instructions: bytes in memory to register values and back.
#pragma once

#include <array>
#include <cstdint>

namespace mono::emu {

/// A data format and a number format (CDNA4 ISA 9.1.7, tables of BUF_DATA_FORMAT and
/// BUF_NUM_FORMAT).
class BufferFormat {
public:
  enum class Number : uint8_t { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Reserved, Float };
  /// Register values of X, Y, Z and W: f32 or 32-bit integers.
  using Components = std::array<uint32_t, 4>;

  BufferFormat(unsigned dataFormat, unsigned numberFormat);

  /// False for reserved data formats, and for float elements that are neither 16 nor 32 bits wide.
  bool isValid() const { return count != 0; }
  unsigned components() const { return count; }
  /// Bytes of an element: 1, 2, 4, 8, 12 or 16.
  unsigned bytes() const { return elementBytes; }
  bool isUnsigned() const { return number == Number::Uint; }
  bool isInteger() const { return number == Number::Uint || number == Number::Sint; }

  /// The components of an element; those it does not have are 0, and W is 1.
  Components unpack(const uint32_t *element) const;
  /// The element of the first components(); conversion saturates and rounds to nearest even.
  void pack(const Components &values, uint32_t *element) const;

private:
  uint32_t toRegister(uint32_t raw, unsigned width) const;
  uint32_t fromRegister(uint32_t value, unsigned width) const;

  unsigned count = 0, elementBytes = 0;
  std::array<uint8_t, 4> widths{}; ///< bits of each component, from the lowest bit on
  Number number;
};

} // namespace mono::emu
