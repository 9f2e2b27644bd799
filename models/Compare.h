// How results are compared with references: relative L2 by row, and selections by the scores they
// were made from.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace mono::models {

/// The largest over `rows` of ||out - ref|| / ||ref||. Infinity when a value of `out` is not
/// finite, when a row of `ref` is zero and that of `out` is not, or when the sizes differ.
double maxRelativeL2(llvm::ArrayRef<double> out, llvm::ArrayRef<double> ref, size_t rows);

/// The largest |out - ref| / reach of all elements, 0 where both are 0. Infinity when a value of
/// `out` is not finite, one of `reach` is not a finite number from 0 on, or the sizes differ.
double maxOfReach(llvm::ArrayRef<double> out, llvm::ArrayRef<double> ref,
                  llvm::ArrayRef<double> reach);

/// The scores a selection was made from. `tolerance[i]` bounds the error of out's score i against
/// ref's.
struct SelectionScores {
  llvm::ArrayRef<double> reference;
  llvm::ArrayRef<double> tolerance;
};

/// The verdict on one selection.
struct SelectionVerdict {
  bool good = false;
  size_t different = 0; ///< chosen indices that the reference did not choose
  std::string reason;   ///< why it is bad
};

/// Judges `out` against the reference's choice `ref`. `out` must hold as many indices as `ref`,
/// ascending and in range. A difference is right only where every index left out and every index
/// put in its place have reference scores that differ by less than the sum of their tolerances: the
/// errors of the compared scores can explain it.
SelectionVerdict compareSelection(llvm::ArrayRef<int32_t> out, llvm::ArrayRef<int32_t> ref,
                                  const SelectionScores &scores);

} // namespace mono::models
