// The special functions that are too rare to be worth vectorising.
#include "runtime/emulator/numeric/Transcendental.h"

namespace mono::numeric {

double rsqF64(double x) { return double(1.0L / sqrtl(static_cast<long double>(x))); }

} // namespace mono::numeric
