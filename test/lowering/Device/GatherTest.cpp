// mono.gather, mono.scatter and mono.receive_rows on the emulator: rows and elements by index, in
// memory, in LDS and in mailboxes.
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

template <typename T> std::vector<T> joined(std::vector<T> a, const std::vector<T> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
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

  template <typename T> void ofMemory(const std::string &element);
  template <typename T> void ofRegions(const std::string &element);
  template <typename T> void ofMailboxes(const std::string &element);
  template <typename T> void scattered(const std::string &element);
};

/// As a tensor and into a region, alone and continued by rows in LDS.
template <typename T> void Rows::ofMemory(const std::string &element) {
  auto gpu = compile(R"(
  %source = mono.operand "source" read [%R, %C] : $T
  %new = mono.operand "new" read [%F, %C] : $T
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
    mono.gather %source or %fresh at %i into %rows : tensor<?xi32>
    %y = mono.load %rows[0, 0] [%N, %C] : tensor<?x?x$T>
    mono.store %y, %b[0, 0] : tensor<?x?x$T>
  }
)",
                     element);
  auto source = numbered<T>(size_t(s.rows) * s.columns, 1);
  auto fresh = numbered<T>(size_t(s.fresh) * s.columns, 0x6000);
  gpu->write("source", source);
  gpu->write("new", fresh);
  for (int rows : {s.rows, s.rows + s.fresh}) { // the ends of either
    std::vector<int32_t> at = indices(rows);
    gpu->write("idx", at);
    gpu->launch();
    size_t count = size_t(s.count) * s.columns;
    EXPECT_EQ(gpu->read<T>("a", count), rowsAt(at, source, s.columns));
    EXPECT_EQ(gpu->read<T>("b", count), rowsAt(at, joined(source, fresh), s.columns));
  }
}

/// A region as the source, with padding and without, and as both sources.
template <typename T> void Rows::ofRegions(const std::string &element) {
  auto gpu = compile(R"(
  %new = mono.operand "new" read [%F, %C] : $T
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
    %y = mono.gather %fresh or %fresh at %i : tensor<?xi32> -> tensor<?x?x$T>
    mono.store %y, %b[0, 0] : tensor<?x?x$T>
    %z = mono.gather %fresh at %i : tensor<?xi32> -> tensor<?x$T>
    mono.store %z, %c[0] : tensor<?x$T>
  }
)",
                     element);
  auto fresh = numbered<T>(size_t(s.fresh) * s.columns, 0x6000);
  gpu->write("new", fresh);
  for (int rows : {s.fresh, 2 * s.fresh, s.fresh * s.columns}) {
    std::vector<int32_t> at = indices(rows);
    gpu->write("idx", at);
    gpu->launch();
    size_t count = size_t(s.count) * s.columns;
    EXPECT_EQ(gpu->read<T>("a", count), rowsAt(at, fresh, s.columns));
    EXPECT_EQ(gpu->read<T>("b", count), rowsAt(at, joined(fresh, fresh), s.columns));
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
  mono.stage "s" (%t) tasks [1] base [3] {
    %i = mono.load %idx[0] [%N] : tensor<?xi32>
    %l = mono.load %left[0, 0] [%N, %half] : tensor<?x?x$T>
    mono.scatter %l, %cache[0] at %i : tensor<?x?x$T>, tensor<?xi32>
    %r = mono.load %right[0, 0] [%N, %rest] : tensor<?x?x$T>
    mono.scatter %r, %cache[%half] at %i : tensor<?x?x$T>, tensor<?xi32>
  }
)",
                     element);
  // No row twice: all of the source at most, then indices outside.
  std::vector<int32_t> at(std::max(s.rows, 1));
  std::iota(at.begin(), at.end(), 0);
  std::shuffle(at.begin(), at.end(), random);
  at.resize(std::max(1, s.count / 2));
  for (int i = int(at.size()); i < s.count; ++i)
    at.push_back(i % 3 == 0 ? -1 : i % 3 == 1 ? s.rows : INT32_MIN);
  for (size_t i = s.rows; i < at.size(); ++i)
    at[i] = -1; // more than there are rows
  std::shuffle(at.begin(), at.end(), random);

  int half = s.columns / 2, rest = s.columns - half;
  auto expected = numbered<T>(size_t(s.rows) * s.columns, 1);
  auto left = numbered<T>(size_t(s.count) * half, 0x4000),
       right = numbered<T>(size_t(s.count) * rest, 0x5000);
  gpu->write("cache", expected);
  gpu->write("idx", at);
  gpu->write("left", left);
  gpu->write("right", right);
  gpu->launch();
  for (int i = 0; i < s.count; ++i)
    if (at[i] >= 0 && at[i] < s.rows)
      for (int c = 0; c < s.columns; ++c)
        expected[at[i] * s.columns + c] =
            c < half ? left[i * half + c] : right[i * rest + c - half];
  EXPECT_EQ(gpu->read<T>("cache", expected.size()), expected);
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

// Runs of 1, 2, 4 and 8 elements a thread, one index and many, more rows named than there are.
INSTANTIATE_TEST_SUITE_P(Shapes, Rows,
                         testing::Values(Shape{1, 1, 1, 1}, Shape{1, 5, 8, 1}, Shape{7, 9, 5, 2},
                                         Shape{16, 100, 6, 4, 64}, Shape{40, 30, 40, 3, 64},
                                         Shape{33, 12, 24, 8}, Shape{64, 64, 72, 4},
                                         Shape{200, 11, 36, 4, 256}));

} // namespace
