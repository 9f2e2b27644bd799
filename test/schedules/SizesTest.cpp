// schedules/sizes.mlir: what becomes of it once parameters are known.
#include "test/lowering/Device/OneGpu.h"

using namespace mono;
using namespace mono::test;

namespace {

/// What @is_multiple says, seen by the number it chooses.
int multiple(int64_t n, int64_t of) {
  OneGpu gpu(R"(
mono.import "schedules/sizes.mlir"
mono.schedule @sizes target("gfx950") grid(1 x 64) {
  %n = mono.param "N" in [0 to 1000]
  %of = mono.param "OF" in [1 to 1000]
  %y = mono.operand "y" write [1] : i32
  %is = mono.call @is_multiple(%n, %of) : (index, index) -> i1
  %yes = arith.constant 1 : i32
  %no = arith.constant 0 : i32
  %answer = arith.select %is, %yes, %no : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = tensor.splat %answer : tensor<1xi32>
    mono.store %v, %y[0] : tensor<1xi32>
  }
}
)",
             {}, {{"N", n}, {"OF", of}});
  gpu.launch();
  return gpu.read<int32_t>("y", 1).front();
}

TEST(Sizes, MultiplesAreMultiples) {
  EXPECT_EQ(multiple(96, 32), 1);
  EXPECT_EQ(multiple(97, 32), 0);
  EXPECT_EQ(multiple(31, 32), 0);
  EXPECT_EQ(multiple(0, 7), 1);
  EXPECT_EQ(multiple(7, 1), 1);
}

} // namespace
