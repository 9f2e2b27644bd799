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
constexpr int kExperts = 32;
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
  %w_router = mono.operand "w_router" read weight [32, 512] : bf16, #mono.mfma_rows<16>
  %ids = mono.operand "ids" read [3, 2] : i32
  %shares = mono.operand "shares" read [3, 2] : f32
  %router_logits = mono.operand "router_logits" write [3, 32] : f32
  %posted_logits = mono.operand "posted_logits" write [3, 32] : f32
  %topk_ids = mono.operand "topk_ids" write [3, 2] : i32
  %topk_weights = mono.operand "topk_weights" write [3, 2] : f32
  %projected = mono.mailbox "projected" tagged scope(device) slots(1) [3, 4, 64] : f32
  %rounded = mono.mailbox "rounded" tagged scope(device) slots(1) [3, 256] : bf16
  %partial = mono.mailbox "partial" tagged scope(peers) slots(2) [2, 3, 512] : bf16
  %scaled = mono.mailbox "scaled" tagged scope(device) slots(1) [3, 512] : bf16
  %squares = mono.mailbox "squares" tagged scope(device) slots(1) [4, 3] : f32
  %more = mono.mailbox "more" tagged scope(peers) slots(2) [2, 3, 512] : bf16
  %logits = mono.mailbox "logits" tagged scope(device) slots(1) [3, 32] : f32
  %stream = mono.region "stream" [3, 128] : f32
  %row = mono.region "row" [3, 512] pad(8) : bf16
  %route_ids = mono.region "route_ids" [3, 2] : i32
  %route_weights = mono.region "route_weights" [3, 2] : f32
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
  %experts = arith.constant 32 : index
  %chosen = arith.constant 2 : index
  mono.call @project_logits(%scaled, %squares, %w_router, %row, %router_logits, %logits, %S, %hidden, %experts, %eps, %base)
    : (!mono.mailbox, !mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, f32, index) -> ()
  mono.stage "route" (%t) tasks [1] base [%base] {
    %l = mono.receive %logits[0, 0] [3, 32] : tensor<3x32xf32>
    mono.store %l, %posted_logits[0, 0] : tensor<3x32xf32>
    %i = mono.load %ids[0, 0] [3, 2] : tensor<3x2xi32>
    mono.store %i, %route_ids[0, 0] : tensor<3x2xi32>
    %s = mono.load %shares[0, 0] [3, 2] : tensor<3x2xf32>
    mono.store %s, %route_weights[0, 0] : tensor<3x2xf32>
  }
  mono.call @store_routing(%route_ids, %route_weights, %topk_ids, %topk_weights, %S, %chosen, %base)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index) -> ()
  mono.call @add_output(%more, %stream, %y, %TP, %S, %hidden, %base)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
})"};
  std::mt19937 random{5};
  std::vector<uint16_t> x, gamma, gamma2, router;
  const std::vector<int32_t> ids{4, 30, 0, 1, 7, 31};
  const std::vector<float> shares{0.5f, 2.0f, 1.25f, 0.125f, 3.0f, 0.75f};
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
    router = some(kExperts * kHidden, 0.05);
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
      writeMatrix("w_router", router, kExperts, kHidden, rank);
      gpus.write("ids", ids, rank);
      gpus.write("shares", shares, rank);
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

/// From the residual and the factor of each row.
TEST_F(DecoderStages, Router) {
  std::vector<uint16_t> residual = gpus.read<uint16_t>("residual", kRows * kHidden);
  std::vector<float> factor = gpus.read<float>("factor", kRows),
                     logits = gpus.read<float>("router_logits", kRows * kExperts);
  EXPECT_EQ(gpus.read<float>("posted_logits", kRows * kExperts), logits);
  for (int row = 0; row < kRows; ++row)
    for (int e = 0; e < kExperts; ++e) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < kHidden; ++k) {
        double product = double(toFloat(residual[row * kHidden + k])) * toFloat(gamma2[k]) *
                         toFloat(router[e * kHidden + k]) * factor[row];
        sum += product;
        magnitude += std::abs(product);
      }
      // The residual's rounding, which the stages do not see, and that of residual * gamma.
      EXPECT_NEAR(logits[row * kExperts + e], sum, (2.1 * kBf16 + f32Sum(kHidden)) * magnitude)
          << "row " << row << ", expert " << e;
    }
  EXPECT_EQ(gpus.read<int32_t>("topk_ids", ids.size()), ids);
  EXPECT_EQ(gpus.read<float>("topk_weights", shares.size()), shares);
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

