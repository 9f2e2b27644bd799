// Exact binary floating point in plain integers.
#include "test/runtime/fuzz/LiteralFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mono::fuzz {

namespace {

constexpr int kTopBit = 120;

int highestBit(Wide value) {
  const uint64_t high = uint64_t(value >> 64), low = uint64_t(value);
  return high ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low);
}

/// value >> shift, with the bits lost ored into the lowest one.
Wide shiftSticky(Wide value, int shift) {
  if (shift <= 0)
    return value;
  if (shift > 126)
    return value != 0;
  const Wide kept = value >> shift;
  return kept | Wide((kept << shift) != value);
}

Number finite(bool negative, Wide significand, int exponent) {
  Number n;
  n.kind = significand ? Number::Finite : Number::Zero;
  n.negative = negative;
  n.significand = significand;
  n.exponent = exponent;
  return n;
}

/// The same value with its highest bit at kTopBit.
Number normalised(const Number &n) {
  if (n.kind != Number::Finite)
    return n;
  const int shift = kTopBit - highestBit(n.significand);
  const Wide moved = shift >= 0 ? n.significand << shift : shiftSticky(n.significand, -shift);
  return finite(n.negative, moved, n.exponent - shift);
}

/// Whether a magnitude `kept` with the discarded part `rest` of `unit` is rounded away from zero.
bool roundsUp(Wide kept, Wide rest, Wide unit, bool negative, Round round) {
  if (!rest)
    return false;
  switch (round) {
  case Round::Even:
    return rest * 2 > unit || (rest * 2 == unit && (kept & 1));
  case Round::Up:
    return !negative;
  case Round::Down:
    return negative;
  case Round::Zero:
    return false;
  }
  return false;
}

/// |n| / 2^unitExponent as an integer, rounded.
Wide roundedUnits(const Number &n, int unitExponent, Round round) {
  const int shift = unitExponent - n.exponent;
  if (shift <= 0)
    return n.significand << -shift;
  // More than 122 places down, only the fact that something is there counts.
  const Wide value = shift > 122 ? Wide(1) : n.significand;
  const int places = std::min(shift, 122);
  const Wide kept = shift > 122 ? 0 : value >> places;
  return kept + roundsUp(kept, value - (kept << places), Wide(1) << places, n.negative, round);
}

bool staysFinite(bool negative, Round round) {
  return round == Round::Zero || (round == Round::Up && negative) ||
         (round == Round::Down && !negative);
}

} // namespace

Number notANumber() {
  Number n;
  n.kind = Number::Nan;
  return n;
}
Number infinity(bool negative) {
  Number n;
  n.kind = Number::Infinite;
  n.negative = negative;
  return n;
}
Number zero(bool negative) { return finite(negative, 0, 0); }
Number integer(int64_t value, int exponent) {
  return finite(value < 0, value < 0 ? -uint64_t(value) : uint64_t(value), exponent);
}
Number fromDouble(double value) { return unpack(kF64, std::bit_cast<uint64_t>(value)); }

Number unpack(const Format &f, uint64_t code) {
  const bool negative = code & f.sign();
  if (f.isNan(code))
    return notANumber();
  if (f.isInfinite(code))
    return infinity(negative);
  const uint64_t fraction = code & ((uint64_t(1) << f.mantissaBits) - 1);
  const int field = int((code & f.exponentMask()) >> f.mantissaBits);
  const uint64_t hidden = field ? uint64_t(1) << f.mantissaBits : 0;
  return finite(negative, fraction | hidden, std::max(field, 1) - f.bias - int(f.mantissaBits));
}

double toDouble(const Number &n) { return std::bit_cast<double>(pack(kF64, n, Round::Even)); }
double toDouble(const Format &format, uint64_t code) { return toDouble(unpack(format, code)); }

uint64_t pack(const Format &f, const Number &original, Round round) {
  const uint64_t sign = original.negative ? f.sign() : 0;
  switch (original.kind) {
  case Number::Nan:
    return f.nan();
  case Number::Infinite:
    return sign | f.overflow();
  case Number::Zero:
    return sign;
  case Number::Finite:
    break;
  }
  const Number n = normalised(original);
  const int least = 1 - f.bias;
  int exponent = std::max(n.exponent + kTopBit, least);
  Wide kept = roundedUnits(n, exponent - int(f.mantissaBits), round);
  if (kept >> (f.mantissaBits + 1)) {
    kept >>= 1;
    ++exponent;
  }
  const bool isNormal = kept >> f.mantissaBits;
  if (isNormal && exponent + f.bias >= 1 << f.exponentBits)
    return sign | (staysFinite(n.negative, round) ? f.greatest() : f.overflow());
  const uint64_t field = isNormal ? uint64_t(exponent + f.bias) : 0;
  const uint64_t code =
      field << f.mantissaBits | (uint64_t(kept) & ((uint64_t(1) << f.mantissaBits) - 1));
  if (code > f.greatest())
    return sign | (staysFinite(n.negative, round) ? f.greatest() : f.overflow());
  return sign | code;
}

