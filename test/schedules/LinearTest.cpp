// schedules/linear.mlir against sums in double precision: weights of every format, activations of
// bf16 and rounded to 8 bits.
#include "models/Mxfp8.h"
#include "test/schedules/WeightMatrices.h"

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

using Weights = WeightFormat;
enum class Activations { Bf16, Mxfp8, Fp8 };

struct Shape {
  Weights weights;
  int rows, depth, columns;
  Activations activations = Activations::Bf16;
  /// Columns a task of a stage of the test's own, which calls the tile on 256 threads; 0: a whole
  /// layer.
  int task = 0;
};

std::string routine(const Shape &s) {
  if (s.task)
    return s.activations == Activations::Mxfp8 ? "linear_tile_by_mxfp8"
           : s.activations == Activations::Fp8 ? "linear_tile_by_fp8"
                                               : "linear_tile";
  if (s.activations == Activations::Mxfp8)
    return "linear_mx_by_mxfp8";
  if (s.activations == Activations::Fp8)
    return "linear_fp8_blocks_by_fp8";
  return s.weights == Weights::Bf16 ? "linear_bf16" : "linear_scaled";
}

void PrintTo(const Shape &s, std::ostream *os) {
  *os << routine(s) << (s.weights == Weights::Mxfp4 ? " (E2M1) " : " ") << s.rows << "x"
      << s.columns << "x" << s.depth << (s.task ? " by " + std::to_string(s.task) : "");
}

double e4m3(unsigned code) { return numeric::decode(numeric::kFp8E4M3, code); }

