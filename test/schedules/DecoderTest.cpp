// schedules/decoder.mlir on two ranks: each stage against double precision, from what the stage
// before it gave.
#include "models/BFloat16.h"
#include "runtime/Layout.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

constexpr int kRanks = 2, kRows = 3, kHidden = 512, kHeads = 4, kDim = 64, kDepth = kHeads * kDim;
constexpr double kEps = 1e-2;

/// What a value may be off by after one rounding to bf16, and after n roundings of f32, relative.
constexpr double kBf16 = 0x1.01p-8;
constexpr double f32Sum(int n) { return n * 0x1p-24; }

class DecoderStages : public testing::Test {
protected:
  OneGpu gpus{R"(mono.import "schedules/decoder.mlir"
mono.schedule @decoder target("gfx950") grid(256 x 512) {
  %rank = mono.ranks [2]
  %TP = arith.constant 2 : index
  %S = arith.constant 3 : index
  %hidden = arith.constant 512 : index
  %heads = arith.constant 4 : index
  %dim = arith.constant 64 : index
  %depth = arith.constant 256 : index
  %base = arith.constant 120 : index
  %eps = arith.constant 1.0e-2 : f32
  %x = mono.operand "x" read [3, 512] : bf16
  %gamma = mono.operand "gamma" read [512] : bf16
  %gamma2 = mono.operand "gamma2" read [512] : bf16
  %w_qkv = mono.operand "w_qkv" read weight [256, 512] : bf16, #mono.mfma_rows<16>
  %w_o = mono.operand "w_o" read weight [512, 256] : bf16, #mono.mfma_rows<16>
  %extra = mono.operand "extra" read [3, 512] : bf16
  %heads_out = mono.operand "heads" write [3, 256] : f32
  %residual = mono.operand "residual" write [3, 512] : bf16
  %factor = mono.operand "factor" write [3] : f32
  %normed = mono.operand "normed" write [3, 512] : bf16
  %y = mono.operand "y" write [3, 512] : bf16
  %projected = mono.mailbox "projected" tagged scope(device) slots(1) [3, 4, 64] : f32
  %rounded = mono.mailbox "rounded" tagged scope(device) slots(1) [3, 256] : bf16
  %partial = mono.mailbox "partial" tagged scope(peers) slots(2) [2, 3, 512] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [3, 512] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [4, 3] : f32
  %more = mono.mailbox "more" tagged scope(peers) slots(2) [2, 3, 512] : bf16
  %stream = mono.region "stream" [3, 128] : f32
  %into = mono.region "into" [3, 512] pad(8) : bf16
  mono.call @project_heads(%x, %gamma, %w_qkv, %projected, %S, %hidden, %heads, %dim, %eps)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, f32) -> ()
  mono.stage "round" (%t) tasks [1] base [100] {
    %h3 = mono.receive %projected[0, 0, 0] [3, 4, 64] : tensor<3x4x64xf32>
    %h = tensor.collapse_shape %h3 [[0], [1, 2]] : tensor<3x4x64xf32> into tensor<3x256xf32>
    mono.store %h, %heads_out[0, 0] : tensor<3x256xf32>
    %h16 = arith.truncf %h : tensor<3x256xf32> to tensor<3x256xbf16>
    mono.post %h16 to %rounded[0, 0] : tensor<3x256xbf16>
    %e = mono.load %extra[0, 0] [3, 512] : tensor<3x512xbf16>
    mono.post %e to %more[%rank, 0, 0] : tensor<3x512xbf16>
  }
  mono.call @project_output(%rounded, %w_o, %partial, %rank, %S, %hidden, %depth)
    : (!mono.mailbox, !mono.buffer, !mono.mailbox, index, index, index, index) -> ()
  mono.call @reduce_and_norm(%partial, %x, %gamma2, %stream, %residual, %scaled, %squares, %TP, %S, %hidden, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, !mono.mailbox, index, index, index, index) -> ()
  mono.stage "norm" (%t) tasks [1] base [150] {
    %rstd = mono.call @receive_rms(%squares, %S, %hidden, %eps) : (!mono.mailbox, index, index, f32) -> tensor<?xf32>
    mono.store %rstd, %factor[0] : tensor<?xf32>
    %zero = arith.constant 0 : index
    %half = arith.constant 256 : index
    mono.call @receive_normed(%scaled, %rstd, %into, %zero, %S, %half)
      : (!mono.mailbox, tensor<?xf32>, !mono.buffer, index, index, index) -> ()
    mono.call @receive_normed(%scaled, %rstd, %into, %half, %S, %half)
      : (!mono.mailbox, tensor<?xf32>, !mono.buffer, index, index, index) -> ()
    %n = mono.load %into[0, 0] [3, 512] : tensor<3x512xbf16>
    mono.store %n, %normed[0, 0] : tensor<3x512xbf16>
  }
  mono.call @add_output(%more, %stream, %y, %TP, %S, %hidden, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
})"};
  std::mt19937 random{5};
  std::vector<uint16_t> x, gamma, gamma2;
  std::vector<std::vector<uint16_t>> qkv, o, extra; ///< by rank

  std::vector<uint16_t> some(int count, double scale) {
    std::normal_distribution<double> normal(0, scale);
    std::vector<uint16_t> values;
    for (int i = 0; i < count; ++i)
      values.push_back(toBf16(float(normal(random))));
    return values;
  }

