// Contractions with E4M3 weights that have one f32 scale for each block of 128 x 128 on the
// emulator against sums in double precision: one matrix and those that a list names at run time,
// activations of bf16 and of codes with a scale for 128 columns.
#include "models/BFloat16.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

constexpr int kBlock = 128;

/// Two tasks of `weightRows` rows each, of one matrix or of those in a list of `entries`.
struct Shape {
  int rows, depth, weightRows;
  int matrices = 0; ///< 0: no groups
  int entries = 0;
  int boxRows = 0;     ///< rows of activations to choose from with a map; 0: no map
  int depthOffset = 0; ///< where the box of weights starts, and what is left behind it
  int threads = 512;
  int splitK = 8;
  bool codes = false; ///< activations of E4M3 with scales, not bf16

  int operandRows() const { return 2 * weightRows; }
  int operandDepth() const { return depth + 2 * depthOffset; }
  int activationRows() const { return boxRows ? boxRows : rows; }
  int blockRows() const { return (operandRows() + kBlock - 1) / kBlock; }
  int blocksAcross() const { return operandDepth() / kBlock; }
  int matrixCount() const { return std::max(matrices, 1); }
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << "x" << s.operandRows() << "x" << s.depth << ", " << s.matrices << " matrices, "
      << s.entries << " entries, " << s.boxRows << " mapped rows on " << s.threads
      << (s.codes ? ", codes" : "");
}

/// E4M3 by its definition: sign, four bits of exponent with bias 7, three of mantissa; the code of
/// all ones is NaN.
double e4m3Value(unsigned code) {
  unsigned exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 0x7F) == 0x7F)
    return std::nan("");
  double value =
      exponent ? std::ldexp(1 + mantissa / 8.0, int(exponent) - 7) : std::ldexp(mantissa / 8.0, -6);
  return code & 0x80 ? -value : value;
}

