// schedules/paged_cache.mlir against its definition.
#include "test/lowering/Device/OneGpu.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

constexpr int kRows = 4, kPages = 5, kPage = 8, kBlocks = 32;

using Numbers = std::vector<int32_t>;

struct Batch {
  const char *name;
  Numbers positions;
  bool isOneSequence = false; ///< the rows are consecutive tokens of it; else each has its own
};

void PrintTo(const Batch &batch, std::ostream *out) { *out << batch.name; }

class PagedCache : public testing::TestWithParam<Batch> {
protected:
  void SetUp() override {
    std::mt19937 random(3);
    Numbers blocks(kBlocks);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    table.assign(blocks.begin(), blocks.begin() + kRows * kPages);
    // Consecutive tokens of one sequence share its pages.
    for (int i = 0; GetParam().isOneSequence && i < kRows * kPages; ++i)
      table[i] = table[i % kPages];
  }

  static bool isInPages(int token) { return token >= 0 && token < kPages * kPage; }

  /// -1: nowhere.
  int32_t cacheRow(int row, int token) const {
    return isInPages(token) ? table[row * kPages + token / kPage] * kPage + token % kPage : -1;
  }

  Numbers table, positions = GetParam().positions;
};

TEST_P(PagedCache, KnownTokens) {
  OneGpu gpu(R"(mono.import "schedules/paged_cache.mlir"
mono.schedule @cache target("gfx950") grid(4 x 64) {
  %n = arith.constant 48 : index
  %pages = arith.constant 5 : index
  %page = arith.constant 8 : index
  %table = mono.operand "table" read [4, 5] : i32
  %positions = mono.operand "positions" read [4] : i32
  %tokens = mono.operand "tokens" read [48] : i32
  %sequence = mono.operand "sequence" read [48] : i32
  %rows = mono.operand "rows" write [48] : i32
  %index = mono.operand "index" write [4, 48] : i32
  %mask = mono.operand "mask" write [4, 48] : f32
  mono.stage "one_sequence" (%t) tasks [1] base [0] {
    %tok = mono.load %tokens[0] [48] : tensor<48xi32>
    %seq = mono.load %sequence[0] [48] : tensor<48xi32>
    %r = mono.call @cache_row(%table, %seq, %tok, %pages, %page, %n)
      : (!mono.buffer, tensor<48xi32>, tensor<48xi32>, index, index, index) -> tensor<?xi32>
    mono.store %r, %rows[0] : tensor<?xi32>
  }
  mono.stage "batch" (%t) tasks [4] base [0] {
    %tok = mono.load %tokens[0] [48] : tensor<48xi32>
    %i = mono.call @known_tokens(%table, %positions, %tok, %t, %pages, %page, %n)
      : (!mono.buffer, !mono.buffer, tensor<48xi32>, index, index, index, index) -> tensor<?xi32>
    mono.store %i, %index[%t, 0] : tensor<?xi32>
    %m = mono.call @mask_of(%i, %n) : (tensor<?xi32>, index) -> tensor<?xf32>
    mono.store %m, %mask[%t, 0] : tensor<?xf32>
  }
})");
  std::mt19937 random(4);
  Numbers tokens(48), sequence(48);
  for (int i = 0; i < 48; ++i) {
    tokens[i] = i - 4; // before the first, to past the last page
    sequence[i] = int32_t(random() % kRows);
  }
  gpu.write("table", table);
  gpu.write("tokens", tokens);
  gpu.write("sequence", sequence);
  gpu.write("positions", positions);
  gpu.launchOnAnyMemory();
  Numbers rows = gpu.read<int32_t>("rows", 48), index = gpu.read<int32_t>("index", kRows * 48);
  std::vector<float> mask = gpu.read<float>("mask", kRows * 48);
  for (int i = 0; i < 48; ++i)
    EXPECT_EQ(rows[i], cacheRow(sequence[i], tokens[i])) << i;
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < 48; ++i) {
      int token = tokens[i];
      bool isKnown = isInPages(positions[row]) && token <= positions[row];
      int expected = isKnown ? cacheRow(row, token) : -1;
      EXPECT_EQ(index[row * 48 + i], expected) << "row " << row << ", token " << token;
      EXPECT_EQ(mask[row * 48 + i], expected < 0 ? -INFINITY : 0)
          << "row " << row << ", token " << token;
    }
}

TEST_P(PagedCache, PostPlaces) {
  constexpr int kHeads = 3;
  OneGpu gpu(R"(mono.import "schedules/paged_cache.mlir"
mono.schedule @cache target("gfx950") grid(4 x 64) {
  %rows = arith.constant 4 : index
  %heads = arith.constant 3 : index
  %pages = arith.constant 5 : index
  %page = arith.constant 8 : index
  %base = arith.constant 2 : index
  %table = mono.operand "table" read [4, 5] : i32
  %positions = mono.operand "positions" read [4] : i32
  %y = mono.operand "y" write [12] : i32
  %places = mono.mailbox "places" tagged scope(device) slots(1) [12] : i32
  mono.call @post_places(%table, %positions, %places, %rows, %heads, %pages, %page, %base)
    : (!mono.buffer, !mono.buffer, !mono.mailbox, index, index, index, index, index) -> ()
  mono.stage "take" (%t) tasks [1] base [0] {
    %v = mono.receive %places[0] [12] : tensor<12xi32>
    mono.store %v, %y[0] : tensor<12xi32>
  }
})");
  gpu.write("table", table);
  gpu.write("positions", positions);
  auto places = [&] {
    gpu.launchOnAnyMemory();
    Numbers result = gpu.read<int32_t>("y", kRows * kHeads);
    for (int32_t &place : result)
      place = std::max(place, -1); // which number below 0 says "nowhere" is all the same
    return result;
  };
  Numbers expected;
  for (int row = 0; row < kRows; ++row)
    for (int head = 0; head < kHeads; ++head)
      expected.push_back(std::max(cacheRow(row, positions[row]) * kHeads + head, -1));
  EXPECT_EQ(places(), expected);

  // A caller's mistake: row 3 is the token of row 1 once more.
  std::copy_n(table.begin() + kPages, kPages, table.begin() + 3 * kPages);
  positions[3] = positions[1];
  std::fill_n(expected.begin() + 3 * kHeads, kHeads, -1);
  gpu.write("table", table);
  gpu.write("positions", positions);
  EXPECT_EQ(places(), expected);
}

INSTANTIATE_TEST_SUITE_P(Batches, PagedCache,
                         testing::Values(Batch{"Sequences", {20, 0, 39, 7}},
                                         Batch{"OneSequence", {20, 21, 22, 23}, true},
                                         Batch{"PaddingRows", {-1, 39, INT32_MIN, -40}},
                                         Batch{"PositionsTooLarge", {40, 7, 41, INT32_MAX}},
                                         Batch{"PaddingBesideOneSequence", {38, 39, 40, -1}, true}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
