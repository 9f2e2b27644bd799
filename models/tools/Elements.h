// Elements of tensors in files as numbers, and as text for people.
#pragma once

#include "runtime/Safetensors.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mono::tools {

/// The value of the element at `at`, of dtypeBytes() bytes; 64-bit integers are rounded.
double elementValue(DType dtype, const uint8_t *at);

bool isFloat(DType dtype);

/// The place of a float among all of its type in the order of value, -0 and 0 at one place: two
/// that are neighbours are one unit in the last place apart. NaNs lie beyond the infinities.
int64_t floatOrder(DType dtype, const uint8_t *at);

/// Indices of element `number`, row-major: "[0, 1, 34]"; "[]" of a tensor without dimensions.
std::string formatIndex(llvm::ArrayRef<int64_t> shape, uint64_t number);

/// Prints a value: integers exactly, floats with 5 digits.
std::string formatElement(DType dtype, const uint8_t *at);

/// Prints a tensor in short: its first and last rows, of each the first and last elements, a row a
/// line, behind its indices. An element that is not `known`, by its number, is a '-'.
void printElements(llvm::raw_ostream &out, const TensorView &tensor,
                   llvm::function_ref<bool(uint64_t)> known);

} // namespace mono::tools
