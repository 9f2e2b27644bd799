// How the wavefronts of a workgroup share a mono.product: a function of its shape alone, so that
// placement and code generation agree.
#pragma once

#include <cstdint>

namespace mono {

/// The result [rows, columns] is cut into tiles of 16 x 16. An item of work is one tile of rows, a
/// block of neighbouring tiles of columns, and a part of the depth; wavefront w takes the items w,
/// w + waves, ...
struct ProductPlan {
  ProductPlan(int64_t rows, int64_t columns, int64_t depth, int64_t waves);

  int64_t rows, columns;
  int64_t rowTiles, columnTiles;
  int64_t block; ///< tiles of columns of an item: they share what is read of a
  int64_t parts; ///< shares of the depth, added in rising order at the end
  int64_t steps; ///< 32-deep steps of an item

  int64_t columnBlocks() const { return columnTiles / block; }
  int64_t items() const { return rowTiles * columnBlocks() * parts; }
  /// f32 results and, where the depth is shared, those of each part.
  int64_t scratchBytes() const { return parts * rows * columns * 4; }
};

} // namespace mono
