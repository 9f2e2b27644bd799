// Steps of decoder layers in double precision, from their definitions.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mono::models {

/// Sum of a[i] * b[i]; both have the same size.
double dot(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);
/// out += factor * values; both have the same size.
void addScaled(double factor, llvm::ArrayRef<double> values, llvm::MutableArrayRef<double> out);
/// Replaces logits by their softmax. Returns the log of the denominator.
double softmax(llvm::MutableArrayRef<double> logits);
/// gate / (1 + exp(-gate)).
double silu(double gate);

/// y[s, i] = x[s, i] / sqrt(mean_i x[s, i]^2 + eps) * weight[i] for rows of weight.size() values.
std::vector<double> rmsNorm(llvm::ArrayRef<double> x, llvm::ArrayRef<uint16_t> weight, double eps);

/// The `count` indices of highest score, lowest index first among equals; returned ascending.
std::vector<int32_t> selectTop(llvm::ArrayRef<double> scores, size_t count);

} // namespace mono::models
