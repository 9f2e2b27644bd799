// schedules/gqa.mlir against attention in double precision: paged caches, ragged positions,
// windows, capped scores, sinks, on coherent and on adversarial memory.
#include "models/BFloat16.h"
#include "test/schedules/OneCall.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;
using namespace mono::models;

namespace {

struct Shape {
  int rows, heads, groups, dim, context, page, splits;
  int window = 0; ///< 0: all tokens
  bool isOrdered = false;
  double cap = 0;
  bool hasSinks = false;
  bool hasPadding = false; ///< the last two rows have no token
};

void PrintTo(const Shape &s, std::ostream *os) {
  *os << s.rows << (s.isOrdered ? " ordered rows, " : " rows, ") << s.heads << " heads in "
      << s.groups << " groups of " << s.dim << ", " << s.context << " tokens in pages of " << s.page
      << ", " << s.splits << " splits, window " << s.window << ", cap " << s.cap
      << (s.hasSinks ? ", sinks" : "") << (s.hasPadding ? ", padding" : "");
}

const char *schedule = R"(mono.import "schedules/gqa.mlir"
mono.schedule @gqa target("gfx950") grid(16 x 512) {
  %S = mono.param "S" in [1 to 8]
  %H = mono.param "H" in [1 to 64]
  %KV = mono.param "KV" in [1 to 64]
  %D = mono.param "D" in [32 to 256]
  %CTX = mono.param "CTX" in [32 to 4096]
  %PAGE = mono.param "PAGE" in [1 to 4096]
  %SPLITS = mono.param "SPLITS" in [1 to 64]
  %WINDOW = mono.param "WINDOW" in [1 to 4096]
  %KEYS = mono.param "KEYS" in [32 to 512]
  %SLICES = mono.param "SLICES" in [1, 2, 4]
  %PAGES = arith.divui %CTX, %PAGE : index
  %CACHE = arith.muli %S, %CTX : index
  %q = mono.operand "q" read [%S, %H, %D] : bf16
  %k = mono.operand "k" read [%S, %KV, %D] : bf16
  %v = mono.operand "v" read [%S, %KV, %D] : bf16
  %cache_k = mono.operand "cache_k" read [%CACHE, %KV, %D] : bf16
  %cache_v = mono.operand "cache_v" read [%CACHE, %KV, %D] : bf16
  %table = mono.operand "table" read [%S, %PAGES] : i32
  %positions = mono.operand "positions" read [%S] : i32
  %sinks = mono.operand "sinks" read [%H] : f32
  %y = mono.operand "y" write [%S, %H * symbol(%D)] : bf16
  %query = mono.mailbox "query" tagged scope(device) slots(1) [%S, %H, %D] : bf16
  %places = mono.mailbox "places" tagged scope(device) slots(1) [%S * symbol(%KV)] : i32
  %new_k = mono.mailbox "new_k" tagged scope(device) slots(1) [%S, %KV, %D] : bf16
  %new_v = mono.mailbox "new_v" tagged scope(device) slots(1) [%S, %KV, %D] : bf16
  %heads = mono.mailbox "heads" tagged scope(device) slots(1) [%S, %H * symbol(%D)] : bf16
  %base = arith.constant 15 : index
  mono.call @post_places(%table, %positions, %places, %S, %KV, %PAGES, %PAGE, %base)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.stage "bring" (%t) tasks [%S] base [0] {
    %q3 = mono.load %q[%t, 0, 0] [1, %H, %D] : tensor<1x?x?xbf16>
    mono.post %q3 to %query[%t, 0, 0] : tensor<1x?x?xbf16>
    %k3 = mono.load %k[%t, 0, 0] [1, %KV, %D] : tensor<1x?x?xbf16>
    mono.post %k3 to %new_k[%t, 0, 0] : tensor<1x?x?xbf16>
    %v3 = mono.load %v[%t, 0, 0] [1, %KV, %D] : tensor<1x?x?xbf16>
    mono.post %v3 to %new_v[%t, 0, 0] : tensor<1x?x?xbf16>
  }
  %scale = arith.constant 0.125 : f32
  %cap = arith.constant $CAP : f32
  %part, %max, %sum = mono.call @gqa_parts(%query, %new_k, %new_v, %places, %cache_k, %cache_v, %table, %positions, %S, %H, %KV, %D, %PAGES, %PAGE, %WINDOW, %SPLITS, %KEYS, %scale, %cap)
    : (!mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.buffer, !mono.buffer, !mono.buffer, !mono.buffer, index, index, index, index, index, index, index, index, index, f32, f32)
    -> (!mono.mailbox, !mono.mailbox, !mono.mailbox)
  $COMBINE
  mono.stage "take" (%t) tasks [%S] base [8] {
    %o = mono.receive %heads[%t, 0] [1, %H * symbol(%D)] : tensor<1x?xbf16>
    mono.store %o, %y[%t, 0] : tensor<1x?xbf16>
  }
})";

