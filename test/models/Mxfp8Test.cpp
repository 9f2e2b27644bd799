// Rounding to MXFP8 against a search through all codes.
#include "models/Mxfp8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace mono::models;

namespace {

/// E4M3 by its definition: sign, four bits of exponent with bias 7, three of mantissa.
double valueOf(unsigned code) {
  unsigned exponent = code >> 3 & 15, mantissa = code & 7;
  double value = exponent ? std::ldexp(8 + mantissa, int(exponent) - 10) : std::ldexp(mantissa, -9);
  return code & 0x80 ? -value : value;
}

/// The nearest code, the even one of two; 448 for what is above it.
unsigned nearestCode(double value) {
  unsigned best = 0;
  for (unsigned code = 0; code < 0x7F; ++code) {
    double distance = std::abs(valueOf(code) - std::abs(value));
    double least = std::abs(valueOf(best) - std::abs(value));
    if (distance < least || (distance == least && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(value) ? 0x80 : 0);
}

struct Block {
  std::vector<uint8_t> codes = std::vector<uint8_t>(mxBlock);
  std::vector<uint8_t> scale = std::vector<uint8_t>(1);
};

Block quantised(const std::vector<double> &values, MxScale rule) {
  Block block;
  quantiseMxfp8(values, rule, block.codes, block.scale);
  return block;
}

/// Values of all sizes below `largest`, which is one of them.
std::vector<double> values(double largest, std::mt19937 &random) {
  std::uniform_real_distribution<double> exponent(-12, 0), sign(-1, 1);
  std::vector<double> result;
  for (size_t i = 0; i < mxBlock; ++i)
    result.push_back(std::copysign(largest * std::exp2(exponent(random)), sign(random)));
  result[random() % mxBlock] = largest;
  return result;
}

TEST(Mxfp8, TheFloorRuleIsThatOfTheSpecification) {
  std::mt19937 random(1);
  for (double largest : {1.0, 1.75, 1.8, 1.99, 448.0, 449.0, 0.3, 1e-30, 1e30}) {
    std::vector<double> in = values(largest, random);
    Block block = quantised(in, MxScale::Floor);
    double scale = std::exp2(std::floor(std::log2(largest)) - 8);
    EXPECT_EQ(std::exp2(block.scale[0] - 127), scale) << largest;
    for (size_t i = 0; i < mxBlock; ++i)
      EXPECT_EQ(block.codes[i], nearestCode(in[i] / scale)) << in[i] / scale;
  }
}

TEST(Mxfp8, TheFitRuleIsTheLeastScaleWithoutSaturation) {
  std::mt19937 random(2);
  // 464, halfway to what would be 480, is the first that rounds past 448.
  for (double largest : {256.0, 448.0, 463.9, 464.0, 500.0, 511.9}) {
    std::vector<double> in = values(largest, random);
    Block block = quantised(in, MxScale::Fit);
    EXPECT_EQ(block.scale[0], largest < 464 ? 127 : 128) << largest;
    for (size_t i = 0; i < mxBlock; ++i)
      EXPECT_EQ(block.codes[i], nearestCode(in[i] / std::exp2(block.scale[0] - 127)));
  }
}

TEST(Mxfp8, ScalesEndAtNormalNumbers) {
  EXPECT_EQ(quantised(std::vector<double>(mxBlock, 0), MxScale::Floor).scale[0], 1);
  EXPECT_EQ(quantised(std::vector<double>(mxBlock, 0x1p-130), MxScale::Floor).scale[0], 1);
  EXPECT_EQ(quantised(std::vector<double>(mxBlock, 0x1p127), MxScale::Floor).scale[0], 127 + 119);
}

TEST(Mxfp8, WhatIsNoNumberMakesTheBlockNaN) {
  for (double value : {double(INFINITY), -double(INFINITY), double(NAN)}) {
    std::vector<double> in(mxBlock, 1);
    in[7] = value;
    EXPECT_EQ(quantised(in, MxScale::Floor).scale[0], 0xFF);
    roundToMxfp8(in, MxScale::Fit);
    for (double out : in)
      EXPECT_TRUE(std::isnan(out));
  }
}

TEST(Mxfp8, RoundingTwiceIsRoundingOnce) {
  std::mt19937 random(3);
  std::vector<double> once = values(1.9, random);
  roundToMxfp8(once, MxScale::Fit);
  std::vector<double> twice = once;
  roundToMxfp8(twice, MxScale::Fit);
  EXPECT_EQ(twice, once);
}

/// Whatever values within the reach become, the bound covers it.
TEST(Mxfp8, ReachCoversWhatRoundingDoes) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> within(-1, 1);
  for (double relative : {1e-3, 3e-2, 0.3})
    for (double largest : {1.0, 1.74, 1.999, 300.0}) {
      std::vector<double> in = values(largest, random), reach, rounded = in;
      for (double value : in)
        reach.push_back(relative * std::abs(value));
      std::vector<double> bound = reach;
      reachOfMxfp8(in, MxScale::Floor, bound);
      roundToMxfp8(rounded, MxScale::Floor);
      for (int draw = 0; draw < 200; ++draw) {
        std::vector<double> other = in;
        for (size_t i = 0; i < mxBlock; ++i)
          other[i] += reach[i] * within(random);
        roundToMxfp8(other, MxScale::Floor);
        for (size_t i = 0; i < mxBlock; ++i)
          EXPECT_LE(std::abs(other[i] - rounded[i]), bound[i]);
      }
    }
}

TEST(Mxfp8, ReachIsAStepBesideABorderAndNothingElsewhere) {
  // Steps of 1/8 between 1 and 2: the border between 1 and 1.125 is 1.0625.
  std::vector<double> in(mxBlock, 1.0), reach(mxBlock, 0.01);
  in[1] = 1.06;
  in[2] = 1.5;
  reach[3] = 0;
  reachOfMxfp8(in, MxScale::Fit, reach);
  EXPECT_EQ(reach[0], 0);
  EXPECT_EQ(reach[1], 0.125);
  EXPECT_EQ(reach[2], 0);
  EXPECT_EQ(reach[3], 0);
}

} // namespace
