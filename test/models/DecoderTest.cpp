// Decoder layers with grouped-query attention: parts of the reference on numbers worked out by
// hand, the operands of ranks, and the checks of sizes.
#include "models/decoder/Decoder.h"
#include "models/BFloat16.h"
#include "models/ReferenceOps.h"
#include "models/SyntheticCheckpoint.h"
#include "models/decoder/DecoderModels.h"
#include "models/decoder/DecoderWeights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

using namespace mono;
using namespace mono::models;
using namespace mono::models::decoder;

namespace {

DecoderSizes smallSizes() {
  DecoderSizes sizes;
  sizes.hidden = 128;
  sizes.heads = 8;
  sizes.kvHeads = 2;
  sizes.dim = 16;
  sizes.mlp = 256;
  sizes.context = 64;
  sizes.page = 8;
  return sizes;
}

/// The manifest of a kernel with these sizes; every operand row-major.
Manifest manifestOf(const DecoderModel &model, const DecoderSizes &sizes) {
  Manifest manifest;
  manifest.kernel = manifest.schedule = model.schedule.str();
  auto param = [&](const char *name, size_t value) {
    manifest.params.emplace_back(name, static_cast<int64_t>(value));
  };
  param("S", sizes.rows);
  param("TP", sizes.ranks);
  param("CTX", sizes.context);
  param("PAGE", sizes.page);
  param("SPLITS", sizes.splits);
  param("HIDDEN", sizes.hidden);
  param("HEADS", sizes.heads);
  param("KV_HEADS", sizes.kvHeads);
  param("DIM", sizes.dim);
  param(model.hasExperts ? "MOE" : "MLP", sizes.mlp);
  param("EXPERTS", sizes.experts);
  param("CHOSEN", sizes.chosen);
  for (const OperandSpec &expected : decoderOperands(model, sizes)) {
    Operand operand;
    operand.name = expected.name;
    operand.access = expected.access;
    operand.type.shape = expected.shape;
    operand.type.element = expected.element;
    manifest.operands.push_back(operand);
  }
  manifest.ranks = static_cast<unsigned>(sizes.ranks);
  return manifest;
}

TEST(RotateHalves, ByHand) {
  // Pairs (0, 2) and (1, 3), with frequencies 1 and 1e-3.
  std::vector<double> v = {1, 0, 0, 2};
  rotateHalves(v, std::vector<double>{1, 1e-3}, 3);
  EXPECT_NEAR(v[0], std::cos(3.0), 1e-15);
  EXPECT_NEAR(v[2], std::sin(3.0), 1e-15);
  EXPECT_NEAR(v[1], -2 * std::sin(0.003), 1e-15);
  EXPECT_NEAR(v[3], 2 * std::cos(0.003), 1e-15);
}

TEST(Frequencies, Llama3ScalesSlowPairs) {
  std::vector<double> plain = powerFrequencies(500000, 128), scaled = llama3Frequencies(128);
  EXPECT_EQ(plain[0], 1);
  EXPECT_NEAR(plain[32], std::sqrt(1 / std::sqrt(500000.0)) * std::pow(500000.0, -0.25), 1e-15);
  for (size_t i = 0; i < 64; ++i) {
    // Wavelengths of 8192 / 4 = 2048 tokens at most are kept, of 8192 at least are 8 times as long.
    double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength <= 2048)
      EXPECT_EQ(scaled[i], plain[i]) << i;
    else if (wavelength >= 8192)
      EXPECT_DOUBLE_EQ(scaled[i], plain[i] / 8) << i;
    else {
      // Hugging Face's formula: (1 - s) f / 8 + s f.
      double s = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_DOUBLE_EQ(scaled[i], (1 - s) * plain[i] / 8 + s * plain[i]) << i;
    }
  }
  EXPECT_DOUBLE_EQ(qwen3Frequencies(128)[32], 1e-3);
}

