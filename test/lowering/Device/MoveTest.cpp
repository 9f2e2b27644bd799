// Ops that only move elements, on the emulator: slices, insertions, reshapes, transposes, and
// tensors made from their indices. Every element is a number of its own, so each result is known
// exactly.
#include "test/lowering/Device/OneGpu.h"

#include <functional>
#include <numeric>

using namespace mono;
using namespace mono::test;

namespace {

/// A tensor [rows, p * q]. Its shape and the number of threads decide how many elements lie
/// together in a thread (1, 2, 4 or 8), and so which way an element goes.
struct Shape {
  int rows, p, q;
  int threads = 64;
  int columns() const { return p * q; }
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << "x" << s.p << "x" << s.q << " on " << s.threads;
}

class Move : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  int R = s.rows, C = s.columns();

  /// `body` works on tensors %x and %y [%R, %C] and stores the results its operands declare.
  std::string schedule(const std::string &outputs, const std::string &body, const char *element) {
    std::string text = R"(mono.schedule @move target("gfx950") grid(4 x $THREADS) {
  %R = mono.param "R" in [1 to 128]
  %P = mono.param "P" in [1 to 128]
  %Q = mono.param "Q" in [1 to 128]
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %C = arith.muli %P, %Q : index
  %xs = mono.operand "x" read [%R, %C] : $T
  %ys = mono.operand "y" read [%R, %C] : $T
)" + outputs + R"(
  mono.stage "s" (%t) tasks [1] base [0] {
    %x = mono.load %xs[0, 0] [%R, %C] : tensor<?x?x$T>
    %y = mono.load %ys[0, 0] [%R, %C] : tensor<?x?x$T>
)" + body + "\n  }\n}\n";
    return substitute(text, {{"THREADS", std::to_string(s.threads)}, {"T", element}});
  }

  template <typename T> struct Run {
    OneGpu gpu;
    int columns;
    /// What x and y hold: all different, in each other too.
    T x(int r, int c) const { return T(1 + r * columns + c); }
    T y(int r, int c) const { return T(0x4000 + r * columns + c); }
  };

  template <typename T>
  Run<T> run(const std::string &outputs, const std::string &body, const char *element) {
    Run<T> result{OneGpu(schedule(outputs, body, element), {}, {{"R", R}, {"P", s.p}, {"Q", s.q}}),
                  C};
    std::vector<T> x, y;
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) {
        x.push_back(result.x(r, c));
        y.push_back(result.y(r, c));
      }
    result.gpu.write("x", x);
    result.gpu.write("y", y);
    result.gpu.launch();
    return result;
  }

  /// Operand `name`, [rows, columns], is what `expected` says.
  template <typename T>
  void expect(OneGpu &gpu, const char *name, int rows, int columns,
              std::function<T(int, int)> expected) {
    std::vector<T> got = gpu.read<T>(name, size_t(rows) * columns);
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        ASSERT_EQ(got[r * columns + c], expected(r, c)) << name << "[" << r << ", " << c << "]";
  }

  template <typename T> void slices(const char *element);
  template <typename T> void insertions(const char *element);
  template <typename T> void reshapes(const char *element);
};

template <typename T> void Move::slices(const char *element) {
  auto r = run<T>(R"(
  %R2 = arith.ceildivui %R, %c2 : index
  %C2 = arith.ceildivui %C, %c2 : index
  %r0 = arith.divui %R, %c2 : index
  %c0 = arith.divui %C, %c2 : index
  %a = mono.operand "every_second_column" write [%R, %C2] : $T
  %b = mono.operand "every_second_row" write [%R2, %C] : $T
  %c = mono.operand "corner" write [%R2, %C2] : $T
  %d = mono.operand "row" write [%C] : $T
  %e = mono.operand "column" write [%R] : $T
)",
                  R"(
    %evenColumns = tensor.extract_slice %x[0, 0] [%R, %C2] [1, 2] : tensor<?x?x$T> to tensor<?x?x$T>
    mono.store %evenColumns, %a[0, 0] : tensor<?x?x$T>
    %evenRows = tensor.extract_slice %x[0, 0] [%R2, %C] [2, 1] : tensor<?x?x$T> to tensor<?x?x$T>
    mono.store %evenRows, %b[0, 0] : tensor<?x?x$T>
    %corner = tensor.extract_slice %x[%r0, %c0] [%R2, %C2] [1, 1] : tensor<?x?x$T> to tensor<?x?x$T>
    mono.store %corner, %c[0, 0] : tensor<?x?x$T>
    %row = tensor.extract_slice %x[%r0, 0] [1, %C] [1, 1] : tensor<?x?x$T> to tensor<?x$T>
    mono.store %row, %d[0] : tensor<?x$T>
    %column = tensor.extract_slice %x[0, %c0] [%R, 1] [1, 1] : tensor<?x?x$T> to tensor<?x$T>
    mono.store %column, %e[0] : tensor<?x$T>
)",
                  element);
  int rows = (R + 1) / 2, columns = (C + 1) / 2, r0 = R / 2, c0 = C / 2;
  expect<T>(r.gpu, "every_second_column", R, columns, [&](int i, int j) { return r.x(i, 2 * j); });
  expect<T>(r.gpu, "every_second_row", rows, C, [&](int i, int j) { return r.x(2 * i, j); });
  expect<T>(r.gpu, "corner", rows, columns, [&](int i, int j) { return r.x(r0 + i, c0 + j); });
  expect<T>(r.gpu, "row", 1, C, [&](int, int j) { return r.x(r0, j); });
  expect<T>(r.gpu, "column", R, 1, [&](int i, int) { return r.x(i, c0); });
}

