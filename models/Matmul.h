// The one hot loop of the references: activations times a bf16 weight matrix in double precision.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace mono::models {

/// The values of bf16 numbers.
std::vector<double> toDouble(llvm::ArrayRef<uint16_t> bf16);

/// out[s, n] = sum over k of activations[s, k] * weight[n, k]; activations [rows, K], weight [N, K]
/// row-major, out [rows, N]. K and N follow from the sizes: K = activations.size() / rows,
/// N = weight.size() / K. Runs on all cores; each sum has a fixed order.
std::vector<double> multiplyTransposed(llvm::ArrayRef<double> activations, size_t rows,
                                       llvm::ArrayRef<uint16_t> weight);

} // namespace mono::models
