// MXFP4 tensors (OCP MX): E2M1 codes, two a byte with the even element in the low nibble, and one
// E8M0 scale for 32 consecutive elements of a row.
#pragma once

#include "runtime/emulator/numeric/FloatFormat.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mono::models {

inline constexpr size_t mxBlock = 32;

/// Value of the low four bits.
constexpr double fp4Value(unsigned code) { return numeric::decode(numeric::kFp4E2M1, code & 15); }

/// Values of whole blocks: 16 bytes of `codes` and one of `scales` for each 32 values.
void decodeMxfp4(llvm::ArrayRef<uint8_t> codes, llvm::ArrayRef<uint8_t> scales,
                 llvm::MutableArrayRef<double> out);

/// Rounds bf16 values, whole blocks, to MXFP4. The scale of a block is a power of two chosen so
/// that its largest magnitude, rounded to one mantissa bit, lands in [4, 6]; elements round to
/// nearest even and saturate at 6 scales. A block with NaN or infinity gets the scale NaN.
void quantiseMxfp4(llvm::ArrayRef<uint16_t> bf16, llvm::MutableArrayRef<uint8_t> codes,
                   llvm::MutableArrayRef<uint8_t> scales);

} // namespace mono::models
