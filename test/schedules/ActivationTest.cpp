// schedules/activation.mlir against double precision.
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <numbers>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

constexpr int kRows = 5, kColumns = 96;

class Activation : public testing::Test {
protected:
  OneGpu gpu{R"(mono.import "schedules/activation.mlir"
mono.schedule @activation target("gfx950") grid(1 x 256) {
  %S = arith.constant 5 : index
  %C = arith.constant 96 : index
  %x = mono.operand "x" read [5, 96] : f32
  %up = mono.operand "up" read [5, 96] : f32
  %weight = mono.operand "weight" read [5] : f32
  %sigmoid = mono.operand "sigmoid" write [5, 96] : f32
  %silu = mono.operand "silu" write [5, 96] : f32
  %gelu = mono.operand "gelu" write [5, 96] : f32
  %gelu_tanh = mono.operand "gelu_tanh" write [5, 96] : f32
  %swiglu = mono.operand "swiglu" write [5, 96] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [5, 96] : tensor<5x96xf32>
    %u = mono.load %up[0, 0] [5, 96] : tensor<5x96xf32>
    %w = mono.load %weight[0] [5] : tensor<5xf32>
    %a = mono.call @sigmoid(%v, %S, %C) : (tensor<5x96xf32>, index, index) -> tensor<?x?xf32>
    mono.store %a, %sigmoid[0, 0] : tensor<?x?xf32>
    %b = mono.call @silu(%v, %S, %C) : (tensor<5x96xf32>, index, index) -> tensor<?x?xf32>
    mono.store %b, %silu[0, 0] : tensor<?x?xf32>
    %c = mono.call @gelu(%v, %S, %C) : (tensor<5x96xf32>, index, index) -> tensor<?x?xf32>
    mono.store %c, %gelu[0, 0] : tensor<?x?xf32>
    %d = mono.call @gelu_tanh(%v, %S, %C) : (tensor<5x96xf32>, index, index) -> tensor<?x?xf32>
    mono.store %d, %gelu_tanh[0, 0] : tensor<?x?xf32>
    %r = mono.call @swiglu(%v, %u, %w, %S, %C)
      : (tensor<5x96xf32>, tensor<5x96xf32>, tensor<5xf32>, index, index) -> tensor<?x?xf32>
    mono.store %r, %swiglu[0, 0] : tensor<?x?xf32>
  }
})"};
  std::vector<float> x, up, weight;

  void SetUp() override {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (int i = 0; i < kRows * kColumns; ++i) {
      // The first half from -8 to 8, where the functions bend; the rest wider.
      x.push_back(i < kRows * kColumns / 2 ? float(i) / 15 - 8 : 4 * normal(random));
      up.push_back(normal(random));
    }
    x.front() = 100; // the exponential is 0, or too large for f32
    x.back() = -100;
    for (int i = 0; i < kRows; ++i)
      weight.push_back(normal(random));
    gpu.write("x", x);
    gpu.write("up", up);
    gpu.write("weight", weight);
    for (const char *name : {"sigmoid", "silu", "gelu", "gelu_tanh", "swiglu"})
      gpu.write(name, std::vector<float>(x.size(), NAN));
    gpu.launchOnAnyMemory();
  }

  /// Relative to the value, in units of 2^-24, but for what is below f32's normal range.
  template <typename Function> void check(const char *name, double units, Function function) {
    std::vector<float> y = gpu.read<float>(name, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = function(i);
      EXPECT_NEAR(y[i], expected, units * std::exp2(-24) * std::abs(expected) + std::exp2(-126))
          << name << "(" << x[i] << ")";
    }
  }
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// An exponential of one ulp (for arguments up to 100: its argument is exact), and a few roundings.
TEST_F(Activation, Sigmoid) {
  check("sigmoid", 8, [&](size_t i) { return sigmoid(x[i]); });
  check("silu", 10, [&](size_t i) { return x[i] * sigmoid(x[i]); });
  check("swiglu", 16,
        [&](size_t i) { return x[i] * sigmoid(x[i]) * up[i] * weight[i / kColumns]; });
}

// Also far below 0, where 1 + erf cancels. The argument z of erfc is off by two roundings, which
// move erfc(z) by 2 z^2 times as much in units of itself.
TEST_F(Activation, Gelu) {
  std::vector<float> y = gpu.read<float>("gelu", x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double z = -x[i] / std::numbers::sqrt2, expected = x[i] / 2.0 * std::erfc(z);
    double units = 4 * std::max(z, 0.0) * std::max(z, 0.0) + 16;
    EXPECT_NEAR(y[i], expected, units * std::exp2(-24) * std::abs(expected) + std::exp2(-126))
        << "gelu(" << x[i] << ")";
  }
}

TEST_F(Activation, GeluTanh) {
  // The exponential's argument, up to 100 in size where the result counts, is off by 4 roundings.
  check("gelu_tanh", 400, [&](size_t i) {
    double v = x[i];
    double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    return v * sigmoid(2 * inner);
  });
}

} // namespace
