// Reductions and scans of compiled kernels.
#include "test/runtime/kernels/device/Reduce.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

#include <numeric>

using namespace mono::emu::test;

namespace {

class Reduce : public KernelSuite {};
INSTANTIATE_KERNELS(Reduce, "O0", "O3");

TEST_P(Reduce, Shuffle) {
  Differential run("Reduce", GetParam());
  auto in = run.input(randomReals<f32>(1024, 31));
  auto wideIn = run.input(randomIntegers<u64>(1024, 32));
  auto sums = run.output<f32>(16);
  auto wideSums = run.output<u64>(16);
  run.both(TWIN(shuffleReduce), {.grid = {4, 1, 1}, .block = {256, 1, 1}}, in, sums, wideIn,
           wideSums);
  run.expectSame(sums, "f32");
  run.expectSame(wideSums, "u64");
}

TEST_P(Reduce, TreeInLds) {
  Differential run("Reduce", GetParam());
  auto in = run.input(randomReals<f32>(2048, 33));
  auto sums = run.output<f32>(8);
  run.both(TWIN(treeReduce), {.grid = {8, 1, 1}, .block = {256, 1, 1}}, in, sums);
  run.expectSame(sums);
}

TEST_P(Reduce, TwoLevels) {
  Differential run("Reduce", GetParam());
  auto in = run.input(randomReals<f64>(20 * 320, 34));
  auto partials = run.output<f64>(20), total = run.output<f64>(1);
  auto arrived = run.input(std::vector<u32>{0});
  run.both(TWIN(twoLevelReduce), {.grid = {20, 1, 1}, .block = {320, 1, 1}}, in, partials, arrived,
           total);
  run.expectSame(partials, "partials");
  run.expectSame(total, "total");
}

TEST_P(Reduce, BlockScan) {
  Differential run("Reduce", GetParam());
  auto in = run.input(randomIntegers<u32>(1024, 35));
  auto inclusive = run.output<u32>(1024), exclusive = run.output<u32>(1024);
  run.both(TWIN(blockScan), {.grid = {4, 1, 1}, .block = {256, 1, 1}}, in, inclusive, exclusive);
  run.expectSame(inclusive, "inclusive");
  run.expectSame(exclusive, "exclusive");
}

TEST_P(Reduce, LookbackScan) {
  Differential run("Reduce", GetParam());
  const u32 groups = 24;
  auto in = run.input(randomIntegers<u32>(groups * 256, 36));
  auto state = run.input(std::vector<u64>(groups));
  auto ticket = run.input(std::vector<u32>{0});
  auto out = run.output<u32>(groups * 256);
  run.both(TWIN(lookbackScan), {.grid = {groups, 1, 1}, .block = {256, 1, 1}}, in, state, ticket,
           out);
  run.expectSame(out);
  std::vector<u32> expected(groups * 256);
  std::partial_sum(in.host.begin(), in.host.end(), expected.begin());
  EXPECT_EQ(run.read(out), expected);
}

TEST_P(Reduce, PrefixMaximum) {
  Differential run("Reduce", GetParam());
  auto in = run.input(randomIntegers<i32>(8 * 320, 37));
  auto out = run.output<i32>(8 * 320);
  run.both(TWIN(prefixMaximum), {.grid = {8, 1, 1}}, in, out, 320u);
  run.expectSame(out);
}

} // namespace
