// f32 and f64 arithmetic of VOP2 and VOP3.
#include "runtime/emulator/exec/ValuFamilies.h"
#include "runtime/emulator/exec/ValuLanes.h"
#include "runtime/emulator/exec/ValuMinMax.h"

#include <cmath>

namespace mono::emu::valu {
namespace {

uint32_t code(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t code(double value) { return std::bit_cast<uint64_t>(value); }
float number(uint32_t bits) { return std::bit_cast<float>(bits); }
double number(uint64_t bits) { return std::bit_cast<double>(bits); }

/// DX9 rule: zero times anything is +0.
float multiplyLegacy(float a, float b) { return a == 0 || b == 0 ? 0 : a * b; }

constexpr auto kMin = [](auto a, auto b, FloatMode m) {
  return number(minNumber(code(a), code(b), m.ieee));
};
constexpr auto kMax = [](auto a, auto b, FloatMode m) {
  return number(maxNumber(code(a), code(b), m.ieee));
};

constexpr auto kMinOrdered = [](float a, float b) { return number(minOrdered(code(a), code(b))); };
constexpr auto kMaxOrdered = [](float a, float b) { return number(maxOrdered(code(a), code(b))); };

const Entry kF32[] = {
    {"V_ADD_F32", valu<[](float a, float b) { return a + b; }>},
    {"V_SUB_F32", valu<[](float a, float b) { return a - b; }>},
    {"V_SUBREV_F32", valu<[](float a, float b) { return b - a; }>},
    {"V_MUL_F32", valu<[](float a, float b) { return a * b; }>},
    {"V_MUL_LEGACY_F32", valu<[](float a, float b) { return multiplyLegacy(a, b); }>},
    {"V_FMA_F32", valu<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"V_FMAC_F32", valu<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"V_FMAAK_F32", valu<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"V_FMAMK_F32", valu<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"V_MIN_F32", valu<[](float a, float b, FloatMode m) { return kMin(a, b, m); }>},
    {"V_MAX_F32", valu<[](float a, float b, FloatMode m) { return kMax(a, b, m); }>},
    {"V_MIN3_F32",
     valuUnlessNan<[](float a, float b, float c, FloatMode m) { return kMin(kMin(a, b, m), c, m); },
                   [](float a, float b, float c, FloatMode) {
                     return kMinOrdered(kMinOrdered(a, b), c);
                   }>},
    {"V_MAX3_F32",
     valuUnlessNan<[](float a, float b, float c, FloatMode m) { return kMax(kMax(a, b, m), c, m); },
                   [](float a, float b, float c, FloatMode) {
                     return kMaxOrdered(kMaxOrdered(a, b), c);
                   }>},
    {"V_MED3_F32", valuUnlessNan<[](float a, float b, float c, FloatMode m) {
       return number(medianNumber(code(a), code(b), code(c), m.ieee));
     },
                                 [](float a, float b, float c, FloatMode) {
                                   return number(medianOrdered(code(a), code(b), code(c)));
                                 }>},
    {"V_MINIMUM3_F32", valuUnlessNan<[](float a, float b, float c) {
       return number(minimumIeee(minimumIeee(code(a), code(b)), code(c)));
     },
                                     [](float a, float b, float c) {
                                       return kMinOrdered(kMinOrdered(a, b), c);
                                     }>},
    {"V_MAXIMUM3_F32", valuUnlessNan<[](float a, float b, float c) {
       return number(maximumIeee(maximumIeee(code(a), code(b)), code(c)));
     },
                                     [](float a, float b, float c) {
                                       return kMaxOrdered(kMaxOrdered(a, b), c);
                                     }>},
};

const Entry kF64[] = {
    {"V_ADD_F64", valu<[](double a, double b) { return a + b; }>},
    {"V_MUL_F64", valu<[](double a, double b) { return a * b; }>},
    {"V_FMA_F64", valu<[](double a, double b, double c) { return std::fma(a, b, c); }>},
    {"V_FMAC_F64", valu<[](double a, double b, double c) { return std::fma(a, b, c); }>},
    {"V_MIN_F64", valuUnlessNan<[](double a, double b, FloatMode m) { return kMin(a, b, m); },
                                [](double a, double b, FloatMode) { return minOrdered(a, b); }>},
    {"V_MAX_F64", valuUnlessNan<[](double a, double b, FloatMode m) { return kMax(a, b, m); },
                                [](double a, double b, FloatMode) { return maxOrdered(a, b); }>},
};

/// The axis of a cube map face: the greatest magnitude, z before y before x on a tie.
enum class Axis { X, Y, Z };
Axis majorAxis(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay)
    return Axis::Z;
  return ay >= ax ? Axis::Y : Axis::X;
}
float cubeFace(float x, float y, float z) {
  switch (majorAxis(x, y, z)) {
  case Axis::Z:
    return z < 0 ? 5 : 4;
  case Axis::Y:
    return y < 0 ? 3 : 2;
  case Axis::X:
    break;
  }
  return x < 0 ? 1 : 0;
}
float cubeS(float x, float y, float z) {
  switch (majorAxis(x, y, z)) {
  case Axis::Z:
    return z < 0 ? -x : x;
  case Axis::Y:
    return x;
  case Axis::X:
    break;
  }
  return x < 0 ? z : -z;
}
float cubeT(float x, float y, float z) {
  if (majorAxis(x, y, z) == Axis::Y)
    return y < 0 ? -z : z;
  return -y;
}
float cubeMajor(float x, float y, float z) {
  switch (majorAxis(x, y, z)) {
  case Axis::Z:
    return z * 2;
  case Axis::Y:
    return y * 2;
  case Axis::X:
    break;
  }
  return x * 2;
}

const Entry kCube[] = {
    {"V_CUBEID_F32", valu<[](float x, float y, float z) { return cubeFace(x, y, z); }>},
    {"V_CUBESC_F32", valu<[](float x, float y, float z) { return cubeS(x, y, z); }>},
    {"V_CUBETC_F32", valu<[](float x, float y, float z) { return cubeT(x, y, z); }>},
    {"V_CUBEMA_F32", valu<[](float x, float y, float z) { return cubeMajor(x, y, z); }>},
};

} // namespace

void registerFloat(HandlerTable &table) {
  addAll(table, kF32);
  addAll(table, kF64);
  addAll(table, kCube);
}

} // namespace mono::emu::valu
