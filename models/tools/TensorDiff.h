// How two tensors differ: element by element, and row by row as results are judged.
#pragma once

#include "runtime/Safetensors.h"

namespace mono::tools {

/// How the elements of `a` differ from those of `b`.
struct TensorDiff {
  uint64_t elements = 0;
  uint64_t differing = 0; ///< by their bits; by their values where the types are not one
  uint64_t first = 0;     ///< number of the first that differs, row-major
  double maxAbs = 0;      ///< largest |a - b|; infinite where only one is a NaN or an infinity
  double maxRel = 0;      ///< largest |a - b| / max(|a|, |b|)
  uint64_t maxUlp = 0;    ///< largest distance in units in the last place, of floats of one type
                          ///< but NaNs
  double maxRowL2 = 0;    ///< largest ||a - b|| / ||b|| of a row along the last axis, as
                          ///< models::maxRelativeL2() has it: infinite where not all is finite
};

/// Whether two tensors can be compared by element: they have one shape, and one type or types that
/// are both of floats or both of integers.
bool areComparable(const TensorView &a, const TensorView &b);

/// Of comparable tensors.
TensorDiff diffTensors(const TensorView &a, const TensorView &b);

} // namespace mono::tools
