// schedules/paged_cache.mlir against its definition.
#include "test/lowering/Device/OneGpu.h"

#include <cmath>
#include <random>

using namespace mono;
using namespace mono::test;

namespace {

constexpr int kRows = 4, kPages = 5, kPage = 8, kBlocks = 32;

/// Rows of a batch that are sequences of their own, or consecutive tokens of one.
class PagedCache : public testing::TestWithParam<bool> {};

TEST_P(PagedCache, CacheOrNew) {
  bool isOrdered = GetParam();
  std::string text = R"(mono.import "schedules/paged_cache.mlir"
mono.schedule @cache target("gfx950") grid(4 x 64) {
  %ordered = mono.param "ORDERED" in [0, 1]
  %n = arith.constant 48 : index
  %pages = arith.constant 5 : index
  %page = arith.constant 8 : index
  %cacheRows = arith.constant 256 : index
  %table = mono.operand "table" read [4, 5] : i32
  %positions = mono.operand "positions" read [4] : i32
  %tokens = mono.operand "tokens" read [48] : i32
  %sequence = mono.operand "sequence" read [48] : i32
  %rows = mono.operand "rows" write [48] : i32
  %index = mono.operand "index" write [4, 48] : i32
  %mask = mono.operand "mask" write [4, 48] : f32
  mono.stage "one_sequence" (%t) tasks [1] base [0] {
    %tok = mono.load %tokens[0] [48] : tensor<48xi32>
    %zero = arith.constant dense<0> : tensor<48xi32>
    %some = arith.maxsi %tok, %zero : tensor<48xi32>
    %seq = mono.load %sequence[0] [48] : tensor<48xi32>
    %r = mono.call @cache_row(%table, %seq, %some, %pages, %page, %n)
      : (!mono.buffer, tensor<48xi32>, tensor<48xi32>, index, index, index) -> tensor<?xi32>
    mono.store %r, %rows[0] : tensor<?xi32>
  }
  mono.stage "batch" (%t) tasks [4] base [0] {
    %tok = mono.load %tokens[0] [48] : tensor<48xi32>
    %i = mono.call @cache_or_new(%table, %positions, %tok, %t, %ordered, %cacheRows, %pages, %page, %n)
      : (!mono.buffer, !mono.buffer, tensor<48xi32>, index, index, index, index, index, index) -> tensor<?xi32>
    mono.store %i, %index[%t, 0] : tensor<?xi32>
    %m = mono.call @mask_of(%i, %n) : (tensor<?xi32>, index) -> tensor<?xf32>
    mono.store %m, %mask[%t, 0] : tensor<?xf32>
  }
})";
  OneGpu gpu(text, {}, {{"ORDERED", isOrdered}});
  std::mt19937 random(3);
  std::vector<int32_t> table(kRows * kPages), tokens(48), sequence(48), positions;
  for (int32_t &block : table)
    block = int32_t(random() % kBlocks);
  for (int i = 0; i < 48; ++i) {
    tokens[i] = i < 44 ? i - 4 : -1; // before the first, to past the last page
    if (tokens[i] >= kPages * kPage)
      tokens[i] = kPages * kPage - 1;
    sequence[i] = int32_t(random() % kRows);
  }
  positions = isOrdered ? std::vector<int32_t>{20, 21, 22, 23} : std::vector<int32_t>{20, 0, 39, 7};
  // Consecutive tokens of one sequence share its pages.
  for (int i = 0; isOrdered && i < kRows * kPages; ++i)
    table[i] = table[i % kPages];
  gpu.write("table", table);
  gpu.write("tokens", tokens);
  gpu.write("sequence", sequence);
  gpu.write("positions", positions);
  gpu.launchOnAnyMemory();
  auto cacheRow = [&](int row, int token) {
    return table[row * kPages + token / kPage] * kPage + token % kPage;
  };
  std::vector<int32_t> rows = gpu.read<int32_t>("rows", 48),
                       index = gpu.read<int32_t>("index", kRows * 48);
  std::vector<float> mask = gpu.read<float>("mask", kRows * 48);
  for (int i = 0; i < 48; ++i)
    EXPECT_EQ(rows[i], cacheRow(sequence[i], std::max(tokens[i], 0))) << i;
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < 48; ++i) {
      int token = tokens[i], own = positions[row];
      // New tokens of a row: its own, or, of one sequence, all from the first row's on.
      int firstNew = isOrdered ? positions[0] : own;
      int expected = token < 0 || token > own ? -1
                     : token >= firstNew ? kBlocks * kPage + (isOrdered ? token - firstNew : row)
                                         : cacheRow(row, token);
      EXPECT_EQ(index[row * 48 + i], expected) << "row " << row << ", token " << token;
      EXPECT_EQ(mask[row * 48 + i], expected < 0 ? -INFINITY : 0)
          << "row " << row << ", token " << token;
    }
}

INSTANTIATE_TEST_SUITE_P(Batches, PagedCache, testing::Bool());

} // namespace
