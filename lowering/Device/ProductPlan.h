// How the wavefronts of a workgroup share a mono.product: a function of its shape alone, so that
// placement and code generation agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace mono {

/// f32 elements from a row of results of the matrix cores to the next in LDS. A tile's lanes store
/// 16 bytes each, 16 rows in a phase, and 64 banks of 4 bytes have 16 places for those (CDNA4 ISA
/// 11.1): rows that would share one are 16 bytes longer.
constexpr int64_t resultRowStride(int64_t rows, int64_t columns) {
  constexpr int64_t kPieceElements = 4, kPlaces = 16;
  int64_t used = kPlaces / std::gcd(columns / kPieceElements, kPlaces);
  bool conflicts = columns % kPieceElements == 0 && used < std::min(rows, kPlaces);
  return conflicts ? columns + kPieceElements : columns;
}

/// The result [rows, columns] is cut into tiles of 16 x 16. An item of work is one tile of rows, a
/// block of neighbouring tiles of columns, and a part of the depth; wavefront w takes the items w,
/// w + waves, ...
struct ProductPlan {
  ProductPlan(int64_t rows, int64_t columns, int64_t depth, int64_t waves);

  int64_t rows, columns;
  int64_t rowTiles, columnTiles;
  int64_t rowStride; ///< elements of a result's row in LDS, with padding
  int64_t block;     ///< tiles of columns of an item: they share what is read of a
  int64_t parts;     ///< shares of the depth, added in rising order at the end
  int64_t steps;     ///< 32-deep steps of an item

  int64_t columnBlocks() const { return columnTiles / block; }
  int64_t items() const { return rowTiles * columnBlocks() * parts; }
  /// f32 results and, where the depth is shared, those of each part.
  int64_t scratchBytes() const { return parts * rows * rowStride * 4; }
};

} // namespace mono
