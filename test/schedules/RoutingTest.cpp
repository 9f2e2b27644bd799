// schedules/routing.mlir against double precision, for any k, rule and group.
#include "test/schedules/OneCall.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
  gpu.launchOnAnyMemory();
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

/// Rules of choosing and weighing besides the one above, all on one set of logits.
struct Rules {
  int rows, experts, k, groups, kept, best;
};

void PrintTo(const Rules &s, std::ostream *os) {
  *os << s.k << " of " << s.experts << " in " << s.kept << " of " << s.groups << " groups by their "
      << s.best << " best, " << s.rows << " rows";
}

class RoutingRules : public testing::TestWithParam<Rules> {
protected:
  Rules s = GetParam();
  std::vector<float> logits, bias;
  std::unique_ptr<OneGpu> gpu;

  void SetUp() override {
    gpu = std::make_unique<OneGpu>(R"(mono.import "schedules/routing.mlir"
mono.schedule @routing target("gfx950") grid(1 x 512) {
  %S = mono.param "S" in [1 to 16]
  %E = mono.param "E" in [1 to 1024]
  %K = mono.param "K" in [1 to 64]
  %G = mono.param "G" in [1 to 64]
  %T = mono.param "T" in [1 to 64]
  %B = mono.param "B" in [1 to 2]
  %x = mono.operand "logits" read [%S, %E] : f32
  %b = mono.operand "bias" read [%E] : f32
  %softmax = mono.operand "softmax" write [%S, %E] : f32
  %ids0 = mono.operand "ids0" write [%S, %K] : i32
  %weights0 = mono.operand "weights0" write [%S, %K] : f32
  %ids1 = mono.operand "ids1" write [%S, %K] : i32
  %weights1 = mono.operand "weights1" write [%S, %K] : f32
  %ids2 = mono.operand "ids2" write [%S, %K] : i32
  %weights2 = mono.operand "weights2" write [%S, %K] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %scale = arith.constant 1.5 : f32
    %l = mono.load %x[0, 0] [%S, %E] : tensor<?x?xf32>
    %bias = mono.load %b[0] [%E] : tensor<?xf32>
    %p = mono.call @softmax_rows(%l, %S, %E) : (tensor<?x?xf32>, index, index) -> tensor<?x?xf32>
    mono.store %p, %softmax[0, 0] : tensor<?x?xf32>
    %i0, %w0 = mono.call @route_softmax(%l, %scale, %S, %E, %K)
      : (tensor<?x?xf32>, f32, index, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %i0, %ids0[0, 0] : tensor<?x?xi32>
    mono.store %w0, %weights0[0, 0] : tensor<?x?xf32>
    %i1, %w1 = mono.call @route_softmax_renormalised(%l, %S, %K)
      : (tensor<?x?xf32>, index, index) -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %i1, %ids1[0, 0] : tensor<?x?xi32>
    mono.store %w1, %weights1[0, 0] : tensor<?x?xf32>
    %i2, %w2 = mono.call @route_topk_in_groups(%l, %bias, %scale, %G, %T, %B, %S, %E, %K)
      : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index, index, index, index, index)
      -> (tensor<?x?xi32>, tensor<?x?xf32>)
    mono.store %i2, %ids2[0, 0] : tensor<?x?xi32>
    mono.store %w2, %weights2[0, 0] : tensor<?x?xf32>
  }
})",
                                   emu::Options{},
                                   OneGpu::Params{{"S", s.rows},
                                                  {"E", s.experts},
                                                  {"K", s.k},
                                                  {"G", s.groups},
                                                  {"T", s.kept},
                                                  {"B", s.best}});
    std::mt19937 random(s.experts);
    for (int row = 0; row < s.rows; ++row) {
      std::vector<float> values(s.experts);
      for (int e = 0; e < s.experts; ++e)
        values[e] = 12.0f * float(e) / float(s.experts) - 6;
      std::shuffle(values.begin(), values.end(), random);
      logits.insert(logits.end(), values.begin(), values.end());
    }
    for (int e = 0; e < s.experts; ++e)
      bias.push_back(e % 5 == 0 ? 0.25f : 0);
    gpu->write("logits", logits);
    gpu->write("bias", bias);
    gpu->launchOnAnyMemory();
  }

  /// The k largest keys of one row, rising.
  std::vector<int32_t> largest(const std::vector<double> &keys, int k) const {
    std::vector<int32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return std::pair(-keys[a], a) < std::pair(-keys[b], b);
    });
    order.resize(k);
    std::sort(order.begin(), order.end());
    return order;
  }

  std::vector<double> logitsOf(int row) const {
    return {logits.begin() + row * s.experts, logits.begin() + (row + 1) * s.experts};
  }

  void check(const char *ids, const char *weights, int row, const std::vector<int32_t> &expectedIds,
             const std::vector<double> &expected) {
    auto i = gpu->read<int32_t>(ids, s.rows * s.k);
    auto w = gpu->read<float>(weights, s.rows * s.k);
    EXPECT_EQ(std::vector<int32_t>(i.begin() + row * s.k, i.begin() + (row + 1) * s.k), expectedIds)
        << ids << ", row " << row;
    // An exponential of one ulp, a handful of roundings, and the sum of all experts.
    for (int c = 0; c < s.k; ++c)
      EXPECT_NEAR(w[row * s.k + c], expected[c],
                  (s.experts + 16) * std::exp2(-24) * std::abs(expected[c]))
          << weights << ", row " << row << ", choice " << c;
  }
};

