// Values, order and text of elements, against numbers worked out by hand.
#include "models/tools/Elements.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace mono;
using namespace mono::tools;

namespace {

struct Code {
  uint8_t bytes[8];
  explicit Code(uint64_t code) { llvm::support::endian::write64le(bytes, code); }
};

double value(DType dtype, uint64_t code) { return elementValue(dtype, Code(code).bytes); }
int64_t order(DType dtype, uint64_t code) { return floatOrder(dtype, Code(code).bytes); }
std::string text(DType dtype, uint64_t code) { return formatElement(dtype, Code(code).bytes); }

TEST(Elements, HaveTheValuesOfTheirFormats) {
  EXPECT_EQ(value(DType::BF16, 0xBF80), -1.0);
  EXPECT_EQ(value(DType::F16, 0x3E00), 1.5);
  EXPECT_EQ(value(DType::F32, 0x40490FDB), double(3.14159274f));
  EXPECT_EQ(value(DType::F64, 0x3FF8000000000000), 1.5);
  EXPECT_EQ(value(DType::F8E4M3, 0x7E), 448.0); // the greatest (OCP MX)
  EXPECT_EQ(value(DType::F8E5M2, 0x7C), HUGE_VAL);
  EXPECT_EQ(value(DType::F8E8M0, 130), 8.0);
  EXPECT_TRUE(std::isnan(value(DType::F8E8M0, 255)));
  EXPECT_EQ(value(DType::I8, 0xFF), -1.0);
  EXPECT_EQ(value(DType::U8, 0xFF), 255.0);
  EXPECT_EQ(value(DType::I32, 0x80000000), -2147483648.0);
  EXPECT_EQ(value(DType::U64, 1), 1.0);
}

TEST(Elements, NeighboursAreOneApart) {
  EXPECT_EQ(order(DType::BF16, 0x3F81) - order(DType::BF16, 0x3F80), 1);
  EXPECT_EQ(order(DType::F32, 0x80000000), order(DType::F32, 0));
  // From the least positive to the least negative one there are two steps.
  EXPECT_EQ(order(DType::F32, 1) - order(DType::F32, 0x80000001), 2);
  EXPECT_LT(order(DType::F16, 0xBC00), order(DType::F16, 0x3C00));
}

TEST(Elements, AreText) {
  EXPECT_EQ(text(DType::BF16, 0x3F80), "1");
  EXPECT_EQ(text(DType::F32, 0x3EAAAAAB), "0.33333");
  EXPECT_EQ(text(DType::I64, ~uint64_t(0)), "-1");
  EXPECT_EQ(text(DType::U64, ~uint64_t(0)), "18446744073709551615");
  EXPECT_EQ(formatIndex({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(formatIndex({}, 0), "[]");
}

std::string printed(std::vector<int64_t> shape, size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t n = 0; n < count; ++n)
    bytes[n] = uint8_t(n);
  std::string result;
  llvm::raw_string_ostream out(result);
  printElements(out, {"t", DType::U8, Shape(shape.begin(), shape.end()), bytes},
                [](uint64_t n) { return n != 1; });
  return result;
}

TEST(Elements, OfSmallTensorsArePrintedAll) {
  EXPECT_EQ(printed({2, 3}, 6), "    [0] 0 - 2\n    [1] 3 4 5\n");
  EXPECT_EQ(printed({6}, 6), "    [] 0 - 2 3 4 5\n");
  EXPECT_EQ(printed({}, 1), "    [] 0\n");
  EXPECT_EQ(printed({0, 4}, 0), "");
}

TEST(Elements, OfLargeTensorsHaveGaps) {
  EXPECT_EQ(printed({7, 7}, 49), "    [0] 0 - 2 ... 4 5 6\n"
                                 "    [1] 7 8 9 ... 11 12 13\n"
                                 "    [2] 14 15 16 ... 18 19 20\n"
                                 "    ...\n"
                                 "    [4] 28 29 30 ... 32 33 34\n"
                                 "    [5] 35 36 37 ... 39 40 41\n"
                                 "    [6] 42 43 44 ... 46 47 48\n");
}

} // namespace
