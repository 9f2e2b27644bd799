// The expert stages of schedules/experts.mlir on several ranks against double precision, for
// weights of every format with scales.
#include "test/schedules/WeightMatrices.h"

#include <set>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  WeightFormat format;
  int ranks, rows, chosen, experts;
  bool isApart = true; ///< gate and up in operands of their own
};

void PrintTo(const Shape &s, std::ostream *os) {
  const char *names[] = {"bf16", "MXFP4", "MXFP8", "FP8 in blocks"};
  *os << names[int(s.format)] << ", " << s.rows << " rows choose " << s.chosen << " of "
      << s.experts << " on " << s.ranks << " ranks, gate and up "
      << (s.isApart ? "apart" : "in one");
}

constexpr int kHidden = 256, kUnits = 128; ///< units of a rank

class ExpertMlp : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.rows * 100 + s.experts)};
  std::vector<uint16_t> x;
  std::vector<int32_t> ids;
  std::vector<float> share;
  /// By rank. Interleaved, gate holds both.
  std::vector<WeightMatrices> gate, up, down;

  void SetUp() override {
    std::normal_distribution<float> normal;
    for (int i = 0; i < s.rows * kHidden; ++i)
      x.push_back(toBf16(normal(random) / 64));
    for (int row = 0; row < s.rows; ++row) {
      std::set<int32_t> chosen;
      while (int(chosen.size()) < s.chosen)
        chosen.insert(int32_t(random() % s.experts));
      ids.insert(ids.end(), chosen.begin(), chosen.end());
    }
    for (size_t i = 0; i < ids.size(); ++i)
      share.push_back(0.25f + std::abs(normal(random)));
    int rows = s.isApart ? kUnits : 2 * kUnits;
    for (int rank = 0; rank < s.ranks; ++rank) {
      gate.emplace_back(s.format, s.experts, rows, kHidden, random);
      up.emplace_back(s.format, s.experts, rows, kHidden, random);
      down.emplace_back(s.format, s.experts, kHidden, kUnits, random);
    }
  }

  std::string schedule() const {
    std::string weights = s.isApart
                              ? WeightMatrices::declare(s.format, "w_gate", "%E, ", "128", "256") +
                                    WeightMatrices::declare(s.format, "w_up", "%E, ", "128", "256")
                              : WeightMatrices::declare(s.format, "w_gate", "%E, ", "256", "256");
    std::string call =
        s.isApart
            ? R"(@experts_gate_up_apart(%row, %w_gate, %w_gate_scale, %w_up, %w_up_scale, %groups, %weight, %units, %G, %tiles, %S, %hidden, %E, %zero)
    : (!mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, )"
            : R"(@experts_gate_up(%row, %w_gate, %w_gate_scale, %groups, %weight, %units, %G, %tiles, %S, %hidden, %E, %zero)
    : (!mono.buffer, !mono.buffer, !mono.buffer, )";
    return substitute(
        R"(mono.import "schedules/experts.mlir"
mono.import "schedules/collective.mlir"
mono.schedule @mlp target("gfx950") grid(8 x 512) {
  %R = mono.param "R" in [1, 2, 4]
  %rank = mono.ranks [%R]
  %S = mono.param "S" in [1 to 8]
  %C = mono.param "C" in [1 to 8]
  %E = mono.param "E" in [1 to 64]
  %pairs = arith.muli %S, %C : index
  %G = arith.minui %pairs, %E : index
  %hidden = arith.constant 256 : index
  %depth = arith.constant 128 : index
  %tiles = arith.constant 8 : index
  %zero = arith.constant 0 : index
  %width = arith.constant 64 : index
  %reducers = arith.constant 4 : index
  %x = mono.operand "x" read [%S, 256] : bf16
  %ids = mono.operand "ids" read [%S, %C] : i32
  %share = mono.operand "share" read [%S, %C] : f32
$WEIGHTS$DOWN  %y = mono.operand "y" write [%S, 256] : bf16
  %units = mono.mailbox "units" tagged scope(device) slots(1) [%G, %S, 128] : bf16
  %partial = mono.mailbox "partial" tagged scope(peers) slots(2) [%R, %S, 256] : bf16
  %row = mono.region "row" [%S, 256] pad(8) : bf16
  %groups = mono.region "groups" [%G] : i32
  %weight = mono.region "weight" [%G, %S] : f32
  %pair = mono.region "pair" [%G, %S] : i32
  %place = mono.region "place" [%pairs] : i32
  mono.stage "route" (%t) tasks [8] base [0] {
    %v = mono.load %x[0, 0] [%S, 256] : tensor<?x256xbf16>
    mono.store %v, %row[0, 0] : tensor<?x256xbf16>
    %i = mono.load %ids[0, 0] [%S, %C] : tensor<?x?xi32>
    %w = mono.load %share[0, 0] [%S, %C] : tensor<?x?xf32>
    %list = mono.call @distinct_experts(%i, %E, %pairs, %G)
      : (tensor<?x?xi32>, index, index, index) -> tensor<?xi32>
    mono.store %list, %groups[0] : tensor<?xi32>
    mono.call @store_groups(%list, %i, %w, %weight, %pair, %place, %G, %S, %C, %pairs)
      : (tensor<?xi32>, tensor<?x?xi32>, tensor<?x?xf32>, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index) -> ()
  }
  mono.call $CALL!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index, index) -> ()
  mono.call @experts_down(%units, %w_down, %w_down_scale, %groups, %pair, %place, %partial, %rank, %G, %pairs, %S, %hidden, %depth, %E, %zero)
    : (!mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index, index, index, index) -> ()
  mono.call @all_reduce(%partial, %y, %R, %S, %width, %reducers, %zero)
    : (!mono.mailbox, !mono.buffer, index, index, index, index, index) -> ()
})",
        {{"WEIGHTS", weights},
         {"DOWN", WeightMatrices::declare(s.format, "w_down", "%E, ", "256", "128")},
         {"CALL", call}});
  }

  /// Rows of gate and up of unit u.
  int gateRow(int u) const { return s.isApart ? u : u / 16 * 32 + u % 16; }
  double gateAt(int rank, int expert, int u, int k) const {
    return gate[rank].at(expert, gateRow(u), k);
  }
  double upAt(int rank, int expert, int u, int k) const {
    return s.isApart ? up[rank].at(expert, u, k) : gate[rank].at(expert, gateRow(u) + 16, k);
  }

  /// A value and how far a computed one may be from it.
  struct Bounded {
    double value, error;
  };

  /// SiLU(gate) * up * weight, in f32 and rounded to bf16.
  Bounded unit(int rank, int row, int choice, int u) const {
    int expert = ids[row * s.chosen + choice];
    double g = 0, v = 0, gSize = 0, vSize = 0;
    for (int k = 0; k < kHidden; ++k) {
      double in = toFloat(x[row * kHidden + k]);
      g += in * gateAt(rank, expert, u, k);
      gSize += std::abs(in * gateAt(rank, expert, u, k));
      v += in * upAt(rank, expert, u, k);
      vSize += std::abs(in * upAt(rank, expert, u, k));
    }
    double sum = (kHidden + 3) * 0x1p-24, weight = share[row * s.chosen + choice];
    double silu = g / (1 + std::exp(-g));
    // SiLU's slope is at most 1.1.
    double error =
        (1.1 * sum * gSize * (std::abs(v) + sum * vSize) + std::abs(silu) * sum * vSize) * weight;
    double value = silu * v * weight;
    return {value, error + 0x1.1p-8 * (std::abs(value) + error)};
  }
};

