// mono.gather, mono.scatter, mono.receive_rows and mono.distinct on the emulator: rows and elements
// by index, in memory, in LDS and in mailboxes.
#include "test/lowering/Device/OneGpu.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

/// `count` indices into a source of `rows` rows of `columns` elements, and `fresh` more rows in
/// LDS.
struct Shape {
  int count, rows, columns, fresh;
  int threads = 512;
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.count << " of " << s.rows << "+" << s.fresh << "x" << s.columns << " on " << s.threads;
}

/// Numbers that are all different, as bits.
template <typename T> std::vector<T> numbered(size_t count, int first) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T(first));
  return values;
}

/// Rows of `source` at `indices`, zeros where there is none.
template <typename T>
std::vector<T> rowsAt(const std::vector<int32_t> &indices, const std::vector<T> &source,
                      int columns) {
  std::vector<T> result;
  for (int32_t index : indices)
    for (int c = 0; c < columns; ++c) {
      bool inside = index >= 0 && index < int64_t(source.size()) / columns;
      result.push_back(inside ? source[size_t(index) * columns + c] : T(0));
    }
  return result;
}

/// The source with row j of `fresh` at places[j], the first of equal places; others name no row.
template <typename T>
std::vector<T> renewed(std::vector<T> source, const std::vector<T> &fresh,
                       const std::vector<int32_t> &places, int columns) {
  for (size_t j = places.size(); j-- > 0;)
    if (places[j] >= 0 && places[j] < int64_t(source.size()) / columns)
      std::copy_n(fresh.begin() + j * columns, columns, source.begin() + places[j] * columns);
  return source;
}

class Rows : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.count * 1000 + s.columns)};

  /// A schedule with indices %idx and `body`. $T is the element type; $PAD pads a region of %C
  /// columns so that its rows are whole pieces of 16 bytes and begin at other banks.
  std::unique_ptr<OneGpu> compile(const std::string &body, const std::string &element) {
    int perPiece = element == "bf16" ? 8 : 4;
    int pad = perPiece + (perPiece - s.columns % perPiece) % perPiece;
    std::string text = R"(mono.schedule @rows target("gfx950") grid(4 x $THREADS) {
  %N = mono.param "N" in [1 to 512]
  %R = mono.param "R" in [1 to 4096]
  %C = mono.param "C" in [1 to 1024]
  %F = mono.param "F" in [1 to 16]
  %idx = mono.operand "idx" read [%N] : i32
)" + body + "}\n";
    return std::make_unique<OneGpu>(
        substitute(text, {{"THREADS", std::to_string(s.threads)},
                          {"PAD", "pad(" + std::to_string(pad) + ")"},
                          {"T", element}}),
        emu::Options(),
        OneGpu::Params{{"N", s.count}, {"R", s.rows}, {"C", s.columns}, {"F", s.fresh}});
  }

  /// Indices around and inside [0, rows): the ends, next to them, and the ends of i32.
  std::vector<int32_t> indices(int rows) {
    std::vector<int32_t> result{rows - 1, -1, 0, rows, -2, rows + 1, INT32_MAX, INT32_MIN};
    std::uniform_int_distribution<int32_t> any(-1, rows);
    result.resize(s.count);
    for (int i = 8; i < s.count; ++i)
      result[i] = any(random);
    std::shuffle(result.begin(), result.end(), random);
    return result;
  }

  /// `count` places in a source of `rows` rows, in turn: none, those of rows that indices() names,
  /// all the same, any.
  std::vector<int32_t> places(int count, int rows, int turn) {
    std::vector<int32_t> result{INT32_MIN, -1, rows, INT32_MAX};
    std::uniform_int_distribution<int32_t> any(-1, rows);
    result.resize(count, -1);
    for (int j = 0; j < count && turn > 0; ++j)
      result[j] = turn == 1 ? (j % 2 ? 0 : rows - 1 - j / 2) : turn == 2 ? rows / 2 : any(random);
    return result;
  }

  template <typename T> void ofMemory(const std::string &element);
  template <typename T> void ofRegions(const std::string &element);
  template <typename T> void ofMailboxes(const std::string &element);
  template <typename T> void scattered(const std::string &element);
};

