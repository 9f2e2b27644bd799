// schedules/attention.mlir: softmax in parts, put together, against the softmax of the whole in
// double precision.
#include "models/BFloat16.h"
#include "test/schedules/OneCall.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  int heads, keys, parts, columns;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.heads << " heads, " << s.keys << " keys, " << s.parts << " parts, " << s.columns
      << " columns";
}

class Mla : public testing::TestWithParam<Shape> {};

TEST_P(Mla, PartsMakeTheWhole) {
  Shape s = GetParam();
  OneGpu gpu(R"(mono.import "schedules/attention.mlir"
mono.schedule @mla target("gfx950") grid(8 x 256) {
  %H = mono.param "H" in [1 to 64]
  %K = mono.param "K" in [1 to 256]
  %P = mono.param "P" in [1 to 8]
  %C = mono.param "C" in [1 to 512]
  %score = mono.operand "score" read [%P, %H, %K] : f32
  %value = mono.operand "value" read [%P, %K, %C] : bf16
  %numerator = mono.operand "numerator" write [%P, %H, %K] : bf16
  %maximum = mono.operand "maximum" write [%P, %H] : f32
  %sum = mono.operand "sum" write [%P, %H] : f32
  %y = mono.operand "y" write [%H, %C] : f32
  %ma = mono.mailbox "ma" tagged scope(device) slots(1) [%H, %P] : f32
  %su = mono.mailbox "su" tagged scope(device) slots(1) [%H, %P] : f32
  %va = mono.mailbox "va" tagged scope(device) slots(1) [%H, %P, %C] : f32
  %p = mono.region "p" [%H, %K] pad(8) : bf16
  %v = mono.region "v" [%K, %C] pad(8) : bf16
  mono.stage "parts" (%t) tasks [%P] base [0] {
    %s3 = mono.load %score[%t, 0, 0] [1, %H, %K] : tensor<1x?x?xf32>
    %s = tensor.collapse_shape %s3 [[0, 1], [2]] : tensor<1x?x?xf32> into tensor<?x?xf32>
    %n, %m, %l = mono.call @partial_softmax(%s, %H, %K)
      : (tensor<?x?xf32>, index, index) -> (tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>)
    mono.store %n, %numerator[%t, 0, 0] : tensor<?x?xbf16>
    mono.store %m, %maximum[%t, 0] : tensor<?xf32>
    mono.store %l, %sum[%t, 0] : tensor<?xf32>
    mono.store %n, %p[0, 0] : tensor<?x?xbf16>
    %v3 = mono.load %value[%t, 0, 0] [1, %K, %C] : tensor<1x?x?xbf16>
    %v2 = tensor.collapse_shape %v3 [[0, 1], [2]] : tensor<1x?x?xbf16> into tensor<?x?xbf16>
    mono.store %v2, %v[0, 0] : tensor<?x?xbf16>
    %o = mono.product %p[0, 0] [%H, %K], %v[0, 0] [%K, %C] by_columns : tensor<?x?xf32>
    %m2 = tensor.expand_shape %m [[0, 1]] output_shape [%H, 1] : tensor<?xf32> into tensor<?x1xf32>
    %l2 = tensor.expand_shape %l [[0, 1]] output_shape [%H, 1] : tensor<?xf32> into tensor<?x1xf32>
    %o3 = tensor.expand_shape %o [[0, 1], [2]] output_shape [%H, 1, %C] : tensor<?x?xf32> into tensor<?x1x?xf32>
    mono.post %m2 to %ma[0, %t] : tensor<?x1xf32>
    mono.post %l2 to %su[0, %t] : tensor<?x1xf32>
    mono.post %o3 to %va[0, %t, 0] : tensor<?x1x?xf32>
  }
  mono.stage "combine" (%t) tasks [%H] base [0] {
    %m = mono.receive %ma[%t, 0] [1, %P] : tensor<1x?xf32>
    %l = mono.receive %su[%t, 0] [1, %P] : tensor<1x?xf32>
    %o3 = mono.receive %va[%t, 0, 0] [1, %P, %C] : tensor<1x?x?xf32>
    %o = tensor.collapse_shape %o3 [[0, 1], [2]] : tensor<1x?x?xf32> into tensor<?x?xf32>
    %r = mono.call @combine_parts(%o, %m, %l, %P, %C)
      : (tensor<?x?xf32>, tensor<1x?xf32>, tensor<1x?xf32>, index, index) -> tensor<?xf32>
    mono.store %r, %y[%t, 0] : tensor<?xf32>
  }
})",
             {}, {{"H", s.heads}, {"K", s.keys}, {"P", s.parts}, {"C", s.columns}});
  std::mt19937 random(s.keys);
  std::normal_distribution<float> normal;
  std::vector<float> score(s.parts * s.heads * s.keys);
  std::vector<uint16_t> value(s.parts * s.keys * s.columns);
  // Every third key is masked, the last part as a whole where there are others.
  for (size_t i = 0; i < score.size(); ++i) {
    int part = int(i / (s.heads * s.keys));
    bool isMasked = i % s.keys % 3 == 1 || (part > 0 && part == s.parts - 1);
    score[i] = isMasked ? -INFINITY : 5 * normal(random) + float(part) * 3;
  }
  for (uint16_t &v : value)
    v = toBf16(normal(random));
  gpu.write("score", score);
  gpu.write("value", value);
  gpu.launchOnAnyMemory();
  auto numerator = gpu.read<uint16_t>("numerator", score.size());
  auto maximum = gpu.read<float>("maximum", s.parts * s.heads),
       sum = gpu.read<float>("sum", s.parts * s.heads),
       y = gpu.read<float>("y", s.heads * s.columns);
  for (int h = 0; h < s.heads; ++h) {
    auto scoreAt = [&](int part, int key) { return score[(part * s.heads + h) * s.keys + key]; };
    double most = -INFINITY, total = 0;
    for (int part = 0; part < s.parts; ++part) {
      float largest = -1e30f;
      double partSum = 0;
      for (int key = 0; key < s.keys; ++key)
        largest = std::max(largest, scoreAt(part, key));
      EXPECT_EQ(maximum[part * s.heads + h], largest);
      for (int key = 0; key < s.keys; ++key) {
        double p = std::exp(double(scoreAt(part, key)) - largest);
        float got = toFloat(numerator[(part * s.heads + h) * s.keys + key]);
        partSum += got;
        EXPECT_NEAR(got, p, 1.01 * std::exp2(-8) * p)
            << "part " << part << ", head " << h << ", key " << key;
      }
      EXPECT_NEAR(sum[part * s.heads + h], partSum, s.keys * std::exp2(-24) * partSum);
      most = std::max(most, double(largest));
    }
    for (int part = 0; part < s.parts; ++part)
      for (int key = 0; key < s.keys; ++key)
        total += std::exp(scoreAt(part, key) - most);
    for (int c = 0; c < s.columns; ++c) {
      double expected = 0, magnitude = 0;
      for (int part = 0; part < s.parts; ++part)
        for (int key = 0; key < s.keys; ++key) {
          double term = std::exp(scoreAt(part, key) - most) / total *
                        toFloat(value[(part * s.keys + key) * s.columns + c]);
          expected += term;
          magnitude += std::abs(term);
        }
      // Numerators are rounded to bf16, by 2^-8 of each, and so are those in the sum.
      EXPECT_NEAR(y[h * s.columns + c], expected, 2.02 * std::exp2(-8) * magnitude)
          << "head " << h << ", column " << c;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Mla,
                         testing::Values(Shape{8, 64, 4, 64}, Shape{3, 32, 1, 40},
                                         Shape{16, 64, 3, 128}, Shape{1, 96, 8, 32}));

TEST(Softcap, IsTheTanh) {
  std::vector<float> x;
  for (int i = 0; i < 5 * 60; ++i)
    x.push_back(float(i - 150) * 1.7f); // far past the cap on both sides
  auto capped = [&](const char *cap) {
    return OneCall("attention", "softcap", {{"x", {5, 60}}}, {"x", cap, "5", "60"},
                   {{"y", {5, 60}}})
        .with("x", x)
        .run()
        .result<float>("y");
  };
  std::vector<float> y = capped("30.0");
  for (size_t i = 0; i < x.size(); ++i) {
    // A quotient, a tanh of a few ulps, a product.
    double expected = 30 * std::tanh(double(x[i]) / 30);
    EXPECT_NEAR(y[i], expected, 16 * std::exp2(-24) * std::abs(expected)) << x[i];
  }
  EXPECT_EQ(capped("0.0"), x);
}

/// Factors of the parts of a head; a part without keys has sum 0 and the maximum -1e30.
class PartFactors : public testing::TestWithParam<int> {
protected:
  int64_t parts = GetParam();
  std::vector<float> max, sum;

  void SetUp() override {
    std::mt19937 random{uint32_t(parts)};
    std::normal_distribution<float> normal;
    for (int i = 0; i < parts; ++i) {
      bool isEmpty = i > 0 && i == parts - 1;
      max.push_back(isEmpty ? -1.0e30f : 10 * normal(random));
      sum.push_back(isEmpty ? 0 : 1 + std::abs(normal(random)));
    }
  }

  /// Exponentials of differences up to 60, whose roundings count as much; then a sum.
  void check(const std::vector<float> &factors, double sink) {
    double most = sink, total = 0;
    for (float m : max)
      most = std::max<double>(most, m);
    for (int i = 0; i < parts; ++i)
      total += std::exp(max[i] - most) * sum[i];
    total += std::exp(sink - most);
    for (int i = 0; i < parts; ++i) {
      double expected = std::exp(max[i] - most) / total;
      EXPECT_NEAR(factors[i], expected, (64 + parts) * std::exp2(-24) * expected + std::exp2(-126))
          << i;
    }
  }
};

TEST_P(PartFactors, AreTheShares) {
  std::vector<float> y =
      OneCall("attention", "part_factors", {{"max", {1, parts}}, {"sum", {1, parts}}},
              {"max", "sum", std::to_string(parts)}, {{"y", {1, parts}}})
          .with("max", max)
          .with("sum", sum)
          .run()
          .result<float>("y");
  check(y, -INFINITY);
}

TEST_P(PartFactors, WithASink) {
  for (float sink : {-5.0f, 30.0f}) {
    std::vector<float> y =
        OneCall("attention", "part_factors_with_sink",
                {{"max", {1, parts}}, {"sum", {1, parts}}, {"sink", {1}}},
                {"max", "sum", "sink", std::to_string(parts)}, {{"y", {1, parts}}})
            .with("max", max)
            .with("sum", sum)
            .with("sink", std::vector<float>{sink})
            .run()
            .result<float>("y");
    check(y, sink);
  }
}

TEST_P(PartFactors, WeighTheValues) {
  constexpr int kColumns = 24;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(parts * kColumns);
  for (float &value : values)
    value = normal(random);
  std::vector<float> y =
      OneCall("attention", "add_parts", {{"values", {parts, kColumns}}, {"factor", {1, parts}}},
              {"values", "factor", std::to_string(parts), "24"}, {{"y", {kColumns}}})
          .with("values", values)
          .with("factor", sum)
          .run()
          .result<float>("y");
  for (int c = 0; c < kColumns; ++c) {
    double expected = 0, magnitude = 0;
    for (int i = 0; i < parts; ++i) {
      expected += double(values[i * kColumns + c]) * sum[i];
      magnitude += std::abs(double(values[i * kColumns + c]) * sum[i]);
    }
    EXPECT_NEAR(y[c], expected, (parts + 1) * std::exp2(-24) * magnitude) << c;
  }
}

/// A row that attends to nothing: sums of 0, values of 0, and so zeros of all parts together.
TEST(CombineParts, OfARowWithoutKeys) {
  std::vector<float> y =
      OneCall("attention", "combine_parts", {{"values", {3, 8}}, {"max", {1, 3}}, {"sum", {1, 3}}},
              {"values", "max", "sum", "3", "8"}, {{"y", {8}}})
          .with("values", std::vector<float>(24))
          .with("max", std::vector<float>(3, -1.0e30f))
          .with("sum", std::vector<float>(3))
          .run()
          .result<float>("y");
  EXPECT_EQ(y, std::vector<float>(8));
}

INSTANTIATE_TEST_SUITE_P(Parts, PartFactors, testing::Values(1, 2, 7, 32));

} // namespace
