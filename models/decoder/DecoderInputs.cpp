// Synthetic tokens and caches of decoder layers.
#include "models/decoder/DecoderInputs.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace mono::models::decoder {

static constexpr uint16_t nan16 = 0x7FC0;

std::vector<size_t> DecoderInputs::ownRows() const {
  std::vector<size_t> own;
  for (size_t row = 0; row < positions.size(); ++row)
    own.push_back(cacheRow(row, static_cast<size_t>(positions[row])));
  return own;
}

std::vector<int32_t> spreadPositions(const DecoderSizes &sizes) {
  auto context = static_cast<int32_t>(sizes.context), rows = static_cast<int32_t>(sizes.rows);
  auto keys = static_cast<int32_t>(sizes.context / sizes.splits);
  std::vector<int32_t> positions(sizes.rows);
  if (sizes.ordered) {
    std::iota(positions.begin(), positions.end(),
              std::clamp(keys - rows / 2, 0, std::max(context - rows, 0)));
    return positions;
  }
  const int32_t borders[] = {context - 1, 0, std::min(keys, context - 1), keys - 1};
  for (int32_t row = 0; row < rows; ++row)
    positions[static_cast<size_t>(row)] =
        row < static_cast<int32_t>(std::size(borders)) ? borders[row] : row * (context / rows) - 1;
  return positions;
}

DecoderInputs randomDecoderInputs(const DecoderSizes &sizes, uint64_t seed) {
  DecoderInputs inputs;
  inputs.x = unitTensor("x", seed, sizes.rows * sizes.hidden);
  enlargeChannels(inputs.x, sizes.hidden, sizes.hidden, "x.outliers", seed);
  inputs.positions = spreadPositions(sizes);
  inputs.table = PageTable::shuffled(sizes.rows, sizes.pages(), sizes.page, sizes.ordered, seed);
  size_t width = sizes.kvHeads * sizes.dim;
  for (auto [cache, part] : {std::pair{&inputs.cacheK, "key"}, {&inputs.cacheV, "value"}}) {
    cache->assign(sizes.cacheRows() * width, nan16);
    for (size_t row = 0; row < (sizes.ordered ? 1 : sizes.rows); ++row) {
      auto tokens = static_cast<size_t>(inputs.positions[row]);
      std::vector<uint16_t> values =
          unitTensor(fmt::format("cache.{}.{}", row, part), seed, tokens * width);
      for (size_t token = 0; token < tokens; ++token)
        copy(ArrayRef(values).slice(token * width, width),
             cache->begin() + static_cast<ptrdiff_t>(inputs.cacheRow(row, token) * width));
    }
  }
  return inputs;
}

} // namespace mono::models::decoder
