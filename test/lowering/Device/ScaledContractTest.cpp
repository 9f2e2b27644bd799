// Contractions with MX weights on the emulator against sums in double precision: weights of one
// matrix and of those that a list names at run time, MXFP4 and MXFP8, activations of bf16 and of
// codes.
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
  bool fp8 = false;   ///< weights of E4M3, not E2M1
  bool codes = false; ///< activations of E4M3 with scales, not bf16
  int splitK = 0;     ///< 0: all wavefronts

  static constexpr int kTasks = 2;
  int operandRows() const { return weightRows * kTasks; }
  int operandDepth() const { return depth + 2 * depthOffset; }
  int activationRows() const { return boxRows ? boxRows : rows; }
  int blocks() const { return operandDepth() / kBlock; }
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << "x" << s.operandRows() << "x" << s.depth << ", " << s.matrices << " matrices, "
      << s.entries << " entries, " << s.boxRows << " mapped rows on " << s.threads
      << (s.fp8 ? ", MXFP8" : ", MXFP4") << (s.codes ? ", codes" : "");
}

/// E2M1 by its definition: sign, two bits of exponent with bias 1, one of mantissa.
double codeValue(unsigned code) {
  unsigned exponent = code >> 1 & 3, mantissa = code & 1;
  double value = exponent ? std::ldexp(1 + mantissa / 2.0, int(exponent) - 1) : mantissa / 2.0;
  return code & 8 ? -value : value;
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

double scaleValue(uint8_t scale) {
  return scale == 255 ? std::nan("") : std::ldexp(1, scale - 127);
}

/// Matrices [matrices, operandRows, operandDepth] before they are packed.
struct Weights {
  std::vector<uint8_t> codes;  ///< one each
  std::vector<uint8_t> scales; ///< one for each block

  double at(const Shape &s, int matrix, int row, int column) const {
    size_t line = size_t(matrix) * s.operandRows() + row;
    uint8_t code = codes[line * s.operandDepth() + column];
    return (s.fp8 ? e4m3Value(code) : codeValue(code)) *
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
  %K = mono.param "K" in [64 to 1024]
  %O = mono.param "O" in [0 to 1024]
  %E = mono.param "E" in [1 to 16]
  %L = mono.param "L" in [1 to 70]
  %x = mono.operand "x" read [%B, %K] : $XTYPE
  %xs = mono.operand "xs" read [%B, %K floordiv 32] : f32
  %list = mono.operand "list" read [%L] : i32
  %map = mono.operand "map" read [%L, %S] : i32
  %w = mono.operand "w" read weight [$MATRICES%T * 2, %K + %O * 2] : $WTYPE, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [$MATRICES%T * 2, (%K + %O * 2) floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>
  %y = mono.operand "y" write [%S, %T * 2] : f32
  %r = mono.region "r" [%B, %K] pad(16) : $RTYPE
  %rs = mono.region "rs" [%B, %K floordiv 32] : f32
  mono.stage "s" (%t) tasks [2] base [1] {
    %l = mono.load %list[0] [%L] : tensor<?xi32>
    %m = mono.load %map[0, 0] [%L, %S] : tensor<?x?xi32>
    %stream = mono.stream %w[$FIRST%t * symbol(%T), %O] [$MATRICES%T, %K] scaled %ws $GROUPS split_k($SPLIT)
    %v = mono.load %x[0, 0] [%B, %K] : tensor<?x?x$XTYPE>
    $CONVERT
    mono.store %c, %r[0, 0] : tensor<?x?x$RTYPE>
    %p = mono.contract %r[0, 0] [%B, %K] $SCALED $ROWS, %stream : tensor<?x?xf32>
    mono.store %p, %y[0, %t * symbol(%T)] : tensor<?x?xf32>
  }
})";
    // Scales of 32 columns each: divided by them, the values are codes.
    const char *toCodes = R"(%thirtyTwo = arith.constant 32 : index
    %blocks = arith.divui %K, %thirtyTwo : index
    %scales = mono.load %xs[0, 0] [%B, %K floordiv 32] : tensor<?x?xf32>
    mono.store %scales, %rs[0, 0] : tensor<?x?xf32>
    %empty = tensor.empty(%B, %blocks) : tensor<?x?x32xf32>
    %wide = linalg.broadcast ins(%scales : tensor<?x?xf32>) outs(%empty : tensor<?x?x32xf32>) dimensions = [2]
    %boxed = tensor.expand_shape %v [[0], [1, 2]] output_shape [%B, %blocks, 32] : tensor<?x?xf32> into tensor<?x?x32xf32>
    %codes = arith.scaling_truncf %boxed, %wide : tensor<?x?x32xf32>, tensor<?x?x32xf32> to tensor<?x?x32xf8E4M3FN>
    %c = tensor.collapse_shape %codes [[0], [1, 2]] : tensor<?x?x32xf8E4M3FN> into tensor<?x?xf8E4M3FN>)";
    const char *same = "%zero = arith.constant 0.0 : bf16\n"
                       "    %zeros = tensor.splat %zero[%B, %K] : tensor<?x?xbf16>\n"
                       "    %c = arith.addf %v, %zeros : tensor<?x?xbf16>";
    return substitute(text, {{"THREADS", std::to_string(s.threads)},
                             {"SPLIT", std::to_string(s.splitK ? s.splitK : s.threads / 64)},
                             {"CONVERT", s.codes ? toCodes : same},
                             {"XTYPE", s.codes ? "f32" : "bf16"},
                             {"RTYPE", s.codes ? "f8E4M3FN" : "bf16"},
                             {"WTYPE", s.fp8 ? "f8E4M3FN" : "f4E2M1FN"},
                             {"SCALED", s.codes ? "scaled %rs" : ""},
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
        for (int i = 0; i < kBlock; ++i)
          weights.codes.push_back(someCode(weights.scales.back()));
      }
    return weights;
  }

  /// A random code that is a number, and under this scale one that bf16 has if weights are widened:
  /// magnitudes from 2^-133 to below 2^128.
  uint8_t someCode(uint8_t scale) {
    unsigned code = random() & (s.fp8 ? 0xFF : 0xF);
    if (s.fp8 && (code & 0x7F) == 0x7F)
      code ^= 1;
    if (s.codes)
      return code;
    if (s.fp8)
      return scale >= 253 ? code & 0xBF : scale < 8 ? code | 0x40 : code;
    return scale == 254 ? code & 0xB : scale == 253 ? code & 0xD : code;
  }

  void write(const Weights &weights) {
    writePacked("ws", weights.scales, ElementType::E8M0, s.blocks());
    if (s.fp8)
      return writePacked("w", weights.codes, ElementType::FP8E4M3, s.operandDepth());
    std::vector<uint8_t> pairs;
    for (size_t i = 0; i < weights.codes.size(); i += 2)
      pairs.push_back(weights.codes[i] | weights.codes[i + 1] << 4);
    writePacked("w", pairs, ElementType::FP4E2M1, s.operandDepth());
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

  /// Activations, and of codes a scale for each block.
  struct Activations {
    std::vector<float> values, scales;
  };

  void write(const Activations &x) {
    gpu->write("xs", x.scales);
    if (s.codes)
      return gpu->write("x", x.values);
    std::vector<uint16_t> bf16;
    for (float value : x.values)
      bf16.push_back(toBf16(value));
    gpu->write("x", bf16);
  }

  /// Writes the rest, launches and compares. Any order of adding n products in f32 stays within
  /// n * 2^-24 of the sum of their magnitudes (Higham, Accuracy and Stability of Numerical
  /// Algorithms, section 3.1), and below the normal numbers within 2^-149 a sum.
  void check(const Weights &weights, const Activations &x, std::vector<int32_t> list,
             std::vector<int32_t> map) {
    list.resize(std::max(s.entries, 1), -1);
    map.resize(std::max(s.entries, 1) * s.rows, -1);
    write(x);
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
          if (from < 0 || from >= s.activationRows())
            continue; // the row has no part in this group, whatever is in it
          for (int k = 0; k < s.depth; ++k) {
            double product =
                weights.at(s, groups[g], n, s.depthOffset + k) * x.values[from * s.depth + k];
            sum += product;
            magnitude += std::abs(product);
          }
        }
        float got = y[row * s.operandRows() + n];
        if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(got)) << "row " << row << ", column " << n << ": " << got;
        else
          ASSERT_NEAR(got, sum,
                      groups.size() * s.depth * (std::exp2(-24) * magnitude + std::exp2(-149)))
              << "row " << row << ", column " << n;
      }
  }

  /// Random codes in every block where `inside(row, block)` holds, zeros elsewhere, with random
  /// scales from 2^(low - 127) on. bf16 has their values too.
  template <typename Inside> Activations someActivations(int low, Inside inside) {
    Activations x;
    for (int row = 0; row < s.activationRows(); ++row)
      for (int block = 0; block < s.depth / kBlock; ++block) {
        x.scales.push_back(float(scaleValue(low + random() % 8)));
        for (int i = 0; i < kBlock; ++i) {
          unsigned code = inside(row, block) ? random() % 0x7F | (random() & 0x80) : 0;
          x.values.push_back(float(e4m3Value(code)) * x.scales.back());
        }
      }
    return x;
  }

  Activations anyActivations() {
    return someActivations(120, [](int, int) { return true; });
  }

  /// Activations of block `row + shift` of each row only, so that each result shows one block's
  /// scale. They are small, so that no sum leaves f32.
  Activations oneBlockEach(int shift) {
    return someActivations(
        96, [&](int row, int block) { return block == (row + shift) % (s.depth / kBlock); });
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
    return check(weights, anyActivations(), {}, {});
  // Empty, one, and as many as there can be.
  for (int count : {0, 1, s.entries / 2, s.entries - 1, s.entries})
    check(weights, anyActivations(), someGroups(count), someMap());
  // What follows the end of a list is not read, whatever it looks like.
  for (int32_t end : {-1, s.matrices, INT32_MIN}) {
    std::vector<int32_t> list = someGroups(s.entries);
    list[s.entries / 2] = end;
    check(weights, anyActivations(), list, someMap());
  }
  // One matrix all over.
  check(weights, anyActivations(), std::vector<int32_t>(s.entries, s.matrices - 1), someMap());
}

