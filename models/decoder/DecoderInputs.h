// What the tokens of one launch of a decoder layer bring along.
#pragma once

#include "models/TestTokens.h"
#include "models/decoder/DecoderSizes.h"

namespace mono::models::decoder {

struct DecoderInputs {
  std::vector<uint16_t> x;        ///< [rows, hidden] bf16
  std::vector<int32_t> positions; ///< [rows]
  PageTable table;
  std::vector<uint16_t> cacheK, cacheV; ///< [cacheRows, kvHeads, dim] bf16, of all ranks

  size_t cacheRow(size_t row, size_t token) const { return table.cacheRow(row, token); }
  /// Cache rows of the launch's own tokens.
  std::vector<size_t> ownRows() const;
};

/// Random inputs under a seed: outlier channels, positions at every border, pages in shuffled
/// order. Every cache row that holds no earlier token of some row is NaN, the rows' own places
/// included: nobody may use it before it is written.
DecoderInputs randomDecoderInputs(const DecoderSizes &sizes, uint64_t seed);

/// Positions that meet every border: spread over [0, context) with context - 1, 0 and both sides of
/// the end of the first split among them as far as there are rows; consecutive ones that pass it if
/// ordered.
std::vector<int32_t> spreadPositions(const DecoderSizes &sizes);

} // namespace mono::models::decoder