/// Two heads of keys of two rows, behind one of queries: rotated, in the cache, and to this launch.
TEST(DecoderHeads, AreRotatedAndKept) {
  constexpr int kTokens = 2, kProjected = 3, kKeys = 2, kPages = 2, kPage = 4;
  OneGpu gpu(R"(mono.import "schedules/decoder.mlir"
mono.import "schedules/paged_cache.mlir"
mono.schedule @heads target("gfx950") grid(8 x 64) {
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %dim = arith.constant 64 : index
  %projected = mono.operand "projected" read [2, 3, 64] : f32
  %angles = mono.operand "angles" read [2, 64] : f32
  %table = mono.operand "table" read [2, 2] : i32
  %positions = mono.operand "positions" read [2] : i32
  %cache = mono.operand "cache" update [16, 2, 64] : bf16
  %received = mono.operand "received" write [2, 2, 64] : bf16
  %qkv = mono.mailbox "qkv" tagged scope(device) slots(1) [2, 3, 64] : f32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [4] : i32
  %new = mono.mailbox "new" tagged scope(device) slots(1) [2, 2, 64] : bf16
  mono.call @post_places(%table, %positions, %places, %two, %two, %two, %four, %one)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.stage "bring" (%t) tasks [1] base [0] {
    %all = mono.load %projected[0, 0, 0] [2, 3, 64] : tensor<2x3x64xf32>
    mono.post %all to %qkv[0, 0, 0] : tensor<2x3x64xf32>
  }
  mono.stage "keep" (%t) tasks [4] base [2] {
    %row = mono.load %angles[%t floordiv 2, 0] [1, 64] : tensor<1x64xf32>
    %place = mono.receive %places[%t] [1] : tensor<1xi32>
    %head = mono.call @receive_head(%qkv, %t, %two, %one, %dim)
      : (!mono.mailbox, index, index, index, index) -> tensor<1x64xf32>
    %rotated = mono.call @rotate_head(%head, %row, %dim)
      : (tensor<1x64xf32>, tensor<1x64xf32>, index) -> tensor<1x64xbf16>
    mono.call @keep_head(%rotated, %place, %cache, %new, %t, %two)
      : (tensor<1x64xbf16>, tensor<1xi32>, !mono.buffer, !mono.mailbox, index, index) -> ()
  }
  mono.stage "take" (%t) tasks [1] base [7] {
    %heads = mono.receive %new[0, 0, 0] [2, 2, 64] : tensor<2x2x64xbf16>
    mono.store %heads, %received[0, 0, 0] : tensor<2x2x64xbf16>
  }
})");
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> projected(kTokens * kProjected * kDim), angles;
  for (float &value : projected)
    value = normal(random);
  for (int row = 0; row < kTokens; ++row)
    for (double (*of)(double) :
         {+[](double a) { return std::cos(a); }, +[](double a) { return std::sin(a); }})
      for (int i = 0; i < kDim / 2; ++i)
        angles.push_back(float(of(0.1 * i + row)));
  const std::vector<int32_t> table{3, 1, 0, 2}, positions{5, 2};
  const std::vector<uint16_t> cache(kTokens * kPages * kPage * kKeys * kDim, 0x4242);
  gpu.write("projected", projected);
  gpu.write("angles", angles);
  gpu.write("table", table);
  gpu.write("positions", positions);
  gpu.write("cache", cache);
  gpu.launchOnAnyMemory();
  auto received = gpu.read<uint16_t>("received", kTokens * kKeys * kDim);
  std::vector<uint16_t> kept = cache;
  for (int row = 0; row < kTokens; ++row)
    for (int head = 0; head < kKeys; ++head) {
      const float *raw = &projected[(row * kProjected + 1 + head) * kDim];
      const uint16_t *got = &received[(row * kKeys + head) * kDim];
      for (int i = 0; i < kDim; ++i) {
        int pair = i % (kDim / 2);
        double cos = angles[row * kDim + pair], sin = angles[row * kDim + kDim / 2 + pair];
        double a = raw[pair], b = raw[pair + kDim / 2];
        double expected = i < kDim / 2 ? a * cos - b * sin : a * sin + b * cos;
        EXPECT_NEAR(toFloat(got[i]), expected,
                    kBf16 * std::abs(expected) + f32Sum(4) * (std::abs(a) + std::abs(b)))
            << "row " << row << ", head " << head << ", column " << i;
      }
      int block = table[row * kPages + positions[row] / kPage];
      int place = block * kPage + positions[row] % kPage;
      std::copy_n(got, kDim, kept.begin() + (place * kKeys + head) * kDim);
    }
  EXPECT_EQ(gpu.read<uint16_t>("cache", cache.size()), kept);
}

} // namespace
