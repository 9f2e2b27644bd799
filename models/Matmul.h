// The one hot loop of the references: activations times a weight matrix in double precision.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace mono::models {

/// The values of bf16 numbers.
std::vector<double> toDouble(llvm::ArrayRef<uint16_t> bf16);
/// The same into memory of the caller; the sizes must be equal.
void toDouble(llvm::ArrayRef<uint16_t> bf16, llvm::MutableArrayRef<double> out);

/// Writes weight[n, k], weight[n, k + 1], ... until `out` is full. Called from several threads, and
/// more than once for the same elements when there are many activation rows. `k` is a multiple of
/// 512.
using WeightRow = llvm::function_ref<void(size_t n, size_t k, llvm::MutableArrayRef<double> out)>;

/// out[s, n] = sum over k of activations[s, k] * weight[n, k]; activations [rows, K] row-major, out
/// [rows, columns]. K follows from the sizes: K = activations.size() / rows. Runs on all cores, or
/// on the calling one inside a parallel loop; each sum has a fixed order.
std::vector<double> multiplyTransposed(llvm::ArrayRef<double> activations, size_t rows,
                                       size_t columns, WeightRow weight);

/// The same with a bf16 weight [N, K] in memory: N = weight.size() / K.
std::vector<double> multiplyTransposed(llvm::ArrayRef<double> activations, size_t rows,
                                       llvm::ArrayRef<uint16_t> weight);
/// The same with a double weight [N, K] in memory.
std::vector<double> multiplyTransposed(llvm::ArrayRef<double> activations, size_t rows,
                                       llvm::ArrayRef<double> weight);

} // namespace mono::models
