// What test problems of decoder layers bring along for their tokens: activations and paged caches.
#pragma once

#include "models/Problem.h"

namespace mono::models {

/// A bf16 tensor of variance 1 that is a function of its name and the seed.
std::vector<uint16_t> unitTensor(llvm::StringRef name, uint64_t seed, size_t count);

/// Makes one in 128 of the first `channels` columns of a bf16 matrix of `width` columns 16 times
/// larger, as activations of real models have them; a power of two keeps the values exact.
void enlargeChannels(llvm::MutableArrayRef<uint16_t> matrix, size_t width, size_t channels,
                     llvm::StringRef name, uint64_t seed);

/// Where the tokens of each row are in the caches, which have rows * pages pages.
struct PageTable {
  size_t pages = 0;            ///< of a row
  size_t page = 0;             ///< tokens of a page
  std::vector<int32_t> blocks; ///< [rows, pages]

  /// Pages in a shuffled order. Rows own disjoint pages, or all the same ones if they are
  /// `ordered`, consecutive tokens of one sequence.
  static PageTable shuffled(size_t rows, size_t pages, size_t page, bool ordered, uint64_t seed);
  /// Cache row of token `token` of row `row`.
  size_t cacheRow(size_t row, size_t token) const {
    return static_cast<size_t>(blocks[row * pages + token / page]) * page + token % page;
  }
};

/// A part of a cache's entries and what the launch's own tokens must have there.
struct CachePart {
  llvm::StringRef name;
  llvm::ArrayRef<double> expected; ///< [rows, width of the part]
};

/// A bf16 cache of one rank.
struct CacheOfRank {
  llvm::ArrayRef<uint16_t> before;
  const HostTensor &after;
  std::vector<CachePart> parts; ///< side by side; the same names on all ranks
};

/// Adds findings: per part the relative L2 of the worst entry in cache rows `own`, one for each row
/// of the launch, over all ranks; and that no other row of `cacheRows` has changed.
void checkCache(llvm::StringRef name, llvm::ArrayRef<CacheOfRank> ranks, size_t cacheRows,
                llvm::ArrayRef<size_t> own, double tolerance, Report &report);

} // namespace mono::models