class BlockScaled : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.rows * 7919 + s.depth)};
  std::optional<OneGpu> gpu;
  std::vector<uint8_t> codes; ///< of weights [matrices, operandRows, operandDepth]
  std::vector<float> scales;  ///< [matrices, blockRows, blocksAcross]
  std::vector<double> x;      ///< activations before they are scaled [rows, depth]
  std::vector<float> xScales; ///< [rows, depth / 128]
  std::vector<int32_t> list, map;

  void SetUp() override {
    gpu.emplace(schedule(), emu::Options(),
                OneGpu::Params{{"S", s.rows},
                               {"B", s.activationRows()},
                               {"T", s.weightRows},
                               {"K", s.depth},
                               {"O", s.depthOffset},
                               {"E", s.matrixCount()},
                               {"L", std::max(s.entries, 1)}});
    for (int i = 0; i < s.matrixCount() * s.operandRows() * s.operandDepth(); ++i)
      codes.push_back(someCode());
    for (int i = 0; i < s.matrixCount() * s.blockRows() * s.blocksAcross(); ++i)
      scales.push_back(someScale());
    for (int i = 0; i < s.activationRows() * s.depth; ++i)
      x.push_back(e4m3Value(someCode()));
    for (int i = 0; i < s.activationRows() * s.depth / kBlock; ++i)
      xScales.push_back(s.codes ? someScale() : 1);
    // Some matrices twice in a row, then the end of the list.
    for (int i = 0; i < s.entries; ++i)
      list.push_back(i + 1 == s.entries ? -1 : int32_t(random() % s.matrices));
    list.resize(std::max(s.entries, 1), -1);
    for (size_t i = 0; i < list.size() * s.rows; ++i)
      map.push_back(int32_t(random() % (s.activationRows() + 4)) - 2);
  }

  std::string schedule() const {
    std::string text = R"(mono.schedule @scaled target("gfx950") grid(4 x $THREADS) {
  %S = mono.param "S" in [1 to 16]
  %B = mono.param "B" in [1 to 64]
  %T = mono.param "T" in [16 to 256]
  %K = mono.param "K" in [128 to 1024]
  %O = mono.param "O" in [0 to 1024]
  %E = mono.param "E" in [1 to 16]
  %L = mono.param "L" in [1 to 70]
  %x = mono.operand "x" read [%B, %K] : $XTYPE
  %xs = mono.operand "xs" read [%B, %K floordiv 128] : f32
  %list = mono.operand "list" read [%L] : i32
  %map = mono.operand "map" read [%L, %S] : i32
  %w = mono.operand "w" read weight [$MATRICES%T * 2, %K + %O * 2] : f8E4M3FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [$MATRICES(%T * 2) ceildiv 128, (%K + %O * 2) floordiv 128] : f32
  %y = mono.operand "y" write [%S, %T * 2] : f32
  %r = mono.region "r" [%B, %K] pad(16) : $RTYPE
  %rs = mono.region "rs" [%B, %K floordiv 128] : f32
  mono.stage "s" (%t) tasks [2] base [1] {
    %l = mono.load %list[0] [%L] : tensor<?xi32>
    %m = mono.load %map[0, 0] [%L, %S] : tensor<?x?xi32>
    %stream = mono.stream %w[$FIRST%t * symbol(%T), %O] [$MATRICES%T, %K] scaled %ws $GROUPS split_k($SPLIT)
    %v = mono.load %x[0, 0] [%B, %K] : tensor<?x?x$XTYPE>
    %one = arith.constant 1.0 : f32
    %ones = tensor.splat %one[%B, %K] : tensor<?x?xf32>
    %c = $CONVERT
    mono.store %c, %r[0, 0] : tensor<?x?x$RTYPE>
    %scales = mono.load %xs[0, 0] [%B, %K floordiv 128] : tensor<?x?xf32>
    mono.store %scales, %rs[0, 0] : tensor<?x?xf32>
    %p = mono.contract %r[0, 0] [%B, %K] $SCALED $ROWS, %stream : tensor<?x?xf32>
    mono.store %p, %y[0, %t * symbol(%T)] : tensor<?x?xf32>
  }
})";
    const char *toCodes = "arith.scaling_truncf %v, %ones : tensor<?x?xf32>, tensor<?x?xf32> to "
                          "tensor<?x?xf8E4M3FN>";
    const char *toBf16 = "arith.truncf %v : tensor<?x?xf32> to tensor<?x?xbf16>";
    return substitute(text, {{"THREADS", std::to_string(s.threads)},
                             {"SPLIT", std::to_string(s.splitK)},
                             {"CONVERT", s.codes ? toCodes : toBf16},
                             {"XTYPE", "f32"},
                             {"RTYPE", s.codes ? "f8E4M3FN" : "bf16"},
                             {"SCALED", s.codes ? "scaled %rs" : ""},
                             {"MATRICES", s.matrices ? "%E, " : ""},
                             {"FIRST", s.matrices ? "0, " : ""},
                             {"GROUPS", s.matrices ? "groups(%l : tensor<?xi32>)" : ""},
                             {"ROWS", s.boxRows ? "rows(%m : tensor<?x?xi32>)" : ""}});
  }

  /// A code that is a number.
  uint8_t someCode() {
    uint8_t code = uint8_t(random());
    return (code & 0x7F) == 0x7F ? code ^ 1 : code;
  }

  /// Positive, with all bits of its mantissa in use.
  float someScale() {
    std::uniform_real_distribution<float> mantissa(1, 2);
    return std::ldexp(mantissa(random), int(random() % 12) - 8);
  }

  size_t block(int matrix, int row, int column) const {
    return (size_t(matrix) * s.blockRows() + row / kBlock) * s.blocksAcross() + column / kBlock;
  }

  double weight(int matrix, int row, int column) const {
    size_t line = size_t(matrix) * s.operandRows() + row;
    return e4m3Value(codes[line * s.operandDepth() + column]) *
           double(scales[block(matrix, row, column)]);
  }

  double activation(int row, int column) const {
    return x[size_t(row) * s.depth + column] *
           double(xScales[row * (s.depth / kBlock) + column / kBlock]);
  }

  void writeAll() {
    TensorType type{{s.operandRows(), s.operandDepth()}, ElementType::FP8E4M3, Layout::MfmaRows16};
    if (s.matrices)
      type.shape.insert(type.shape.begin(), s.matrices);
    std::vector<uint8_t> packed(codes.size());
    ASSERT_FALSE(bool(pack(type, codes, packed)));
    gpu->write("w", packed);
    gpu->write("ws", scales);
    gpu->write("x", std::vector<float>(x.begin(), x.end()));
    gpu->write("xs", xScales);
    gpu->write("list", list);
    gpu->write("map", map);
  }

  std::vector<int> groups() const {
    std::vector<int> result;
    for (size_t g = 0; s.matrices && g < list.size() && list[g] >= 0; ++g)
      result.push_back(list[g]);
    if (!s.matrices)
      result.push_back(0);
    return result;
  }

  /// Writes everything, launches and compares. Any order of adding n products in f32 stays within n
  /// * 2^-24 of the sum of their magnitudes (Higham, Accuracy and Stability of Numerical
  /// Algorithms, section 3.1); scaling a block's sum rounds three times more, below the normal
  /// numbers by 2^-149.
  void check() {
    writeAll();
    gpu->launch();
    std::vector<float> y = gpu->read<float>("y", s.rows * s.operandRows());
    std::vector<int> matrices = groups();
    int products = int(matrices.size()) * s.depth;
    for (int row = 0; row < s.rows; ++row)
      for (int n = 0; n < s.operandRows(); ++n) {
        double sum = 0, magnitude = 0;
        for (size_t g = 0; g < matrices.size(); ++g) {
          int from = s.boxRows ? map[g * s.rows + row] : row;
          if (from < 0 || from >= s.activationRows())
            continue; // the row has no part in this group, whatever is in it
          for (int k = 0; k < s.depth; ++k) {
            double product = weight(matrices[g], n, s.depthOffset + k) * activation(from, k);
            sum += product;
            magnitude += std::abs(product);
          }
        }
        float got = y[row * s.operandRows() + n];
        if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(got)) << "row " << row << ", column " << n << ": " << got;
        else
          ASSERT_NEAR(got, sum, (products + 3) * (std::exp2(-24) * magnitude + std::exp2(-149)))
              << "row " << row << ", column " << n;
      }
  }
};