/// As a tensor and into a region, alone and with new rows in LDS.
template <typename T> void Rows::ofMemory(const std::string &element) {
  auto gpu = compile(R"(
  %source = mono.operand "source" read [%R, %C] : $T
  %new = mono.operand "new" read [%F, %C] : $T
  %places = mono.operand "places" read [%F] : i32
  %a = mono.operand "a" write [%N, %C] : $T
  %b = mono.operand "b" write [%N, %C] : $T
  %fresh = mono.region "fresh" [%F, %C] $PAD : $T
  %rows = mono.region "rows" [%N, %C] $PAD : $T
  mono.stage "s" (%t) tasks [1] base [2] {
    %v = mono.load %new[0, 0] [%F, %C] : tensor<?x?x$T>
    mono.store %v, %fresh[0, 0] : tensor<?x?x$T>
    %i = mono.load %idx[0] [%N] : tensor<?xi32>
    %x = mono.gather %source at %i : tensor<?xi32> -> tensor<?x?x$T>
    mono.store %x, %a[0, 0] : tensor<?x?x$T>
    %p = mono.load %places[0] [%F] : tensor<?xi32>
    mono.gather %source or %fresh places(%p : tensor<?xi32>) at %i into %rows : tensor<?xi32>
    %y = mono.load %rows[0, 0] [%N, %C] : tensor<?x?x$T>
    mono.store %y, %b[0, 0] : tensor<?x?x$T>
  }
)",
                     element);
  auto source = numbered<T>(size_t(s.rows) * s.columns, 1);
  auto fresh = numbered<T>(size_t(s.fresh) * s.columns, 0x6000);
  gpu->write("source", source);
  gpu->write("new", fresh);
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<int32_t> at = indices(s.rows), to = places(s.fresh, s.rows, turn);
    gpu->write("idx", at);
    gpu->write("places", to);
    gpu->launch();
    size_t count = size_t(s.count) * s.columns;
    EXPECT_EQ(gpu->read<T>("a", count), rowsAt(at, source, s.columns));
    EXPECT_EQ(gpu->read<T>("b", count),
              rowsAt(at, renewed(source, fresh, to, s.columns), s.columns))
        << "turn " << turn;
  }
}

/// A region as the source, with padding and without, and as both sources.
template <typename T> void Rows::ofRegions(const std::string &element) {
  auto gpu = compile(R"(
  %new = mono.operand "new" read [%F, %C] : $T
  %places = mono.operand "places" read [%F] : i32
  %a = mono.operand "a" write [%N, %C] : $T
  %b = mono.operand "b" write [%N, %C] : $T
  %c = mono.operand "c" write [%N] : $T
  %fresh = mono.region "fresh" [%F, %C] $PAD : $T
  mono.stage "s" (%t) tasks [1] base [0] {
    %v = mono.load %new[0, 0] [%F, %C] : tensor<?x?x$T>
    mono.store %v, %fresh[0, 0] : tensor<?x?x$T>
    %i = mono.load %idx[0] [%N] : tensor<?xi32>
    %x = mono.gather %fresh at %i : tensor<?xi32> -> tensor<?x?x$T>
    mono.store %x, %a[0, 0] : tensor<?x?x$T>
    %p = mono.load %places[0] [%F] : tensor<?xi32>
    %y = mono.gather %fresh or %fresh places(%p : tensor<?xi32>) at %i : tensor<?xi32> -> tensor<?x?x$T>
    mono.store %y, %b[0, 0] : tensor<?x?x$T>
    %z = mono.gather %fresh at %i : tensor<?xi32> -> tensor<?x$T>
    mono.store %z, %c[0] : tensor<?x$T>
  }
)",
                     element);
  auto fresh = numbered<T>(size_t(s.fresh) * s.columns, 0x6000);
  gpu->write("new", fresh);
  for (int rows : {s.fresh, s.fresh * s.columns}) {
    std::vector<int32_t> at = indices(rows), to = places(s.fresh, s.fresh, 3);
    gpu->write("idx", at);
    gpu->write("places", to);
    gpu->launch();
    size_t count = size_t(s.count) * s.columns;
    EXPECT_EQ(gpu->read<T>("a", count), rowsAt(at, fresh, s.columns));
    EXPECT_EQ(gpu->read<T>("b", count),
              rowsAt(at, renewed(fresh, fresh, to, s.columns), s.columns));
    EXPECT_EQ(gpu->read<T>("c", s.count), rowsAt(at, fresh, 1)) << "elements";
  }
}

