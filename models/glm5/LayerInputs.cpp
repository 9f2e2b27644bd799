// Synthetic tokens and caches.
#include "models/glm5/LayerInputs.h"
#include "models/TestTokens.h"

#include <numeric>

using namespace llvm;

namespace mono::models::glm5 {

static constexpr uint16_t nan16 = 0x7FC0;

/// Copies row `from` of a generated tensor whose first `rope` values are de-interleaved (the first
/// members of all pairs, then the second ones) to interleaved pairs.
static void copyInterleaved(ArrayRef<uint16_t> from, size_t rope, MutableArrayRef<uint16_t> to) {
  for (size_t i = 0; i < rope / 2; ++i) {
    to[2 * i] = from[i];
    to[2 * i + 1] = from[rope / 2 + i];
  }
  copy(from.drop_front(rope), to.begin() + rope);
}

static void fillCaches(LayerInputs &inputs, const LayerSizes &sizes, size_t row, size_t tokens,
                       uint64_t seed) {
  auto tensor = [&](StringRef part, size_t width) {
    return unitTensor(fmt::format("cache.{}.{}", row, part), seed, tokens * width);
  };
  std::vector<uint16_t> latent = tensor("latent", sizes.kvLora), rope = tensor("rope", sizes.rope);
  std::vector<uint16_t> index;
  if (sizes.indexer)
    index = tensor("index", sizes.indexDim);
  for (size_t t = 0; t < tokens; ++t) {
    size_t place = inputs.cacheRow(sizes, row, t);
    auto kv = MutableArrayRef(inputs.cacheKv).slice(place * sizes.cacheWidth(), sizes.cacheWidth());
    copy(ArrayRef(latent).slice(t * sizes.kvLora, sizes.kvLora), kv.begin());
    copyInterleaved(ArrayRef(rope).slice(t * sizes.rope, sizes.rope), sizes.rope,
                    kv.drop_front(sizes.kvLora));
    if (sizes.indexer)
      copyInterleaved(
          ArrayRef(index).slice(t * sizes.indexDim, sizes.indexDim), sizes.rope,
          MutableArrayRef(inputs.cacheIndex).slice(place * sizes.indexDim, sizes.indexDim));
  }
}

LayerInputs syntheticInputs(const LayerSizes &sizes, uint64_t seed, ArrayRef<int32_t> positions) {
  LayerInputs inputs;
  inputs.x = unitTensor("x", seed, sizes.rows * sizes.hidden);
  inputs.positions = positions.vec();
  inputs.blockTable =
      PageTable::shuffled(sizes.rows, sizes.pages(), sizes.page, sizes.ordered, seed).blocks;
  inputs.cacheKv.assign(sizes.cacheRows() * sizes.cacheWidth(), nan16);
  if (sizes.indexer)
    inputs.cacheIndex.assign(sizes.cacheRows() * sizes.indexDim, nan16);
  for (size_t row = 0; row < (sizes.ordered ? 1 : sizes.rows); ++row)
    fillCaches(inputs, sizes, row, static_cast<size_t>(positions[row]), seed);
  return inputs;
}

void addOutliers(LayerInputs &inputs, const LayerSizes &sizes, uint64_t seed) {
  enlargeChannels(inputs.x, sizes.hidden, sizes.hidden, "x.outliers", seed);
  enlargeChannels(inputs.cacheKv, sizes.cacheWidth(), sizes.kvLora, "latent.outliers", seed);
  enlargeChannels(inputs.cacheIndex, sizes.indexDim, sizes.indexDim, "index.outliers", seed);
}

std::vector<int32_t> spreadPositions(const LayerSizes &sizes) {
  int64_t context = static_cast<int64_t>(sizes.context), topk = static_cast<int64_t>(sizes.topk);
  int64_t rows = static_cast<int64_t>(sizes.rows);
  auto clamped = [&](int64_t position) {
    return static_cast<int32_t>(std::clamp<int64_t>(position, 0, context - 1));
  };
  std::vector<int32_t> positions(sizes.rows);
  if (sizes.ordered) {
    // The middle row is the first that must leave a token out.
    int64_t first = std::clamp<int64_t>(topk - rows / 2, 0, context - rows);
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(first));
    return positions;
  }
  const int32_t borders[] = {clamped(context - 1), 0, clamped(topk), clamped(topk - 1)};
  for (int64_t row = 0; row < rows; ++row)
    positions[row] =
        row < int64_t(std::size(borders)) ? borders[row] : clamped(row * context / rows - row);
  return positions;
}

} // namespace mono::models::glm5