class Linear : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.depth + s.rows)};
  std::optional<OneGpu> gpu;
  std::vector<uint16_t> x; ///< [rows, depth] bf16
  std::optional<WeightMatrices> w;

  void SetUp() override {
    gpu.emplace(schedule(), emu::Options(),
                OneGpu::Params{{"S", s.rows}, {"K", s.depth}, {"N", s.columns}});
    std::normal_distribution<float> normal;
    for (int i = 0; i < s.rows * s.depth; ++i)
      x.push_back(toBf16(normal(random) * (i % 97 == 0 ? 16 : 1)));
    w.emplace(s.weights, /*matrices=*/0, s.columns, s.depth, random);
  }

  /// A whole layer.
  std::string call() const {
    bool isBf16 = s.weights == Weights::Bf16;
    return substitute(R"(  mono.call @$ROUTINE(%in, %w, $ARGUMENT%out, %S, %K, %N, %zero)
    : (!mono.mailbox, !mono.buffer, $TYPE!mono.mailbox, index, index, index, index) -> ())",
                      {{"ROUTINE", routine(s)},
                       {"ARGUMENT", isBf16 ? "" : "%w_scale, "},
                       {"TYPE", isBf16 ? "" : "!mono.buffer, "}});
  }

  /// A stage with a tile of `task` columns, rounded as the layers do.
  std::string stage() const {
    int columnsOfScale = s.activations == Activations::Fp8 ? kScaleBlock : int(mxBlock);
    std::string regions = s.activations == Activations::Bf16
                              ? "  %r = mono.region \"r\" [%S, %K] pad(8) : bf16\n"
                              : R"(  %width = arith.constant $WIDTH : index
  %blocks = arith.divui %K, %width : index
  %r = mono.region "r" [%S, %K] pad(16) : f8E4M3FN
  %rs = mono.region "rs" [%S, %blocks] : f32
)";
    std::string call = s.activations == Activations::Bf16 ? R"((%in, %r, %e, %S, %K)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index))"
                                                          : R"((%in, %r, %rs, %e, %S, %blocks)
      : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.stream, index, index))";
    return substitute(regions + R"(  mono.stage "own" (%t) tasks [%N floordiv $TASK] base [0] {
    %e = mono.stream %w[%t * $TASK, 0] [$TASK, %K] $SCALED split_k($SPLIT)
    %p = mono.call @$ROUTINE)" +
                          call + R"( -> tensor<?x?xf32>
    %p16 = arith.truncf %p : tensor<?x?xf32> to tensor<?x?xbf16>
    mono.post %p16 to %out[0, %t * $TASK] : tensor<?x?xbf16>
  })",
                      {{"WIDTH", std::to_string(columnsOfScale)},
                       {"TASK", std::to_string(s.task)},
                       {"SCALED", s.weights == Weights::Bf16 ? "" : "scaled %w_scale"},
                       {"SPLIT", s.task % 32 ? "4" : "2"},
                       {"ROUTINE", routine(s)}});
  }

  std::string schedule() const {
    return substitute(
        R"(mono.import "schedules/linear.mlir"
mono.schedule @linear target("gfx950") grid(8 x $THREADS) {
  %S = mono.param "S" in [1 to 16]
  %K = mono.param "K" in [64 to 8192]
  %N = mono.param "N" in [16 to 1024]
  %zero = arith.constant 0 : index
  %x = mono.operand "x" read [%S, %K] : bf16
$WEIGHTS  %y = mono.operand "y" write [%S, %N] : bf16
  %in = mono.mailbox "in" tagged scope(device) slots(1) [%S, %K] : bf16
  %out = mono.mailbox "out" tagged scope(device) slots(1) [%S, %N] : bf16
  mono.stage "bring" (%t) tasks [1] base [7] {
    %v = mono.load %x[0, 0] [%S, %K] : tensor<?x?xbf16>
    mono.post %v to %in[0, 0] : tensor<?x?xbf16>
  }
$LINEAR
  mono.stage "take" (%t) tasks [1] base [6] {
    %v = mono.receive %out[0, 0] [%S, %N] : tensor<?x?xbf16>
    mono.store %v, %y[0, 0] : tensor<?x?xbf16>
  }
})",
        {{"WEIGHTS", WeightMatrices::declare(s.weights, "w", "", "%N", "%K")},
         {"THREADS", s.task ? "256" : "512"},
         {"LINEAR", s.task ? stage() : call()}});
  }

  /// What is multiplied: x, rounded as the routines say.
  std::vector<double> activations() const {
    std::vector<double> result;
    for (uint16_t value : x)
      result.push_back(toFloat(value));
    if (s.activations == Activations::Mxfp8)
      roundToMxfp8(result, MxScale::Floor);
    for (size_t first = 0; s.activations == Activations::Fp8 && first < result.size();
         first += kScaleBlock) {
      auto block = llvm::MutableArrayRef(result).slice(first, kScaleBlock);
      float largest = std::ldexp(448.0f, -126);
      bool isNumber = true;
      for (double value : block) {
        largest = std::max(largest, float(std::abs(value)));
        isNumber &= std::isfinite(value);
      }
      float scale = largest / 448.0f, inverse = 448.0f / largest;
      for (double &value : block)
        value = isNumber ? e4m3(numeric::encode(numeric::kFp8E4M3, float(value) * inverse)) *
                               double(scale)
                         : NAN;
    }
    return result;
  }

  /// Any order of adding n products in f32 stays within n * 2^-24 of the sum of their magnitudes
  /// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); scales of blocks round
  /// three times more, and the result is rounded to bf16.
  void check() {
    gpu->write("x", x);
    w->write(*gpu, "w");
    gpu->launchOnAnyMemory();
    std::vector<uint16_t> y = gpu->read<uint16_t>("y", size_t(s.rows) * s.columns);
    std::vector<double> seen = activations();
    for (int row = 0; row < s.rows; ++row)
      for (int n = 0; n < s.columns; ++n) {
        double sum = 0, magnitude = 0;
        for (int k = 0; k < s.depth; ++k) {
          double product = w->at(0, n, k) * seen[row * s.depth + k];
          sum += product;
          magnitude += std::abs(product);
        }
        float got = toFloat(y[size_t(row) * s.columns + n]);
        if (std::isnan(sum))
          ASSERT_TRUE(std::isnan(got)) << "row " << row << ", column " << n << ": " << got;
        else
          ASSERT_NEAR(got, sum,
                      (s.depth + 3) * std::exp2(-24) * magnitude * (1 + std::exp2(-8)) +
                          std::exp2(-8) * std::abs(sum) + std::exp2(-133))
              << "row " << row << ", column " << n;
      }
  }
};

