// Routines of schedules/fp8.mlir on the emulator. Weights that are a unit matrix hand out what the
// codes and scales of a row mean.
#include "models/BFloat16.h"
#include "runtime/Layout.h"
#include "runtime/emulator/numeric/FloatFormat.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

constexpr int kRows = 3, kColumns = 256, kBlock = 128;

/// E4M3 code of 1: exponent field 7, the bias.
constexpr uint8_t kOne = 7 << 3;

class QuantiseFp8 : public testing::Test {
protected:
  OneGpu gpu{R"(mono.import "schedules/fp8.mlir"
mono.schedule @quantise target("gfx950") grid(1 x 512) {
  %three = arith.constant 3 : index
  %two = arith.constant 2 : index
  %x = mono.operand "x" read [3, 256] : f32
  %w = mono.operand "w" read weight [256, 256] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [2, 2] : f32
  %y = mono.operand "y" write [3, 256] : f32
  %scale = mono.operand "scale" write [3, 2] : f32
  %codes = mono.region "codes" [3, 256] pad(16) : f8E4M3FN
  %scales = mono.region "scales" [3, 2] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [256, 256] scaled %ws split_k(8)
    %v = mono.load %x[0, 0] [3, 256] : tensor<3x256xf32>
    %c, %s = mono.call @quantise_fp8(%v, %three, %two)
      : (tensor<3x256xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
    mono.store %c, %codes[0, 0] : tensor<?x?xf8E4M3FN>
    mono.store %s, %scales[0, 0] : tensor<?x?xf32>
    mono.store %s, %scale[0, 0] : tensor<?x?xf32>
    %p = mono.contract %codes[0, 0] [3, 256] scaled %scales, %e : tensor<3x256xf32>
    mono.store %p, %y[0, 0] : tensor<3x256xf32>
  }
})"};
  std::vector<float> y, scale;

  void SetUp() override {
    std::vector<uint8_t> unit(kColumns * kColumns), packed(unit.size());
    for (int i = 0; i < kColumns; ++i)
      unit[i * kColumns + i] = kOne;
    ASSERT_FALSE(
        bool(pack({{kColumns, kColumns}, ElementType::FP8E4M3, Layout::MfmaRows16}, unit, packed)));
    gpu.write("w", packed);
    gpu.write("ws", std::vector<float>(4, 1.0f));
  }

  void run(const std::vector<float> &x) {
    gpu.write("x", x);
    gpu.launchOnAnyMemory();
    y = gpu.read<float>("y", kRows * kColumns);
    scale = gpu.read<float>("scale", kRows * kColumns / kBlock);
  }

  /// The rule of the file, step by step, and how far a code may be from its value: half a step of
  /// three bits of mantissa, or of the smallest code.
  void check(const std::vector<float> &x) {
    run(x);
    for (size_t first = 0; first < x.size(); first += kBlock) {
      float largest = std::ldexp(448.0f, -126);
      for (int i = 0; i < kBlock; ++i)
        largest = std::max(largest, std::abs(x[first + i]));
      float expectedScale = largest / 448.0f, inverse = 448.0f / largest;
      ASSERT_EQ(scale[first / kBlock], expectedScale);
      for (size_t i = first; i < first + kBlock; ++i) {
        uint32_t code = numeric::encode(numeric::kFp8E4M3, x[i] * inverse);
        ASSERT_EQ(y[i], float(numeric::decode(numeric::kFp8E4M3, code)) * expectedScale)
            << i << ": " << x[i];
        double step = std::max(std::exp2(-4) * std::abs(x[i]), std::exp2(-10) * expectedScale);
        ASSERT_NEAR(y[i], x[i], step * (1 + std::exp2(-20)) + std::exp2(-149)) << i;
      }
    }
  }
};

TEST_F(QuantiseFp8, IsTheRule) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  for (int run = 0; run < 3; ++run) {
    std::vector<float> x;
    for (int block = 0; block < kRows * kColumns / kBlock; ++block) {
      int e = exponent(random);
      for (int i = 0; i < kBlock; ++i)
        x.push_back(std::ldexp(normal(random), e));
    }
    check(x);
  }
}

TEST_F(QuantiseFp8, BordersOfCodesAndScales) {
  std::vector<float> x(kRows * kColumns);
  for (int i = 0; i < kBlock; ++i) {
    x[i] = i ? 1.0f + float(i) / 128 : 448;                       // ties: the scale is 1
    x[kBlock + i] = std::ldexp(i % 2 ? 1.0f : -1.75f, -i);        // down to denormal codes and zero
    x[2 * kBlock + i] = i % 2 ? 0.0f : -0.0f;                     // a block of zeros
    x[3 * kBlock + i] = -std::ldexp(1.5f, -126);                  // below the least scale's codes
    x[4 * kBlock + i] = std::ldexp(1.9f, 127) * (i % 2 ? 1 : -1); // the greatest
    x[5 * kBlock + i] = std::ldexp(1.0f, -149);
  }
  check(x);
}

/// All results of a row with NaN or infinity are NaN, and no others.
TEST_F(QuantiseFp8, WhatIsNoNumber) {
  std::vector<float> x(kRows * kColumns, 1);
  x[5] = NAN;
  x[2 * kColumns + 140] = -INFINITY;
  run(x);
  for (int i = 0; i < kRows * kColumns; ++i)
    EXPECT_EQ(std::isnan(y[i]), i / kColumns != 1) << i << ": " << y[i];
}

} // namespace
