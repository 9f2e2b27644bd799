// Conversions of compiled kernels: between the types of C bit for bit, to and from the small float
// formats against tables built from their definitions.
#include "test/runtime/kernels/device/Convert.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/SmallFloats.h"
#include "test/runtime/kernels/Values.h"

using namespace mono::emu::test;

namespace {

class Convert : public KernelSuite {};
INSTANTIATE_KERNELS(Convert, "O0", "O3");

constexpr u32 count = 1024;
const Shape shape = {.grid = {4, 1, 1}, .block = {256, 1, 1}};

/// Runs a conversion kernel whose inputs fit every destination, so that nothing is undefined.
template <typename T, typename Kernel>
void runConvert(const char *optimization, const char *name, Kernel kernel,
                const std::vector<T> &values) {
  Differential run("Convert", optimization);
  auto in = run.input(values);
  auto o0 = run.output<i8>(count);
  auto o1 = run.output<u8>(count);
  auto o2 = run.output<i16>(count);
  auto o3 = run.output<u16>(count);
  auto o4 = run.output<i32>(count);
  auto o5 = run.output<u32>(count);
  auto o6 = run.output<i64>(count);
  auto o7 = run.output<u64>(count);
  auto o8 = run.output<f16>(count);
  auto o9 = run.output<bf16>(count);
  auto o10 = run.output<f32>(count);
  auto o11 = run.output<f64>(count);
  run.both(name, kernel, shape, in, count, o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11);
  run.expectSame(o0, "i8");
  run.expectSame(o1, "u8");
  run.expectSame(o2, "i16");
  run.expectSame(o3, "u16");
  run.expectSame(o4, "i32");
  run.expectSame(o5, "u32");
  run.expectSame(o6, "i64");
  run.expectSame(o7, "u64");
  run.expectSame(o8, "f16");
  run.expectSame(o9, "bf16");
  run.expectSame(o10, "f32");
  run.expectSame(o11, "f64");
}

TEST_P(Convert, FromIntegers) {
  runConvert(GetParam(), TWIN(convert_i8), randomIntegers<i8>(count, 1));
  runConvert(GetParam(), TWIN(convert_u8), randomIntegers<u8>(count, 2));
  runConvert(GetParam(), TWIN(convert_i16), randomIntegers<i16>(count, 3));
  runConvert(GetParam(), TWIN(convert_u16), randomIntegers<u16>(count, 4));
  runConvert(GetParam(), TWIN(convert_i32), randomIntegers<i32>(count, 5));
  runConvert(GetParam(), TWIN(convert_u32), randomIntegers<u32>(count, 6));
  runConvert(GetParam(), TWIN(convert_i64), randomIntegers<i64>(count, 7));
  runConvert(GetParam(), TWIN(convert_u64), randomIntegers<u64>(count, 8));
}
TEST_P(Convert, FromReals) {
  runConvert(GetParam(), TWIN(convert_f16), randomReals<f16>(count, 9, 0, 127));
  runConvert(GetParam(), TWIN(convert_bf16), randomReals<bf16>(count, 10, 0, 127));
  runConvert(GetParam(), TWIN(convert_f32), randomReals<f32>(count, 11, 0, 127));
  runConvert(GetParam(), TWIN(convert_f64), randomReals<f64>(count, 12, 0, 127));
}

TEST_P(Convert, NarrowingAnyReal) {
  Differential run("Convert", GetParam());
  std::vector<f64> values;
  for (f64 x : specialReals<f64>(52))
    values.push_back(x);
  for (f32 x : specialReals<f32>(23))
    values.push_back(x);
  for (f16 x : specialReals<f16>(10))
    values.push_back(f64(x));
  for (f64 exponent : randomReals<f64>(count - values.size(), 3, -160, 140))
    values.push_back(std::exp2(exponent) * (values.size() % 2 ? -1 : 1));
  auto in = run.input(values);
  auto toF32 = run.output<f32>(count);
  auto fromF32 = run.output<f16>(count);
  auto toBf16 = run.output<bf16>(count);
  auto back = run.output<f64>(count);
  run.both(TWIN(narrowReals), shape, in, toF32, fromF32, toBf16, back, count);
  run.expectSame(toF32, "f32");
  run.expectSame(fromF32, "f16");
  run.expectSame(toBf16, "bf16");
  run.expectSame(back, "sum of the two");
}

/// Magnitudes around what the small formats hold, ties among them, signs mixed.
std::vector<f32> smallInputs(size_t size) {
  std::vector<f32> values;
  for (SmallFloat format : {fp8, bf8, fp6, bf6, fp4})
    for (unsigned code = 0; code + 1 < format.finiteCodes; ++code) {
      f32 low = f32(format.decode(code)), high = f32(format.decode(code + 1));
      values.insert(values.end(), {low, -(low + high) / 2, std::nextafter((low + high) / 2, high)});
    }
  for (f64 exponent : randomReals<f64>(size, 5, -20, 8))
    values.push_back(f32(std::exp2(exponent)) * (values.size() % 2 ? -1 : 1));
  values.resize(size);
  return values;
}

TEST_P(Convert, PackBf16) {
  Differential run("Convert", GetParam());
  std::vector<f32> values = smallInputs(2 * count);
  std::vector<f32> specials = specialReals<f32>(23);
  std::copy(specials.begin(), specials.end(), values.begin());
  auto in = run.input(values);
  auto out = run.output<u32>(count);
  ASSERT_EQ(run.device("packBf16", shape, in, out), "");
  std::vector<u32> words = run.read(out);
  for (u32 n = 0; n < 2 * count; ++n) {
    f32 got = std::bit_cast<f32>(words[n / 2] >> 16 * (n % 2) << 16);
    EXPECT_TRUE(sameValue(got, f32(bf16(values[n])))) << values[n] << " became " << got;
  }
}

TEST_P(Convert, PackRoundToZero) {
  Differential run("Convert", GetParam());
  std::vector<f32> values = smallInputs(2 * count);
  auto in = run.input(values);
  auto out = run.output<u32>(count);
  ASSERT_EQ(run.device("packRoundToZero", shape, in, out), "");
  std::vector<u32> words = run.read(out);
  for (u32 n = 0; n < 2 * count; ++n) {
    f16 got = std::bit_cast<f16>(u16(words[n / 2] >> 16 * (n % 2)));
    // Toward zero: not beyond the value, and the next half away from zero is.
    f16 next = std::bit_cast<f16>(u16(std::bit_cast<u16>(got) + 1));
    EXPECT_LE(std::abs(f64(got)), std::abs(f64(values[n])));
    EXPECT_GT(std::abs(f64(next)), std::abs(f64(values[n])));
    EXPECT_EQ(std::signbit(f32(got)), std::signbit(values[n]));
  }
}

/// Checks one code for `value`: the nearest finite one, or what the format has for overflow when it
/// does not saturate.
void expectCode(const SmallFloat &format, unsigned code, f64 value, bool saturates) {
  if (!saturates && format.overflows(value)) {
    EXPECT_FALSE(std::isfinite(format.decode(code))) << value << " became code " << code;
    return;
  }
  EXPECT_EQ(code, format.nearest(value)) << value;
}

TEST_P(Convert, PackFp8AndBf8) {
  Differential run("Convert", GetParam());
  std::vector<f32> values = smallInputs(4 * count);
  values[0] = 1e6f;
  values[1] = -449;
  values[2] = 480;
  values[3] = -61440;
  auto in = run.input(values);
  auto outFp8 = run.output<u32>(count), outBf8 = run.output<u32>(count);
  auto fromFp8 = run.output<f32>(4 * count), fromBf8 = run.output<f32>(4 * count);
  ASSERT_EQ(run.device("packFp8", shape, in, outFp8, outBf8, fromFp8, fromBf8), "");
  auto w8 = run.read(outFp8), wb8 = run.read(outBf8);
  auto back8 = run.read(fromFp8), backB8 = run.read(fromBf8);
  for (u32 n = 0; n < 4 * count; ++n) {
    unsigned code = itemOf(w8.data(), n, 8), codeB = itemOf(wb8.data(), n, 8);
    expectCode(fp8, code, values[n], false);
    expectCode(bf8, codeB, values[n], false);
    EXPECT_TRUE(sameValue(back8[n], f32(fp8.decode(code)))) << code;
    EXPECT_TRUE(sameValue(backB8[n], f32(bf8.decode(codeB)))) << codeB;
  }
}

/// Power-of-two scales; the conversion sees only their exponent field.
std::vector<f32> scales(size_t size) {
  std::vector<f32> values(size);
  for (size_t n = 0; n < size; ++n)
    values[n] = std::ldexp(1.0f + 0.25f * f32(n % 3), int(n % 9) - 4);
  return values;
}
f64 powerOf(f32 scale) { return std::exp2(std::ilogb(scale)); }

TEST_P(Convert, PackScaledFp4AndFp8) {
  Differential run("Convert", GetParam());
  std::vector<f32> values = smallInputs(8 * count), scale = scales(count);
  auto in = run.input(values), ds = run.input(scale);
  auto outFp4 = run.output<u32>(count), outFp8 = run.output<u32>(2 * count);
  auto fromFp4 = run.output<f32>(8 * count), fromFp8 = run.output<f32>(8 * count);
  ASSERT_EQ(run.device("packScaled", shape, in, ds, outFp4, outFp8, fromFp4, fromFp8), "");
  auto w4 = run.read(outFp4), w8 = run.read(outFp8);
  auto back4 = run.read(fromFp4), back8 = run.read(fromFp8);
  for (u32 n = 0; n < 8 * count; ++n) {
    f64 s = powerOf(scale[n / 8]);
    unsigned code4 = itemOf(w4.data(), n, 4), code8 = itemOf(w8.data(), n, 8);
    expectCode(fp4, code4, values[n] / s, true);
    expectCode(fp8, code8, values[n] / s, false);
    EXPECT_TRUE(sameValue(back4[n], f32(fp4.decode(code4) * s)));
    EXPECT_TRUE(sameValue(back8[n], f32(fp8.decode(code8) * s)));
  }
}

TEST_P(Convert, PackScaledSixBit) {
  Differential run("Convert", GetParam());
  const u32 threads = 128;
  std::vector<f32> values = smallInputs(32 * threads), scale = scales(threads);
  auto in = run.input(values), ds = run.input(scale);
  auto outFp6 = run.output<u32>(6 * threads), outBf6 = run.output<u32>(6 * threads);
  auto fromFp6 = run.output<f32>(32 * threads), fromBf6 = run.output<f32>(32 * threads);
  ASSERT_EQ(run.device("packSixBit", {.grid = {2, 1, 1}}, in, ds, outFp6, outBf6, fromFp6, fromBf6),
            "");
  auto w6 = run.read(outFp6), wb6 = run.read(outBf6);
  auto back6 = run.read(fromFp6), backB6 = run.read(fromBf6);
  for (u32 n = 0; n < 32 * threads; ++n) {
    f64 s = powerOf(scale[n / 32]);
    unsigned code6 = itemOf(&w6[n / 32 * 6], n % 32, 6),
             codeB6 = itemOf(&wb6[n / 32 * 6], n % 32, 6);
    expectCode(fp6, code6, values[n] / s, true);
    expectCode(bf6, codeB6, values[n] / s, true);
    EXPECT_TRUE(sameValue(back6[n], f32(fp6.decode(code6) * s)));
    EXPECT_TRUE(sameValue(backB6[n], f32(bf6.decode(codeB6) * s)));
  }
}

} // namespace