TEST_P(Linear, IsTheProduct) { check(); }

/// Rows of zeros, rows whose values are far apart, and blocks of weights that are zero.
TEST_P(Linear, ZerosAndFarMagnitudes) {
  for (size_t i = 0; i < x.size(); ++i) {
    size_t row = i / s.depth;
    x[i] = row % 3 == 0 ? 0 : toBf16(std::ldexp(toFloat(x[i]), row % 3 == 1 ? -100 : 60));
  }
  size_t bytes = s.weights == Weights::Bf16 ? 2 : 1;
  for (size_t i = 0; i < w->codes.size(); ++i)
    if (i / bytes % s.depth / w->columnsOfScale() % 2 == 0)
      w->codes[i] = 0;
  check();
}

/// NaN and infinity in a row of x make NaN of all results of that row, and of no other. (Infinity
/// because weights of both signs meet it; a row of one sign would keep it.)
TEST_P(Linear, WhatIsNoNumber) {
  x[3] = 0x7FC0;
  if (s.rows > 1 && s.activations != Activations::Bf16)
    x[(s.rows - 1) * s.depth + s.depth / 2] = 0xFF80;
  check();
}

INSTANTIATE_TEST_SUITE_P(Bf16, Linear,
                         testing::Values(Shape{Weights::Bf16, 1, 256, 16},
                                         Shape{Weights::Bf16, 8, 1024, 208},
                                         Shape{Weights::Bf16, 16, 512, 32},
                                         // 11 and 27 tiles a wavefront; 8 are in flight.
                                         Shape{Weights::Bf16, 3, 2816, 32},
                                         Shape{Weights::Bf16, 5, 6912, 16}));
INSTANTIATE_TEST_SUITE_P(Mxfp4, Linear,
                         testing::Values(Shape{Weights::Mxfp4, 1, 128, 16},
                                         Shape{Weights::Mxfp4, 8, 640, 176},
                                         Shape{Weights::Mxfp4, 1, 128, 16, Activations::Mxfp8},
                                         Shape{Weights::Mxfp4, 5, 896, 144, Activations::Mxfp8}));
INSTANTIATE_TEST_SUITE_P(Mxfp8, Linear,
                         testing::Values(Shape{Weights::Mxfp8, 1, 64, 16},
                                         Shape{Weights::Mxfp8, 3, 448, 32},
                                         Shape{Weights::Mxfp8, 8, 640, 208},
                                         Shape{Weights::Mxfp8, 2, 256, 16, Activations::Mxfp8},
                                         Shape{Weights::Mxfp8, 8, 1152, 80, Activations::Mxfp8}));
INSTANTIATE_TEST_SUITE_P(Fp8Blocks, Linear,
                         testing::Values(Shape{Weights::Fp8Blocks, 1, 128, 16},
                                         Shape{Weights::Fp8Blocks, 4, 384, 272},
                                         Shape{Weights::Fp8Blocks, 8, 1152, 144},
                                         Shape{Weights::Fp8Blocks, 16, 256, 32},
                                         Shape{Weights::Fp8Blocks, 1, 128, 16, Activations::Fp8},
                                         Shape{Weights::Fp8Blocks, 8, 1152, 144, Activations::Fp8},
                                         Shape{Weights::Fp8Blocks, 5, 640, 272, Activations::Fp8}));

INSTANTIATE_TEST_SUITE_P(
    Tiles, Linear,
    testing::Values(Shape{Weights::Bf16, 3, 256, 96, Activations::Bf16, 32},
                    Shape{Weights::Mxfp4, 2, 384, 128, Activations::Bf16, 64},
                    Shape{Weights::Mxfp4, 9, 256, 64, Activations::Mxfp8, 16},
                    Shape{Weights::Mxfp8, 5, 256, 96, Activations::Mxfp8, 32},
                    Shape{Weights::Fp8Blocks, 6, 512, 192, Activations::Bf16, 96},
                    Shape{Weights::Fp8Blocks, 6, 512, 192, Activations::Fp8, 96},
                    Shape{Weights::Mxfp8, 4, 192, 48}));

} // namespace