Number add(const Number &x, const Number &y, Round round) {
  if (x.isNan() || y.isNan())
    return notANumber();
  if (x.kind == Number::Infinite || y.kind == Number::Infinite) {
    if (x.kind == y.kind && x.negative != y.negative)
      return notANumber();
    return x.kind == Number::Infinite ? x : y;
  }
  if (x.kind == Number::Zero && y.kind == Number::Zero)
    return zero(x.negative == y.negative ? x.negative : round == Round::Down);
  if (x.kind == Number::Zero)
    return y;
  if (y.kind == Number::Zero)
    return x;
  Number a = normalised(x), b = normalised(y);
  if (a.exponent < b.exponent)
    std::swap(a, b);
  b.significand = shiftSticky(b.significand, a.exponent - b.exponent);
  if (a.negative == b.negative)
    return finite(a.negative, a.significand + b.significand, a.exponent);
  if (a.significand == b.significand)
    return zero(round == Round::Down);
  if (a.significand < b.significand)
    std::swap(a.significand, b.significand), std::swap(a.negative, b.negative);
  return finite(a.negative, a.significand - b.significand, a.exponent);
}

Number multiply(const Number &a, const Number &b) {
  const bool negative = a.negative != b.negative;
  if (a.isNan() || b.isNan())
    return notANumber();
  if (a.kind == Number::Infinite || b.kind == Number::Infinite)
    return a.kind == Number::Zero || b.kind == Number::Zero ? notANumber() : infinity(negative);
  return finite(negative, a.significand * b.significand, a.exponent + b.exponent);
}

Number fma(const Number &a, const Number &b, const Number &c, Round round) {
  return add(multiply(a, b), c, round);
}

Number divide(const Number &a, const Number &b) {
  const bool negative = a.negative != b.negative;
  if (a.isNan() || b.isNan() || (a.kind == b.kind && a.kind != Number::Finite))
    return notANumber();
  if (a.kind == Number::Infinite || b.kind == Number::Zero)
    return infinity(negative);
  if (a.kind == Number::Zero || b.kind == Number::Infinite)
    return zero(negative);
  const Number n = normalised(a);
  const Wide quotient = n.significand / b.significand;
  const Wide rest = n.significand % b.significand;
  return finite(negative, quotient << 1 | Wide(rest != 0), n.exponent - b.exponent - 1);
}

Number squareRoot(const Number &a) {
  if (a.kind == Number::Zero || a.isNan())
    return a;
  if (a.negative)
    return notANumber();
  if (a.kind == Number::Infinite)
    return a;
  Number n = normalised(a);
  if (n.exponent & 1)
    n = finite(false, n.significand << 1, n.exponent - 1);
  Wide root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const Wide candidate = root | Wide(1) << bit;
    if (candidate * candidate <= n.significand)
      root = candidate;
  }
  return finite(false, root << 1 | Wide(root * root != n.significand), n.exponent / 2 - 1);
}

Number scaled(Number n, int by) {
  n.exponent += by;
  return n;
}

Number toIntegral(const Number &n, Round round) {
  if (n.kind != Number::Finite || n.exponent >= 0)
    return n;
  return finite(n.negative, roundedUnits(n, 0, round), 0);
}

int compare(const Number &a, const Number &b) {
  if (a.isNan() || b.isNan())
    return 2;
  if (a.kind == Number::Infinite && b.kind == Number::Infinite)
    return a.negative == b.negative ? 0 : a.negative ? -1 : 1;
  const Number difference = add(a, b.negated(), Round::Even);
  return difference.kind == Number::Zero ? 0 : difference.negative ? -1 : 1;
}

int64_t toInteger(const Number &n, int64_t low, int64_t high) {
  if (n.isNan())
    return 0;
  if (compare(n, integer(low)) <= 0)
    return low;
  if (compare(n, integer(high)) >= 0)
    return high;
  const Number whole = toIntegral(n, Round::Zero);
  const Wide magnitude = whole.exponent >= 0 ? whole.significand << whole.exponent
                                             : whole.significand >> -whole.exponent;
  return whole.negative ? -int64_t(magnitude) : int64_t(magnitude);
}

} // namespace mono::fuzz