const char *combine =
    R"(mono.call @gqa_combine(%part, %max, %sum, %heads, %S, %H, %SPLITS, %D, %SLICES)
    : (!mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.mailbox, index, index, index, index, index) -> ())";
const char *combineWithSinks =
    R"(mono.call @gqa_combine_with_sinks(%part, %max, %sum, %sinks, %heads, %S, %H, %SPLITS, %D, %SLICES)
    : (!mono.mailbox, !mono.mailbox, !mono.mailbox, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ())";

class Gqa : public testing::TestWithParam<Shape> {
protected:
  Shape s = GetParam();
  std::mt19937 random{uint32_t(s.rows * 1000 + s.heads * 10 + s.splits)};
  int pages = s.context / s.page;
  int window = s.window > 0 ? s.window : s.context;
  std::vector<uint16_t> q, k, v, cacheK, cacheV;
  std::vector<int32_t> table, positions;
  std::vector<float> sinks;

  void SetUp() override {
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<uint16_t> &to, size_t count, float scale) {
      to.resize(count);
      for (uint16_t &value : to)
        value = toBf16(scale * normal(random));
    };
    fill(q, size_t(s.rows * s.heads * s.dim), 2);
    fill(k, size_t(s.rows * s.groups * s.dim), 1);
    fill(v, k.size(), 1);
    for (int h = 0; h < s.heads; ++h)
      sinks.push_back(4 * normal(random));
    table.resize(size_t(s.rows * pages));
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), random);
    for (int row = 0; row < s.rows; ++row)
      positions.push_back(row == 0 ? s.context - 1 : row == 1 ? 0 : int(random() % s.context));
    if (s.isOrdered)
      for (int row = 0; row < s.rows; ++row) {
        positions[row] = s.context / 2 + row;
        std::copy_n(table.begin(), pages, table.begin() + row * pages);
      }
    if (s.hasPadding) {
      positions[s.rows - 2] = -1;
      positions[s.rows - 1] = s.context + s.page;
      // What stands in their entries of the table is somebody else's.
      for (int row = s.rows - 2; row < s.rows; ++row)
        std::copy_n(table.begin(), pages, table.begin() + row * pages);
    }
    // Nobody may use what is not there: all but earlier tokens is NaN.
    size_t columns = size_t(s.groups * s.dim);
    cacheK.assign(s.rows * s.context * columns, 0x7FC0);
    cacheV = cacheK;
    for (int row = 0; row < s.rows; ++row)
      for (int token = 0; hasToken(row) && token < positions[s.isOrdered ? 0 : row]; ++token)
        for (size_t c = 0; c < columns; ++c) {
          cacheK[cacheRow(row, token) * columns + c] = toBf16(normal(random));
          cacheV[cacheRow(row, token) * columns + c] = toBf16(normal(random));
        }
  }

  bool hasToken(int row) const { return positions[row] >= 0 && positions[row] < s.context; }

  size_t cacheRow(int row, int token) const {
    return size_t(table[row * pages + token / s.page] * s.page + token % s.page);
  }

  /// Entry c of a token's key or value.
  double entry(const std::vector<uint16_t> &cache, const std::vector<uint16_t> &fresh, int row,
               int token, size_t c) const {
    size_t columns = size_t(s.groups * s.dim);
    int firstNew = positions[s.isOrdered ? 0 : row];
    if (token >= firstNew)
      return toFloat(fresh[size_t(s.isOrdered ? token - firstNew : row) * columns + c]);
    return toFloat(cache[cacheRow(row, token) * columns + c]);
  }

  std::vector<uint16_t> run(const emu::Options &options) {
    char cap[32];
    std::snprintf(cap, sizeof cap, "%.6e", s.cap);
    std::string text =
        substitute(schedule, {{"CAP", cap}, {"COMBINE", s.hasSinks ? combineWithSinks : combine}});
    int keys = (std::min(window, s.context) + s.splits - 1) / s.splits;
    OneGpu gpu(text, options,
               {{"S", s.rows},
                {"H", s.heads},
                {"KV", s.groups},
                {"D", s.dim},
                {"CTX", s.context},
                {"PAGE", s.page},
                {"SPLITS", s.splits},
                {"WINDOW", window},
                {"KEYS", (keys + 31) / 32 * 32},
                {"SLICES", s.splits % 2 == 0 ? s.splits : 1}});
    gpu.write("q", q);
    gpu.write("k", k);
    gpu.write("v", v);
    gpu.write("cache_k", cacheK);
    gpu.write("cache_v", cacheV);
    gpu.write("table", table);
    gpu.write("positions", positions);
    gpu.write("sinks", sinks);
    gpu.write("y", std::vector<uint16_t>(size_t(s.rows * s.heads * s.dim), 0x7FC1));
    gpu.launch();
    return gpu.read<uint16_t>("y", size_t(s.rows * s.heads * s.dim));
  }

  /// Checks one head of one row with a token.
  void check(int row, int head, const uint16_t *y) const {
    int group = head / (s.heads / s.groups), own = positions[row];
    int first = std::max(0, own + 1 - window);
    std::vector<double> p;
    for (int token = first; token <= own; ++token) {
      double dot = 0;
      for (int c = 0; c < s.dim; ++c)
        dot += double(toFloat(q[size_t((row * s.heads + head) * s.dim + c)])) *
               entry(cacheK, k, row, token, size_t(group * s.dim + c));
      double score = 0.125 * dot;
      p.push_back(s.cap > 0 ? s.cap * std::tanh(score / s.cap) : score);
    }
    double most = *std::max_element(p.begin(), p.end());
    if (s.hasSinks)
      most = std::max(most, double(sinks[head]));
    double total = s.hasSinks ? std::exp(sinks[head] - most) : 0;
    for (double &score : p)
      total += score = std::exp(score - most);
    for (int c = 0; c < s.dim; ++c) {
      double expected = 0, magnitude = 0;
      for (int token = first; token <= own; ++token) {
        double term = p[size_t(token - first)] / total *
                      entry(cacheV, v, row, token, size_t(group * s.dim + c));
        expected += term;
        magnitude += std::abs(term);
      }
      // Numerators are rounded to bf16, by 2^-9 of each, and so are those in the sum; the result is
      // rounded once more. Scores are off by f32 rounding of sums of products of up to 8 x 4, which
      // the exponential turns into a relative error of less than 1e-4.
      double bound = (2 * std::exp2(-9) + 1e-4) * magnitude + std::exp2(-9) * std::abs(expected);
      EXPECT_NEAR(toFloat(y[c]), expected, 1.01 * bound)
          << "row " << row << ", head " << head << ", column " << c;
    }
  }
};