/// Rows that another workgroup posts, seen through three axes.
template <typename T> void Rows::ofMailboxes(const std::string &element) {
  auto gpu = compile(R"(
  %c2 = arith.constant 2 : index
  %new = mono.operand "new" read [2, %F, %C] : $T
  %a = mono.operand "a" write [%N, %C] : $T
  %box = mono.mailbox "box" tagged scope(device) slots(1) [2, %F, %C] : $T
  %rows = mono.region "rows" [%N, %C] $PAD : $T
  mono.stage "post" (%t) tasks [2] base [1] {
    %v = mono.load %new[%t, 0, 0] [1, %F, %C] : tensor<1x?x?x$T>
    mono.post %v to %box[%t, 0, 0] : tensor<1x?x?x$T>
  }
  mono.stage "s" (%t) tasks [1] base [0] {
    %i = mono.load %idx[0] [%N] : tensor<?xi32>
    mono.receive_rows %box at %i into %rows : tensor<?xi32>
    %x = mono.load %rows[0, 0] [%N, %C] : tensor<?x?x$T>
    mono.store %x, %a[0, 0] : tensor<?x?x$T>
  }
)",
                     element);
  for (int first : {1, 0x3000}) { // a second launch must not see words of the first
    auto posted = numbered<T>(size_t(2) * s.fresh * s.columns, first);
    std::vector<int32_t> at = indices(2 * s.fresh);
    gpu->write("new", posted);
    gpu->write("idx", at);
    gpu->launch();
    EXPECT_EQ(gpu->read<T>("a", size_t(s.count) * s.columns), rowsAt(at, posted, s.columns));
  }
}

/// Rows of two tensors side by side; other rows and other columns keep what they had.
template <typename T> void Rows::scattered(const std::string &element) {
  auto gpu = compile(R"(
  %c2 = arith.constant 2 : index
  %half = arith.divui %C, %c2 : index
  %rest = arith.subi %C, %half : index
  %cache = mono.operand "cache" update [%R, %C] : $T
  %left = mono.operand "left" read [%N, %half] : $T
  %right = mono.operand "right" read [%N, %rest] : $T
  %places = mono.mailbox "places" tagged scope(device) slots(1) [%N] : i32
  mono.stage "place" (%t) tasks [1] base [2] {
    %named = mono.load %idx[0] [%N] : tensor<?xi32>
    %different = mono.distinct %named : tensor<?xi32>
    mono.post %different to %places[0] : tensor<?xi32>
  }
  mono.stage "s" (%t) tasks [1] base [3] {
    %i = mono.receive %places[0] [%N] : tensor<?xi32>
    %l = mono.load %left[0, 0] [%N, %half] : tensor<?x?x$T>
    mono.scatter %l, %cache[0] at %i : tensor<?x?x$T>, tensor<?xi32>
    %r = mono.load %right[0, 0] [%N, %rest] : tensor<?x?x$T>
    mono.scatter %r, %cache[%half] at %i : tensor<?x?x$T>, tensor<?xi32>
  }
)",
                     element);
  // Of rows that are named twice, as many are, the first is kept.
  std::vector<int32_t> at = indices(s.rows);

  int half = s.columns / 2, rest = s.columns - half;
  auto expected = numbered<T>(size_t(s.rows) * s.columns, 1);
  auto left = numbered<T>(size_t(s.count) * half, 0x4000),
       right = numbered<T>(size_t(s.count) * rest, 0x5000);
  gpu->write("cache", expected);
  gpu->write("idx", at);
  gpu->write("left", left);
  gpu->write("right", right);
  gpu->launch();
  for (int i = s.count; i-- > 0;)
    if (at[i] >= 0 && at[i] < s.rows)
      for (int c = 0; c < s.columns; ++c)
        expected[at[i] * s.columns + c] =
            c < half ? left[i * half + c] : right[i * rest + c - half];
  EXPECT_EQ(gpu->read<T>("cache", expected.size()), expected);
}

