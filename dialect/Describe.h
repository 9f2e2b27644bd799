// What a handle stands for: its name for messages, and shape, element type and layout.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace mono {

/// What `value` is called in the file: "operand 'h'", "mailbox 'm'", "region 'r'", or its kind
/// alone inside a routine, where names are not known.
std::string describe(mlir::Value value);

/// The facts of a declaration.
struct Declared {
  llvm::SmallVector<int64_t> shape; ///< ShapedType::kDynamic where a parameter decides
  mlir::Type element;
  mlir::Attribute layout; ///< null: row-major
};

/// The declaration behind an operand, region or mailbox; none for an argument of a routine, and for
/// an operand whose element type a parameter still decides.
std::optional<Declared> declaredBy(mlir::Value handle);

/// Columns of a tile of #mono.mfma_rows<16> with this element type (MonoAttrs.td); none if the
/// layout does not take it.
std::optional<int64_t> mfmaTileDepth(mlir::Type element);

/// Rows and columns of a block of f8E4M3FN weights that shares an f32 scale, and columns of
/// activations that do (DeepSeek-V3, arXiv 2412.19437, 3.3). One 128-deep MFMA is as deep.
inline constexpr int64_t kScaleBlock = 128;

/// Neighbouring elements of a mailbox that share a tagged word.
int64_t elementsOfWord(mlir::Type element);

} // namespace mono
