// Rounding to the formats of 4 to 8 bits by looking at every code.
#pragma once

#include "test/runtime/fuzz/LiteralFloat.h"

namespace mono::fuzz {

/// What an overflow becomes: MODE.FP16_OVFL chooses for fp8 and bf8; fp6 and fp4 always saturate.
struct SmallRounding {
  bool saturates = false;
  bool isStochastic = false;
  uint32_t random = 0;
};

/// The code whose value is nearest to `value`, ties to the even code; or of the two neighbours the
/// one that `random` picks. NaN gives NaN, or the greatest number of `value`'s sign where there is
/// none.
uint32_t nearestCode(const Format &format, double value, const SmallRounding &rounding);

} // namespace mono::fuzz
