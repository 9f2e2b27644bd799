// schedules/vocabulary.mlir: embeddings and the best tokens of a vocabulary over workgroups and
// ranks.
#include "models/BFloat16.h"
#include "test/lowering/Device/OneGpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  int ranks, rows, tiles, k; ///< tiles of 32 tokens on each rank
  uint64_t seed = 0;         ///< of adversarial memory; 0: coherent
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.k << " best, " << s.rows << " rows, " << s.ranks << " ranks of " << s.tiles << " tiles, "
      << (s.seed ? "adversarial" : "coherent");
}

class Tokens : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  int share = s.tiles * 32, vocabulary = s.ranks * share;
  std::mt19937 random{uint32_t(s.tiles * 10 + s.k)};

  /// Few different values, so that there are ties in a tile, over tiles and over ranks; row 1 has
  /// fewer than k tokens that may be chosen, row 2 none.
  std::vector<float> makeLogits() {
    std::vector<float> logits;
    for (int i = 0; i < s.rows * vocabulary; ++i) {
      float logit = float(int(random() % 64)) / 8 - 4;
      bool masked = (i / vocabulary == 1 && i % vocabulary % 40 != 7) || i / vocabulary == 2;
      logits.push_back(masked ? -INFINITY : logit);
    }
    return logits;
  }
};

TEST_P(Tokens, AreTheBestOfAllRanks) {
  emu::Options options;
  if (s.seed)
    options.coherence = emu::Coherence::adversarial(s.seed);
  OneGpu gpus(R"(mono.import "schedules/vocabulary.mlir"
mono.schedule @tokens target("gfx950") grid(16 x 256) {
  %R = mono.param "R" in [1, 2, 4, 8]
  %S = mono.param "S" in [1 to 8]
  %T = mono.param "T" in [1 to 64]
  %K = mono.param "K" in [1 to 32]
  %rank = mono.ranks [%R]
  %width = arith.constant 32 : index
  %base = arith.constant 8 : index
  %perRank = arith.muli %T, %K : index
  %N = arith.muli %R, %perRank : index
  %logits = mono.operand "logits" read [%S, %T * 32] : f32
  %tokens = mono.operand "tokens" write [%S, %K] : i32
  %best = mono.operand "best" write [%S, %K] : f32
  %alone = mono.operand "alone" write [%S, %K] : i32
  %values = mono.mailbox "values" tagged scope(peers) slots(2) [%S, %N] : f32
  %candidates = mono.mailbox "candidates" tagged scope(peers) slots(2) [%S, %N] : i32
  mono.stage "tiles" (%t) tasks [%T] base [0] {
    %l = mono.load %logits[0, %t * 32] [%S, 32] : tensor<?x32xf32>
    %tilesBefore = arith.muli %rank, %T : index
    %tile = arith.addi %tilesBefore, %t : index
    %first = arith.muli %tile, %width : index
    %v, %c = mono.call @tile_candidates(%l, %first, %K, %S, %width)
      : (tensor<?x32xf32>, index, index, index, index) -> (tensor<?x?xf32>, tensor<?x?xi32>)
    mono.post %v to %values[0, (%rank * symbol(%T) + %t) * symbol(%K)] : tensor<?x?xf32>
    mono.post %c to %candidates[0, (%rank * symbol(%T) + %t) * symbol(%K)] : tensor<?x?xi32>
  }
  mono.call @select_tokens(%values, %candidates, %tokens, %best, %K, %N, %S, %base)
    : (!mono.mailbox, !mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
  // What a stage of the caller's finds.
  %list = mono.region "list" [%N] : i32
  mono.stage "select_alone" (%t) tasks [%S] base [0] {
    %ids, %value = mono.call @best_candidates(%values, %candidates, %list, %t, %K, %N)
      : (!mono.mailbox, !mono.mailbox, !mono.buffer, index, index, index)
      -> (tensor<1x?xi32>, tensor<1x?xf32>)
    mono.store %ids, %alone[%t, 0] : tensor<1x?xi32>
  }
})",
              options, {{"R", s.ranks}, {"S", s.rows}, {"T", s.tiles}, {"K", s.k}});
  std::vector<float> logits = makeLogits();
  for (int rank = 0; rank < s.ranks; ++rank) {
    std::vector<float> own;
    for (int row = 0; row < s.rows; ++row) {
      auto first = logits.begin() + row * vocabulary + rank * share;
      own.insert(own.end(), first, first + share);
    }
    gpus.write("logits", own, rank);
    gpus.write("tokens", std::vector<int32_t>(s.rows * s.k, 12345), rank);
    gpus.write("best", std::vector<float>(s.rows * s.k, NAN), rank);
  }
  gpus.launch();
  std::vector<int32_t> tokens;
  std::vector<float> best;
  for (int row = 0; row < s.rows; ++row) {
    const float *own = &logits[row * vocabulary];
    std::vector<int32_t> order(vocabulary);
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](int32_t token) { return std::isinf(own[token]); });
    std::sort(order.begin(), order.end(),
              [&](int32_t a, int32_t b) { return std::pair(-own[a], a) < std::pair(-own[b], b); });
    order.resize(std::min<size_t>(order.size(), s.k));
    std::sort(order.begin(), order.end());
    for (int i = 0; i < s.k; ++i) {
      bool found = i < int(order.size());
      tokens.push_back(found ? order[i] : -1);
      best.push_back(found ? own[order[i]] : 0);
    }
  }
  for (int rank = 0; rank < s.ranks; ++rank) {
    EXPECT_EQ(gpus.read<int32_t>("tokens", tokens.size(), rank), tokens) << "rank " << rank;
    EXPECT_EQ(gpus.read<int32_t>("alone", tokens.size(), rank), tokens) << "rank " << rank;
    EXPECT_EQ(gpus.read<float>("best", best.size(), rank), best) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Tokens,
                         testing::Values(Shape{1, 4, 20, 1}, Shape{2, 3, 16, 1}, Shape{8, 4, 5, 1},
                                         Shape{4, 4, 10, 8}, Shape{1, 3, 40, 32},
                                         Shape{2, 4, 7, 3, 1}, Shape{8, 3, 2, 1, 2}));