TEST_P(ExpertMlp, IsTheSumOverExperts) {
  OneGpu gpus(schedule(), {}, {{"R", s.ranks}, {"S", s.rows}, {"C", s.chosen}, {"E", s.experts}});
  for (int rank = 0; rank < s.ranks; ++rank) {
    gpus.write("x", x, rank);
    gpus.write("ids", ids, rank);
    gpus.write("share", share, rank);
    gate[rank].write(gpus, "w_gate", rank);
    if (s.isApart)
      up[rank].write(gpus, "w_up", rank);
    down[rank].write(gpus, "w_down", rank);
  }
  gpus.launchOnAnyMemory();
  std::vector<uint16_t> y = gpus.read<uint16_t>("y", size_t(s.rows) * kHidden);
  for (int rank = 1; rank < s.ranks; ++rank)
    EXPECT_EQ(gpus.read<uint16_t>("y", y.size(), rank), y) << "rank " << rank;
  for (int row = 0; row < s.rows; ++row) {
    std::vector<Bounded> sums(kHidden, {0, 0});
    for (int rank = 0; rank < s.ranks; ++rank) {
      std::vector<Bounded> part(kHidden, {0, 0});
      for (int choice = 0; choice < s.chosen; ++choice)
        for (int u = 0; u < kUnits; ++u) {
          Bounded of = unit(rank, row, choice, u);
          for (int n = 0; n < kHidden; ++n) {
            double weight = down[rank].at(ids[row * s.chosen + choice], n, u);
            part[n].value += of.value * weight;
            part[n].error += (of.error + s.chosen * (kUnits + 3) * 0x1p-24 * std::abs(of.value)) *
                             std::abs(weight);
          }
        }
      for (int n = 0; n < kHidden; ++n) {
        sums[n].value += part[n].value;
        sums[n].error += part[n].error + 0x1.1p-8 * (std::abs(part[n].value) + part[n].error);
      }
    }
    for (int n = 0; n < kHidden; ++n)
      ASSERT_NEAR(toFloat(y[row * kHidden + n]), sums[n].value,
                  sums[n].error + 0x1.1p-8 * (std::abs(sums[n].value) + sums[n].error))
          << "row " << row << ", column " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ExpertMlp,
                         testing::Values(Shape{WeightFormat::Mxfp4, 1, 4, 2, 8, false},
                                         Shape{WeightFormat::Mxfp4, 2, 3, 3, 5, true},
                                         Shape{WeightFormat::Mxfp8, 1, 8, 2, 4, false},
                                         Shape{WeightFormat::Mxfp8, 2, 1, 4, 16, true},
                                         Shape{WeightFormat::Fp8Blocks, 1, 4, 2, 8, true},
                                         Shape{WeightFormat::Fp8Blocks, 2, 5, 3, 6, true}));

/// What a task of "gate_up" hands on: its group's rows, 16 units at its place.
TEST(PostUnits, OfAGroupAndTile) {
  OneGpu gpu(R"(mono.import "schedules/experts.mlir"
mono.schedule @units target("gfx950") grid(8 x 64) {
  %tiles = arith.constant 2 : index
  %rows = arith.constant 3 : index
  %gate = mono.operand "gate" read [6, 3, 16] : f32
  %up = mono.operand "up" read [6, 3, 16] : f32
  %w = mono.operand "w" read [3, 3] : f32
  %y = mono.operand "y" write [3, 3, 32] : bf16
  %box = mono.mailbox "box" tagged scope(device) slots(1) [3, 3, 32] : bf16
  %weight = mono.region "weight" [3, 3] : f32
  mono.stage "post" (%t) tasks [6] base [0] {
    %v = mono.load %w[0, 0] [3, 3] : tensor<3x3xf32>
    mono.store %v, %weight[0, 0] : tensor<3x3xf32>
    %g3 = mono.load %gate[%t, 0, 0] [1, 3, 16] : tensor<1x3x16xf32>
    %u3 = mono.load %up[%t, 0, 0] [1, 3, 16] : tensor<1x3x16xf32>
    %g = tensor.collapse_shape %g3 [[0, 1], [2]] : tensor<1x3x16xf32> into tensor<3x16xf32>
    %u = tensor.collapse_shape %u3 [[0, 1], [2]] : tensor<1x3x16xf32> into tensor<3x16xf32>
    mono.call @post_units(%g, %u, %weight, %box, %t, %tiles, %rows)
      : (tensor<3x16xf32>, tensor<3x16xf32>, !mono.buffer, !mono.mailbox, index, index, index) -> ()
  }
  mono.stage "take" (%t) tasks [1] base [7] {
    %v = mono.receive %box[0, 0, 0] [3, 3, 32] : tensor<3x3x32xbf16>
    mono.store %v, %y[0, 0, 0] : tensor<3x3x32xbf16>
  }
})");
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> gate(6 * 3 * 16), up(gate.size()), w(9);
  for (std::vector<float> *values : {&gate, &up, &w})
    for (float &value : *values)
      value = normal(random);
  gpu.write("gate", gate);
  gpu.write("up", up);
  gpu.write("w", w);
  gpu.launchOnAnyMemory();
  std::vector<uint16_t> y = gpu.read<uint16_t>("y", 3 * 3 * 32);
  for (int group = 0; group < 3; ++group)
    for (int row = 0; row < 3; ++row)
      for (int u = 0; u < 32; ++u) {
        int at = ((group * 2 + u / 16) * 3 + row) * 16 + u % 16;
        double g = gate[at], expected = g / (1 + std::exp(-g)) * up[at] * w[group * 3 + row];
        EXPECT_NEAR(toFloat(y[(group * 3 + row) * 32 + u]), expected,
                    0x1.01p-8 * std::abs(expected))
            << "group " << group << ", row " << row << ", unit " << u;
      }
}

} // namespace
