// Element types, shapes and memory layouts of kernel operands, and the packing between row-major
// tensors and the layouts kernels read.
#pragma once

#include "runtime/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace mono {

/// FP4E2M1 is packed two a byte, the even element of the last dimension in the low nibble; E8M0 is
/// the scale of 32 codes of that or of FP8E4M3 (OCP MX).
enum class ElementType { BF16, F32, I32, FP4E2M1, E8M0, FP8E4M3 };

/// Name as manifests spell it: "bf16", "f32", "i32", "f4E2M1FN", "f8E8M0FNU", "f8E4M3FN".
llvm::StringRef elementName(ElementType element);
/// Error for a name no element type has.
llvm::Expected<ElementType> parseElementType(llvm::StringRef name);
/// Bits of one element.
unsigned elementBits(ElementType element);

/// How the elements of a tensor lie in memory.
enum class Layout {
  /// Last dimension contiguous.
  RowMajor,
  /// "mfma_rows<16>": matrices [..., N, K] whose 16-row tiles are A operands of MFMA, what a lane
  /// supplies in one piece (CDNA4 ISA 7.1.4, 7.1.5): [N/16][K/(4 share)][4][16][share], where lane
  /// 16 g + r holds group g of row r. A share of bf16 is 8 elements (16x16x32), of f4E2M1FN 32, of
  /// f8E4M3FN 16, all 16 bytes (16x16x128). f8E8M0FNU, the scales of such matrices: one, and K is
  /// what f8E4M3FN makes it, a multiple of 2.
  MfmaRows16,
};

/// Name as manifests spell it: "row_major", "mfma_rows<16>".
llvm::StringRef layoutName(Layout layout);
/// Error for a name no layout has.
llvm::Expected<Layout> parseLayout(llvm::StringRef name);

using Shape = llvm::SmallVector<int64_t, 4>;

/// "[6144, 2048]".
std::string formatShape(llvm::ArrayRef<int64_t> shape);
/// Product of the dimensions; error when one is not positive or the product exceeds 2^40.
llvm::Expected<uint64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// Shape, element type and layout: everything that decides where an element lies.
struct TensorType {
  Shape shape;
  ElementType element = ElementType::BF16;
  Layout layout = Layout::RowMajor;

  /// "bf16 [6144, 2048], mfma_rows<16>".
  std::string describe() const;
  /// Bytes in memory (no layout pads). The type must be valid (see check()).
  uint64_t bytes() const;
  /// Error for dimensions that are not positive or too large, for a last dimension that does not
  /// fill whole bytes, and for a shape or element type the layout does not take.
  llvm::Error check() const;
};

/// Rearranges `rowMajor` into the layout of `type`. Both buffers must have type.bytes() bytes.
llvm::Error pack(const TensorType &type, llvm::ArrayRef<uint8_t> rowMajor,
                 llvm::MutableArrayRef<uint8_t> packed);
/// Inverse of pack().
llvm::Error unpack(const TensorType &type, llvm::ArrayRef<uint8_t> packed,
                   llvm::MutableArrayRef<uint8_t> rowMajor);

} // namespace mono
