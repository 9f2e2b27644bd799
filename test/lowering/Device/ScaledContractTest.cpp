// Contractions with MXFP4 weights on the emulator against sums in double precision, with weights of
// one matrix and of those that a list names at run time.
#include "models/BFloat16.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

constexpr int kBlock = 32; ///< elements that share a scale

/// One matrix, or `matrices` of them and lists of `entries` groups.
struct Shape {
  int rows;         ///< of the result
  int depth;        ///< of the product
  int weightRows;   ///< a task
  int matrices = 0; ///< 0: no groups
  int entries = 0;
  int boxRows = 0;     ///< rows of activations to choose from with a map; 0: no map
  int depthOffset = 0; ///< where the box of weights starts, and what is left behind it
  int threads = 512;

  static constexpr int kTasks = 2;
  int operandRows() const { return weightRows * kTasks; }
  int operandDepth() const { return depth + 2 * depthOffset; }
  int activationRows() const { return boxRows ? boxRows : rows; }
  int blocks() const { return operandDepth() / kBlock; }
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << "x" << s.operandRows() << "x" << s.depth << ", " << s.matrices << " matrices, "
      << s.entries << " entries, " << s.boxRows << " mapped rows on " << s.threads;
}

/// E2M1 by its definition: sign, two bits of exponent with bias 1, one of mantissa.
double codeValue(unsigned code) {
  unsigned exponent = code >> 1 & 3, mantissa = code & 1;
  double value = exponent ? std::ldexp(1 + mantissa / 2.0, int(exponent) - 1) : mantissa / 2.0;
  return code & 8 ? -value : value;
}

double scaleValue(uint8_t scale) {
  return scale == 255 ? std::nan("") : std::ldexp(1, scale - 127);
}

/// Matrices [matrices, operandRows, operandDepth] before they are packed.
struct Weights {
  std::vector<uint8_t> codes;  ///< one each
  std::vector<uint8_t> scales; ///< one for each block

  double at(const Shape &s, int matrix, int row, int column) const {
    size_t line = size_t(matrix) * s.operandRows() + row;
    return codeValue(codes[line * s.operandDepth() + column]) *
           scaleValue(scales[line * s.blocks() + column / kBlock]);
  }
};

