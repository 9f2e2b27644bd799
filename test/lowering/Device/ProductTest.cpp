// mono.product on the emulator against sums in double precision.
#include "models/BFloat16.h"
#include "test/lowering/Device/OneGpu.h"

#include "fmt/format.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

/// A product of boxes that start at [row, column] of their matrices and leave a border behind them.
struct Shape {
  int rows, columns, depth;
  bool byColumns = false;
  int padding = 8;           ///< after each row of a region, besides what fills it to 16 bytes
  int rowA = 0, depthA = 0;  ///< where the box of a starts
  int rowB = 0, columnB = 0; ///< where the box of b starts, as it is stored
  int border = 0;            ///< rows and columns behind the boxes
  int threads = 512;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << "x" << s.columns << "x" << s.depth << (s.byColumns ? " by columns" : "");
}

struct Matrix {
  int rows, columns;
  std::vector<uint16_t> values;

  Matrix(int rows, int columns, std::mt19937 &random) : rows(rows), columns(columns) {
    std::normal_distribution<float> normal;
    for (int i = 0; i < rows * columns; ++i)
      values.push_back(toBf16(normal(random)));
  }
  double at(int row, int column) const { return toFloat(values[row * columns + column]); }
};

class Product : public testing::TestWithParam<Shape> {
protected:
  static int pad(const Shape &s, const Matrix &m) { return s.padding + (8 - m.columns % 8) % 8; }

  static std::string schedule(const Shape &s, const Matrix &a, const Matrix &b) {
    int storedRows = s.byColumns ? s.depth : s.columns;
    int storedColumns = s.byColumns ? s.columns : s.depth;
    return fmt::format(R"(mono.schedule @product target("gfx950") grid(1 x {}) {{
  %a = mono.operand "a" read [{}, {}] : bf16
  %b = mono.operand "b" read [{}, {}] : bf16
  %y = mono.operand "y" write [{}, {}] : f32
  %ra = mono.region "ra" [{}, {}] pad({}) : bf16
  %rb = mono.region "rb" [{}, {}] pad({}) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {{
    %va = mono.load %a[0, 0] [{}, {}] : tensor<{}x{}xbf16>
    mono.store %va, %ra[0, 0] : tensor<{}x{}xbf16>
    %vb = mono.load %b[0, 0] [{}, {}] : tensor<{}x{}xbf16>
    mono.store %vb, %rb[0, 0] : tensor<{}x{}xbf16>
    %p = mono.product %ra[{}, {}] [{}, {}], %rb[{}, {}] [{}, {}] {} : tensor<{}x{}xf32>
    mono.store %p, %y[0, 0] : tensor<{}x{}xf32>
  }}
}}
)",
                       s.threads, a.rows, a.columns, b.rows, b.columns, s.rows, s.columns, a.rows,
                       a.columns, pad(s, a), b.rows, b.columns, pad(s, b), a.rows, a.columns,
                       a.rows, a.columns, a.rows, a.columns, b.rows, b.columns, b.rows, b.columns,
                       b.rows, b.columns, s.rowA, s.depthA, s.rows, s.depth, s.rowB, s.columnB,
                       storedRows, storedColumns, s.byColumns ? "by_columns" : "", s.rows,
                       s.columns, s.rows, s.columns);
  }
};

/// Any order of adding n products in f32 stays within n * 2^-24 of the sum of their magnitudes
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
TEST_P(Product, IsTheSumInDoublePrecision) {
  Shape s = GetParam();
  std::mt19937 random(s.rows * 10007 + s.columns * 101 + s.depth);
  int storedRows = s.byColumns ? s.depth : s.columns;
  int storedColumns = s.byColumns ? s.columns : s.depth;
  Matrix a(s.rowA + s.rows + s.border, s.depthA + s.depth + s.border, random);
  Matrix b(s.rowB + storedRows + s.border, s.columnB + storedColumns + s.border, random);
  auto run = [&](emu::Coherence coherence) {
    emu::Options options;
    options.coherence = coherence;
    OneGpu gpu(schedule(s, a, b), options);
    gpu.write("a", a.values);
    gpu.write("b", b.values);
    gpu.launch();
    return gpu.read<float>("y", s.rows * s.columns);
  };
  std::vector<float> y = run(emu::Coherence::fast());
  EXPECT_EQ(y, run(emu::Coherence::adversarial(1))) << "another order of wavefronts, other bits";
  for (int m = 0; m < s.rows; ++m)
    for (int n = 0; n < s.columns; ++n) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < s.depth; ++k) {
        double product =
            a.at(s.rowA + m, s.depthA + k) *
            (s.byColumns ? b.at(s.rowB + k, s.columnB + n) : b.at(s.rowB + n, s.columnB + k));
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(y[m * s.columns + n], sum, s.depth * std::exp2(-24) * magnitude)
          << "row " << m << ", column " << n;
    }
}

