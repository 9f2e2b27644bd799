// schedules/routing.mlir against double precision, for any k.
#include "test/lowering/Device/OneGpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

struct Shape {
  int rows, experts, k;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.k << " of " << s.experts << ", " << s.rows << " rows";
}

class Routing : public testing::TestWithParam<Shape> {};

TEST_P(Routing, LargestBiasedSigmoids) {
  Shape s = GetParam();
  OneGpu gpu(R"(mono.import "schedules/routing.mlir"
mono.schedule @routing target("gfx950") grid(1 x 512) {
  %S = mono.param "S" in [1 to 16]
  %E = mono.param "E" in [1 to 1024]
  %K = mono.param "K" in [1 to 64]
  %x = mono.operand "logits" read [%S, %E] : f32
  %b = mono.operand "bias" read [%E] : f32
  %ids = mono.operand "ids" write [%S, %K] : i32
  %weights = mono.operand "weights" write [%S, %K] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %scale = arith.constant 2.5 : f32
    %l = mono.load %x[0, 0] [%S, %E] : tensor<?x?xf32>
    %bias = mono.load %b[0] [%E] : tensor<?xf32>
    %i, %w = mono.call @route_topk(%l, %bias, %scale, %S, %E, %K)
      : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %i, %ids[0, 0] : tensor<?x?xi32>
    mono.store %w, %weights[0, 0] : tensor<?x?xf32>
  }
})",
             {}, {{"S", s.rows}, {"E", s.experts}, {"K", s.k}});
  // Logits a fixed distance apart in a random order, so that rounding decides no selection, and a
  // bias that changes some.
  std::mt19937 random(s.experts);
  std::vector<float> logits, bias(s.experts);
  for (int row = 0; row < s.rows; ++row) {
    std::vector<float> values(s.experts);
    for (int e = 0; e < s.experts; ++e)
      values[e] = 8.0f * float(e) / float(s.experts) - 4;
    std::shuffle(values.begin(), values.end(), random);
    logits.insert(logits.end(), values.begin(), values.end());
  }
  for (int e = 0; e < s.experts; ++e)
    bias[e] = e % 5 == 0 ? 0.25f : 0;
  gpu.write("logits", logits);
  gpu.write("bias", bias);
  gpu.launch();
  std::vector<int32_t> ids = gpu.read<int32_t>("ids", s.rows * s.k);
  std::vector<float> weights = gpu.read<float>("weights", s.rows * s.k);
  for (int row = 0; row < s.rows; ++row) {
    auto sigmoid = [&](int e) { return 1 / (1 + std::exp(-double(logits[row * s.experts + e]))); };
    std::vector<int32_t> order(s.experts);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::pair(-sigmoid(a) - bias[a], a) < std::pair(-sigmoid(b) - bias[b], b);
    });
    order.resize(s.k);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(std::vector<int32_t>(ids.begin() + row * s.k, ids.begin() + (row + 1) * s.k), order)
        << "row " << row;
    double sum = 0;
    for (int32_t e : order)
      sum += sigmoid(e);
    for (int i = 0; i < s.k; ++i) {
      // An exponential of one ulp, a handful of roundings, and the sum of k.
      double expected = 2.5 * sigmoid(order[i]) / sum;
      EXPECT_NEAR(weights[row * s.k + i], expected, (s.k + 16) * std::exp2(-24) * expected)
          << "row " << row << ", choice " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Routing,
                         testing::Values(Shape{4, 256, 8}, Shape{8, 256, 6}, Shape{2, 896, 16},
                                         Shape{1, 40, 1}, Shape{3, 31, 5}));

} // namespace
