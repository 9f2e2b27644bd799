// schedules/norm.mlir and two_terms.mlir against double precision.
#include "models/BFloat16.h"
#include "test/schedules/OneCall.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  int rows, columns;
};

void PrintTo(const Shape &s, std::ostream *os) { *os << s.rows << "x" << s.columns; }

class Norm : public testing::TestWithParam<Shape> {};

TEST_P(Norm, LayerNormAndRmsNorm) {
  Shape s = GetParam();
  OneGpu gpu(R"(mono.import "schedules/norm.mlir"
mono.schedule @norm target("gfx950") grid(1 x 512) {
  %S = mono.param "S" in [1 to 16]
  %C = mono.param "C" in [1 to 6144]
  %x = mono.operand "x" read [%S, %C] : f32
  %gamma = mono.operand "gamma" read [%C] : f32
  %gamma16 = mono.operand "gamma16" read [%C] : bf16
  %beta = mono.operand "beta" read [%C] : f32
  %layer = mono.operand "layer" write [%S, %C] : f32
  %rms = mono.operand "rms" write [%S, %C] : bf16
  %one_plus = mono.operand "one_plus" write [%S, %C] : bf16
  %by = mono.operand "by" write [%S, %C] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %eps = arith.constant 1.0e-2 : f32
    %v = mono.load %x[0, 0] [%S, %C] : tensor<?x?xf32>
    %g = mono.load %gamma[0] [%C] : tensor<?xf32>
    %b = mono.load %beta[0] [%C] : tensor<?xf32>
    %l = mono.call @layer_norm(%v, %g, %b, %eps, %S, %C)
      : (tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x?xf32>
    mono.store %l, %layer[0, 0] : tensor<?x?xf32>
    %g16 = mono.load %gamma16[0] [%C] : tensor<?xbf16>
    %r = mono.call @rms_norm(%v, %g16, %eps, %S, %C)
      : (tensor<?x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<?x?xbf16>
    mono.store %r, %rms[0, 0] : tensor<?x?xbf16>
    %o = mono.call @rms_norm_one_plus(%v, %g16, %eps, %S, %C)
      : (tensor<?x?xf32>, tensor<?xbf16>, f32, index, index) -> tensor<?x?xbf16>
    mono.store %o, %one_plus[0, 0] : tensor<?x?xbf16>
    %n = mono.call @rms_normed_by(%v, %g, %eps, %S, %C)
      : (tensor<?x?xf32>, tensor<?xf32>, f32, index, index) -> tensor<?x?xf32>
    mono.store %n, %by[0, 0] : tensor<?x?xf32>
  }
})",
             {}, {{"S", s.rows}, {"C", s.columns}});
  std::mt19937 random(s.columns);
  std::normal_distribution<float> normal;
  // A mean that is not small: leaving it in would show.
  std::vector<float> x(s.rows * s.columns), gamma(s.columns), beta(s.columns);
  std::vector<uint16_t> gamma16(s.columns);
  for (float &value : x)
    value = normal(random) + 2;
  for (int c = 0; c < s.columns; ++c) {
    gamma[c] = normal(random);
    beta[c] = normal(random);
    gamma16[c] = toBf16(normal(random));
  }
  gpu.write("x", x);
  gpu.write("gamma", gamma);
  gpu.write("gamma16", gamma16);
  gpu.write("beta", beta);
  gpu.launchOnAnyMemory();
  std::vector<float> layer = gpu.read<float>("layer", x.size());
  std::vector<uint16_t> rms = gpu.read<uint16_t>("rms", x.size());
  std::vector<uint16_t> onePlus = gpu.read<uint16_t>("one_plus", x.size());
  std::vector<float> by = gpu.read<float>("by", x.size());
  for (int row = 0; row < s.rows; ++row) {
    const float *values = &x[row * s.columns];
    double mean = 0, square = 0, variance = 0;
    for (int c = 0; c < s.columns; ++c) {
      mean += values[c] / s.columns;
      square += double(values[c]) * values[c] / s.columns;
    }
    for (int c = 0; c < s.columns; ++c)
      variance += (values[c] - mean) * (values[c] - mean) / s.columns;
    // Sums of n rounded terms, and a handful of rounded ops after them.
    double relative = (s.columns + 8) * std::exp2(-24);
    for (int c = 0; c < s.columns; ++c) {
      double centred = (values[c] - mean) / std::sqrt(variance + 1e-2);
      double scale =
          std::abs(gamma[c]) * (std::abs(values[c]) + std::abs(mean)) / std::sqrt(variance + 1e-2);
      EXPECT_NEAR(layer[row * s.columns + c], centred * gamma[c] + beta[c],
                  2 * relative * (scale + std::abs(beta[c])))
          << "row " << row << ", column " << c;
      double normed = values[c] / std::sqrt(square + 1e-2);
      EXPECT_NEAR(by[row * s.columns + c], normed * gamma[c],
                  2 * relative * std::abs(normed * gamma[c]))
          << "row " << row << ", column " << c;
      auto expectRounded = [&](uint16_t result, double expected) {
        EXPECT_NEAR(toFloat(result), expected,
                    (std::exp2(-8) + relative) * std::abs(expected) * (1 + std::exp2(-8)))
            << "row " << row << ", column " << c;
      };
      expectRounded(rms[row * s.columns + c], normed * toFloat(gamma16[c]));
      expectRounded(onePlus[row * s.columns + c], normed * (1.0 + toFloat(gamma16[c])));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Norm,
                         testing::Values(Shape{1, 128}, Shape{4, 512}, Shape{8, 100}, Shape{3, 7},
                                         Shape{2, 2048}));

/// Two terms carry 16 bits of mantissa through a contraction.
TEST(TwoTerms, KeepSixteenBits) {
  constexpr int kRows = 5, kDepth = 256, kColumns = 32;
  OneGpu gpu(R"(mono.import "schedules/two_terms.mlir"
mono.schedule @two_terms target("gfx950") grid(1 x 512) {
  %S = arith.constant 5 : index
  %N = arith.constant 32 : index
  %x = mono.operand "x" read [5, 256] : f32
  %w = mono.operand "w" read weight [32, 256] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [5, 32] : f32
  %r = mono.region "r" [10, 256] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %stream = mono.stream %w[0, 0] [32, 256] split_k(8)
    %v = mono.load %x[0, 0] [5, 256] : tensor<5x256xf32>
    mono.call @store_two_terms(%v, %r, %S) : (tensor<5x256xf32>, !mono.buffer, index) -> ()
    %p = mono.contract %r[0, 0] [10, 256], %stream : tensor<10x32xf32>
    %sum = mono.call @add_two_terms(%p, %S, %N) : (tensor<10x32xf32>, index, index) -> tensor<?x?xf32>
    mono.store %sum, %y[0, 0] : tensor<?x?xf32>
  }
})");
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kDepth);
  std::vector<uint16_t> w(kColumns * kDepth), packed(w.size());
  for (float &value : x)
    value = normal(random);
  for (uint16_t &value : w)
    value = toBf16(normal(random));
  for (int n = 0; n < kColumns; ++n) // [N/16][K/32][4][16][8]
    for (int k = 0; k < kDepth; ++k)
      packed[((n / 16 * (kDepth / 32) + k / 32) * 4 + k % 32 / 8) * 128 + n % 16 * 8 + k % 8] =
          w[n * kDepth + k];
  gpu.write("x", x);
  gpu.write("w", packed);
  gpu.launchOnAnyMemory();
  std::vector<float> y = gpu.read<float>("y", kRows * kColumns);
  for (int row = 0; row < kRows; ++row)
    for (int n = 0; n < kColumns; ++n) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < kDepth; ++k) {
        double product = double(x[row * kDepth + k]) * toFloat(w[n * kDepth + k]);
        sum += product;
        magnitude += std::abs(product);
      }
      // What two roundings to 8 bits leave, and the additions.
      EXPECT_NEAR(y[row * kColumns + n], sum,
                  (std::exp2(-16) + 2 * kDepth * std::exp2(-24)) * magnitude)
          << "row " << row << ", column " << n;
    }
}