  void writeMatrix(const char *name, const std::vector<uint16_t> &values, int rows, int columns,
                   unsigned rank) {
    std::vector<uint8_t> bytes, packed(2 * values.size());
    for (uint16_t value : values)
      bytes.insert(bytes.end(), {uint8_t(value), uint8_t(value >> 8)});
    ASSERT_FALSE(
        bool(pack({{rows, columns}, ElementType::BF16, Layout::MfmaRows16}, bytes, packed)));
    gpus.write(name, packed, rank);
  }

  void SetUp() override {
    x = some(kRows * kHidden, 2);
    gamma = some(kHidden, 1);
    gamma2 = some(kHidden, 1);
    for (unsigned rank = 0; rank < kRanks; ++rank) {
      qkv.push_back(some(kDepth * kHidden, 0.05));
      o.push_back(some(kHidden * kDepth, 0.05));
      extra.push_back(some(kRows * kHidden, 1));
      gpus.write("x", x, rank);
      gpus.write("gamma", gamma, rank);
      gpus.write("gamma2", gamma2, rank);
      gpus.write("extra", extra.back(), rank);
      writeMatrix("w_qkv", qkv.back(), kDepth, kHidden, rank);
      writeMatrix("w_o", o.back(), kHidden, kDepth, rank);
    }
    gpus.launchOnAnyMemory();
  }

  double normOf(const std::vector<double> &row) {
    double square = 0;
    for (double value : row)
      square += value * value;
    return 1 / std::sqrt(square / double(row.size()) + kEps);
  }
};

TEST_F(DecoderStages, ProjectHeads) {
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    std::vector<float> heads = gpus.read<float>("heads", kRows * kDepth, rank);
    for (int row = 0; row < kRows; ++row) {
      std::vector<double> input;
      for (int k = 0; k < kHidden; ++k)
        input.push_back(toFloat(x[row * kHidden + k]));
      double rstd = normOf(input);
      for (int n = 0; n < kDepth; ++n) {
        double sum = 0, magnitude = 0;
        for (int k = 0; k < kHidden; ++k) {
          double product =
              input[k] * rstd * toFloat(gamma[k]) * toFloat(qkv[rank][n * kHidden + k]);
          sum += product;
          magnitude += std::abs(product);
        }
        // Each normed input is rounded to bf16.
        EXPECT_NEAR(heads[row * kDepth + n], sum, (kBf16 + f32Sum(2 * kHidden)) * magnitude)
            << "rank " << rank << ", row " << row << ", column " << n;
      }
    }
  }
}

TEST_F(DecoderStages, OutputProjectionAndResidual) {
  std::vector<uint16_t> residual = gpus.read<uint16_t>("residual", kRows * kHidden);
  EXPECT_EQ(gpus.read<uint16_t>("residual", kRows * kHidden, 1), residual);
  std::vector<std::vector<float>> heads;
  for (unsigned rank = 0; rank < kRanks; ++rank)
    heads.push_back(gpus.read<float>("heads", kRows * kDepth, rank));
  for (int row = 0; row < kRows; ++row)
    for (int n = 0; n < kHidden; ++n) {
      double sum = toFloat(x[row * kHidden + n]), bound = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        double part = 0, magnitude = 0;
        for (int k = 0; k < kDepth; ++k) {
          double product = double(toFloat(toBf16(heads[rank][row * kDepth + k]))) *
                           toFloat(o[rank][n * kDepth + k]);
          part += product;
          magnitude += std::abs(product);
        }
        sum += part;
        bound += kBf16 * std::abs(part) + f32Sum(kDepth) * magnitude;
      }
      EXPECT_NEAR(toFloat(residual[row * kHidden + n]), sum,
                  bound + kBf16 * (std::abs(sum) + bound))
          << "row " << row << ", column " << n;
    }
}

/// From the residual, which is known to bf16.
TEST_F(DecoderStages, Norm) {
  std::vector<uint16_t> residual = gpus.read<uint16_t>("residual", kRows * kHidden),
                        normed = gpus.read<uint16_t>("normed", kRows * kHidden);
  std::vector<float> factor = gpus.read<float>("factor", kRows);
  for (int row = 0; row < kRows; ++row) {
    std::vector<double> values;
    for (int c = 0; c < kHidden; ++c)
      values.push_back(toFloat(residual[row * kHidden + c]));
    double rstd = normOf(values);
    EXPECT_NEAR(factor[row], rstd, kBf16 * rstd) << row;
    for (int c = 0; c < kHidden; ++c) {
      // The residual's rounding, that of residual * gamma, and the last.
      double expected = values[c] * toFloat(gamma2[c]) * double(factor[row]);
      EXPECT_NEAR(toFloat(normed[row * kHidden + c]), expected, 3.1 * kBf16 * std::abs(expected))
          << "row " << row << ", column " << c;
    }
  }
}

TEST_F(DecoderStages, Output) {
  std::vector<uint16_t> residual = gpus.read<uint16_t>("residual", kRows * kHidden),
                        y = gpus.read<uint16_t>("y", kRows * kHidden);
  EXPECT_EQ(gpus.read<uint16_t>("y", kRows * kHidden, 1), y);
  for (int i = 0; i < kRows * kHidden; ++i) {
    double before = toFloat(residual[i]);
    double sum = before + toFloat(extra[0][i]) + toFloat(extra[1][i]);
    // The stream is kept in f32: the residual that is known is rounded, the stream is not.
    EXPECT_NEAR(toFloat(y[i]), sum, kBf16 * (std::abs(before) + std::abs(sum)) * (1 + kBf16)) << i;
  }
}

} // namespace
