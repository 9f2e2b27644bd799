// schedules/collective.mlir on several emulated GPUs, whatever their memory does.
#include "models/BFloat16.h"
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  int ranks;
  uint64_t seed = 0; ///< of adversarial memory; 0: coherent
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.ranks << " ranks, " << (s.seed ? "adversarial" : "coherent");
}

constexpr int kRows = 3, kShare = 64;

class Collective : public testing::TestWithParam<Shape> {};

TEST_P(Collective, SumsAndGathers) {
  auto [ranks, seed] = GetParam();
  int columns = ranks * kShare;
  emu::Options options;
  if (seed)
    options.coherence = emu::Coherence::adversarial(seed);
  OneGpu gpus(R"(mono.import "schedules/collective.mlir"
mono.schedule @collectives target("gfx950") grid(16 x 64) {
  %R = mono.param "R" in [1, 2, 4, 8]
  %rank = mono.ranks [%R]
  %S = arith.constant 3 : index
  %width = arith.constant 32 : index
  %perShare = arith.constant 2 : index
  %share = arith.constant 64 : index
  %tasks = arith.muli %R, %perShare : index
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %x = mono.operand "x" read [3, %R * 64] : bf16
  %own = mono.operand "own" read [3, 64] : bf16
  %residual = mono.operand "residual" read [3, %R * 64] : bf16
  %reduced = mono.operand "reduced" write [3, %R * 64] : bf16
  %added = mono.operand "added" write [3, %R * 64] : bf16
  %last = mono.operand "last" write [3, %R * 64] : bf16
  %columns = mono.operand "columns" write [3, %R * 64] : bf16
  %handed = mono.operand "handed" write [3, %R * 64] : bf16
  %gathered = mono.operand "gathered" write [3, %R * 64] : bf16
  %scattered = mono.operand "scattered" write [3, 64] : bf16
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [%R, 3, %R * 64] : bf16
  %shares = mono.mailbox "shares" tagged scope(peers) slots(2) [%R, 3, 64] : bf16
  %result = mono.mailbox "result" tagged scope(device) slots(1) [3, %R * 64] : bf16
  mono.stage "post" (%t) tasks [1] base [15] {
    %v = mono.load %x[0, 0] [3, %R * 64] : tensor<3x?xbf16>
    mono.post %v to %parts[%rank, 0, 0] : tensor<3x?xbf16>
    %w = mono.load %own[0, 0] [3, 64] : tensor<3x64xbf16>
    mono.post %w to %shares[%rank, 0, 0] : tensor<3x64xbf16>
  }
  mono.call @all_reduce(%parts, %reduced, %R, %S, %width, %tasks, %zero)
    : (!mono.mailbox, !mono.buffer, index, index, index, index, index) -> ()
  mono.call @all_reduce_residual(%parts, %residual, %added, %result, %R, %S, %width, %tasks, %five)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.call @all_reduce_add(%parts, %residual, %last, %R, %S, %width, %tasks, %zero)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, index, index, index, index, index) -> ()
  mono.call @all_gather(%shares, %gathered, %R, %S, %share, %five)
    : (!mono.mailbox, !mono.buffer, index, index, index, index) -> ()
  mono.call @reduce_scatter(%parts, %scattered, %rank, %R, %S, %width, %perShare, %zero)
    : (!mono.mailbox, !mono.buffer, index, index, index, index, index, index) -> ()
  mono.stage "apart" (%t) tasks [%tasks] base [0] {
    %v = mono.call @residual_columns(%parts, %residual, %t, %R, %S, %width)
      : (!mono.mailbox, !mono.buffer, index, index, index, index) -> tensor<?x?xbf16>
    mono.store %v, %columns[0, %t * 32] : tensor<?x?xbf16>
  }
  mono.stage "take" (%t) tasks [1] base [3] {
    %v = mono.receive %result[0, 0] [3, %R * 64] : tensor<3x?xbf16>
    mono.store %v, %handed[0, 0] : tensor<3x?xbf16>
  }
})",
              options, {{"R", ranks}});
  std::mt19937 random(ranks);
  std::normal_distribution<float> normal;
  auto values = [&](int count) {
    std::vector<uint16_t> result;
    for (int i = 0; i < count; ++i)
      result.push_back(toBf16(normal(random) * std::exp2(float(int(random() % 8)) - 4)));
    return result;
  };
  // Twice: what a launch left behind must not do for the next.
  for (int launch = 0; launch < 2; ++launch) {
    std::vector<std::vector<uint16_t>> x, own;
    std::vector<uint16_t> residual = values(kRows * columns);
    for (int rank = 0; rank < ranks; ++rank) {
      x.push_back(values(kRows * columns));
      own.push_back(values(kRows * kShare));
      gpus.write("x", x.back(), rank);
      gpus.write("own", own.back(), rank);
      gpus.write("residual", residual, rank);
      for (const char *name : {"reduced", "added", "last", "columns", "handed", "gathered"})
        gpus.write(name, std::vector<uint16_t>(kRows * columns, 0x7FC1), rank);
      gpus.write("scattered", std::vector<uint16_t>(kRows * kShare, 0x7FC1), rank);
    }
    gpus.launch();
    // The order of the sum is part of what is promised: from rank 0 on, in f32.
    std::vector<uint16_t> reduced, added, gathered;
    for (int i = 0; i < kRows * columns; ++i) {
      int row = i / columns, column = i % columns;
      float sum = toFloat(x[0][i]);
      for (int rank = 1; rank < ranks; ++rank)
        sum += toFloat(x[rank][i]);
      reduced.push_back(toBf16(sum));
      added.push_back(toBf16(toFloat(residual[i]) + sum));
      gathered.push_back(own[column / kShare][row * kShare + column % kShare]);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE(testing::Message() << "launch " << launch << ", rank " << rank);
      std::vector<uint16_t> share;
      for (int i = 0; i < kRows * kShare; ++i)
        share.push_back(reduced[i / kShare * columns + rank * kShare + i % kShare]);
      EXPECT_EQ(gpus.read<uint16_t>("reduced", reduced.size(), rank), reduced);
      for (const char *name : {"added", "last", "columns", "handed"})
        EXPECT_EQ(gpus.read<uint16_t>(name, added.size(), rank), added) << name;
      EXPECT_EQ(gpus.read<uint16_t>("gathered", gathered.size(), rank), gathered);
      EXPECT_EQ(gpus.read<uint16_t>("scattered", share.size(), rank), share);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collective,
                         testing::Values(Shape{1}, Shape{2}, Shape{4}, Shape{8}, Shape{2, 1},
                                         Shape{4, 2}, Shape{8, 3}));

} // namespace