TEST(Embedding, RowsAndShares) {
  constexpr int kVocabulary = 64, kHidden = 96, kTokens = 5;
  OneGpu gpus(R"(mono.import "schedules/vocabulary.mlir"
mono.schedule @embedding target("gfx950") grid(4 x 128) {
  %rank = mono.ranks [2]
  %count = arith.constant 5 : index
  %half = arith.constant 32 : index
  %whole = mono.operand "whole" read [64, 96] : bf16
  %share = mono.operand "share" read [32, 96] : bf16
  %tokens = mono.operand "tokens" read [5] : i32
  %x = mono.operand "x" write [5, 96] : bf16
  %y = mono.operand "y" write [5, 96] : bf16
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [2, 5, 96] : bf16
  mono.stage "embed" (%t) tasks [1] base [0] {
    %ids = mono.load %tokens[0] [5] : tensor<5xi32>
    %e = mono.call @embed(%whole, %ids) : (!mono.buffer, tensor<5xi32>) -> tensor<?x?xbf16>
    mono.store %e, %x[0, 0] : tensor<?x?xbf16>
    %s = mono.call @embed_share(%share, %ids, %rank, %half, %count)
      : (!mono.buffer, tensor<5xi32>, index, index, index) -> tensor<?x?xbf16>
    mono.post %s to %parts[%rank, 0, 0] : tensor<?x?xbf16>
  }
  mono.stage "add" (%t) tasks [1] base [1] {
    %sum = mono.receive %parts[0, 0, 0] [2, 5, 96] sum : tensor<5x96xf32>
    %sum16 = arith.truncf %sum : tensor<5x96xf32> to tensor<5x96xbf16>
    mono.store %sum16, %y[0, 0] : tensor<5x96xbf16>
  }
})");
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> table(kVocabulary * kHidden);
  for (uint16_t &value : table)
    value = toBf16(normal(random));
  std::vector<int32_t> tokens = {63, 0, 31, 32, 17};
  for (unsigned rank = 0; rank < 2; ++rank) {
    auto first = table.begin() + rank * 32 * kHidden;
    gpus.write("whole", table, rank);
    gpus.write("share", std::vector<uint16_t>(first, first + 32 * kHidden), rank);
    gpus.write("tokens", tokens, rank);
  }
  gpus.launchOnAnyMemory();
  std::vector<uint16_t> expected;
  for (int32_t token : tokens)
    expected.insert(expected.end(), table.begin() + token * kHidden,
                    table.begin() + (token + 1) * kHidden);
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(gpus.read<uint16_t>("x", kTokens * kHidden, rank), expected);
    EXPECT_EQ(gpus.read<uint16_t>("y", kTokens * kHidden, rank), expected);
  }
}

} // namespace