TEST_P(Gqa, IsTheSoftmaxOverTheWindow) {
  std::vector<uint16_t> y = run({});
  for (int row = 0; row < s.rows; ++row)
    for (int head = 0; head < s.heads; ++head) {
      const uint16_t *of = &y[size_t((row * s.heads + head) * s.dim)];
      if (hasToken(row))
        check(row, head, of);
      else
        EXPECT_EQ(std::vector<uint16_t>(of, of + s.dim), std::vector<uint16_t>(s.dim)) << row;
    }
  emu::Options adversarial;
  adversarial.coherence = emu::Coherence::adversarial(1);
  EXPECT_EQ(run(adversarial), y);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Gqa,
    testing::Values(Shape{3, 8, 2, 64, 128, 16, 2}, Shape{1, 4, 1, 128, 64, 64, 1},
                    Shape{8, 4, 4, 32, 96, 8, 3}, Shape{2, 16, 1, 64, 128, 1, 4},
                    Shape{4, 8, 2, 64, 128, 16, 2, 0, true}, Shape{4, 8, 2, 64, 128, 16, 2, 50},
                    Shape{3, 4, 2, 64, 128, 16, 1, 1}, Shape{3, 4, 2, 64, 128, 16, 2, 127},
                    Shape{4, 4, 2, 64, 128, 32, 3, 70, true},
                    Shape{3, 8, 2, 64, 128, 16, 2, 0, false, 5.0},
                    Shape{3, 8, 2, 64, 128, 16, 2, 0, false, 0, true},
                    Shape{4, 8, 2, 64, 128, 16, 2, 40, true, 3.0, true},
                    Shape{4, 8, 2, 64, 128, 16, 2, 50, false, 0, false, true},
                    Shape{4, 8, 2, 64, 128, 128, 2, 0, false, 0, true, true}));

