// Sorts of compiled kernels against std::sort.
#include "test/runtime/kernels/device/Sort.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <algorithm>
#include <numeric>

using namespace mono::emu::test;

namespace {

class Sort : public KernelSuite {};
INSTANTIATE_KERNELS(Sort, "O0", "O3");

/// Runs a sort of `blocks` runs of `length` keys and expects each run sorted.
void runSort(const char *optimization, const char *name, void (*kernel)(const u32 *, u32 *),
             u32 length, u32 threads) {
  const u32 blocks = 3;
  Differential run("Sort", optimization);
  auto in = run.input(randomIntegers<u32>(blocks * length, 41));
  auto out = run.output<u32>(blocks * length);
  run.both(name, kernel, {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}, in, out);
  run.expectSame(out, name);
  std::vector<u32> expected = in.host;
  for (u32 block = 0; block < blocks; ++block)
    std::sort(expected.begin() + block * length, expected.begin() + (block + 1) * length);
  EXPECT_EQ(run.read(out), expected);
}

TEST_P(Sort, Bitonic) { runSort(GetParam(), TWIN(bitonicSort), 512, 256); }
TEST_P(Sort, OddEven) { runSort(GetParam(), TWIN(oddEvenSort), 128, 64); }

TEST_P(Sort, RadixIsStable) {
  Differential run("Sort", GetParam());
  std::vector<u32> keys = randomIntegers<u32>(256, 42), values(256);
  for (u32 &key : keys)
    key %= 40; // many equal keys
  keys[7] = 0xffffffff;
  std::iota(values.begin(), values.end(), 1000);
  auto keysIn = run.input(keys), valuesIn = run.input(values);
  auto keysOut = run.output<u32>(256), valuesOut = run.output<u32>(256);
  run.both(TWIN(radixSort), {.block = {256, 1, 1}}, keysIn, valuesIn, keysOut, valuesOut);
  run.expectSame(keysOut, "keys");
  run.expectSame(valuesOut, "values");
  std::sort(values.begin(), values.end(), [&](u32 a, u32 b) {
    return std::pair(keys[a - 1000], a) < std::pair(keys[b - 1000], b);
  });
  EXPECT_EQ(run.read(valuesOut), values);
}

} // namespace
