// Exact binary floating point of the literal wave, in plain integers: unpack, one exact operation,
// round once. Slow and obvious; shares nothing with the emulator's numeric library.
#pragma once

#include <cstdint>

namespace mono::fuzz {

using Wide = unsigned __int128;

/// The encoding of the MODE register's round fields.
enum class Round : uint8_t { Even, Up, Down, Zero };

/// What the codes with an all-ones exponent mean.
enum class Top : uint8_t {
  InfAndNan, ///< IEEE 754
  NanOnly,   ///< all ones is NaN, the rest are numbers (OCP E4M3)
  Numbers    ///< every code is a number (OCP fp6, fp4)
};

/// A binary float format of at most 64 bits.
struct Format {
  unsigned exponentBits, mantissaBits;
  int bias;
  Top top;

  unsigned bits() const { return 1 + exponentBits + mantissaBits; }
  uint64_t sign() const { return uint64_t(1) << (bits() - 1); }
  uint64_t magnitude() const { return sign() - 1; }
  uint64_t exponentMask() const { return ((uint64_t(1) << exponentBits) - 1) << mantissaBits; }
  uint64_t quietBit() const { return uint64_t(1) << (mantissaBits - 1); }
  /// Code of the greatest finite number.
  uint64_t greatest() const {
    return top == Top::InfAndNan ? exponentMask() - 1
           : top == Top::NanOnly ? magnitude() - 1
                                 : magnitude();
  }
  bool isNan(uint64_t code) const {
    code &= magnitude();
    return top == Top::InfAndNan ? code > exponentMask()
                                 : top == Top::NanOnly && code == magnitude();
  }
  bool isSignallingNan(uint64_t code) const { return isNan(code) && !(code & quietBit()); }
  bool isInfinite(uint64_t code) const {
    return top == Top::InfAndNan && (code & magnitude()) == exponentMask();
  }
  bool isDenormal(uint64_t code) const { return !(code & exponentMask()) && (code & magnitude()); }
  bool isZero(uint64_t code) const { return !(code & magnitude()); }
  /// Infinity, or NaN without one, or the greatest number without either.
  uint64_t overflow() const { return top == Top::InfAndNan ? exponentMask() : magnitude(); }
  uint64_t nan() const { return top == Top::InfAndNan ? exponentMask() | quietBit() : magnitude(); }
};

inline constexpr Format kF64{11, 52, 1023, Top::InfAndNan}, kF32{8, 23, 127, Top::InfAndNan},
    kF16{5, 10, 15, Top::InfAndNan}, kBf16{8, 7, 127, Top::InfAndNan}, kFp8{4, 3, 7, Top::NanOnly},
    kBf8{5, 2, 15, Top::InfAndNan}, kFp6{2, 3, 1, Top::Numbers}, kBf6{3, 2, 3, Top::Numbers},
    kFp4{2, 1, 1, Top::Numbers};

/// An unpacked float: (-1)^negative * significand * 2^exponent if Finite. The lowest bit of a
/// significand of more than 100 bits may stand for "and something below".
struct Number {
  enum Kind : uint8_t { Zero, Finite, Infinite, Nan } kind = Zero;
  bool negative = false;
  Wide significand = 0;
  int exponent = 0;

  bool isNan() const { return kind == Nan; }
  Number negated() const {
    Number n = *this;
    n.negative = !n.negative;
    return n;
  }
};

Number notANumber();
Number infinity(bool negative);
Number zero(bool negative);
/// value * 2^exponent.
Number integer(int64_t value, int exponent = 0);
/// From a host double, exactly.
Number fromDouble(double value);
/// Exact value of a code; upper bits are ignored.
Number unpack(const Format &format, uint64_t code);
/// To the nearest host double.
double toDouble(const Number &n);
double toDouble(const Format &format, uint64_t code);

/// The code of `n` rounded once in direction `round`; NaN becomes the positive quiet NaN. Overflow
/// gives Infinity or the greatest number, whichever the direction says.
uint64_t pack(const Format &format, const Number &n, Round round);

/// IEEE 754 operations. Operands of multiply, fma, divide and squareRoot are unpacked codes; add
/// takes any Number. `round` decides the sign of an exact zero sum.
Number add(const Number &a, const Number &b, Round round);
Number multiply(const Number &a, const Number &b);
Number fma(const Number &a, const Number &b, const Number &c, Round round);
Number divide(const Number &a, const Number &b);
Number squareRoot(const Number &a);
/// n * 2^by.
Number scaled(Number n, int by);
/// Rounds to an integral value, keeping the sign of zero.
Number toIntegral(const Number &n, Round round);

/// -1, 0, 1, or 2 if unordered.
int compare(const Number &a, const Number &b);

/// Integer of a number truncated toward zero and brought into [low, high]; NaN gives 0.
int64_t toInteger(const Number &n, int64_t low, int64_t high);

} // namespace mono::fuzz