class ScaledContract : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.rows * 7919 + s.depth)};
  std::optional<OneGpu> gpu;

  void SetUp() override {
    gpu.emplace(schedule(), emu::Options(),
                OneGpu::Params{{"S", s.rows},
                               {"B", s.activationRows()},
                               {"T", s.weightRows},
                               {"K", s.depth},
                               {"O", s.depthOffset},
                               {"E", std::max(s.matrices, 1)},
                               {"L", std::max(s.entries, 1)}});
  }

  std::string schedule() const {
    std::string text = R"(mono.schedule @scaled target("gfx950") grid(4 x $THREADS) {
  %S = mono.param "S" in [1 to 16]
  %B = mono.param "B" in [1 to 64]
  %T = mono.param "T" in [16 to 128]
  %K = mono.param "K" in [128 to 1024]
  %O = mono.param "O" in [0 to 1024]
  %E = mono.param "E" in [1 to 16]
  %L = mono.param "L" in [1 to 70]
  %x = mono.operand "x" read [%B, %K] : bf16
  %list = mono.operand "list" read [%L] : i32
  %map = mono.operand "map" read [%L, %S] : i32
  %w = mono.operand "w" read weight [$MATRICES%T * 2, %K + %O * 2] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [$MATRICES%T * 2, (%K + %O * 2) floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %y = mono.operand "y" write [%S, %T * 2] : f32
  %r = mono.region "r" [%B, %K] pad(8) : bf16
  mono.stage "s" (%t) tasks [2] base [1] {
    %l = mono.load %list[0] [%L] : tensor<?xi32>
    %m = mono.load %map[0, 0] [%L, %S] : tensor<?x?xi32>
    %stream = mono.stream %w[$FIRST%t * symbol(%T), %O] [$MATRICES%T, %K] scaled %ws $GROUPS split_k($WAVES)
    %v = mono.load %x[0, 0] [%B, %K] : tensor<?x?xbf16>
    mono.store %v, %r[0, 0] : tensor<?x?xbf16>
    %p = mono.contract %r[0, 0] [%B, %K] $ROWS, %stream : tensor<?x?xf32>
    mono.store %p, %y[0, %t * symbol(%T)] : tensor<?x?xf32>
  }
})";
    return substitute(text, {{"THREADS", std::to_string(s.threads)},
                             {"WAVES", std::to_string(s.threads / 64)},
                             {"MATRICES", s.matrices ? "%E, " : ""},
                             {"FIRST", s.matrices ? "0, " : ""},
                             {"GROUPS", s.matrices ? "groups(%l : tensor<?xi32>)" : ""},
                             {"ROWS", s.boxRows ? "rows(%m : tensor<?x?xi32>)" : ""}});
  }

  /// Random codes; the scale of each block by `scale(line, block)`.
  template <typename Scale> Weights makeWeights(Scale scale) {
    Weights weights;
    size_t lines = size_t(std::max(s.matrices, 1)) * s.operandRows();
    for (size_t line = 0; line < lines; ++line)
      for (int block = 0; block < s.blocks(); ++block) {
        weights.scales.push_back(scale(line, block));
        // bf16 ends below 2^128: the largest scales take the smaller codes only.
        unsigned mask = weights.scales.back() == 254   ? 0xB
                        : weights.scales.back() == 253 ? 0xD
                                                       : 0xF;
        for (int i = 0; i < kBlock; ++i)
          weights.codes.push_back(random() & mask);
      }
    return weights;
  }

  void write(const Weights &weights) {
    std::vector<uint8_t> pairs;
    for (size_t i = 0; i < weights.codes.size(); i += 2)
      pairs.push_back(weights.codes[i] | weights.codes[i + 1] << 4);
    writePacked("w", pairs, ElementType::FP4E2M1, s.operandDepth());
    writePacked("ws", weights.scales, ElementType::E8M0, s.blocks());
  }

  void writePacked(const char *name, const std::vector<uint8_t> &rowMajor, ElementType element,
                   int columns) {
    TensorType type{{s.operandRows(), columns}, element, Layout::MfmaRows16};
    if (s.matrices)
      type.shape.insert(type.shape.begin(), s.matrices);
    std::vector<uint8_t> packed(rowMajor.size());
    ASSERT_FALSE(bool(pack(type, rowMajor, packed)));
    gpu->write(name, packed);
  }

  /// Writes the rest, launches and compares. Any order of adding n products in f32 stays within
  /// n * 2^-24 of the sum of their magnitudes (Higham, Accuracy and Stability of Numerical
  /// Algorithms, section 3.1).
  void check(const Weights &weights, const std::vector<uint16_t> &x, std::vector<int32_t> list,
             std::vector<int32_t> map) {
    list.resize(std::max(s.entries, 1), -1);
    map.resize(std::max(s.entries, 1) * s.rows, -1);
    gpu->write("x", x);
    gpu->write("list", list);
    gpu->write("map", map);
    gpu->launch();
    std::vector<float> y = gpu->read<float>("y", s.rows * s.operandRows());
    std::vector<int> groups;
    for (size_t g = 0; s.matrices && g < list.size() && list[g] >= 0 && list[g] < s.matrices; ++g)
      groups.push_back(list[g]);
    if (!s.matrices)
      groups.push_back(0);
    for (int row = 0; row < s.rows; ++row)
      for (int n = 0; n < s.operandRows(); ++n) {
        double sum = 0, magnitude = 0;
        for (size_t g = 0; g < groups.size(); ++g) {
          int from = s.boxRows ? map[g * s.rows + row] : row;
          bool inside = from >= 0 && from < s.activationRows();
          for (int k = 0; k < s.depth; ++k) {
            double product = weights.at(s, groups[g], n, s.depthOffset + k) *
                             (inside ? toFloat(x[from * s.depth + k]) : 0.0);
            sum += product;
            magnitude += std::abs(product);
          }
        }
        float got = y[row * s.operandRows() + n];
        if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(got)) << "row " << row << ", column " << n << ": " << got;
        else
          ASSERT_NEAR(got, sum, groups.size() * s.depth * std::exp2(-24) * magnitude)
              << "row " << row << ", column " << n;
      }
  }

  std::vector<uint16_t> normals() {
    std::normal_distribution<float> normal;
    std::vector<uint16_t> x(s.activationRows() * s.depth);
    for (uint16_t &value : x)
      value = toBf16(normal(random));
    return x;
  }

  /// Activations of block `row + shift` of each row only, so that each result shows one block's
  /// scale. They are small, so that no sum leaves f32.
  std::vector<uint16_t> oneBlockEach(int shift) {
    std::uniform_real_distribution<float> any(-1 / 128.0f, 1 / 128.0f);
    std::vector<uint16_t> x(s.activationRows() * s.depth, 0);
    for (int row = 0; row < s.activationRows(); ++row)
      for (int i = 0; i < kBlock; ++i)
        x[row * s.depth + (row + shift) * kBlock % s.depth + i] = toBf16(any(random));
    return x;
  }

  /// `count` groups, any matrix, some of them twice in a row.
  std::vector<int32_t> someGroups(int count) {
    std::vector<int32_t> list;
    for (int g = 0; g < count; ++g)
      list.push_back(g % 3 == 2 ? list.back() : int32_t(random() % s.matrices));
    return list;
  }

  /// Rows of the box for each group, some outside it.
  std::vector<int32_t> someMap() {
    std::vector<int32_t> map(std::max(s.entries, 1) * s.rows);
    for (int32_t &row : map)
      row = int32_t(random() % (s.activationRows() + 4)) - 2;
    map.front() = INT32_MIN;
    map.back() = INT32_MAX;
    return map;
  }
};