TEST_P(BlockScaled, IsTheSumInDoublePrecision) { check(); }

/// Activations in one block of columns at a time, so that each result shows one block's scale:
/// nothing, denormal, the smallest and largest normal numbers.
TEST_P(BlockScaled, ExtremeScales) {
  constexpr float kExtremes[] = {0,    0x1p-149f, 0x1.8p-140f, 0x1p-126f,
                                 1.3f, 1e-4f,     0x1.8p+100f, 0x1.9p127f};
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = kExtremes[i % std::size(kExtremes)];
  std::vector<double> all = x;
  for (float &scale : xScales) // what is left of f32's range for 448 * 448 * 128 of them
    scale = std::ldexp(s.codes ? 1.25f : 1.0f, -32);
  for (int kept = 0; kept < s.depth / kBlock; ++kept) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = int(i) % s.depth / kBlock == kept ? all[i] : 0;
      if (!s.codes) // bf16 has them scaled
        x[i] = std::ldexp(x[i], -32);
    }
    if (!s.codes)
      xScales.assign(xScales.size(), 1);
    check();
  }
}

/// Zeros of both signs in a block, whatever its scale is.
TEST_P(BlockScaled, BlocksOfZeros) {
  for (size_t i = 0; i < codes.size(); ++i)
    if (int(i) % s.operandDepth() / kBlock % 2 == 0)
      codes[i] = i % 3 ? 0 : 0x80;
  check();
}

/// In every other matrix a scale that is NaN makes the results of the 128 rows of its block NaN, a
/// code that is NaN those of its row, for the rows that take part in its group, and no others.
TEST_P(BlockScaled, WhatIsNoNumber) {
  int last = s.operandRows() - 1;
  for (int matrix = 0; matrix < s.matrixCount(); matrix += 2) {
    if (s.blockRows() > 1)
      scales[block(matrix, last, s.depthOffset)] = NAN;
    size_t line = size_t(matrix) * s.operandRows() + 5;
    codes[line * s.operandDepth() + s.depthOffset + s.depth - 1] = 0x7F;
  }
  check();
}

std::vector<Shape> shapes(bool codes) {
  std::vector<Shape> result = {
      {.rows = 1, .depth = 128, .weightRows = 16},
      {.rows = 8, .depth = 1024, .weightRows = 80}, // a task over two rows of blocks
      {.rows = 16, .depth = 384, .weightRows = 32, .depthOffset = 128},
      {.rows = 7, .depth = 640, .weightRows = 256, .splitK = 2},
      {.rows = 3, .depth = 256, .weightRows = 64, .threads = 64, .splitK = 1},
      {.rows = 4, .depth = 256, .weightRows = 96, .matrices = 5, .entries = 9},
      {.rows = 2,
       .depth = 512,
       .weightRows = 32,
       .matrices = 4,
       .entries = 6,
       .boxRows = 5,
       .depthOffset = 128,
       .threads = 256,
       .splitK = 4}};
  for (Shape &shape : result)
    shape.codes = codes;
  return result;
}

INSTANTIATE_TEST_SUITE_P(Bf16, BlockScaled, testing::ValuesIn(shapes(false)));
INSTANTIATE_TEST_SUITE_P(Codes, BlockScaled, testing::ValuesIn(shapes(true)));

} // namespace
