// Integer arithmetic of compiled kernels, bit for bit.
#include "test/runtime/kernels/device/Integer.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <algorithm>

using namespace mono::emu::test;

namespace {

constexpr u32 count = 2048;
const Shape shape = {.grid = {8, 1, 1}, .block = {256, 1, 1}};

/// Small values, limits and random patterns, every one of the first 256 against every other kind.
template <typename T> std::vector<T> integerInputs(uint32_t seed) {
  std::vector<T> values = randomIntegers<T>(count, seed);
  const T limits[] = {T(0),
                      T(1),
                      T(-1),
                      T(2),
                      T(10),
                      std::numeric_limits<T>::min(),
                      std::numeric_limits<T>::max(),
                      T(std::numeric_limits<T>::max() - 1)};
  std::mt19937 random(seed);
  for (u32 n = 0; n < count / 2; ++n)
    if (random() % 2)
      values[n] = limits[random() % std::size(limits)];
    else
      values[n] = T(values[n] >> (random() % (8 * sizeof(T))));
  return values;
}

class Integer : public KernelSuite {};
INSTANTIATE_KERNELS(Integer, "O0", "O3");

template <typename T, typename R>
void runRows(const char *optimization, const char *name,
             void (*kernel)(const T *, const T *, R *, u32), unsigned rows) {
  Differential run("Integer", optimization);
  auto a = run.input(integerInputs<T>(1)), b = run.input(integerInputs<T>(2));
  auto out = run.output<R>(rows * count);
  run.both(name, kernel, shape, a, b, out, count);
  run.expectSame(out, name);
}

#define INTEGER_TESTS(T)                                                                           \
  TEST_P(Integer, Wrapping_##T) { runRows(GetParam(), TWIN(wrapping_##T), 13); }                   \
  TEST_P(Integer, Dividing_##T) { runRows(GetParam(), TWIN(dividing_##T), 6); }                    \
  TEST_P(Integer, Shifting_##T) { runRows(GetParam(), TWIN(shifting_##T), 10); }

INTEGER_TESTS(i8)
INTEGER_TESTS(u8)
INTEGER_TESTS(i16)
INTEGER_TESTS(u16)
INTEGER_TESTS(i32)
INTEGER_TESTS(u32)
INTEGER_TESTS(i64)
INTEGER_TESTS(u64)

TEST_P(Integer, BitTricks) { runRows(GetParam(), TWIN(bitTricks), 26); }
TEST_P(Integer, Saturating) { runRows(GetParam(), TWIN(saturating), 16); }

TEST_P(Integer, PackedI16) {
  Differential run("Integer", GetParam());
  auto a = run.input(integerInputs<i16>(1)), b = run.input(integerInputs<i16>(2));
  auto out = run.output<i16>(13 * count);
  run.both(TWIN(packedI16), shape, a, b, out, count);
  run.expectSame(out);
}

TEST_P(Integer, WideIntegers) {
  Differential run("Integer", GetParam());
  auto a = run.input(integerInputs<u64>(1)), b = run.input(integerInputs<u64>(2));
  // The last element of a row has no neighbour and stays as it is.
  auto out = run.input(std::vector<u64>(10 * count));
  run.both(TWIN(wideIntegers), shape, a, b, out, count);
  run.expectSame(out);
}

} // namespace