/// Loads past the end of the box or list move nothing: of each named matrix the tasks' boxes are
/// read once, and no others.
TEST_P(ScaledContract, ReadsEachByteOnce) {
  Weights weights = makeWeights([](size_t, int) { return 127; });
  write(weights);
  int named = s.matrices ? s.entries / 2 : 1;
  // What stands behind the end names matrices too.
  std::vector<int32_t> list(s.entries, 0);
  if (s.matrices)
    list[named] = -1;
  check(weights, anyActivations(), list, someMap());
  uint64_t elements = uint64_t(named) * s.operandRows() * s.depth;
  EXPECT_EQ(gpu->bytesRead("w"), s.fp8 ? elements : elements / 2);
  // What each lane asks for: in tiles of 64 two lanes have the same scale.
  EXPECT_EQ(gpu->bytesRead("ws"), elements / kBlock * (s.fp8 && !s.codes ? 2 : 1));
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

/// A block with scale NaN makes the results of its weight row NaN, for the rows that take part in
/// its group, and no others.
TEST_P(ScaledContract, ScalesThatAreNaN) {
  Weights weights = makeWeights([&](size_t line, int block) {
    return line % 5 == 3 && block == int(line) % s.blocks() ? 255 : 127;
  });
  write(weights);
  check(weights, anyActivations(), s.matrices ? someGroups(s.entries) : std::vector<int32_t>(),
        someMap());
}

/// The same for activations: no row of the result has part in them but those that the map says.
TEST_P(ScaledContract, ActivationsThatAreNaN) {
  Weights weights = makeWeights([&](size_t, int) { return 127; });
  write(weights);
  Activations x = anyActivations();
  x.values[0] = x.values.back() = NAN;
  check(weights, x, s.matrices ? someGroups(s.entries) : std::vector<int32_t>(), someMap());
}

/// What bf16 does not have: weights of 2^128 or more become infinite when they are widened, and
/// those below 2^-133 zero; multiplied as they are, all count.
class EndsOfBf16 : public ScaledContract {
protected:
  /// Results when block 0 has these codes, scale and activations and the rest is zero.
  float result(uint8_t code, uint8_t scale, float activation) {
    Weights weights;
    for (int line = 0; line < s.operandRows(); ++line)
      for (int block = 0; block < s.blocks(); ++block) {
        weights.scales.push_back(block ? 127 : scale);
        weights.codes.insert(weights.codes.end(), kBlock, block ? 0 : code);
      }
    write(weights);
    Activations x;
    for (int i = 0; i < s.depth; ++i)
      x.values.push_back(i < kBlock ? activation : 0);
    x.scales.assign(s.blocks(), activation);
    write(x);
    gpu->write("list", std::vector<int32_t>(1));
    gpu->write("map", std::vector<int32_t>(1));
    gpu->launch();
    std::vector<float> y = gpu->read<float>("y", s.operandRows());
    EXPECT_EQ(y, std::vector<float>(y.size(), y.front()));
    return y.front();
  }
};

TEST_P(EndsOfBf16, LargestWeights) {
  uint8_t code = s.fp8 ? 0x7E : 7; // 448 or 6
  float exact = (s.fp8 ? 448 : 6) * kBlock * 0x1p107f;
  EXPECT_EQ(result(code, 254, 0x1p-20f), s.codes ? exact : INFINITY);
}

TEST_P(EndsOfBf16, SmallestWeights) {
  // Half, the smallest of E2M1, fits under every scale; 2^-9, the smallest of E4M3, does not.
  float exact = (s.fp8 ? 0x1p-136f : 0x1p-128f) * kBlock * 0x1p20f;
  EXPECT_EQ(result(1, 0, 0x1p20f), s.fp8 && !s.codes ? 0 : exact);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, EndsOfBf16,
    testing::Values(Shape{.rows = 1, .depth = 128, .weightRows = 16},
                    Shape{.rows = 1, .depth = 128, .weightRows = 16, .fp8 = true},
                    Shape{.rows = 1, .depth = 128, .weightRows = 16, .codes = true},
                    Shape{.rows = 1, .depth = 128, .weightRows = 16, .fp8 = true, .codes = true}));

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
/// The same shapes with other formats; `codes` are multiplied as they are.
std::vector<Shape> others(bool fp8, bool codes) {
  std::vector<Shape> shapes = {Shape{1, 128, 16},
                               Shape{4, 256, 32},
                               Shape{16, 1024, 32},
                               Shape{7, 640, 128},
                               Shape{.rows = 5, .depth = 256, .weightRows = 48, .depthOffset = 128},
                               Shape{.rows = 3, .depth = 384, .weightRows = 16, .threads = 64},
                               Shape{.rows = 8, .depth = 512, .weightRows = 64, .splitK = 2},
                               Shape{.rows = 2, .depth = 128, .weightRows = 128, .splitK = 1},
                               Shape{16, 256, 16, 10, 70},
                               Shape{4, 256, 32, 10, 70, 20},
                               Shape{.rows = 2,
                                     .depth = 256,
                                     .weightRows = 32,
                                     .matrices = 5,
                                     .entries = 6,
                                     .boxRows = 3,
                                     .depthOffset = 128,
                                     .threads = 256}};
  if (fp8 && !codes) // tiles of 64
    shapes.push_back(Shape{.rows = 6, .depth = 192, .weightRows = 64, .splitK = 2});
  for (Shape &shape : shapes) {
    shape.fp8 = fp8;
    shape.codes = codes;
  }
  return shapes;
}
INSTANTIATE_TEST_SUITE_P(Mxfp8, ScaledContract, testing::ValuesIn(others(true, false)));
INSTANTIATE_TEST_SUITE_P(Mxfp4TimesCodes, ScaledContract, testing::ValuesIn(others(false, true)));
INSTANTIATE_TEST_SUITE_P(Mxfp8TimesCodes, ScaledContract, testing::ValuesIn(others(true, true)));
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
