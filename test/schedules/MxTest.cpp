// Routines of schedules/mx.mlir on the emulator. Weights that are a unit matrix hand out what the
// codes and scales of a row mean.
#include "models/BFloat16.h"
#include "models/Mxfp8.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::models;
using namespace mono::test;

namespace {

constexpr int kRows = 3, kColumns = 128, kBlocks = 4;

/// E2M1 code of 1, and the scale 1.
constexpr uint8_t kOne = 2, kScaleOne = 127;

/// Unit matrix as operands "w" and "ws".
void writeUnit(OneGpu &gpu) {
  std::vector<uint8_t> unit(kColumns * kColumns / 2), packed(unit.size());
  for (int i = 0; i < kColumns; ++i)
    unit[(i * kColumns + i) / 2] |= kOne << 4 * (i % 2);
  ASSERT_FALSE(
      bool(pack({{kColumns, kColumns}, ElementType::FP4E2M1, Layout::MfmaRows16}, unit, packed)));
  gpu.write("w", packed);
  gpu.write("ws", std::vector<uint8_t>(kColumns * kBlocks, kScaleOne));
}

class Quantise : public testing::Test {
protected:
  OneGpu gpu{R"(mono.import "schedules/mx.mlir"
mono.schedule @quantise target("gfx950") grid(1 x 512) {
  %x = mono.operand "x" read [3, 128] : f32
  %w = mono.operand "w" read weight [128, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [128, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %y = mono.operand "y" write [3, 128] : f32
  %codes = mono.region "codes" [3, 128] pad(16) : f8E4M3FN
  %scales = mono.region "scales" [3, 4] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [3, 128] : f8E4M3FN
  mono.stage "post" (%t) tasks [1] base [0] {
    %three = arith.constant 3 : index
    %four = arith.constant 4 : index
    %v = mono.load %x[0, 0] [3, 128] : tensor<3x128xf32>
    %c, %s = mono.call @quantise_mxfp8(%v, %three, %four)
      : (tensor<3x128xf32>, index, index) -> (tensor<?x?xf8E4M3FN>, tensor<?x?xf32>)
    mono.post %c to %m[0, 0] : tensor<?x?xf8E4M3FN>
    mono.store %s, %scales[0, 0] : tensor<?x?xf32>
  }
  mono.stage "multiply" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [128, 128] scaled %ws split_k(8)
    mono.receive %m[0, 0] [3, 128] into %codes
    %p = mono.contract %codes[0, 0] [3, 128] scaled %scales, %e : tensor<3x128xf32>
    mono.store %p, %y[0, 0] : tensor<3x128xf32>
  }
})"};

  void SetUp() override { writeUnit(gpu); }

  /// What the kernel makes of x equals what the reference does.
  void check(const std::vector<float> &x) {
    gpu.write("x", x);
    gpu.launchOnAnyMemory();
    std::vector<float> y = gpu.read<float>("y", kRows * kColumns);
    std::vector<double> expected(x.begin(), x.end());
    roundToMxfp8(expected, MxScale::Floor);
    // A scale that is NaN makes a whole row NaN: 0 times it is.
    for (int row = 0; row < kRows; ++row) {
      bool isNan = false;
      for (int i = 0; i < kColumns; ++i)
        isNan |= std::isnan(expected[row * kColumns + i]);
      for (int i = 0; i < kColumns; ++i) {
        int at = row * kColumns + i;
        if (isNan)
          EXPECT_TRUE(std::isnan(y[at])) << at;
        else
          EXPECT_EQ(y[at], expected[at]) << at << ": " << x[at];
      }
    }
  }
};

TEST_F(Quantise, IsTheReference) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-60, 60);
  for (int run = 0; run < 4; ++run) {
    std::vector<float> x;
    for (int block = 0; block < kRows * kBlocks; ++block) {
      int e = exponent(random);
      for (size_t i = 0; i < mxBlock; ++i)
        x.push_back(std::ldexp(normal(random), e));
    }
    check(x);
  }
}

TEST_F(Quantise, BordersOfCodesAndScales) {
  std::vector<float> x(kRows * kColumns);
  for (size_t i = 0; i < mxBlock; ++i) {
    x[i] = 1.0f + float(i) / 32;                  // ties, and past 1.75 saturated
    x[mxBlock + i] = std::ldexp(1.0f, -int(i));   // down to denormal codes and zero
    x[2 * mxBlock + i] = 0;                       // a block of zeros
    x[3 * mxBlock + i] = -std::ldexp(1.5f, -120); // the least scale
    x[4 * mxBlock + i] = std::ldexp(1.9f, 127) * (i % 2 ? 1 : -1); // the greatest
  }
  check(x);
}

TEST_F(Quantise, WhatIsNoNumber) {
  std::vector<float> x(kRows * kColumns, 1);
  x[5] = NAN;
  x[2 * kColumns + 40] = -INFINITY;
  check(x);
}

/// A region as a whole, and in four steps: the same codes and scales.
class QuantiseRegion : public testing::TestWithParam<bool> {};

TEST_P(QuantiseRegion, IsTheReference) {
  bool inQuarters = GetParam();
  // Columns 32 ..+ 128 of 160, so that offsets show.
  OneGpu gpu(substitute(R"(mono.import "schedules/mx.mlir"
mono.schedule @quantise target("gfx950") grid(1 x 512) {
  %first = arith.constant 32 : index
  %three = arith.constant 3 : index
  %blocks = arith.constant $BLOCKS : index
  %x = mono.operand "x" read [3, 160] : bf16
  %w = mono.operand "w" read weight [128, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [128, 4] : f8E8M0FNU, #mono.mfma_rows<16>
  %y = mono.operand "y" write [3, 128] : f32
  %from = mono.region "from" [3, 160] pad(8) : bf16
  %codes = mono.region "codes" [3, 160] pad(16) : f8E4M3FN
  %scales = mono.region "scales" [3, 5] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %e = mono.stream %w[0, 0] [128, 128] scaled %ws split_k(8)
    %v = mono.load %x[0, 0] [3, 160] : tensor<3x160xbf16>
    mono.store %v, %from[0, 0] : tensor<3x160xbf16>
    mono.call @$ROUTINE(%from, %codes, %scales, %first, %three, %blocks)
      : (!mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
    %p = mono.contract %codes[0, 32] [3, 128] scaled %scales, %e : tensor<3x128xf32>
    mono.store %p, %y[0, 0] : tensor<3x128xf32>
  }
})",
                        {{"BLOCKS", inQuarters ? "1" : "4"},
                         {"ROUTINE", inQuarters ? "quantise_quarters" : "quantise_region"}}));
  writeUnit(gpu);
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> x(3 * 160);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = toBf16(std::ldexp(normal(random), int(i / 32 * 5 % 23) - 11));
  gpu.write("x", x);
  gpu.launchOnAnyMemory();
  std::vector<float> y = gpu.read<float>("y", 3 * 128);
  for (int row = 0; row < 3; ++row) {
    std::vector<double> expected;
    for (int c = 0; c < 128; ++c)
      expected.push_back(toFloat(x[row * 160 + 32 + c]));
    roundToMxfp8(expected, MxScale::Floor);
    for (int c = 0; c < 128; ++c)
      EXPECT_EQ(y[row * 128 + c], expected[c]) << "row " << row << ", column " << c;
  }
}

INSTANTIATE_TEST_SUITE_P(Quarters, QuantiseRegion, testing::Bool());

} // namespace
