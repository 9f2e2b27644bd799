// What arithmetic leaves undefined is some value: nothing that depends on one is lost, such as a
// post that another workgroup waits for.
#include "test/lowering/Device/OneGpu.h"

#include <bit>
#include <climits>
#include <limits>

using namespace mono;
using namespace mono::test;

namespace {

/// Workgroup 0 computes `ops` of %v and %n, 64 words each, and of the task %t, into %r, and posts
/// it; workgroup 1 stores what it receives.
std::vector<int32_t> posted(const std::string &ops, const std::vector<int32_t> &v,
                            const std::vector<int32_t> &n) {
  OneGpu gpu(substitute(R"(mono.schedule @posted target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [64] : i32
  %b = mono.operand "b" read [64] : i32
  %y = mono.operand "y" write [64] : i32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : i32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %a[0] [64] : tensor<64xi32>
    %n = mono.load %b[0] [64] : tensor<64xi32>
    $OPS
    mono.post %r to %m[0] : tensor<64xi32>
  }
  mono.stage "store" (%t) tasks [1] base [1] {
    %w = mono.receive %m[0] [64] : tensor<64xi32>
    mono.store %w, %y[0] : tensor<64xi32>
  }
})",
                        {{"OPS", ops}}));
  gpu.write("a", v);
  gpu.write("b", n);
  gpu.launchOnAnyMemory();
  return gpu.read<int32_t>("y", 64);
}

std::vector<int32_t> words(llvm::function_ref<int32_t(int)> of) {
  std::vector<int32_t> result(64);
  for (int i = 0; i < 64; ++i)
    result[i] = of(i);
  return result;
}

TEST(Defined, DivisionByDataThatHoldsZeros) {
  auto v = words([](int i) { return i == 7 ? INT_MIN : 1000 - 77 * i; });
  auto n = words([](int i) { return i % 5 == 0 ? 0 : i == 7 ? -1 : i % 2 ? i : -i; });
  for (bool rest : {false, true}) {
    auto y = posted(rest ? "%r = arith.remsi %v, %n : tensor<64xi32>"
                         : "%r = arith.divsi %v, %n : tensor<64xi32>",
                    v, n);
    for (int i = 0; i < 64; ++i)
      if (n[i] != 0 && i != 7)
        EXPECT_EQ(y[i], rest ? v[i] % n[i] : v[i] / n[i]) << i;
  }
}

TEST(Defined, DivisionByConstantsThatAreNone) {
  auto v = words([](int i) { return INT_MIN + i; }), none = words([](int) { return 0; });
  posted("%c = arith.constant dense<0> : tensor<64xi32>\n"
         "%r = arith.divui %v, %c : tensor<64xi32>",
         v, none);
  auto y = posted("%c = arith.constant dense<-1> : tensor<64xi32>\n"
                  "%r = arith.divsi %v, %c : tensor<64xi32>",
                  v, none);
  for (int i = 1; i < 64; ++i) // -INT_MIN does not exist
    EXPECT_EQ(y[i], -v[i]) << i;
}

/// LLVM knows that the only task is 0, and what the division does then.
TEST(Defined, DivisionThatTheScheduleGuards) {
  auto y = posted("%zero = arith.constant 0 : index\n%ten = arith.constant 10 : index\n"
                  "%none = arith.cmpi eq, %t, %zero : index\n"
                  "%q = arith.divui %ten, %t : index\n"
                  "%kept = arith.select %none, %ten, %q : index\n"
                  "%word = arith.index_cast %kept : index to i32\n"
                  "%r = tensor.splat %word : tensor<64xi32>",
                  words([](int) { return 0; }), words([](int) { return 0; }));
  EXPECT_EQ(y, words([](int) { return 10; }));
}

TEST(Defined, ElementsByTheirIndex) {
  auto y = posted("%twelve = arith.constant 12 : index\n"
                  "%g = tensor.generate {\n^bb0(%i : index):\n"
                  "  %q = arith.divui %twelve, %i : index\n"
                  "  tensor.yield %q : index\n} : tensor<64xindex>\n"
                  "%r = arith.index_cast %g : tensor<64xindex> to tensor<64xi32>",
                  words([](int) { return 0; }), words([](int) { return 0; }));
  for (int i = 1; i < 64; ++i)
    EXPECT_EQ(y[i], 12 / i) << i;
}

TEST(Defined, ShiftsTooFar) {
  auto v = words([](int i) { return -5 - i; }), n = words([](int i) { return i - 8; });
  auto y = posted("%r = arith.shrsi %v, %n : tensor<64xi32>", v, n);
  for (int i = 8; i < 40; ++i)
    EXPECT_EQ(y[i], v[i] >> n[i]) << i;
  posted("%c = arith.constant dense<40> : tensor<64xi32>\n"
         "%r = arith.shli %v, %c : tensor<64xi32>",
         v, n);
}

TEST(Defined, FloatsTooLargeForAnInteger) {
  auto v = words([](int i) { return std::bit_cast<int32_t>(i % 4 ? -2.5f * i : 3e38f * (i + 1)); });
  auto y = posted("%f = arith.bitcast %v : tensor<64xi32> to tensor<64xf32>\n"
                  "%r = arith.fptosi %f : tensor<64xf32> to tensor<64xi32>",
                  v, v);
  for (int i = 0; i < 64; ++i)
    if (i % 4)
      EXPECT_EQ(y[i], int32_t(-2.5f * i)) << i;
}

/// The mask of attention, with flags as they come from other compilers.
TEST(Defined, InfinitiesThatAFlagDenies) {
  auto v = words([](int i) { return std::bit_cast<int32_t>(0.5f * i); });
  auto y = posted("%f = arith.bitcast %v : tensor<64xi32> to tensor<64xf32>\n"
                  "%mask = arith.constant dense<0xFF800000> : tensor<64xf32>\n"
                  "%s = arith.addf %f, %mask fastmath<nnan,ninf> : tensor<64xf32>\n"
                  "%r = arith.bitcast %s : tensor<64xf32> to tensor<64xi32>",
                  v, v);
  EXPECT_EQ(y, words([](int) {
              return std::bit_cast<int32_t>(-std::numeric_limits<float>::infinity());
            }));
}

TEST(Defined, IndicesBelowZeroThatAGuardDrops) {
  auto y = posted("%zero = arith.constant 0 : index\n%one = arith.constant 1 : index\n"
                  "%two = arith.constant 2 : index\n"
                  "%g = tensor.generate {\n^bb0(%i : index):\n"
                  "  %less = arith.subi %i, %one : index\n"
                  "  %half = arith.divui %less, %two : index\n"
                  "  %first = arith.cmpi eq, %i, %zero : index\n"
                  "  %kept = arith.select %first, %zero, %half : index\n"
                  "  tensor.yield %kept : index\n} : tensor<64xindex>\n"
                  "%r = arith.index_cast %g : tensor<64xindex> to tensor<64xi32>",
                  words([](int) { return 0; }), words([](int) { return 0; }));
  EXPECT_EQ(y, words([](int i) { return i ? (i - 1) / 2 : 0; }));
}

TEST(Defined, SumsThatAFlagSaysDoNotOverflow) {
  auto v = words([](int i) { return INT_MAX - 32 + i; }), n = words([](int) { return 1; });
  auto y = posted("%c = arith.constant dense<2147483647> : tensor<64xi32>\n"
                  "%r = arith.addi %c, %c overflow<nsw,nuw> : tensor<64xi32>",
                  v, n);
  EXPECT_EQ(y, words([](int) { return -2; }));
}

} // namespace
