// Double-precision products, blocked for registers and caches.
#include "models/Matmul.h"
#include "models/BFloat16.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace llvm;

namespace mono::models {

// A tile of tileSize x tileSize sums, eight lanes each, lives in registers. Four weight rows of
// depthBlock elements (16 KiB) stay in the first-level cache while rowBlock activation rows of as
// many elements (256 KiB), from the second-level cache, meet them.
static constexpr size_t tileSize = 4;
static constexpr size_t depthBlock = 512;
static constexpr size_t rowBlock = 64;
static constexpr size_t columnsPerTask = 64;

// Builds for plain x86-64 too; the loader picks the widest version the CPU runs.
#define MONO_MULTIVERSION                                                                          \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

using Lanes = double __attribute__((vector_size(64)));
static constexpr size_t laneCount = sizeof(Lanes) / sizeof(double);

namespace {
/// Rows of a row-major matrix, `stride` elements apart.
struct Panel {
  const double *first;
  size_t stride;
  const double *row(size_t index) const { return first + index * stride; }
};
} // namespace

/// sums[r, c] += the dot product of a's row r and w's row c over `count` elements.
template <size_t Rows, size_t Columns>
[[gnu::always_inline]] static inline void addTile(Panel a, Panel w, size_t count, double *sums,
                                                  size_t sumStride) {
  Lanes lanes[Rows][Columns] = {};
  size_t whole = count - count % laneCount;
  for (size_t i = 0; i < whole; i += laneCount) {
    Lanes weight[Columns];
    for (size_t c = 0; c < Columns; ++c)
      __builtin_memcpy(&weight[c], w.row(c) + i, sizeof(Lanes));
    for (size_t r = 0; r < Rows; ++r) {
      Lanes activation;
      __builtin_memcpy(&activation, a.row(r) + i, sizeof(Lanes));
      for (size_t c = 0; c < Columns; ++c)
        lanes[r][c] += activation * weight[c];
    }
  }
  for (size_t r = 0; r < Rows; ++r)
    for (size_t c = 0; c < Columns; ++c) {
      double total = 0;
      for (size_t lane = 0; lane < laneCount; ++lane)
        total += lanes[r][c][lane];
      for (size_t i = whole; i < count; ++i)
        total += a.row(r)[i] * w.row(c)[i];
      sums[r * sumStride + c] += total;
    }
}

/// The same for any number of rows and at most tileSize columns.
MONO_MULTIVERSION static void addStrip(Panel a, size_t rows, Panel w, size_t columns, size_t count,
                                       double *sums, size_t sumStride) {
  size_t r = 0;
  if (columns == tileSize)
    for (; r + tileSize <= rows; r += tileSize)
      addTile<tileSize, tileSize>({a.row(r), a.stride}, w, count, sums + r * sumStride, sumStride);
  for (; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      addTile<1, 1>({a.row(r), a.stride}, {w.row(c), w.stride}, count, sums + r * sumStride + c,
                    sumStride);
}

MONO_MULTIVERSION static void widen(const uint16_t *from, double *to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = toFloat(from[i]);
}

void toDouble(ArrayRef<uint16_t> bf16, MutableArrayRef<double> out) {
  assert(bf16.size() == out.size());
  widen(bf16.data(), out.data(), bf16.size());
}

std::vector<double> toDouble(ArrayRef<uint16_t> bf16) {
  std::vector<double> wide(bf16.size());
  toDouble(bf16, wide);
  return wide;
}

std::vector<double> multiplyTransposed(ArrayRef<double> activations, size_t rows, size_t columns,
                                       WeightRow weight) {
  assert(rows > 0 && activations.size() % rows == 0);
  size_t inner = activations.size() / rows;
  std::vector<double> out(rows * columns);
  auto addBlock = [&](size_t firstRow, size_t rowCount, size_t firstColumn, size_t columnCount) {
    std::array<double, tileSize * depthBlock> strip;
    for (size_t k = 0; k < inner; k += depthBlock) {
      size_t depth = std::min(depthBlock, inner - k);
      for (size_t c = 0; c < columnCount; ++c)
        weight(firstColumn + c, k, MutableArrayRef(strip).slice(c * depthBlock, depth));
      addStrip({&activations[firstRow * inner + k], inner}, rowCount, {strip.data(), depthBlock},
               columnCount, depth, &out[firstRow * columns + firstColumn], columns);
    }
  };
  parallelFor(0, divideCeil(columns, columnsPerTask), [&](size_t task) {
    size_t first = task * columnsPerTask, end = std::min(columns, first + columnsPerTask);
    for (size_t s = 0; s < rows; s += rowBlock)
      for (size_t n = first; n < end; n += tileSize)
        addBlock(s, std::min(rowBlock, rows - s), n, std::min(tileSize, end - n));
  });
  return out;
}

std::vector<double> multiplyTransposed(ArrayRef<double> activations, size_t rows,
                                       ArrayRef<uint16_t> weight) {
  size_t inner = activations.size() / rows;
  return multiplyTransposed(activations, rows, weight.size() / inner,
                            [&](size_t n, size_t k, MutableArrayRef<double> out) {
                              toDouble(weight.slice(n * inner + k, out.size()), out);
                            });
}

std::vector<double> multiplyTransposed(ArrayRef<double> activations, size_t rows,
                                       ArrayRef<double> weight) {
  size_t inner = activations.size() / rows;
  return multiplyTransposed(activations, rows, weight.size() / inner,
                            [&](size_t n, size_t k, MutableArrayRef<double> out) {
                              copy(weight.slice(n * inner + k, out.size()), out.begin());
                            });
}

} // namespace mono::models