TEST_P(ScaledContract, IsTheSumInDoublePrecision) {
  Weights weights = makeWeights([&](size_t, int) { return 120 + random() % 11; });
  write(weights);
  if (!s.matrices)
    return check(weights, normals(), {}, {});
  // Empty, one, and as many as there can be.
  for (int count : {0, 1, s.entries / 2, s.entries - 1, s.entries})
    check(weights, normals(), someGroups(count), someMap());
  // What follows the end of a list is not read, whatever it looks like.
  for (int32_t end : {-1, s.matrices, INT32_MIN}) {
    std::vector<int32_t> list = someGroups(s.entries);
    list[s.entries / 2] = end;
    check(weights, normals(), list, someMap());
  }
  // One matrix all over.
  check(weights, normals(), std::vector<int32_t>(s.entries, s.matrices - 1), someMap());
}

/// Neighbouring blocks with scales as far apart as can be. Products with the smallest are denormal.
TEST_P(ScaledContract, ExtremeScalesOfEveryBlock) {
  constexpr uint8_t kExtremes[] = {0, 254, 127, 1, 253, 64, 2, 200, 126};
  Weights weights = makeWeights(
      [&](size_t line, int block) { return kExtremes[(line + block) % std::size(kExtremes)]; });
  write(weights);
  for (int shift = 0; shift < s.depth / kBlock; shift += s.activationRows())
    check(weights, oneBlockEach(shift),
          s.matrices ? someGroups(std::min(s.entries, 2)) : std::vector<int32_t>(), someMap());
}

/// A block with scale NaN makes the results of its weight row NaN, and no others.
TEST_P(ScaledContract, ScalesThatAreNaN) {
  Weights weights = makeWeights([&](size_t line, int block) {
    return line % 5 == 3 && block == int(line) % s.blocks() ? 255 : 127;
  });
  write(weights);
  check(weights, normals(), s.matrices ? someGroups(s.entries) : std::vector<int32_t>(), someMap());
}

INSTANTIATE_TEST_SUITE_P(
    OneMatrix, ScaledContract,
    testing::Values(Shape{1, 128, 16}, Shape{4, 256, 32}, Shape{16, 1024, 32}, Shape{7, 1024, 16},
                    Shape{8, 512, 128},
                    Shape{.rows = 3, .depth = 384, .weightRows = 16, .threads = 64},
                    Shape{.rows = 5, .depth = 256, .weightRows = 48, .depthOffset = 128},
                    Shape{.rows = 2, .depth = 640, .weightRows = 64, .threads = 256}));
INSTANTIATE_TEST_SUITE_P(Groups, ScaledContract,
                         testing::Values(Shape{4, 128, 32, 3, 5}, Shape{1, 1024, 16, 2, 4},
                                         Shape{16, 256, 16, 10, 70},
                                         Shape{.rows = 3,
                                               .depth = 256,
                                               .weightRows = 32,
                                               .matrices = 4,
                                               .entries = 64,
                                               .threads = 64}));
INSTANTIATE_TEST_SUITE_P(MappedRows, ScaledContract,
                         testing::Values(Shape{4, 256, 32, 10, 70, 20},
                                         Shape{16, 128, 16, 6, 65, 33}, Shape{1, 512, 32, 3, 9, 2},
                                         Shape{8, 1024, 16, 2, 3, 16},
                                         Shape{.rows = 2,
                                               .depth = 256,
                                               .weightRows = 32,
                                               .matrices = 5,
                                               .entries = 6,
                                               .boxRows = 3,
                                               .depthOffset = 128,
                                               .threads = 256}));

} // namespace
