// MXFP4 on values small enough to work out by hand.
#include "models/Mxfp4.h"
#include "models/BFloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace mono::models;

namespace {

// OCP MX, table of E2M1.
constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

TEST(Mxfp4, CodesHaveTheValuesOfTheFormat) {
  for (unsigned code = 0; code < 16; ++code)
    EXPECT_EQ(fp4Value(code), code < 8 ? magnitudes[code] : -magnitudes[code - 8]) << code;
}

TEST(Mxfp4, DecodesLowNibbleFirstAndEachBlockByItsScale) {
  std::vector<uint8_t> codes(32, 0), scales = {127, 130};
  codes[0] = 0xF1;  // elements 0 and 1: 0.5 and -6
  codes[31] = 0x72; // elements 62 and 63: 1 and 6
  std::vector<double> values(64);
  decodeMxfp4(codes, scales, values);
  EXPECT_EQ(values[0], 0.5);
  EXPECT_EQ(values[1], -6);
  EXPECT_EQ(values[62], 8);
  EXPECT_EQ(values[63], 48);
  scales[1] = 0xFF;
  decodeMxfp4(codes, scales, values);
  EXPECT_TRUE(std::isnan(values[63]));
  EXPECT_EQ(values[1], -6);
}

/// One block with these first values and zeros behind.
struct Quantised {
  explicit Quantised(std::vector<float> first) : codes(16), scales(1) {
    std::vector<uint16_t> block(32, 0);
    for (size_t i = 0; i < first.size(); ++i)
      block[i] = toBf16(first[i]);
    quantiseMxfp4(block, codes, scales);
    decoded.resize(32);
    decodeMxfp4(codes, scales, decoded);
  }
  std::vector<uint8_t> codes, scales;
  std::vector<double> decoded;
};

TEST(Mxfp4, QuantisesRepresentableValuesExactly) {
  Quantised block({6, -0.5, 1.5, 3});
  EXPECT_EQ(block.scales[0], 127);
  EXPECT_EQ(block.decoded[0], 6);
  EXPECT_EQ(block.decoded[1], -0.5);
  EXPECT_EQ(block.decoded[2], 1.5);
  EXPECT_EQ(block.decoded[3], 3);
}

TEST(Mxfp4, RoundsToNearestEven) {
  // Under the scale 1: ties 0.25 -> 0, 0.75 -> 1, 1.25 -> 1, 2.5 -> 2, 3.5 -> 4, 5 -> 4.
  Quantised block({6, 0.25, 0.75, 1.25, 2.5, 3.5, 5, -2.5, 2.515625});
  std::vector<double> expected = {6, 0, 1, 1, 2, 4, 4, -2, 3};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(block.decoded[i], expected[i]) << i;
}

TEST(Mxfp4, TheScaleFollowsTheLargestMagnitude) {
  EXPECT_EQ(Quantised({4}).scales[0], 127);
  EXPECT_EQ(Quantised({6.96875}).scales[0], 127); // below 7 it saturates to 6
  EXPECT_EQ(Quantised({6.96875}).decoded[0], 6);
  EXPECT_EQ(Quantised({7}).scales[0], 128); // from 7 on it is 8 = 4 * 2
  EXPECT_EQ(Quantised({7}).decoded[0], 8);
  EXPECT_EQ(Quantised({0x1p-100f}).decoded[0], 0x1p-100);
}

TEST(Mxfp4, ZeroAndNonFiniteBlocks) {
  EXPECT_EQ(Quantised({}).decoded, std::vector<double>(32, 0));
  EXPECT_EQ(Quantised({1, std::numeric_limits<float>::infinity()}).scales[0], 0xFF);
  EXPECT_EQ(Quantised({std::numeric_limits<float>::quiet_NaN()}).scales[0], 0xFF);
}

} // namespace