TEST(Softmax, OfChosenLogits) {
  RoutingRule rule = softmaxRule(2);
  Routing routing = routeLogits({0, std::log(3.0), -5, 1, 2, 2, 2, 0}, 2, rule);
  EXPECT_EQ(routing.ids, (std::vector<int32_t>{1, 3, 0, 1}));
  EXPECT_NEAR(routing.weights[0], 3 / (3 + std::numbers::e), 1e-15);
  EXPECT_EQ(routing.weights[2], 0.5);
  EXPECT_EQ(expertsInReach(routing, rule, 0.5), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(expertsInReach(routeLogits({1, 0, 3, 0.5}, 1, rule), rule, 0.4),
            (std::vector<bool>{true, false, true, false}));
}

TEST(DecoderLayer, OneTokenAttendsToItself) {
  // At position 0 there is nothing but the token itself: a head's output is its group's new value.
  DecoderSizes sizes = smallSizes();
  sizes.rows = 2;
  DecoderInputs inputs = randomDecoderInputs(sizes, 1);
  inputs.positions = {0, 0};
  SyntheticCheckpoint checkpoint({});
  DecoderAttention attention = DecoderLayer(llama3, sizes, 3, checkpoint, inputs).attend();
  for (size_t row = 0; row < 2; ++row)
    for (size_t head = 0; head < 8; ++head)
      for (size_t c = 0; c < 16; ++c)
        EXPECT_NEAR(attention.heads[(row * 8 + head) * 16 + c],
                    attention.value[(row * 2 + head / 4) * 16 + c], 1e-14);
}

TEST(DecoderLayer, QkNormMakesHeadsOfOneSize) {
  DecoderSizes sizes = smallSizes();
  DecoderInputs inputs = randomDecoderInputs(sizes, 1);
  SyntheticCheckpoint checkpoint({});
  DecoderModel model = llama3;
  model.hasQkNorm = true;
  DecoderAttention attention = DecoderLayer(model, sizes, 3, checkpoint, inputs).attend();
  std::vector<uint16_t> norm = checkpoint.bf16(DecoderTensors(sizes, 3).queryNorm);
  double least = HUGE_VAL, most = 0;
  for (uint16_t weight : norm) {
    least = std::min(least, double(toFloat(weight)));
    most = std::max(most, double(toFloat(weight)));
  }
  for (size_t head = 0; head < 8; ++head) {
    auto query = llvm::ArrayRef(attention.query).slice(head * 16, 16);
    double rms = std::sqrt(dot(query, query) / 16);
    EXPECT_GE(rms, 0.999 * least);
    EXPECT_LE(rms, most);
  }
}

TEST(DecoderWeights, RanksShareKeyHeads) {
  // Four ranks, two key heads: ranks 0 and 1 have the first.
  DecoderSizes sizes = smallSizes();
  sizes.ranks = 4;
  SyntheticCheckpoint checkpoint({});
  DecoderWeights weights(llama3, sizes, 3, checkpoint);
  DecoderTensors tensors(sizes, 3);
  std::vector<uint16_t> key = checkpoint.bf16(tensors.key), query = checkpoint.bf16(tensors.query);
  size_t headSize = sizes.dim * sizes.hidden;
  for (unsigned rank = 0; rank < 4; ++rank) {
    std::vector<uint16_t> qkv(4 * headSize); // two query heads, a key head, a value head
    weights.fill(rank, "w_qkv", 0, {reinterpret_cast<uint8_t *>(qkv.data()), 2 * qkv.size()});
    EXPECT_EQ(llvm::ArrayRef(qkv).slice(2 * headSize, headSize),
              llvm::ArrayRef(key).slice(rank / 2 * headSize, headSize));
    EXPECT_EQ(llvm::ArrayRef(qkv).take_front(2 * headSize),
              llvm::ArrayRef(query).slice(rank * 2 * headSize, 2 * headSize));
  }
}

TEST(DecoderWeights, DepthOfExpertsIsPadded) {
  DecoderSizes sizes = smallSizes();
  sizes.ranks = 2;
  sizes.mlp = 192; // 96 units a rank, in tiles of 128
  sizes.experts = 2;
  ASSERT_EQ(sizes.paddedMlpPerRank(), 128u);
  SyntheticCheckpoint checkpoint({});
  DecoderWeights weights(qwen3Moe, sizes, 3, checkpoint);
  CheckpointTensor tensor = DecoderTensors(sizes, 3).expert(1, DecoderTensors::Projection::Down);
  std::vector<uint8_t> codes(sizes.hidden * 64), scales(sizes.hidden * 4), all(tensor.elements());
  checkpoint.read(tensor, 0, all);
  weights.fill(1, "w_down", 1, codes);
  weights.fill(1, "w_down_scale", 1, scales);
  for (size_t row = 0; row < sizes.hidden; ++row) {
    EXPECT_EQ(llvm::ArrayRef(codes).slice(row * 64, 48),
              llvm::ArrayRef(all).slice(row * 96 + 48, 48));
    EXPECT_EQ(codes[row * 64 + 48], 0);
    EXPECT_EQ(codes[row * 64 + 63], 0);
    EXPECT_EQ(scales[row * 4 + 3], 127);
  }
}

TEST(DecoderInputs, MeetEveryBorder) {
  DecoderSizes sizes = smallSizes();
  sizes.rows = 8;
  sizes.splits = 2;
  std::vector<int32_t> positions = spreadPositions(sizes);
  EXPECT_EQ(positions, (std::vector<int32_t>{63, 0, 32, 31, 31, 39, 47, 55}));
  sizes.ordered = true;
  EXPECT_EQ(spreadPositions(sizes), (std::vector<int32_t>{28, 29, 30, 31, 32, 33, 34, 35}));
  DecoderInputs inputs = randomDecoderInputs(sizes, 1);
  // Earlier tokens are there, the launch's own and later ones are not.
  size_t width = 2 * 16;
  for (size_t token = 0; token < 64; ++token)
    EXPECT_EQ(inputs.cacheK[inputs.cacheRow(5, token) * width + 7] == 0x7FC0, token >= 28) << token;
}

std::string fault(const DecoderModel &model, const Manifest &manifest) {
  return llvm::toString(readDecoderSizes(model, manifest).takeError());
}

TEST(DecoderSizes, AreRead) {
  DecoderSizes sizes = smallSizes();
  sizes.ranks = 4;
  auto read = readDecoderSizes(llama3, manifestOf(llama3, sizes));
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->kvHeadsPerRank(), 1u);
  EXPECT_EQ(read->firstKvHead(3), 1u);
}