/// Whatever reads a result of the matrix cores finds its elements, though its rows are padded in
/// LDS.
TEST(ProductResult, IsReadByAnyOp) {
  constexpr int kRows = 16, kColumns = 128, kDepth = 32;
  OneGpu gpu(R"(mono.schedule @uses target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [16, 32] : bf16
  %b = mono.operand "b" read [128, 32] : bf16
  %whole = mono.operand "whole" write [16, 128] : f32
  %part = mono.operand "part" write [7, 24] : f32
  %turned = mono.operand "turned" write [128, 16] : f32
  %halves = mono.operand "halves" write [32, 64] : f32
  %narrow = mono.operand "narrow" write [1024, 2] : f32
  %best = mono.operand "best" write [16, 1] : i32
  %ra = mono.region "ra" [16, 32] pad(8) : bf16
  %rb = mono.region "rb" [128, 32] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %va = mono.load %a[0, 0] [16, 32] : tensor<16x32xbf16>
    mono.store %va, %ra[0, 0] : tensor<16x32xbf16>
    %vb = mono.load %b[0, 0] [128, 32] : tensor<128x32xbf16>
    mono.store %vb, %rb[0, 0] : tensor<128x32xbf16>
    %p = mono.product %ra[0, 0] [16, 32], %rb[0, 0] [128, 32] : tensor<16x128xf32>
    %slice = tensor.extract_slice %p[8, 36] [7, 24] [1, 1] : tensor<16x128xf32> to tensor<7x24xf32>
    mono.store %slice, %part[0, 0] : tensor<7x24xf32>
    %empty = tensor.empty() : tensor<128x16xf32>
    %transposed = linalg.transpose ins(%p : tensor<16x128xf32>) outs(%empty : tensor<128x16xf32>) permutation = [1, 0]
    mono.store %transposed, %turned[0, 0] : tensor<128x16xf32>
    %flat = tensor.collapse_shape %p [[0, 1]] : tensor<16x128xf32> into tensor<2048xf32>
    %wide = tensor.expand_shape %flat [[0, 1]] output_shape [32, 64] : tensor<2048xf32> into tensor<32x64xf32>
    mono.store %wide, %halves[0, 0] : tensor<32x64xf32>
    %pairs = tensor.expand_shape %flat [[0, 1]] output_shape [1024, 2] : tensor<2048xf32> into tensor<1024x2xf32>
    mono.store %pairs, %narrow[0, 0] : tensor<1024x2xf32>
    %first = mono.select top [1] of %p : tensor<16x128xf32> -> tensor<16x1xi32>
    mono.store %first, %best[0, 0] : tensor<16x1xi32>
    mono.store %p, %whole[0, 0] : tensor<16x128xf32>
  }
})");
  std::mt19937 random(5);
  Matrix a(kRows, kDepth, random), b(kColumns, kDepth, random);
  gpu.write("a", a.values);
  gpu.write("b", b.values);
  gpu.launch();
  auto whole = gpu.read<float>("whole", kRows * kColumns);
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < kDepth; ++k) {
        sum += a.at(row, k) * b.at(column, k);
        magnitude += std::abs(a.at(row, k) * b.at(column, k));
      }
      ASSERT_NEAR(whole[row * kColumns + column], sum, kDepth * std::exp2(-24) * magnitude);
    }
  auto part = gpu.read<float>("part", 7 * 24), turned = gpu.read<float>("turned", whole.size());
  auto best = gpu.read<int32_t>("best", kRows);
  for (int row = 0; row < 7; ++row)
    for (int column = 0; column < 24; ++column)
      ASSERT_EQ(part[row * 24 + column], whole[(row + 8) * kColumns + column + 36]);
  for (int row = 0; row < kRows; ++row) {
    auto begin = whole.begin() + ptrdiff_t(row) * kColumns;
    EXPECT_EQ(best[row], std::max_element(begin, begin + kColumns) - begin);
    for (int column = 0; column < kColumns; ++column)
      ASSERT_EQ(turned[column * kRows + row], begin[column]);
  }
  EXPECT_EQ(gpu.read<float>("halves", whole.size()), whole);
  EXPECT_EQ(gpu.read<float>("narrow", whole.size()), whole);
}

// Whole tiles and cut ones, fewer tiles than wavefronts (the depth is shared) and more.
INSTANTIATE_TEST_SUITE_P(
    ByRows, Product,
    testing::Values(Shape{16, 16, 32}, Shape{1, 1, 32}, Shape{8, 64, 576}, Shape{17, 33, 64},
                    Shape{5, 30, 576}, Shape{40, 7, 96}, Shape{64, 80, 128}, Shape{3, 129, 64},
                    Shape{.rows = 16, .columns = 16, .depth = 576, .padding = 0},
                    Shape{.rows = 20, .columns = 20, .depth = 160, .threads = 64}));
INSTANTIATE_TEST_SUITE_P(
    ByColumns, Product,
    testing::Values(
        Shape{16, 16, 32, true}, Shape{8, 512, 64, true}, Shape{1, 1, 32, true},
        Shape{4, 4, 32, true}, Shape{17, 36, 64, true}, Shape{5, 30, 576, true},
        Shape{3, 7, 96, true}, Shape{64, 80, 128, true}, Shape{16, 16, 576, true, 0},
        Shape{.rows = 20, .columns = 20, .depth = 160, .byColumns = true, .threads = 64}));
// Boxes that start inside their regions, at columns that allow transpose reads and that don't.
INSTANTIATE_TEST_SUITE_P(Inside, Product,
                         testing::Values(Shape{9, 21, 64, false, 0, 3, 8, 5, 16, 4},
                                         Shape{9, 20, 64, true, 0, 3, 8, 5, 16, 4},
                                         Shape{9, 20, 64, true, 8, 3, 24, 5, 12, 3},
                                         Shape{9, 20, 64, true, 0, 3, 8, 5, 17, 3},
                                         Shape{9, 21, 64, true, 0, 3, 8, 5, 16, 4}));

} // namespace