TEST_P(RoutingRules, Softmax) {
  auto softmax = gpu->read<float>("softmax", logits.size());
  for (int row = 0; row < s.rows; ++row) {
    std::vector<double> l = logitsOf(row), all, renormalised;
    double sum = 0, chosenSum = 0;
    for (double logit : l)
      sum += std::exp(logit);
    for (int e = 0; e < s.experts; ++e)
      EXPECT_NEAR(softmax[row * s.experts + e], std::exp(l[e]) / sum,
                  (s.experts + 16) * std::exp2(-24) * std::exp(l[e]) / sum);
    std::vector<int32_t> ids = largest(l, s.k);
    for (int32_t id : ids)
      chosenSum += std::exp(l[id]);
    for (int32_t id : ids) {
      all.push_back(1.5 * std::exp(l[id]) / sum);
      renormalised.push_back(std::exp(l[id]) / chosenSum);
    }
    check("ids0", "weights0", row, ids, all);
    check("ids1", "weights1", row, ids, renormalised);
  }
}

TEST_P(RoutingRules, Groups) {
  int size = s.experts / s.groups;
  for (int row = 0; row < s.rows; ++row) {
    std::vector<double> score, key, groupScore;
    for (double logit : logitsOf(row)) {
      score.push_back(1 / (1 + std::exp(-logit)));
      key.push_back(score.back() + bias[key.size()]);
    }
    for (int g = 0; g < s.groups; ++g) {
      std::vector<double> own(key.begin() + g * size, key.begin() + (g + 1) * size);
      std::sort(own.begin(), own.end(), std::greater<>());
      groupScore.push_back(own[0] + (s.best > 1 ? own[1] : 0));
    }
    std::vector<int32_t> kept = largest(groupScore, s.kept);
    for (int e = 0; e < s.experts; ++e)
      if (std::find(kept.begin(), kept.end(), e / size) == kept.end())
        key[e] = -INFINITY;
    std::vector<int32_t> ids = largest(key, s.k);
    std::vector<double> weights;
    double sum = 0;
    for (int32_t id : ids)
      sum += score[id];
    for (int32_t id : ids)
      weights.push_back(1.5 * score[id] / sum);
    check("ids2", "weights2", row, ids, weights);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RoutingRules,
                         testing::Values(Rules{4, 256, 8, 8, 4, 2}, Rules{3, 64, 6, 8, 3, 1},
                                         Rules{8, 128, 8, 1, 1, 1}, Rules{1, 32, 4, 4, 1, 2}));

TEST(RoutingPieces, Renormalise) {
  constexpr int kRows = 3, kColumns = 10;
  std::vector<float> x;
  for (int i = 0; i < kRows * kColumns; ++i)
    x.push_back(0.1f + float(i * 7 % 13));
  std::vector<float> y =
      OneCall("routing", "renormalise", {{"x", {3, 10}}}, {"x", "2.5", "3", "10"}, {{"y", {3, 10}}})
          .with("x", x)
          .run()
          .result<float>("y");
  for (int i = 0; i < kRows * kColumns; ++i) {
    double sum = 0;
    for (int c = 0; c < kColumns; ++c)
      sum += x[i / kColumns * kColumns + c];
    EXPECT_NEAR(y[i], 2.5 * x[i] / sum, (kColumns + 2) * std::exp2(-24) * 2.5 * x[i] / sum) << i;
  }
}

/// Keys stay as they are, or become -inf; of equal groups the lower is kept.
TEST(RoutingPieces, LimitToGroups) {
  // Four groups of three: by two best 9, 9, 11, 2; by the best 5, 8, 6, 1.
  const std::vector<float> key = {5, 4, 3, 1, 8, 1, 5, 5, 6, 1, 1, 1};
  auto limited = [&](const char *kept, const char *best) {
    return OneCall("routing", "limit_to_groups", {{"key", {1, 12}}},
                   {"key", "4", kept, best, "1", "12"}, {{"y", {1, 12}}})
        .with("key", key)
        .run()
        .result<float>("y");
  };
  const float low = -INFINITY;
  EXPECT_EQ(limited("2", "2"),
            (std::vector<float>{5, 4, 3, low, low, low, 5, 5, 6, low, low, low}));
  EXPECT_EQ(limited("1", "1"),
            (std::vector<float>{low, low, low, 1, 8, 1, low, low, low, low, low, low}));
  EXPECT_EQ(limited("4", "2"), key);
}

/// Chosen by key, weighed by score; of equal keys the lower expert.
TEST(RoutingPieces, ChooseExperts) {
  OneCall call("routing", "choose_experts", {{"key", {2, 6}}, {"score", {2, 6}}},
               {"key", "score", "1.0", "2", "2"}, {{"ids", {2, 2}, "i32"}, {"weights", {2, 2}}});
  call.with("key", std::vector<float>{1, 7, 7, 7, 0, 2, -1, -3, -2, -1, -9, -8})
      .with("score", std::vector<float>{9, 1, 3, 9, 9, 9, 2, 9, 9, 6, 9, 9})
      .run();
  EXPECT_EQ(call.result<int32_t>("ids"), (std::vector<int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(call.result<float>("weights"), (std::vector<float>{0.25f, 0.75f, 0.25f, 0.75f}));
}

} // namespace
