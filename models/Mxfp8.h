// MXFP8 tensors (OCP MX): E4M3 codes, a byte each, and one E8M0 scale for 32 consecutive elements
// of a row.
#pragma once

#include "models/Mxfp4.h"

namespace mono::models {

/// How the scale of a block follows from its largest magnitude.
enum class MxScale {
  /// 2^(floor(log2(largest)) - 8), as in the OCP MX specification (section 6.3): magnitudes past
  /// 448
  /// scales saturate. What kernels do to activations.
  Floor,
  /// The least power of two under which nothing saturates. For weights, which are rounded once:
  /// E4M3
  /// keeps its precision under twice the scale.
  Fit,
};

/// Rounds values, whole blocks, to codes, to nearest even, and scales of at least 2^-126. A block
/// with NaN or infinity gets the scale NaN.
void quantiseMxfp8(llvm::ArrayRef<double> values, MxScale rule,
                   llvm::MutableArrayRef<uint8_t> codes, llvm::MutableArrayRef<uint8_t> scales);

/// Values of whole blocks.
void decodeMxfp8(llvm::ArrayRef<uint8_t> codes, llvm::ArrayRef<uint8_t> scales,
                 llvm::MutableArrayRef<double> out);

/// What is left of values, whole blocks, after both.
void roundToMxfp8(llvm::MutableArrayRef<double> values, MxScale rule);

/// How far roundToMxfp8 of values that are each off by up to `reach` may be from that of `values`:
/// rounding rises with a value, so the ends of its interval decide, under each scale that the
/// block's largest may lead to. Replaces `reach`.
void reachOfMxfp8(llvm::ArrayRef<double> values, MxScale rule, llvm::MutableArrayRef<double> reach);

} // namespace mono::models
