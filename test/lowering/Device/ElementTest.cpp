// Elements of unusual kinds, threads that have none, and rows of one element.
#include "test/lowering/Device/OneGpu.h"

#include <numeric>

using namespace mono;
using namespace mono::test;

namespace {

// A truth value takes a byte of LDS, not a bit: behind 256 of them comes what region r holds, and
// transposed they are read one by one.
TEST(TruthValues, TakeAByteOfLds) {
  OneGpu gpu(R"(mono.schedule @truth target("gfx950") grid(1 x 128) {
  %x = mono.operand "x" read [4, 64] : f32
  %y = mono.operand "y" write [2, 4, 64] : f32
  %turned = mono.operand "turned" write [64, 4] : f32
  %kept = mono.operand "kept" write [4] : f32
  %r = mono.region "r" [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %k = arith.constant dense<5.0> : tensor<4xf32>
    mono.store %k, %r[0] : tensor<4xf32>
    %v = mono.load %x[0, 0] [4, 64] : tensor<4x64xf32>
    %c = arith.constant dense<0.0> : tensor<4x64xf32>
    %m = arith.cmpf ogt, %v, %c : tensor<4x64xf32>
    %e = tensor.empty() : tensor<2x4x64xi1>
    %b = linalg.broadcast ins(%m : tensor<4x64xi1>) outs(%e : tensor<2x4x64xi1>) dimensions = [0]
    %one = arith.constant dense<1.0> : tensor<2x4x64xf32>
    %zero = arith.constant dense<0.0> : tensor<2x4x64xf32>
    %s = arith.select %b, %one, %zero : tensor<2x4x64xi1>, tensor<2x4x64xf32>
    mono.store %s, %y[0, 0, 0] : tensor<2x4x64xf32>
    %e2 = tensor.empty() : tensor<64x4xi1>
    %mt = linalg.transpose ins(%m : tensor<4x64xi1>) outs(%e2 : tensor<64x4xi1>) permutation = [1, 0]
    %f = arith.uitofp %mt : tensor<64x4xi1> to tensor<64x4xf32>
    mono.store %f, %turned[0, 0] : tensor<64x4xf32>
    %q = mono.load %r[0] [4] : tensor<4xf32>
    mono.store %q, %kept[0] : tensor<4xf32>
  }
})");
  auto positive = [](int i) { return i * 37 % 11 < 5; };
  std::vector<float> x(256);
  for (int i = 0; i < 256; ++i)
    x[i] = positive(i) ? 1.0f : -1.0f;
  gpu.write("x", x);
  gpu.launchOnAnyMemory();
  auto y = gpu.read<float>("y", 512), turned = gpu.read<float>("turned", 256);
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(y[i], positive(i)) << i;
    EXPECT_EQ(y[256 + i], positive(i)) << i;
    EXPECT_EQ(turned[i % 64 * 4 + i / 64], positive(i)) << i;
  }
  EXPECT_EQ(gpu.read<float>("kept", 4), std::vector<float>(4, 5.0f));
}

TEST(Indices, MoveThroughLds) {
  OneGpu gpu(R"(mono.schedule @indices target("gfx950") grid(1 x 128) {
  %y = mono.operand "y" write [4, 64] : i32
  mono.stage "s" (%t) tasks [1] base [0] {
    %g = tensor.generate {
    ^bb0(%i : index):
      tensor.yield %i : index
    } : tensor<64xindex>
    %e = tensor.empty() : tensor<4x64xindex>
    %b = linalg.broadcast ins(%g : tensor<64xindex>) outs(%e : tensor<4x64xindex>) dimensions = [0]
    %c = arith.index_cast %b : tensor<4x64xindex> to tensor<4x64xi32>
    mono.store %c, %y[0, 0] : tensor<4x64xi32>
  }
})");
  gpu.launchOnAnyMemory();
  auto y = gpu.read<int32_t>("y", 256);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], i % 64);
}

