// schedules/elementwise.mlir: one f32 operation an element, so the same bits as in C++.
#include "test/schedules/OneCall.h"

#include <random>

using namespace mono;
using namespace mono::test;

namespace {

struct Shape {
  int rows, columns;
};

void PrintTo(const Shape &s, std::ostream *os) { *os << s.rows << "x" << s.columns; }

class Elementwise : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::vector<float> x = normal(size_t(s.rows) * s.columns);

  static std::vector<float> normal(size_t count) {
    std::mt19937 random{uint32_t(count)};
    std::normal_distribution<float> distribution;
    std::vector<float> values(count);
    for (float &value : values)
      value = distribution(random);
    return values;
  }

  /// y of the routine, with a vector of `length`.
  std::vector<float> call(const std::string &routine, const std::vector<float> &v) {
    return OneCall("elementwise", routine, {{"x", {s.rows, s.columns}}, {"v", {int64_t(v.size())}}},
                   {"x", "v", std::to_string(s.rows), std::to_string(s.columns)},
                   {{"y", {s.rows, s.columns}}})
        .with("x", x)
        .with("v", v)
        .run()
        .result<float>("y");
  }
};

TEST_P(Elementwise, ScaleRows) {
  std::vector<float> v = normal(s.rows), y = call("scale_rows", v);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], x[i] * v[i / s.columns]) << i;
}

TEST_P(Elementwise, ScaleColumns) {
  std::vector<float> v = normal(s.columns), y = call("scale_columns", v);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], x[i] * v[i % s.columns]) << i;
}

TEST_P(Elementwise, AddColumns) {
  std::vector<float> v = normal(s.columns), y = call("add_columns", v);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], x[i] + v[i % s.columns]) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Elementwise,
                         testing::Values(Shape{1, 1}, Shape{8, 512}, Shape{3, 7}, Shape{5, 100}));

} // namespace
