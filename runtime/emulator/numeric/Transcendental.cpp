// The special functions that are too rare to be worth vectorising.
#include "runtime/emulator/numeric/Transcendental.h"

namespace mono::numeric {
namespace {

/// Angle of `turns` in [-pi, pi]; taking off whole turns is exact in double.
double reducedAngle(float turns) {
  const double fraction = double(turns) - std::nearbyint(double(turns));
  return fraction * 6.283185307179586476925;
}

} // namespace

float sinTurnsF32(float turns) { return float(std::sin(reducedAngle(turns))); }
float cosTurnsF32(float turns) { return float(std::cos(reducedAngle(turns))); }

double rsqF64(double x) { return double(1.0L / sqrtl(static_cast<long double>(x))); }

} // namespace mono::numeric
