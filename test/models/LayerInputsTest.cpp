// Tokens, pages and caches of a layer's test problem.
#include "models/glm5/LayerInputs.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace mono::models;
using namespace mono::models::glm5;

namespace {

using Positions = std::vector<int32_t>;

LayerSizes sizesOf(size_t rows, size_t context, size_t topk) {
  LayerSizes sizes;
  sizes.rows = rows;
  sizes.context = context;
  sizes.topk = topk;
  sizes.page = 4;
  sizes.hidden = 256;
  sizes.kvLora = 256;
  sizes.rope = 4;
  sizes.indexDim = 8;
  return sizes;
}

TEST(SpreadPositions, MeetTheBorders) {
  Positions positions = spreadPositions(sizesOf(8, 4096, 2048));
  EXPECT_EQ((Positions{positions.begin(), positions.begin() + 4}),
            (Positions{4095, 0, 2048, 2047}));
  EXPECT_EQ(std::set<int32_t>(positions.begin(), positions.end()).size(), 8u);
  for (int32_t position : positions)
    EXPECT_TRUE(position >= 0 && position < 4096) << position;
  EXPECT_EQ(spreadPositions(sizesOf(1, 64, 16)), Positions{63});
  // A context that is all selected has no borders beyond it.
  EXPECT_EQ(spreadPositions(sizesOf(4, 16, 64)), (Positions{15, 0, 15, 15}));
}

TEST(SpreadPositions, OrderedRowsFollowEachOther) {
  LayerSizes sizes = sizesOf(4, 64, 16);
  sizes.ordered = true;
  EXPECT_EQ(spreadPositions(sizes), (Positions{14, 15, 16, 17}));
  sizes.context = 16;
  EXPECT_EQ(spreadPositions(sizes), (Positions{12, 13, 14, 15}));
}

TEST(SyntheticInputs, RowsOwnTheirPages) {
  LayerSizes sizes = sizesOf(3, 16, 8);
  LayerInputs inputs = syntheticInputs(sizes, 5, {15, 0, 7});
  std::set<int32_t> pages(inputs.blockTable.begin(), inputs.blockTable.end());
  EXPECT_EQ(pages.size(), 12u);
  EXPECT_EQ(*pages.begin(), 0);
  EXPECT_EQ(*pages.rbegin(), 11);
  EXPECT_FALSE(llvm::is_sorted(inputs.blockTable));
  EXPECT_EQ(inputs.cacheRow(sizes, 2, 6),
            static_cast<size_t>(inputs.blockTable[2 * 4 + 1]) * 4 + 2);
}

TEST(SyntheticInputs, OnlyEarlierTokensAreThere) {
  LayerSizes sizes = sizesOf(3, 16, 8);
  Positions positions = {15, 0, 7};
  LayerInputs inputs = syntheticInputs(sizes, 5, positions);
  for (size_t row = 0; row < 3; ++row)
    for (size_t token = 0; token < 16; ++token) {
      size_t place = inputs.cacheRow(sizes, row, token);
      bool filled = token < static_cast<size_t>(positions[row]);
      EXPECT_EQ(std::isnan(toFloat(inputs.cacheKv[place * sizes.cacheWidth()])), !filled);
      EXPECT_EQ(std::isnan(toFloat(inputs.cacheIndex[place * sizes.indexDim + 7])), !filled);
    }
}

TEST(SyntheticInputs, CachesAreThoseOfTheDefinitionInInterleavedOrder) {
  LayerSizes sizes = sizesOf(2, 16, 8);
  LayerInputs inputs = syntheticInputs(sizes, 9, {10, 12});
  std::vector<uint16_t> latent(12 * 256), rope(12 * 4), index(12 * 8);
  HashTensor("cache.1.latent", 9).real(1.7320508f, 0, latent);
  HashTensor("cache.1.rope", 9).real(1.7320508f, 0, rope);
  HashTensor("cache.1.index", 9).real(1.7320508f, 0, index);
  auto kv = llvm::ArrayRef(inputs.cacheKv).slice(inputs.cacheRow(sizes, 1, 11) * 260, 260);
  EXPECT_EQ(kv.take_front(256), llvm::ArrayRef(latent).slice(11 * 256, 256));
  // Stored as 0 2 | 1 3 of the pairs (0, 1), (2, 3).
  EXPECT_EQ(kv.drop_front(256).vec(),
            (std::vector<uint16_t>{rope[44], rope[46], rope[45], rope[47]}));
  auto key = llvm::ArrayRef(inputs.cacheIndex).slice(inputs.cacheRow(sizes, 1, 11) * 8, 8);
  EXPECT_EQ(key.vec(), (std::vector<uint16_t>{index[88], index[90], index[89], index[91], index[92],
                                              index[93], index[94], index[95]}));
}

TEST(SyntheticInputs, OrderedRowsShareOneSequence) {
  LayerSizes sizes = sizesOf(3, 16, 8);
  sizes.ordered = true;
  LayerInputs inputs = syntheticInputs(sizes, 5, {6, 7, 8});
  for (size_t token = 0; token < 16; ++token)
    EXPECT_EQ(inputs.cacheRow(sizes, 0, token), inputs.cacheRow(sizes, 2, token));
  size_t filled = 0;
  for (size_t place = 0; place < sizes.cacheRows(); ++place)
    filled += !std::isnan(toFloat(inputs.cacheKv[place * sizes.cacheWidth()]));
  EXPECT_EQ(filled, 6u);
}

TEST(SyntheticInputs, OutliersAreChannels) {
  LayerSizes sizes = sizesOf(4, 16, 8);
  LayerInputs plain = syntheticInputs(sizes, 5, {6, 7, 8, 9}), inputs = plain;
  addOutliers(inputs, sizes, 5);
  std::set<size_t> channels;
  for (size_t i = 0; i < plain.x.size(); ++i)
    if (plain.x[i] != inputs.x[i]) {
      EXPECT_EQ(toFloat(inputs.x[i]), 16 * toFloat(plain.x[i]));
      channels.insert(i % sizes.hidden);
    }
  EXPECT_GE(channels.size(), 1u);
  EXPECT_LE(channels.size(), 8u);
  for (size_t channel : channels)
    EXPECT_NE(plain.x[channel], inputs.x[channel]); // the whole column
}

} // namespace