TEST_P(Rows, Distinct) {
  auto gpu = compile(R"(
  %a = mono.operand "a" write [%N] : i32
  mono.stage "s" (%t) tasks [1] base [1] {
    %i = mono.load %idx[0] [%N] : tensor<?xi32>
    %x = mono.distinct %i : tensor<?xi32>
    mono.store %x, %a[0] : tensor<?xi32>
  }
)",
                     "i32");
  for (int rows : {1, 3, s.count / 2 + 1, INT32_MAX - 1}) { // from all equal to hardly any
    std::vector<int32_t> at = indices(rows), expected = at;
    for (auto it = at.begin(); it != at.end(); ++it)
      if (std::find(at.begin(), it, *it) != it)
        expected[size_t(it - at.begin())] = -1;
    gpu->write("idx", at);
    gpu->launch();
    EXPECT_EQ(gpu->read<int32_t>("a", s.count), expected);
  }
}

TEST_P(Rows, OfMemory) {
  ofMemory<uint32_t>("f32");
  ofMemory<uint16_t>("bf16");
}

TEST_P(Rows, OfRegions) {
  ofRegions<uint32_t>("i32");
  ofRegions<uint16_t>("bf16");
}

TEST_P(Rows, OfMailboxes) {
  ofMailboxes<uint32_t>("f32");
  if (s.columns % 2 == 0) // two bf16 share a word
    ofMailboxes<uint16_t>("bf16");
}

TEST_P(Rows, Scattered) {
  if (s.columns < 2)
    GTEST_SKIP() << "two tensors need two columns";
  scattered<uint32_t>("i32");
  scattered<uint16_t>("bf16");
}

/// Rows that two tasks write while two others read the same operand, at places and indices that
/// random numbers choose: nothing races, and what is new is seen.
TEST(NewRows, AreNeverReadWhileTheyAreWritten) {
  constexpr int kRows = 8, kColumns = 32, kNew = 4, kWanted = 16;
  emu::Options options;
  options.checks = emu::Checks::thorough();
  options.coherence = emu::Coherence::adversarial(3);
  OneGpu gpu(R"(mono.schedule @cache target("gfx950") grid(8 x 128) {
  %named = mono.operand "named" read [4] : i32
  %wanted = mono.operand "wanted" read [2, 16] : i32
  %new = mono.operand "new" read [4, 32] : f32
  %cache = mono.operand "cache" update [8, 32] : f32
  %y = mono.operand "y" write [2, 16, 32] : f32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [4] : i32
  %new_rows = mono.mailbox "new_rows" tagged scope(device) slots(1) [4, 32] : f32
  %fresh = mono.region "fresh" [4, 32] : f32
  mono.stage "place" (%t) tasks [1] base [4] {
    %n = mono.load %named[0] [4] : tensor<4xi32>
    %d = mono.distinct %n : tensor<4xi32>
    mono.post %d to %places[0] : tensor<4xi32>
  }
  mono.stage "write" (%t) tasks [2] base [0] {
    %v = mono.load %new[%t * 2, 0] [2, 32] : tensor<2x32xf32>
    mono.post %v to %new_rows[%t * 2, 0] : tensor<2x32xf32>
    %p = mono.receive %places[%t * 2] [2] : tensor<2xi32>
    mono.scatter %v, %cache[0] at %p : tensor<2x32xf32>, tensor<2xi32>
  }
  mono.stage "read" (%t) tasks [2] base [2] {
    %i2 = mono.load %wanted[%t, 0] [1, 16] : tensor<1x16xi32>
    %i = tensor.collapse_shape %i2 [[0, 1]] : tensor<1x16xi32> into tensor<16xi32>
    %p = mono.receive %places[0] [4] : tensor<4xi32>
    mono.receive %new_rows[0, 0] [4, 32] into %fresh
    %r = mono.gather %cache or %fresh places(%p : tensor<4xi32>) at %i : tensor<16xi32> -> tensor<16x32xf32>
    %box = tensor.expand_shape %r [[0, 1], [2]] output_shape [1, 16, 32] : tensor<16x32xf32> into tensor<1x16x32xf32>
    mono.store %box, %y[%t, 0, 0] : tensor<1x16x32xf32>
  }
})",
             options);
  std::mt19937 random(7);
  std::uniform_int_distribution<int32_t> any(-1, kRows);
  auto cache = numbered<float>(kRows * kColumns, 1);
  gpu.write("cache", cache);
  for (int launch = 0; launch < 8; ++launch) {
    std::vector<int32_t> named(kNew), wanted(2 * kWanted);
    for (std::vector<int32_t> *list : {&named, &wanted})
      for (int32_t &row : *list)
        row = any(random);
    auto fresh = numbered<float>(kNew * kColumns, 1000 * (launch + 1));
    gpu.write("named", named);
    gpu.write("wanted", wanted);
    gpu.write("new", fresh);
    gpu.launch();
    cache = renewed(cache, fresh, named, kColumns);
    EXPECT_EQ(gpu.read<float>("y", wanted.size() * kColumns), rowsAt(wanted, cache, kColumns));
    EXPECT_EQ(gpu.read<float>("cache", cache.size()), cache) << "launch " << launch;
  }
}

