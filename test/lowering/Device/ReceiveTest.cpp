// mono.receive on emulated GPUs: sums over the first axis of boxes of any size, as tensors.
#include "test/lowering/Device/OneGpu.h"

using namespace mono;
using namespace mono::test;

namespace {

struct Box {
  int terms, rows, columns;
  std::string type = "f32";
  int threads = 512;
};

void PrintTo(const Box &box, std::ostream *os) {
  *os << box.terms << "x" << box.rows << "x" << box.columns << "x" << box.type << " on "
      << box.threads;
}

class ReceiveSum : public testing::TestWithParam<Box> {};

/// Every term from a workgroup of its own, at another time; every element of every term counts
/// once. The second result is what threads beyond those with elements may not disturb: a sum over
/// all of them.
TEST_P(ReceiveSum, AddsEveryTermOnce) {
  Box box = GetParam();
  OneGpu gpu(substitute(
      R"(mono.schedule @sum target("gfx950") grid($GRID x $THREADS) {
  %x = mono.operand "x" read [$N, $R, $C] : f32
  %y = mono.operand "y" write [$R, $C] : f32
  %all = mono.operand "all" write [1] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(2) [$N, $R, $C] : $TYPE
  mono.stage "post" (%t) tasks [$N] base [0] {
    %v = mono.load %x[%t, 0, 0] [1, $R, $C] : tensor<1x$Rx$Cxf32>
    $ROUND
    mono.post %w to %m[%t, 0, 0] : tensor<1x$Rx$Cx$TYPE>
  }
  mono.stage "sum" (%t) tasks [1] base [$N] {
    %v = mono.receive %m[0, 0, 0] [$N, $R, $C] sum : tensor<$Rx$Cxf32>
    mono.store %v, %y[0, 0] : tensor<$Rx$Cxf32>
    %flat = tensor.collapse_shape %v [[0, 1]] : tensor<$Rx$Cxf32> into tensor<$Exf32>
    %row = tensor.expand_shape %flat [[0, 1]] output_shape [1, $E] : tensor<$Exf32> into tensor<1x$Exf32>
    %zero = arith.constant dense<0.0> : tensor<1xf32>
    %s = linalg.reduce { arith.addf } ins(%row : tensor<1x$Exf32>) outs(%zero : tensor<1xf32>) dimensions = [1]
    mono.store %s, %all[0] : tensor<1xf32>
  }
})",
      {{"ROUND", box.type == "f32" ? "%zero = arith.constant dense<0.0> : tensor<1x$Rx$Cxf32>\n"
                                     "    %w = arith.addf %v, %zero : tensor<1x$Rx$Cxf32>"
                                   : "%w = arith.truncf %v : tensor<1x$Rx$Cxf32> to "
                                     "tensor<1x$Rx$Cx$TYPE>"},
       {"GRID", std::to_string(box.terms + 1)},
       {"THREADS", std::to_string(box.threads)},
       {"TYPE", box.type},
       {"N", std::to_string(box.terms)},
       {"R", std::to_string(box.rows)},
       {"C", std::to_string(box.columns)},
       {"E", std::to_string(box.rows * box.columns)}}));
  int elements = box.rows * box.columns;
  std::vector<float> x(size_t(box.terms) * elements), sums(elements);
  float all = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i * 37 % 127); // exact in bf16, and so are the sums in f32, in any order
    sums[i % elements] += x[i];
    all += x[i];
  }
  gpu.write("x", x);
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("y", elements), sums);
  EXPECT_EQ(gpu.read<float>("all", 1), std::vector<float>{all});
}

// Many terms of 1 to 32 pairs of elements, odd ones of 1 to 32 single ones: terms on lanes. Few
// terms, and terms of more elements: all terms in a thread.
INSTANTIATE_TEST_SUITE_P(Boxes, ReceiveSum,
                         testing::Values(Box{48, 1, 4}, Box{48, 1, 1}, Box{17, 1, 3}, Box{24, 1, 8},
                                         Box{33, 4, 16}, Box{40, 1, 5, "f32", 64},
                                         Box{17, 2, 2, "bf16"}, Box{100, 1, 2, "bf16"},
                                         Box{20, 3, 8, "bf16", 128}, Box{12, 31, 1, "f32", 64},
                                         Box{18, 31, 1}, Box{18, 33, 1}, Box{24, 5, 14},
                                         Box{3, 2, 4}, Box{9, 4, 1024}));

} // namespace