template <typename T> void Move::insertions(const char *element) {
  auto r = run<T>(R"(
  %R2 = arith.ceildivui %R, %c2 : index
  %C2 = arith.ceildivui %C, %c2 : index
  %r0 = arith.divui %R, %c2 : index
  %c0 = arith.divui %C, %c2 : index
  %a = mono.operand "every_second" write [%R, %C] : $T
  %b = mono.operand "corner" write [%R, %C] : $T
  %c = mono.operand "row" write [%R, %C] : $T
)",
                  R"(
    %half = tensor.extract_slice %y[0, 0] [%R, %C2] [1, 1] : tensor<?x?x$T> to tensor<?x?x$T>
    %combed = tensor.insert_slice %half into %x[0, 0] [%R, %C2] [1, 2] : tensor<?x?x$T> into tensor<?x?x$T>
    mono.store %combed, %a[0, 0] : tensor<?x?x$T>
    %part = tensor.extract_slice %y[0, 0] [%R2, %C2] [1, 1] : tensor<?x?x$T> to tensor<?x?x$T>
    %cornered = tensor.insert_slice %part into %x[%r0, %c0] [%R2, %C2] [1, 1] : tensor<?x?x$T> into tensor<?x?x$T>
    mono.store %cornered, %b[0, 0] : tensor<?x?x$T>
    %row = tensor.extract_slice %y[0, 0] [1, %C] [1, 1] : tensor<?x?x$T> to tensor<?x$T>
    %rowed = tensor.insert_slice %row into %x[%r0, 0] [1, %C] [1, 1] : tensor<?x$T> into tensor<?x?x$T>
    mono.store %rowed, %c[0, 0] : tensor<?x?x$T>
)",
                  element);
  int r0 = R / 2, c0 = C / 2;
  expect<T>(r.gpu, "every_second", R, C,
            [&](int i, int j) { return j % 2 == 0 ? r.y(i, j / 2) : r.x(i, j); });
  expect<T>(r.gpu, "corner", R, C,
            [&](int i, int j) { return i >= r0 && j >= c0 ? r.y(i - r0, j - c0) : r.x(i, j); });
  expect<T>(r.gpu, "row", R, C, [&](int i, int j) { return i == r0 ? r.y(0, j) : r.x(i, j); });
}

template <typename T> void Move::reshapes(const char *element) {
  auto r = run<T>(R"(
  %RC = arith.muli %R, %C : index
  %RP = arith.muli %R, %P : index
  %a = mono.operand "flat" write [%RC] : $T
  %b = mono.operand "long" write [%RP, %Q] : $T
  %c = mono.operand "turned" write [%C, %R] : $T
  %d = mono.operand "rolled" write [%Q, %R, %P] : $T
)",
                  R"(
    %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?x$T> into tensor<?x$T>
    mono.store %flat, %a[0] : tensor<?x$T>
    %cube = tensor.expand_shape %x [[0], [1, 2]] output_shape [%R, %P, %Q] : tensor<?x?x$T> into tensor<?x?x?x$T>
    %long = tensor.collapse_shape %cube [[0, 1], [2]] : tensor<?x?x?x$T> into tensor<?x?x$T>
    mono.store %long, %b[0, 0] : tensor<?x?x$T>
    %e1 = tensor.empty(%C, %R) : tensor<?x?x$T>
    %turned = linalg.transpose ins(%x : tensor<?x?x$T>) outs(%e1 : tensor<?x?x$T>) permutation = [1, 0]
    mono.store %turned, %c[0, 0] : tensor<?x?x$T>
    %e2 = tensor.empty(%Q, %R, %P) : tensor<?x?x?x$T>
    %rolled = linalg.transpose ins(%cube : tensor<?x?x?x$T>) outs(%e2 : tensor<?x?x?x$T>) permutation = [2, 0, 1]
    mono.store %rolled, %d[0, 0, 0] : tensor<?x?x?x$T>
)",
                  element);
  expect<T>(r.gpu, "flat", R, C, [&](int i, int j) { return r.x(i, j); });
  expect<T>(r.gpu, "long", R * s.p, s.q,
            [&](int i, int j) { return r.x(i / s.p, i % s.p * s.q + j); });
  expect<T>(r.gpu, "turned", C, R, [&](int i, int j) { return r.x(j, i); });
  expect<T>(r.gpu, "rolled", s.q * R, s.p,
            [&](int i, int j) { return r.x(i % R, j * s.q + i / R); });
}

