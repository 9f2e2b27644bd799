// Where the elements of a tensor lie in the registers of a workgroup: a function of its shape
// alone.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include <algorithm>

namespace mono {

/// The largest divisor of `value` that is at most `limit`; 1 if there is none above.
constexpr int64_t largestDivisor(int64_t value, int64_t limit) {
  for (int64_t divisor = std::min(value, limit); divisor > 1; --divisor)
    if (value % divisor == 0)
      return divisor;
  return 1;
}

/// Weight tiles (4 registers per lane each) a wavefront may have in flight: 8 KiB a wavefront, 64
/// KiB a workgroup cover the latency of memory twice over (about 32 KiB a compute unit) and leave
/// registers for a second stream and for what the activations go through.
inline constexpr int64_t kMaxTilesInFlight = 8;

/// Steps of a depth of `steps` whose loads are in flight, with `rowTiles` tiles each.
constexpr int64_t stepsInFlight(int64_t steps, int64_t rowTiles) {
  return std::clamp<int64_t>(kMaxTilesInFlight / rowTiles, 1, steps);
}

/// Thread t holds elements (chunk * threads + t) * width .. + width of the flattened tensor, in
/// `chunks` vectors of `width` elements.
struct Distribution {
  /// The rule: width is the largest of 1, 2, 4, 8 that divides the last axis and leaves work for
  /// every thread; an even last axis is never cut below 2, so that a pair of bf16 stays together.
  /// Where tagged words of more elements are to be whole, `least` is the width at least; it divides
  /// the last axis. `most` is the width at most.
  Distribution(mlir::RankedTensorType type, int64_t threads, int64_t least = 1, int64_t most = 8);

  int64_t elements, columns, width, threads, chunks;

  /// True if every thread holds elements of the chunk.
  bool full(int64_t chunk) const { return (chunk + 1) * threads * width <= elements; }
};

/// Reduction of the last axis of a distributed tensor: within a thread, then across the lanes that
/// hold one row, then across wavefronts through LDS. Rows that do not fall on lanes so are reduced
/// by one thread each, from LDS.
struct RowReduction {
  explicit RowReduction(const Distribution &distribution);

  /// Lanes of a wavefront that hold parts of one row.
  int64_t lanes;
  /// Wavefronts' worth of parts of one row.
  int64_t waves;
  /// False if rows do not fall on a power of two of lanes or a multiple of wavefronts, so that one
  /// thread must reduce each.
  bool acrossLanes;

  int64_t partialsPerRow() const { return waves; }
};

} // namespace mono
