// linalg.reduce of the last axis on the emulator: rows of any length, however they fall on threads.
#include "test/lowering/Device/OneGpu.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

struct Shape {
  int outer, rows, columns; ///< [outer, rows, columns], reduced to [outer, rows]
  int threads = 512;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.outer << "x" << s.rows << "x" << s.columns << " on " << s.threads;
}

class Reduce : public testing::TestWithParam<Shape> {};

/// The sum is any order's sum; maximum, minimum and integer sum are exact. Results are used twice:
/// as they are, and by elementwise ops on rows.
TEST_P(Reduce, IsTheLoopOverTheRow) {
  Shape s = GetParam();
  std::string text = R"(mono.schedule @reduce target("gfx950") grid(2 x $THREADS) {
  %P = mono.param "P" in [1 to 64]
  %R = mono.param "R" in [1 to 4096]
  %C = mono.param "C" in [1 to 16384]
  %x = mono.operand "x" read [%P, %R, %C] : f32
  %n = mono.operand "n" read [%P, %R, %C] : i32
  %sum = mono.operand "sum" write [%P, %R] : f32
  %max = mono.operand "max" write [%P, %R] : f32
  %total = mono.operand "total" write [%P, %R] : i32
  %twice = mono.operand "twice" write [%P, %R] : f32
  mono.stage "s" (%t) tasks [1] base [1] {
    %v = mono.load %x[0, 0, 0] [%P, %R, %C] : tensor<?x?x?xf32>
    %half = arith.constant 0.5 : f32
    %halves = tensor.splat %half[%P, %R] : tensor<?x?xf32>
    %a = linalg.reduce { arith.addf } ins(%v : tensor<?x?x?xf32>) outs(%halves : tensor<?x?xf32>) dimensions = [2]
    mono.store %a, %sum[0, 0] : tensor<?x?xf32>
    %low = arith.constant 0xFF800000 : f32
    %lows = tensor.splat %low[%P, %R] : tensor<?x?xf32>
    %b = linalg.reduce { arith.maximumf } ins(%v : tensor<?x?x?xf32>) outs(%lows : tensor<?x?xf32>) dimensions = [2]
    mono.store %b, %max[0, 0] : tensor<?x?xf32>
    %w = mono.load %n[0, 0, 0] [%P, %R, %C] : tensor<?x?x?xi32>
    %seven = arith.constant 7 : i32
    %sevens = tensor.splat %seven[%P, %R] : tensor<?x?xi32>
    %c = linalg.reduce { arith.addi } ins(%w : tensor<?x?x?xi32>) outs(%sevens : tensor<?x?xi32>) dimensions = [2]
    mono.store %c, %total[0, 0] : tensor<?x?xi32>
    %d = arith.addf %b, %b : tensor<?x?xf32>
    mono.store %d, %twice[0, 0] : tensor<?x?xf32>
  }
})";
  OneGpu gpu(substitute(text, {{"THREADS", std::to_string(s.threads)}}), {},
             {{"P", s.outer}, {"R", s.rows}, {"C", s.columns}});
  std::mt19937 random(s.rows * 100 + s.columns);
  std::normal_distribution<float> normal;
  int rows = s.outer * s.rows;
  std::vector<float> x(size_t(rows) * s.columns);
  std::vector<int32_t> n(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    n[i] = int32_t(random());
  }
  gpu.write("x", x);
  gpu.write("n", n);
  gpu.launch();
  auto sum = gpu.read<float>("sum", rows), max = gpu.read<float>("max", rows),
       twice = gpu.read<float>("twice", rows);
  auto total = gpu.read<int32_t>("total", rows);
  for (int row = 0; row < rows; ++row) {
    double expected = 0.5, magnitude = 0.5;
    float largest = -INFINITY;
    uint32_t count = 7;
    for (int c = 0; c < s.columns; ++c) {
      float value = x[size_t(row) * s.columns + c];
      expected += value;
      magnitude += std::abs(value);
      largest = std::max(largest, value);
      count += uint32_t(n[size_t(row) * s.columns + c]);
    }
    ASSERT_NEAR(sum[row], expected, s.columns * std::exp2(-24) * magnitude) << "row " << row;
    ASSERT_EQ(max[row], largest) << "row " << row;
    ASSERT_EQ(twice[row], 2 * largest) << "row " << row;
    ASSERT_EQ(uint32_t(total[row]), count) << "row " << row;
  }
}

/// The initial value may be a constant tensor, of rows over lanes and of rows over threads.
TEST(ReduceFromConstant, IsTheLoopOverTheRow) {
  OneGpu gpu(R"(mono.schedule @reduce target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [3, 64] : f32
  %y = mono.operand "y" read [2, 7] : i32
  %sum = mono.operand "sum" write [3] : f32
  %least = mono.operand "least" write [2] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [3, 64] : tensor<3x64xf32>
    %halves = arith.constant dense<0.5> : tensor<3xf32>
    %a = linalg.reduce { arith.addf } ins(%v : tensor<3x64xf32>) outs(%halves : tensor<3xf32>) dimensions = [1]
    mono.store %a, %sum[0] : tensor<3xf32>
    %w = mono.load %y[0, 0] [2, 7] : tensor<2x7xi32>
    %fives = arith.constant dense<5> : tensor<2xi32>
    %b = linalg.reduce { arith.minsi } ins(%w : tensor<2x7xi32>) outs(%fives : tensor<2xi32>) dimensions = [1]
    mono.store %b, %least[0] : tensor<2xi32>
  }
})");
  std::vector<float> x;
  for (int i = 0; i < 3 * 64; ++i)
    x.push_back(float(i)); // sums of small integers are exact
  gpu.write("x", x);
  gpu.write("y", std::vector<int32_t>{9, 8, 7, 6, 7, 8, 9, 1, 2, -3, 4, 5, 6, 7});
  gpu.launch();
  EXPECT_EQ(gpu.read<float>("sum", 3), (std::vector<float>{2016.5f, 6112.5f, 10208.5f}));
  EXPECT_EQ(gpu.read<int32_t>("least", 2), (std::vector<int32_t>{5, -3}));
}

// Rows of a power of two of threads; of other numbers, odd ones included; of whole wavefronts; of
// more than the workgroup has threads; rows more than threads.
INSTANTIATE_TEST_SUITE_P(Shapes, Reduce,
                         testing::Values(Shape{1, 1, 1}, Shape{1, 4, 2}, Shape{2, 8, 64},
                                         Shape{1, 3, 3}, Shape{1, 5, 24}, Shape{3, 7, 10},
                                         Shape{1, 70, 257}, Shape{4, 4, 96}, Shape{1, 6, 130},
                                         Shape{1, 2, 384}, Shape{1, 3, 2048}, Shape{1, 1, 6144},
                                         Shape{1, 600, 8}, Shape{2, 35, 9, 64},
                                         Shape{1, 9, 192, 64}, Shape{1, 4, 1000, 256},
                                         Shape{5, 1, 7, 128}));

} // namespace
