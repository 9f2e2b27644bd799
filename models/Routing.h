// Mixture-of-experts routing in double precision, whatever a model scores its experts by, and the
// comparison of a kernel's routing with it.
#pragma once

#include "models/Problem.h"

#include <functional>

namespace mono::models {

/// How a model chooses the experts of a token.
struct RoutingRule {
  size_t chosen; ///< experts of a token
  /// What they are chosen by, the largest first, from the token's logits.
  std::function<std::vector<double>(llvm::ArrayRef<double> logits)> scores;
  /// Weights of the chosen experts, in the order of `ids`.
  std::function<std::vector<double>(llvm::ArrayRef<double> logits, llvm::ArrayRef<int32_t> ids)>
      weights;
  /// Judge weights by the kernel's own logits, to f32 rounding. For a softmax, which makes a
  /// relative error of a weight from an absolute one of a logit: no bar for logits bounds it.
  bool judgesByOwnLogits = false;
};

/// Routing of `rows` tokens, row-major: logits [rows, experts], ids and weights [rows, chosen].
struct Routing {
  size_t rows = 0;
  std::vector<double> logits;
  std::vector<int32_t> ids;
  std::vector<double> weights;
};

/// Applies the rule to logits [rows, experts].
Routing routeLogits(std::vector<double> logits, size_t rows, const RoutingRule &rule);

/// For each expert whether a token chooses it, or might when its scores are off by `margin`.
std::vector<bool> expertsInReach(const Routing &routing, const RoutingRule &rule, double margin);

/// What rows of `experts` router logits may be off, relative L2 of the worst row: `tolerance` for
/// 256 of them, more for fewer. The relative error of a row is a quotient of two norms of so many
/// independent values; its standard deviation is 1 / sqrt(experts) of itself, and four of them are
/// allowed for.
double logitTolerance(size_t experts, double tolerance);

/// Adds findings for the outputs `router_logits`, `topk_ids` and `topk_weights` of one rank. Where
/// the selection differs for a good reason, weights are compared for the experts that were chosen.
/// Returns what must be expected of the stages that follow: the reference's logits with those
/// experts and their weights.
Routing checkRouting(const RankOutputs &outputs, const Routing &reference, const RoutingRule &rule,
                     double tolerance, Report &report);

} // namespace mono::models