TEST(NormPieces, SumsAndFactors) {
  constexpr int kRows = 4, kColumns = 300;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kColumns);
  for (float &value : x)
    value = 3 * normal(random);
  std::vector<float> sum =
      OneCall("norm", "sum_of_squares", {{"x", {4, 300}}}, {"x", "4"}, {{"y", {4}}})
          .with("x", x)
          .run()
          .result<float>("y");
  std::vector<float> rstd = OneCall("norm", "reciprocal_rms", {{"sum", {4}}},
                                    {"sum", "4", "300.0", "1.0e-5"}, {{"y", {4}}})
                                .with("sum", sum)
                                .run()
                                .result<float>("y");
  for (int row = 0; row < kRows; ++row) {
    double expected = 0;
    for (int c = 0; c < kColumns; ++c)
      expected += double(x[row * kColumns + c]) * x[row * kColumns + c];
    EXPECT_NEAR(sum[row], expected, (kColumns + 1) * std::exp2(-24) * expected) << row;
    // A quotient, a sum, and a reciprocal root of an ulp.
    double factor = 1 / std::sqrt(sum[row] / 300.0 + 1e-5);
    EXPECT_NEAR(rstd[row], factor, 4 * std::exp2(-24) * factor) << row;
  }
}

/// @rms_norm before it is rounded.
TEST(NormPieces, RmsNormed) {
  constexpr int kRows = 3, kColumns = 96;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kColumns);
  std::vector<uint16_t> gamma(kColumns);
  for (float &value : x)
    value = normal(random);
  for (uint16_t &value : gamma)
    value = toBf16(normal(random));
  std::vector<float> y = OneCall("norm", "rms_normed", {{"x", {3, 96}}, {"gamma", {96}, "bf16"}},
                                 {"x", "gamma", "1.0e-5", "3", "96"}, {{"y", {3, 96}}})
                             .with("x", x)
                             .with("gamma", gamma)
                             .run()
                             .result<float>("y");
  for (int i = 0; i < kRows * kColumns; ++i) {
    double square = 0;
    for (int c = 0; c < kColumns; ++c)
      square += double(x[i / kColumns * kColumns + c]) * x[i / kColumns * kColumns + c];
    double expected = x[i] * toFloat(gamma[i % kColumns]) / std::sqrt(square / kColumns + 1e-5);
    EXPECT_NEAR(y[i], expected, (kColumns + 8) * std::exp2(-24) * std::abs(expected)) << i;
  }
}

TEST(NormPieces, SizeAsF32) {
  OneGpu gpu(R"(mono.import "schedules/norm.mlir"
mono.schedule @size target("gfx950") grid(1 x 64) {
  %N = mono.param "N" in [1 to 16777216]
  %n = mono.call @size_as_f32(%N) : (index) -> f32
  %y = mono.operand "y" write [1] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = tensor.splat %n : tensor<1xf32>
    mono.store %v, %y[0] : tensor<1xf32>
  }
})",
             {}, {{"N", 16777215}});
  gpu.launch();
  EXPECT_EQ(gpu.read<float>("y", 1).front(), 16777215.0f);
}

} // namespace
