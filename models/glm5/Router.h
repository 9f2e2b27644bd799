// The GLM-5 router in double precision, from its definition: RMSNorm, gate logits, biased top-k of
// sigmoids, renormalised weights. And the comparison of a kernel's routing with it.
#pragma once

#include "models/Problem.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace mono::models::glm5 {

inline constexpr double rmsNormEps = 1e-5;
inline constexpr double routedScaling = 2.5;
/// What every float tensor of the block may be off, relative L2 of the worst row.
inline constexpr double tolerance = 5e-3;

/// The same for rows of `experts` router logits: `tolerance` for 256 of them, more for fewer. The
/// relative error of a row is a quotient of two norms of so many independent values; its standard
/// deviation is 1 / sqrt(experts) of itself, and four of them are allowed for.
double logitTolerance(size_t experts);

/// y[s, i] = x[s, i] / sqrt(mean_i x[s, i]^2 + eps) * weight[i]; x [rows, hidden], weight [hidden].
std::vector<double> rmsNorm(llvm::ArrayRef<double> x, size_t rows, llvm::ArrayRef<uint16_t> weight);

/// sigmoid(logit) + bias: what experts are chosen by.
std::vector<double> expertScores(llvm::ArrayRef<double> logits, llvm::ArrayRef<float> bias);

/// The `count` indices of highest score, lowest index first among equals; returned ascending.
std::vector<int32_t> selectTop(llvm::ArrayRef<double> scores, size_t count);

/// Weights of the chosen experts, in the order of `ids`: sigmoid(logit), without the bias, divided
/// by their sum, times 2.5.
std::vector<double> expertWeights(llvm::ArrayRef<double> logits, llvm::ArrayRef<int32_t> ids);

/// Routing of `rows` tokens, row-major: logits [rows, experts], ids and weights [rows, chosen].
struct Routing {
  size_t rows = 0;
  std::vector<double> logits;
  std::vector<int32_t> ids;
  std::vector<double> weights;
};

/// Routes the residual stream x [rows, hidden]; gate [experts, hidden] row-major, bias [experts].
Routing route(llvm::ArrayRef<double> x, size_t rows, llvm::ArrayRef<uint16_t> normWeight,
              llvm::ArrayRef<uint16_t> gate, llvm::ArrayRef<float> bias, size_t chosen);

/// Adds findings for the outputs `router_logits`, `topk_ids` and `topk_weights` of one rank. Where
/// the selection differs for a good reason, weights are compared for the experts that were chosen.
/// Returns what must be expected of the stages that follow: the reference's logits with those
/// experts and their weights.
Routing checkRouting(const RankOutputs &outputs, const Routing &reference,
                     llvm::ArrayRef<float> bias, Report &report);

} // namespace mono::models::glm5
