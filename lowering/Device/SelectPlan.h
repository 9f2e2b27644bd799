// Which form a mono.select takes and where its scratch area in LDS holds what: shared by placement
// and code generation.
#pragma once

#include "dialect/Mono.h"

namespace mono {

struct SelectPlan {
  /// Of a bound op in a workgroup of `threads`.
  SelectPlan(SelectOp op, int64_t threads);

  /// Bins of one pass of the radix search: 8 bits.
  static constexpr int64_t kBits = 8, kBins = int64_t(1) << kBits;
  /// The histogram exists this many times, lane l counts in copy l mod kCopies: keys of like size
  /// share a bin, and LDS does the adds to one word one after the other.
  static constexpr int64_t kCopies = 8;

  bool radix; ///< the whole workgroup searches a row; else one wavefront
  int64_t rows, candidates, k;

  // Byte offsets in the scratch area.
  int64_t keys = 0, payload = 0;                ///< copies, for wavefronts
  int64_t histogram = 0, found = 0, shares = 0; ///< for the radix search
  int64_t indices = 0, values = 0;              ///< the results
  int64_t bytes = 0;                            ///< of all

  /// Bytes of one result.
  int64_t resultBytes() const { return rows * k * 4; }
};

} // namespace mono