// Runs of 1, 2, 4 and 8 elements a thread, one index and many, more rows named than there are.
INSTANTIATE_TEST_SUITE_P(Shapes, Rows,
                         testing::Values(Shape{1, 1, 1, 1}, Shape{1, 5, 8, 1}, Shape{7, 9, 5, 2},
                                         Shape{16, 100, 6, 4, 64}, Shape{40, 30, 40, 3, 64},
                                         Shape{33, 12, 24, 8}, Shape{64, 64, 72, 4},
                                         Shape{200, 11, 36, 4, 256}));

/// Each step uses the one before twice: a plan that asks anew each time would take 2^40 steps.
TEST(LoadsAhead, IsPlannedAtOnceForLongChains) {
  std::string chain;
  for (int i = 0; i < 40; ++i)
    chain += fmt::format("%x{} = arith.muli %x{}, %x{} : tensor<64xi32>\n", i + 1, i, i);
  OneGpu gpu(substitute(R"(mono.schedule @chain target("gfx950") grid(2 x 64) {
  %a = mono.operand "a" read [64] : i32
  %table = mono.operand "table" read [2] : f32
  %y = mono.operand "y" write [64] : f32
  %m = mono.mailbox "m" tagged scope(device) slots(1) [64] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %one = arith.constant dense<1.0> : tensor<64xf32>
    mono.post %one to %m[0] : tensor<64xf32>
  }
  mono.stage "look" (%t) tasks [1] base [1] {
    %x0 = mono.load %a[0] [64] : tensor<64xi32>
    %w = mono.receive %m[0] [64] : tensor<64xf32>
    $CHAIN
    %v = mono.gather %table at %x40 : tensor<64xi32> -> tensor<64xf32>
    %sum = arith.addf %v, %w : tensor<64xf32>
    mono.store %sum, %y[0] : tensor<64xf32>
  }
})",
                        {{"CHAIN", chain}}));
  std::vector<int32_t> a(64);
  std::vector<float> expected(64);
  for (int i = 0; i < 64; ++i) {
    a[i] = i % 3 == 0;
    expected[i] = a[i] ? 21 : 11;
  }
  gpu.write("a", a);
  gpu.write("table", std::vector<float>{10, 20});
  gpu.launchOnAnyMemory();
  EXPECT_EQ(gpu.read<float>("y", 64), expected);
}

} // namespace
