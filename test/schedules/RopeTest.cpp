// schedules/rope.mlir against rotations in double precision.
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

/// Rows rotate all pairs of a head, or some of them; `first` is the first of them.
struct Shape {
  int rows, pairs, pairsOfHead, first;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << " rows, pairs " << s.first << " to " << s.first + s.pairs << " of "
      << s.pairsOfHead;
}

class Rope : public testing::TestWithParam<Shape> {};

TEST_P(Rope, RotatesPairs) {
  Shape s = GetParam();
  constexpr int kPositions = 50;
  OneGpu gpu(R"(mono.import "schedules/rope.mlir"
mono.schedule @rope target("gfx950") grid(1 x 256) {
  %S = mono.param "S" in [1 to 16]
  %P = mono.param "P" in [1 to 64]
  %H = mono.param "H" in [1 to 64]
  %F = mono.param "F" in [0 to 64]
  %table = mono.operand "table" read [50, %H * 2] : f32
  %positions = mono.operand "positions" read [%S] : i32
  %x = mono.operand "x" read [%S, %P * 2] : f32
  %y = mono.operand "y" write [%S, %P * 2] : f32
  %headX = mono.operand "head_x" read [%S, %H * 2] : f32
  %headY = mono.operand "head_y" write [%S, %H * 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %p = mono.load %positions[0] [%S] : tensor<?xi32>
    %angles = mono.call @rope_angles(%table, %p) : (!mono.buffer, tensor<?xi32>) -> tensor<?x?xf32>
    %v = mono.load %x[0, 0] [%S, %P * 2] : tensor<?x?xf32>
    %r = mono.call @rope_interleaved(%v, %angles, %F, %S, %P, %H)
      : (tensor<?x?xf32>, tensor<?x?xf32>, index, index, index, index) -> tensor<?x?xf32>
    mono.store %r, %y[0, 0] : tensor<?x?xf32>
    %w = mono.load %headX[0, 0] [%S, %H * 2] : tensor<?x?xf32>
    %h = mono.call @rope_halves(%w, %angles, %S, %H)
      : (tensor<?x?xf32>, tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
    mono.store %h, %headY[0, 0] : tensor<?x?xf32>
  }
})",
             {}, {{"S", s.rows}, {"P", s.pairs}, {"H", s.pairsOfHead}, {"F", s.first}});
  auto angle = [&](int position, int pair) {
    return position * std::pow(10000.0, -double(pair) / s.pairsOfHead);
  };
  std::vector<float> table(kPositions * s.pairsOfHead * 2), x(s.rows * s.pairs * 2);
  for (int position = 0; position < kPositions; ++position)
    for (int pair = 0; pair < s.pairsOfHead; ++pair) {
      float *row = &table[position * s.pairsOfHead * 2];
      row[pair] = float(std::cos(angle(position, pair)));
      row[s.pairsOfHead + pair] = float(std::sin(angle(position, pair)));
    }
  std::mt19937 random(s.rows);
  std::normal_distribution<float> normal;
  std::vector<float> heads(s.rows * s.pairsOfHead * 2);
  for (std::vector<float> *values : {&x, &heads})
    for (float &value : *values)
      value = normal(random);
  std::vector<int32_t> positions;
  for (int row = 0; row < s.rows; ++row)
    positions.push_back((7 * row + 49) % kPositions);
  gpu.write("table", table);
  gpu.write("positions", positions);
  gpu.write("x", x);
  gpu.write("head_x", heads);
  gpu.launchOnAnyMemory();
  auto expectRotated = [](double a, double b, double turn, float first, float second) {
    // Two rounded products, a rounded sum, and rounded sines and cosines.
    double bound = 4 * std::exp2(-24) * (std::abs(a) + std::abs(b));
    EXPECT_NEAR(first, a * std::cos(turn) - b * std::sin(turn), bound);
    EXPECT_NEAR(second, a * std::sin(turn) + b * std::cos(turn), bound);
  };
  std::vector<float> y = gpu.read<float>("y", x.size()),
                     head = gpu.read<float>("head_y", heads.size());
  for (int row = 0; row < s.rows; ++row) {
    for (int pair = 0; pair < s.pairs; ++pair) {
      SCOPED_TRACE(testing::Message() << "row " << row << ", pair " << pair);
      int at = (row * s.pairs + pair) * 2;
      expectRotated(x[at], x[at + 1], angle(positions[row], s.first + pair), y[at], y[at + 1]);
    }
    // In the other convention: half a head apart.
    for (int pair = 0; pair < s.pairsOfHead; ++pair) {
      SCOPED_TRACE(testing::Message() << "row " << row << ", halves, pair " << pair);
      int at = row * s.pairsOfHead * 2 + pair, other = at + s.pairsOfHead;
      expectRotated(heads[at], heads[other], angle(positions[row], pair), head[at], head[other]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Rope,
                         testing::Values(Shape{1, 32, 32, 0}, Shape{4, 16, 32, 16},
                                         Shape{8, 32, 32, 0}, Shape{3, 5, 7, 2}));

} // namespace
