// Rounding to small formats by looking at every code.
#include "test/runtime/fuzz/LiteralSmallFloat.h"

#include <cmath>

namespace mono::fuzz {

namespace {

/// Value of a magnitude code; one past the greatest has the value it would have with more exponent.
double valueOf(const Format &f, uint32_t code) {
  if (code <= f.greatest())
    return toDouble(f, code);
  const double greatest = toDouble(f, f.greatest());
  return greatest + (greatest - toDouble(f, f.greatest() - 1));
}

/// Code of the greatest value that is not above `magnitude`.
uint32_t codeBelow(const Format &f, double magnitude) {
  uint32_t best = 0;
  for (uint32_t code = 0; code <= f.greatest() + 1; ++code)
    if (valueOf(f, code) <= magnitude)
      best = code;
  return best;
}

bool goesUp(const Format &f, uint32_t below, double magnitude, const SmallRounding &rounding) {
  const double low = valueOf(f, below), high = valueOf(f, below + 1);
  const double fraction = (magnitude - low) / (high - low);
  if (rounding.isStochastic)
    return (long double)fraction + rounding.random / 4294967296.0L >= 1;
  return fraction > 0.5 || (fraction == 0.5 && (below & 1));
}

} // namespace

uint32_t nearestCode(const Format &f, double value, const SmallRounding &rounding) {
  const uint32_t sign = std::signbit(value) ? uint32_t(f.sign()) : 0;
  if (std::isnan(value))
    return sign | uint32_t(f.nan());
  const double magnitude = std::fabs(value);
  const uint32_t greatest = uint32_t(f.greatest());
  const uint32_t past =
      rounding.saturates || f.top == Top::Numbers ? greatest : uint32_t(f.overflow());
  if (std::isinf(value))
    return sign | past;
  uint32_t code = codeBelow(f, magnitude);
  if (code <= greatest && goesUp(f, code, magnitude, rounding))
    ++code;
  return sign | (code > greatest ? past : code);
}

} // namespace mono::fuzz
