// Real arithmetic of compiled kernels: bit equality where IEEE 754 fixes the result, bounds in
// units of the last place where it does not.
#include "test/runtime/kernels/device/Elementwise.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

using namespace mono::emu::test;

namespace {

class Elementwise : public KernelSuite {};
INSTANTIATE_KERNELS(Elementwise, "O0", "O3");

template <typename T>
void runArithmetic(Differential &run, const char *name,
                   void (*kernel)(const T *, const T *, const T *, T *, u32),
                   unsigned mantissaBits) {
  const u32 n = 4000;
  std::vector<T> a, b, c;
  edgePairs(a, b, n, mantissaBits, 1);
  for (u32 i = 0; i < n; ++i)
    c.push_back(a[(i * 7 + 3) % n]);
  auto da = run.input(a), db = run.input(b), dc = run.input(c);
  auto out = run.output<T>(18 * n);
  run.both(name, kernel, {.grid = {16, 1, 1}, .block = {256, 1, 1}}, da, db, dc, out, n);
  run.expectSame(out, name);
}

TEST_P(Elementwise, ArithmeticF32) {
  Differential run("Elementwise", GetParam());
  runArithmetic(run, TWIN(arithmeticF32), 23);
}
TEST_P(Elementwise, ArithmeticF16) {
  Differential run("Elementwise", GetParam());
  runArithmetic(run, TWIN(arithmeticF16), 10);
}
TEST_P(Elementwise, ArithmeticF64) {
  Differential run("Elementwise", GetParam());
  runArithmetic(run, TWIN(arithmeticF64), 52);
}

template <typename T>
void runPairs(Differential &run, const char *name, void (*kernel)(const T *, const T *, T *, u32),
              unsigned mantissaBits, unsigned rows) {
  const u32 n = 4000;
  std::vector<T> a, b;
  edgePairs(a, b, n, mantissaBits, 2);
  auto da = run.input(a), db = run.input(b);
  auto out = run.output<T>(rows * n);
  run.both(name, kernel, {.grid = {16, 1, 1}, .block = {256, 1, 1}}, da, db, out, n);
  run.expectSame(out, name);
}

TEST_P(Elementwise, ArithmeticBf16) {
  Differential run("Elementwise", GetParam());
  runPairs(run, TWIN(arithmeticBf16), 7, 7);
}
TEST_P(Elementwise, PackedF16) {
  Differential run("Elementwise", GetParam());
  runPairs(run, TWIN(packedF16), 10, 6);
}
TEST_P(Elementwise, PackedF32) {
  Differential run("Elementwise", GetParam());
  runPairs(run, TWIN(packedF32), 23, 4);
}

// ---- elementary functions -----------------------------------------------------------------------

template <typename T> struct FunctionRow {
  const char *name;
  double (*reference)(double);
  double ulps;
};

/// Runs a kernel that writes one row a function, and bounds the error of each.
template <typename T>
void expectFunctions(Differential &run, const char *kernel, const std::vector<T> &in,
                     const std::vector<FunctionRow<T>> &rows) {
  u32 n = u32(in.size());
  auto din = run.input(in);
  auto out = run.output<T>(rows.size() * n);
  ASSERT_EQ(
      run.device(kernel, {.grid = {(n + 255) / 256, 1, 1}, .block = {256, 1, 1}}, din, out, n), "");
  std::vector<T> values = run.read(out);
  for (size_t row = 0; row < rows.size(); ++row)
    for (u32 i = 0; i < n; ++i)
      EXPECT_LE(ulpError(values[row * n + i], rows[row].reference(double(in[i]))), rows[row].ulps)
          << rows[row].name << "(" << double(in[i]) << ") = " << double(values[row * n + i]);
}

/// Special values and magnitudes from 2^-20 to 2^6.
template <typename T> std::vector<T> functionInputs(unsigned mantissaBits, bool denormals) {
  std::vector<T> values;
  for (T value : specialReals<T>(mantissaBits))
    if (denormals || value == T(0) || !(std::abs(double(value)) < 0x1p-126))
      values.push_back(value);
  for (double exponent : randomReals<double>(1000, 3, -20, 6))
    for (double sign : {1.0, -1.0})
      values.push_back(T(sign * std::exp2(exponent)));
  return values;
}

// Bounds of the compiler's expansions: what OpenCL asks of them (full profile).
TEST_P(Elementwise, ElementaryF32) {
  Differential run("Elementwise", GetParam());
  expectFunctions<f32>(run, "elementaryF32", functionInputs<f32>(23, true),
                       {{"exp", [](double x) { return std::exp(x); }, 3},
                        {"exp2", [](double x) { return std::exp2(x); }, 3},
                        {"exp10", [](double x) { return std::pow(10.0, x); }, 3},
                        {"log", [](double x) { return std::log(x); }, 3},
                        {"log2", [](double x) { return std::log2(x); }, 3},
                        {"log10", [](double x) { return std::log10(x); }, 3},
                        {"reciprocal", [](double x) { return 1 / x; }, 0.5},
                        {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 2}});
}

// The machine promises about one ulp (CDNA4 ISA, VOP1); denormals are outside its promise.
TEST_P(Elementwise, ApproximateF32) {
  Differential run("Elementwise", GetParam());
  std::vector<f32> in;
  for (f32 x : functionInputs<f32>(23, false))
    if (std::abs(x) < 126 && std::abs(x) > 0x1p-20f)
      in.push_back(x);
  expectFunctions<f32>(
      run, "approximateF32", in,
      {{"exp2", [](double x) { return std::exp2(x); }, 1},
       {"log2", [](double x) { return std::log2(x); }, 2},
       {"rcp", [](double x) { return 1 / x; }, 1},
       {"rsq", [](double x) { return 1 / std::sqrt(x); }, 1},
       {"sqrt", [](double x) { return std::sqrt(x); }, 1},
       {"fract", [](double x) { return std::min(x - std::floor(x), 0x1.fffffep-1); }, 1}});
}

// Near its zeros a sine has an absolute bound only.
TEST_P(Elementwise, SineAndCosineOfTurns) {
  Differential run("Elementwise", GetParam());
  auto values = randomReals<f32>(1024, 9, -8, 8);
  auto in = run.input(values);
  auto sines = run.output<f32>(1024), cosines = run.output<f32>(1024);
  ASSERT_EQ(
      run.device("trigonometryF32", {.grid = {4, 1, 1}, .block = {256, 1, 1}}, in, sines, cosines),
      "");
  std::vector<f32> s = run.read(sines), c = run.read(cosines);
  for (size_t n = 0; n < values.size(); ++n) {
    double angle = 2 * M_PI * double(values[n]);
    EXPECT_NEAR(s[n], std::sin(angle), 2e-7) << values[n];
    EXPECT_NEAR(c[n], std::cos(angle), 2e-7) << values[n];
  }
}

TEST_P(Elementwise, ApproximateF16) {
  Differential run("Elementwise", GetParam());
  std::vector<f16> in;
  for (f16 x : functionInputs<f16>(10, true))
    if (std::isfinite(float(x)))
      in.push_back(x);
  expectFunctions<f16>(
      run, "approximateF16", in,
      {{"rcp", [](double x) { return 1 / x; }, 1},
       {"rsq", [](double x) { return 1 / std::sqrt(x); }, 1},
       {"exp2", [](double x) { return std::exp2(x); }, 1},
       {"log2", [](double x) { return std::log2(x); }, 1},
       {"fract", [](double x) { return std::min(x - std::floor(x), 0x1.ffcp-1); }, 1}});
}

} // namespace
