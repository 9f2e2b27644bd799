// The GLM-5 router in double precision, from its definition: RMSNorm, gate logits, biased top-k of
// sigmoids, renormalised weights.
#pragma once

#include "models/ReferenceOps.h"
#include "models/Routing.h"

namespace mono::models::glm5 {

inline constexpr double rmsNormEps = 1e-5;
inline constexpr double routedScaling = 2.5;
/// What every float tensor of the block may be off, relative L2 of the worst row.
inline constexpr double tolerance = 5e-3;

/// models::rmsNorm with the model's eps; x [rows, hidden], weight [hidden].
std::vector<double> rmsNorm(llvm::ArrayRef<double> x, size_t rows, llvm::ArrayRef<uint16_t> weight);

/// sigmoid(logit) + bias: what experts are chosen by.
std::vector<double> expertScores(llvm::ArrayRef<double> logits, llvm::ArrayRef<float> bias);

/// Weights of the chosen experts, in the order of `ids`: sigmoid(logit), without the bias, divided
/// by their sum, times 2.5.
std::vector<double> expertWeights(llvm::ArrayRef<double> logits, llvm::ArrayRef<int32_t> ids);

/// Both as a rule; keeps a reference to the bias.
RoutingRule routingRule(llvm::ArrayRef<float> bias, size_t chosen);

/// Routes the residual stream x [rows, hidden]; gate [experts, hidden] row-major, bias [experts].
Routing route(llvm::ArrayRef<double> x, size_t rows, llvm::ArrayRef<uint16_t> normWeight,
              llvm::ArrayRef<uint16_t> gate, llvm::ArrayRef<float> bias, size_t chosen);

/// models::checkRouting with the model's rule and tolerance.
Routing checkRouting(const RankOutputs &outputs, const Routing &reference,
                     llvm::ArrayRef<float> bias, Report &report);

} // namespace mono::models::glm5
