// schedules/linear.mlir against sums in double precision, for weights of every format.
#include "models/BFloat16.h"
#include "models/Mxfp4.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

enum class Format { Bf16, Mxfp4 };

struct Shape {
  Format format;
  int rows, depth, columns;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << (s.format == Format::Bf16 ? "bf16 " : "MXFP4 ") << s.rows << "x" << s.columns << "x"
      << s.depth;
}

class Linear : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.depth + s.rows)};
  std::normal_distribution<float> normal;
  std::vector<double> weights; ///< [columns, depth], what the codes stand for

  std::string operands() const {
    switch (s.format) {
    case Format::Bf16:
      return R"(%w = mono.operand "w" read weight [%N, %K] : bf16, #mono.mfma_rows<16>)";
    case Format::Mxfp4:
      return R"(%w = mono.operand "w" read weight [%N, %K] : f4E2M1FN, #mono.mfma_rows<16>
  %ws = mono.operand "ws" read weight [%N, %K floordiv 32] : f8E8M0FNU, #mono.mfma_rows<16>)";
    }
    return "";
  }

  void writePacked(OneGpu &gpu, const char *name, const std::vector<uint8_t> &rowMajor,
                   ElementType element, int columns) {
    TensorType type{{s.columns, columns}, element, Layout::MfmaRows16};
    std::vector<uint8_t> packed(rowMajor.size());
    ASSERT_FALSE(bool(pack(type, rowMajor, packed)));
    gpu.write(name, packed);
  }

  void writeWeights(OneGpu &gpu) {
    weights.clear();
    size_t count = size_t(s.columns) * s.depth;
    std::vector<uint8_t> bytes, scales;
    if (s.format == Format::Bf16) {
      for (size_t i = 0; i < count; ++i) {
        uint16_t value = toBf16(normal(random) * std::exp2(float(int(random() % 16)) - 8));
        weights.push_back(toFloat(value));
        bytes.insert(bytes.end(), {uint8_t(value), uint8_t(value >> 8)});
      }
      return writePacked(gpu, "w", bytes, ElementType::BF16, s.depth);
    }
    for (size_t i = 0; i < count; ++i) {
      if (i % 32 == 0)
        scales.push_back(uint8_t(110 + random() % 34));
      unsigned code = random() % 16;
      weights.push_back(fp4Value(code) * std::ldexp(1, scales.back() - 127));
      if (i % 2 == 0)
        bytes.push_back(uint8_t(code));
      else
        bytes.back() |= uint8_t(code << 4);
    }
    writePacked(gpu, "w", bytes, ElementType::FP4E2M1, s.depth);
    writePacked(gpu, "ws", scales, ElementType::E8M0, s.depth / 32);
  }

  std::vector<float> run(const emu::Options &options, std::vector<uint16_t> &x) {
    std::string text = substitute(
        R"(mono.import "schedules/linear.mlir"
mono.schedule @linear target("gfx950") grid(8 x 512) {
  %S = mono.param "S" in [1 to 16]
  %K = mono.param "K" in [128 to 4096]
  %N = mono.param "N" in [16 to 1024]
  %x = mono.operand "x" read [%S, %K] : bf16
  %y = mono.operand "y" write [%S, %N] : f32
  $OPERANDS
  %box = mono.mailbox "box" tagged scope(device) slots(1) [%S, %K] : bf16
  %input = mono.region "input" [%S, %K] pad(8) : bf16
  mono.stage "bring" (%t) tasks [1] base [7] {
    %v = mono.load %x[0, 0] [%S, %K] : tensor<?x?xbf16>
    mono.post %v to %box[0, 0] : tensor<?x?xbf16>
  }
  mono.stage "linear" (%t) tasks [%N floordiv 16] base [0] {
    %stream = mono.stream %w[%t * 16, 0] [16, %K] $SCALED split_k(8)
    %tile = mono.call @linear_tile(%box, %input, %stream, %S, %K)
      : (!mono.mailbox, !mono.buffer, !mono.stream, index, index) -> tensor<?x16xf32>
    mono.store %tile, %y[0, %t * 16] : tensor<?x16xf32>
  }
})",
        {{"OPERANDS", operands()}, {"SCALED", s.format == Format::Bf16 ? "" : "scaled %ws"}});
    OneGpu gpu(text, options, {{"S", s.rows}, {"K", s.depth}, {"N", s.columns}});
    random.seed(uint32_t(s.depth + s.rows));
    x.clear();
    for (int i = 0; i < s.rows * s.depth; ++i)
      x.push_back(toBf16(normal(random) * (i % 97 == 0 ? 16 : 1)));
    gpu.write("x", x);
    writeWeights(gpu);
    gpu.write("y", std::vector<float>(s.rows * s.columns, NAN));
    gpu.launch();
    return gpu.read<float>("y", size_t(s.rows) * s.columns);
  }
};

TEST_P(Linear, IsTheProduct) {
  std::vector<uint16_t> x;
  std::vector<float> y = run({}, x);
  for (int row = 0; row < s.rows; ++row)
    for (int n = 0; n < s.columns; ++n) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < s.depth; ++k) {
        double product = weights[size_t(n) * s.depth + k] * toFloat(x[row * s.depth + k]);
        sum += product;
        magnitude += std::abs(product);
      }
      // Any order of adding n products in f32 stays within n * 2^-24 of the sum of their magnitudes
      // (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
      ASSERT_NEAR(y[size_t(row) * s.columns + n], sum, s.depth * std::exp2(-24) * magnitude)
          << "row " << row << ", column " << n;
    }
  emu::Options adversarial;
  adversarial.coherence = emu::Coherence::adversarial(1);
  EXPECT_EQ(run(adversarial, x), y);
}

INSTANTIATE_TEST_SUITE_P(Formats, Linear,
                         testing::Values(Shape{Format::Bf16, 1, 256, 16},
                                         Shape{Format::Bf16, 8, 1024, 208},
                                         Shape{Format::Bf16, 16, 512, 32},
                                         Shape{Format::Mxfp4, 1, 128, 16},
                                         Shape{Format::Mxfp4, 8, 640, 176}));

} // namespace