TEST_P(Move, Slices) {
  slices<uint32_t>("f32");
  slices<uint16_t>("bf16");
}

TEST_P(Move, Insertions) {
  insertions<uint32_t>("i32");
  insertions<uint16_t>("bf16");
}

TEST_P(Move, Reshapes) {
  reshapes<uint32_t>("f32");
  reshapes<uint16_t>("bf16");
}

/// Indices, values from outside the body, and a body that looks at none of its indices.
TEST_P(Move, Generate) {
  auto r = run<uint32_t>(R"(
  %seven = arith.constant 7 : i32
  %a = mono.operand "number" write [%R, %P, %Q] : i32
  %b = mono.operand "seven" write [%R] : i32
)",
                         R"(
    %number = tensor.generate %R, %P, %Q {
    ^bb0(%i: index, %j: index, %k: index):
      %row = arith.muli %i, %C : index
      %part = arith.muli %j, %Q : index
      %first = arith.addi %row, %part : index
      %at = arith.addi %first, %k : index
      %at32 = arith.index_cast %at : index to i32
      tensor.yield %at32 : i32
    } : tensor<?x?x?xi32>
    mono.store %number, %a[0, 0, 0] : tensor<?x?x?xi32>
    %sevens = tensor.generate %R {
    ^bb0(%i: index):
      tensor.yield %seven : i32
    } : tensor<?xi32>
    mono.store %sevens, %b[0] : tensor<?xi32>
)",
                         "i32");
  expect<uint32_t>(r.gpu, "number", R, C, [&](int i, int j) { return i * C + j; });
  expect<uint32_t>(r.gpu, "seven", R, 1, [&](int, int) { return 7; });
}

// Runs of 1 (odd columns), 2, 4 and 8 elements; more elements than threads, and fewer; rows of one.
INSTANTIATE_TEST_SUITE_P(Shapes, Move,
                         testing::Values(Shape{1, 1, 1}, Shape{1, 1, 2}, Shape{1, 5, 3},
                                         Shape{7, 3, 3}, Shape{5, 2, 3}, Shape{3, 48, 1},
                                         Shape{16, 5, 4}, Shape{32, 3, 8}, Shape{33, 7, 16},
                                         Shape{64, 1, 64, 128}, Shape{100, 3, 11, 512},
                                         Shape{8, 32, 16, 512}));

/// Where a slice begins may depend on the task.
TEST(MoveByTask, SliceAndInsertion) {
  constexpr int kTasks = 6, kColumns = 10;
  OneGpu gpu(R"(mono.schedule @by_task target("gfx950") grid(4 x 64) {
  %x = mono.operand "x" read [6, 10] : i32
  %a = mono.operand "a" write [6, 4] : i32
  %b = mono.operand "b" write [6, 10] : i32
  mono.stage "s" (%t) tasks [6] base [3] {
    %v = mono.load %x[0, 0] [6, 10] : tensor<6x10xi32>
    %part = tensor.extract_slice %v[%t, %t] [1, 4] [1, 1] : tensor<6x10xi32> to tensor<4xi32>
    mono.store %part, %a[%t, 0] : tensor<4xi32>
    %zero = arith.constant dense<0> : tensor<1x10xi32>
    %moved = tensor.insert_slice %part into %zero[0, %t] [1, 4] [1, 1] : tensor<4xi32> into tensor<1x10xi32>
    mono.store %moved, %b[%t, 0] : tensor<1x10xi32>
  }
})");
  std::vector<int32_t> x(kTasks * kColumns);
  std::iota(x.begin(), x.end(), 100);
  gpu.write("x", x);
  gpu.launch();
  std::vector<int32_t> a = gpu.read<int32_t>("a", kTasks * 4),
                       b = gpu.read<int32_t>("b", kTasks * kColumns);
  for (int t = 0; t < kTasks; ++t) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(a[t * 4 + i], x[t * kColumns + t + i]) << t << ", " << i;
    for (int i = 0; i < kColumns; ++i)
      EXPECT_EQ(b[t * kColumns + i], i >= t && i < t + 4 ? x[t * kColumns + i] : 0)
          << t << ", " << i;
  }
}

} // namespace
