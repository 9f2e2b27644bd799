// Error measures on numbers small enough to work out by hand.
#include "models/Compare.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace mono::models;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double measure(std::vector<double> out, std::vector<double> ref, size_t rows) {
  return maxRelativeL2(out, ref, rows);
}

TEST(RelativeL2, TakesTheWorstRow) {
  // Rows (3, 4) of norm 5: errors (0, 0.5) and (0.3, 0.4), both 0.1; then one of 0.2.
  EXPECT_DOUBLE_EQ(measure({3, 4.5}, {3, 4}, 1), 0.1);
  EXPECT_DOUBLE_EQ(measure({3.3, 4.4}, {3, 4}, 1), 0.1);
  EXPECT_DOUBLE_EQ(measure({3, 4.5, 3, 5}, {3, 4, 3, 4}, 2), 0.2);
  EXPECT_EQ(measure({3, 4}, {3, 4}, 1), 0);
}

TEST(RelativeL2, NothingHidesInLargeRows) { EXPECT_DOUBLE_EQ(measure({1e6, 2}, {1e6, 1}, 2), 1); }

TEST(RelativeL2, BadNumbersNeverPass) {
  EXPECT_EQ(measure({nan, 4}, {3, 4}, 1), infinity);
  EXPECT_EQ(measure({3, infinity}, {3, 4}, 1), infinity);
  EXPECT_EQ(measure({3, 4}, {3, nan}, 1), infinity);
  EXPECT_EQ(measure({3, 4, 1}, {3, 4}, 1), infinity);
  EXPECT_EQ(measure({}, {}, 0), infinity);
  EXPECT_EQ(measure({0, 0}, {0, 0}, 1), 0);
  EXPECT_EQ(measure({1e-9, 0}, {0, 0}, 1), infinity);
}

SelectionVerdict select(std::vector<int32_t> out, double tolerance) {
  std::vector<double> scores = {5.0, 3.0, 2.99, 1.0}, tolerances(4, tolerance);
  return compareSelection(out, std::vector<int32_t>{0, 1}, {scores, tolerances});
}

TEST(Selection, EqualIsGoodWhateverTheError) {
  EXPECT_TRUE(select({0, 1}, 0).good);
  EXPECT_EQ(select({0, 1}, 0).different, 0u);
}

TEST(Selection, ADifferenceNeedsScoresWithinTheError) {
  // 3.0 and 2.99 differ by 0.01: explained only by errors that sum to more.
  EXPECT_TRUE(select({0, 2}, 0.006).good);
  EXPECT_EQ(select({0, 2}, 0.006).different, 1u);
  EXPECT_FALSE(select({0, 2}, 0.004).good);
  EXPECT_FALSE(select({0, 3}, 0.006).good);
  EXPECT_FALSE(select({1, 2}, 0.006).good);
  EXPECT_FALSE(select({0, 2}, nan).good);
}

TEST(Selection, IndicesMustBeWellFormed) {
  EXPECT_EQ(select({0}, 1).reason, "expected 2 indices, but got 1");
  EXPECT_EQ(select({1, 0}, 1).reason, "index 0 follows 1, not ascending");
  EXPECT_EQ(select({1, 1}, 1).reason, "index 1 follows 1, not ascending");
  EXPECT_EQ(select({0, 4}, 1).reason, "index 4 is not in [0, 4)");
  EXPECT_EQ(select({-1, 0}, 1).reason, "index -1 is not in [0, 4)");
}

TEST(MaxOfReach, ByHand) {
  const std::vector<double> ref = {1, 2, 0}, reach = {0.5, 0.25, 0};
  EXPECT_EQ(maxOfReach(ref, ref, reach), 0);
  EXPECT_EQ(maxOfReach(std::vector<double>{1.25, 1.75, 0}, ref, reach), 1);
  EXPECT_EQ(maxOfReach(std::vector<double>{1, 2, 1e-9}, ref, reach), infinity);
  EXPECT_EQ(maxOfReach(std::vector<double>{nan, 2, 0}, ref, reach), infinity);
  EXPECT_EQ(maxOfReach(std::vector<double>{1, 2}, ref, reach), infinity);
  // A reach that is no number excuses nothing, not even an error of 0.
  for (double bad : {nan, infinity, -1.0}) {
    EXPECT_EQ(maxOfReach(std::vector<double>{1.25, 9, 0}, ref, std::vector<double>{0.5, bad, 0}),
              infinity);
    EXPECT_EQ(maxOfReach(ref, ref, std::vector<double>{0.5, bad, 0}), infinity);
  }
}

} // namespace