// 4 elements on 64 threads: the others must not divide by the zeros they hold, nor lose the
// condition under which they load nothing.
TEST(Division, IsWhereThreadsHaveElements) {
  std::string text = R"(mono.schedule @divide target("gfx950") grid(4 x 64) {
  %a = mono.operand "a" read [4, 4] : i32
  %n = mono.operand "n" read [4, 4] : i32
  %y = mono.operand "y" write [4, 4] : i32
  mono.stage "s" (%t) tasks [4] base [0] {
    %v = mono.load %a[%t, 0] [1, 4] : tensor<1x4xi32>
    %w = mono.load %n[%t, 0] [1, 4] : tensor<1x4xi32>
    %q = arith.$OP %v, %w : tensor<1x4xi32>
    mono.store %q, %y[%t, 0] : tensor<1x4xi32>
  }
})";
  std::vector<int32_t> a(16), n(16), quotients(16), rests(16);
  auto expect = [&](const char *op, const std::vector<int32_t> &expected) {
    OneGpu gpu(substitute(text, {{"OP", op}}));
    gpu.write("a", a);
    gpu.write("n", n);
    gpu.launchOnAnyMemory();
    EXPECT_EQ(gpu.read<int32_t>("y", 16), expected) << op;
  };
  for (int i = 0; i < 16; ++i) {
    a[i] = 1000 - 77 * i;
    n[i] = i % 2 ? 3 + i : -3 - i;
    quotients[i] = a[i] / n[i];
    rests[i] = a[i] % n[i];
  }
  expect("divsi", quotients);
  expect("remsi", rests);
  for (int i = 0; i < 16; ++i) {
    quotients[i] = int32_t(uint32_t(a[i]) / uint32_t(n[i]));
    rests[i] = int32_t(uint32_t(a[i]) % uint32_t(n[i]));
  }
  expect("divui", quotients);
  expect("remui", rests);
}

// A shift too far makes no index that a bounds check could pass over.
TEST(Shift, TooFarIsStillCheckedAsAnIndex) {
  OneGpu gpu(R"(mono.schedule @shift target("gfx950") grid(1 x 64) {
  %by = mono.operand "by" read [4] : i32
  %table = mono.operand "table" read [8] : f32
  %y = mono.operand "y" write [4] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %n = mono.load %by[0] [4] : tensor<4xi32>
    %one = arith.constant dense<1> : tensor<4xi32>
    %less = arith.subi %n, %one : tensor<4xi32>
    %index = arith.shli %one, %less : tensor<4xi32>
    %v = mono.gather %table at %index : tensor<4xi32> -> tensor<4xf32>
    mono.store %v, %y[0] : tensor<4xf32>
  }
})");
  gpu.write("by", std::vector<int32_t>{1, 2, 3, 5});
  gpu.write("table", std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17});
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("y", 4), (std::vector<float>{11, 12, 14, 0}));
}

// The box is one row, the region 64 of one element and three of padding.
TEST(ReceiveInto, RowsOfOneElementWithPadding) {
  OneGpu gpu(R"(mono.schedule @receive target("gfx950") grid(2 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [64] : f32
  %box = mono.mailbox "box" tagged scope(device) slots(1) [64] : f32
  %r = mono.region "r" [64, 1] pad(3) : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %v = mono.load %x[0] [64] : tensor<64xf32>
    mono.post %v to %box[0] : tensor<64xf32>
  }
  mono.stage "use" (%t) tasks [1] base [1] {
    mono.receive %box[0] [64] into %r
    %w = mono.load %r[0, 0] [64, 1] : tensor<64x1xf32>
    %f = tensor.collapse_shape %w [[0, 1]] : tensor<64x1xf32> into tensor<64xf32>
    mono.store %f, %y[0] : tensor<64xf32>
  }
})");
  std::vector<float> x(64);
  std::iota(x.begin(), x.end(), 1.0f);
  gpu.write("x", x);
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("y", 64), x);
}

// Two halves put into a tensor.empty fill it; what nobody puts anything into is zero.
TEST(Empty, IsFilledByInserts) {
  OneGpu gpu(R"(mono.schedule @empty target("gfx950") grid(1 x 64) {
  %x = mono.operand "x" read [64] : f32
  %y = mono.operand "y" write [192] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %x[0] [64] : tensor<64xf32>
    %e = tensor.empty() : tensor<192xf32>
    %a = tensor.insert_slice %v into %e[0] [64] [1] : tensor<64xf32> into tensor<192xf32>
    %b = tensor.insert_slice %v into %a[128] [64] [1] : tensor<64xf32> into tensor<192xf32>
    mono.store %b, %y[0] : tensor<192xf32>
  }
})");
  std::vector<float> x(64), expected(192);
  std::iota(x.begin(), x.end(), 1.0f);
  std::copy(x.begin(), x.end(), expected.begin());
  std::copy(x.begin(), x.end(), expected.begin() + 128);
  gpu.write("x", x);
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("y", 192), expected);
}

} // namespace
