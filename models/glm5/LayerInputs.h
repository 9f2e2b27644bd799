// What the tokens of one launch bring along: residual stream, positions, and the paged caches.
#pragma once

#include "models/SyntheticCheckpoint.h"
#include "models/glm5/LayerSizes.h"

namespace mono::models::glm5 {

struct LayerInputs {
  std::vector<uint16_t> x;          ///< [rows, hidden] bf16
  std::vector<int32_t> positions;   ///< [rows]
  std::vector<int32_t> blockTable;  ///< [rows, pages]
  std::vector<uint16_t> cacheKv;    ///< [cacheRows, cacheWidth] bf16
  std::vector<uint16_t> cacheIndex; ///< [cacheRows, indexDim] bf16
  /// Without an indexer: the tokens of each row, ascending.
  std::vector<std::vector<int32_t>> selection;

  /// Where token `token` of row `row` is in the caches.
  size_t cacheRow(const LayerSizes &sizes, size_t row, size_t token) const {
    return static_cast<size_t>(blockTable[row * sizes.pages() + token / sizes.page]) * sizes.page +
           token % sizes.page;
  }
};

/// Synthetic inputs of a case: x and, for each row s, `cache.s.latent`, `.rope`, `.index` of
/// positions[s] tokens, as test/data/README.md has them. Every cache row that holds no earlier
/// token of some row is NaN, the rows' own places included: nobody may use it before it is written.
/// Pages lie in a shuffled order. With ordered rows all caches are those of row 0, whose tokens
/// before positions[0] are filled.
LayerInputs syntheticInputs(const LayerSizes &sizes, uint64_t seed,
                            llvm::ArrayRef<int32_t> positions);

/// Makes one channel in 128 of x and of the cached latents and index keys 16 times larger, as
/// activations of real models have them. A power of two keeps the values exact.
void addOutliers(LayerInputs &inputs, const LayerSizes &sizes, uint64_t seed);

/// Positions that meet every border: spread over [0, context) with 0, TOPK - 1, TOPK and
/// context - 1 among them as far as there are rows; consecutive ones that pass TOPK if ordered.
std::vector<int32_t> spreadPositions(const LayerSizes &sizes);

} // namespace mono::models::glm5