TEST(DecoderSizes, AreChecked) {
  auto with = [](auto change) {
    DecoderSizes sizes = smallSizes();
    change(sizes);
    return llvm::toString(checkDecoderSizes(sizes));
  };
  EXPECT_EQ(with([](DecoderSizes &s) { s.ranks = 3; }),
            "expected HEADS to be a multiple of TP = 3, but got 8");
  EXPECT_EQ(with([](DecoderSizes &s) { s.kvHeads = 3; }),
            "expected HEADS to be a multiple of KV_HEADS = 3, but got 8");
  EXPECT_EQ(
      with([](DecoderSizes &s) {
        s.heads = 24;
        s.kvHeads = 6;
        s.ranks = 4;
      }),
      "expected the larger of KV_HEADS and TP to be a multiple of the smaller = 4, but got 6");
  EXPECT_EQ(with([](DecoderSizes &s) { s.mlp = 40; }),
            "expected the units of the MLP to be a multiple of 16 TP = 16, but got 40");
  EXPECT_EQ(with([](DecoderSizes &s) { s.splits = 4; }),
            "expected CTX to be a multiple of 32 SPLITS = 128, but got 64");
  EXPECT_EQ(with([](DecoderSizes &s) { s.chosen = 1; }),
            "expected CHOSEN to be at most EXPERTS = 0, but got 1");
  EXPECT_EQ(with([](DecoderSizes &s) {
              s.ordered = true;
              s.rows = 65;
            }),
            "expected S to be at most CTX = 64, but got 65");
}

TEST(DecoderSizes, OperandsAreChecked) {
  Manifest manifest = manifestOf(llama3, smallSizes());
  manifest.operands.pop_back();
  EXPECT_EQ(fault(llama3, manifest), "expected 14 operands, but got 13");
  manifest = manifestOf(llama3, smallSizes());
  manifest.operands[0].type.shape[1] = 64;
  EXPECT_EQ(fault(llama3, manifest), "operand 'x': expected bf16 [1, 128], but got bf16 [1, 64]");
  manifest = manifestOf(llama3, smallSizes());
  manifest.params.erase(manifest.params.begin() + 7);
  EXPECT_EQ(fault(llama3, manifest), "kernel 'llama3_layer' has no parameter 'KV_HEADS'");
}

} // namespace