/// Tokens of a part of a row: the window that ends with its own, or all from token 0.
TEST(WindowTokens, EndWithTheOwn) {
  auto tokens = [](const char *row, const char *window, const char *which) {
    return OneCall("gqa", "window_tokens", {{"positions", {3}, "i32"}},
                   {"&positions", row, window, which, "4"}, {{"y", {4}, "i32"}})
        .with("positions", std::vector<int32_t>{2, 40, 7})
        .run()
        .result<int32_t>("y");
  };
  EXPECT_EQ(tokens("0", "8", "0"), (std::vector<int32_t>{0, 1, 2, 3})); // past its own, too
  EXPECT_EQ(tokens("1", "8", "0"), (std::vector<int32_t>{33, 34, 35, 36}));
  EXPECT_EQ(tokens("1", "8", "1"), (std::vector<int32_t>{37, 38, 39, 40}));
  EXPECT_EQ(tokens("2", "4096", "1"), (std::vector<int32_t>{4, 5, 6, 7}));
}

TEST(HeadRows, OfACache) {
  std::vector<int32_t> rows = OneCall("gqa", "head_rows", {{"index", {4}, "i32"}},
                                      {"index", "1", "3", "4"}, {{"y", {4}, "i32"}})
                                  .with("index", std::vector<int32_t>{0, 5, 2, -1})
                                  .run()
                                  .result<int32_t>("y");
  EXPECT_EQ(rows, (std::vector<int32_t>{1, 16, 7, -2}));
}

/// What a task of "combine" takes: all parts of its head, its slice of the columns.
TEST(ReceiveParts, OfAHeadAndSlice) {
  OneGpu gpu(R"(mono.import "schedules/gqa.mlir"
mono.schedule @parts target("gfx950") grid(16 x 64) {
  %heads = arith.constant 3 : index
  %splits = arith.constant 4 : index
  %slices = arith.constant 2 : index
  %columns = arith.constant 8 : index
  %v = mono.operand "v" read [2, 4, 3, 16] : f32
  %m = mono.operand "m" read [2, 3, 4] : f32
  %values = mono.operand "values" write [12, 4, 8] : f32
  %maxima = mono.operand "maxima" write [12, 4] : f32
  %sums = mono.operand "sums" write [12, 4] : f32
  %value = mono.mailbox "value" tagged scope(device) slots(1) [2, 4, 3, 16] : f32
  %max = mono.mailbox "max" tagged scope(device) slots(1) [2, 3, 4] : f32
  %sum = mono.mailbox "sum" tagged scope(device) slots(1) [2, 3, 4] : f32
  mono.stage "post" (%t) tasks [1] base [0] {
    %a = mono.load %v[0, 0, 0, 0] [2, 4, 3, 16] : tensor<2x4x3x16xf32>
    mono.post %a to %value[0, 0, 0, 0] : tensor<2x4x3x16xf32>
    %b = mono.load %m[0, 0, 0] [2, 3, 4] : tensor<2x3x4xf32>
    mono.post %b to %max[0, 0, 0] : tensor<2x3x4xf32>
    %c = arith.negf %b : tensor<2x3x4xf32>
    mono.post %c to %sum[0, 0, 0] : tensor<2x3x4xf32>
  }
  mono.stage "take" (%t) tasks [12] base [1] {
    %a, %b, %c = mono.call @receive_parts(%value, %max, %sum, %t, %heads, %splits, %slices, %columns)
      : (!mono.mailbox, !mono.mailbox, !mono.mailbox, index, index, index, index, index)
      -> (tensor<1x?xf32>, tensor<1x?xf32>, tensor<?x?xf32>)
    mono.store %a, %maxima[%t, 0] : tensor<1x?xf32>
    mono.store %b, %sums[%t, 0] : tensor<1x?xf32>
    mono.store %c, %values[%t, 0, 0] : tensor<?x?xf32>
  }
})");
  std::vector<float> v(2 * 4 * 3 * 16), m(2 * 3 * 4);
  std::iota(v.begin(), v.end(), 1.0f);
  std::iota(m.begin(), m.end(), 1.0f);
  gpu.write("v", v);
  gpu.write("m", m);
  gpu.launchOnAnyMemory();
  std::vector<float> values = gpu.read<float>("values", 12 * 4 * 8),
                     maxima = gpu.read<float>("maxima", 48), sums = gpu.read<float>("sums", 48);
  for (int t = 0; t < 12; ++t)
    for (int part = 0; part < 4; ++part) {
      int row = t / 6, head = t / 2 % 3, slice = t % 2;
      EXPECT_EQ(maxima[t * 4 + part], m[(row * 3 + head) * 4 + part]);
      EXPECT_EQ(sums[t * 4 + part], -m[(row * 3 + head) * 4 + part]);
      for (int c = 0; c < 8; ++c)
        EXPECT_EQ(values[(t * 4 + part) * 8 + c],
                  v[((row * 4 + part) * 3 + head) * 16 + slice * 8 + c]);
    }
}

} // namespace
