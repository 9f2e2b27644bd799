// Routing by a rule, and how a kernel's routing is judged.
#include "models/Routing.h"
#include "models/Compare.h"
#include "models/ReferenceOps.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace mono::models {

static ArrayRef<double> logitsOf(const Routing &routing, size_t row) {
  size_t experts = routing.logits.size() / routing.rows;
  return ArrayRef(routing.logits).slice(row * experts, experts);
}

Routing routeLogits(std::vector<double> logits, size_t rows, const RoutingRule &rule) {
  Routing routing{rows, std::move(logits), {}, {}};
  for (size_t row = 0; row < rows; ++row) {
    ArrayRef<double> own = logitsOf(routing, row);
    std::vector<int32_t> ids = selectTop(rule.scores(own), rule.chosen);
    llvm::append_range(routing.weights, rule.weights(own, ids));
    llvm::append_range(routing.ids, ids);
  }
  return routing;
}

std::vector<bool> expertsInReach(const Routing &routing, const RoutingRule &rule, double margin) {
  std::vector<bool> reach(routing.logits.size() / routing.rows, false);
  for (size_t row = 0; row < routing.rows; ++row) {
    std::vector<double> scores = rule.scores(logitsOf(routing, row));
    double last = HUGE_VAL;
    for (int32_t id : ArrayRef(routing.ids).slice(row * rule.chosen, rule.chosen))
      last = std::min(last, scores[id]);
    for (size_t expert = 0; expert < reach.size(); ++expert)
      reach[expert] = reach[expert] || scores[expert] >= last - margin;
  }
  return reach;
}

/// How far each score of a kernel may be from the reference's: what its logits show, plus the f32
/// rounding of two operations on the way to it, on either side.
static std::vector<double> scoreTolerance(ArrayRef<double> outLogits, ArrayRef<double> refScores,
                                          const RoutingRule &rule) {
  std::vector<double> out = rule.scores(outLogits);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(out[i] - refScores[i]) + std::abs(refScores[i]) * 0x1p-22;
  return out;
}

double logitTolerance(size_t experts, double tolerance) {
  auto withDeviations = [](size_t count) { return 1 + 4 / std::sqrt(static_cast<double>(count)); };
  return tolerance * withDeviations(experts) / withDeviations(256);
}

Routing checkRouting(const RankOutputs &outputs, const Routing &reference, const RoutingRule &rule,
                     double tolerance, Report &report) {
  size_t rows = reference.rows, chosen = rule.chosen, experts = reference.logits.size() / rows;
  std::vector<double> logits = outputs.lookup("router_logits").values();
  std::vector<double> weights = outputs.lookup("topk_weights").values();
  std::vector<double> idValues = outputs.lookup("topk_ids").values();
  std::vector<int32_t> ids(idValues.begin(), idValues.end());
  if (logits.size() != rows * experts || ids.size() != rows * chosen) {
    report.holds("routing", false, "outputs of other sizes", "");
    return reference;
  }

  Routing expected{rows, reference.logits, {}, {}};
  size_t different = 0;
  std::string reason;
  for (size_t row = 0; row < rows; ++row) {
    ArrayRef<double> ref = logitsOf(reference, row);
    ArrayRef<int32_t> rowIds = ArrayRef(ids).slice(row * chosen, chosen);
    std::vector<double> scores = rule.scores(ref);
    std::vector<double> errors =
        scoreTolerance(ArrayRef(logits).slice(row * experts, experts), scores, rule);
    SelectionVerdict verdict = compareSelection(
        rowIds, ArrayRef(reference.ids).slice(row * chosen, chosen), {scores, errors});
    different += verdict.different;
    if (!verdict.good)
      reason = fmt::format("token {}: {}", row, verdict.reason);
    bool other = verdict.good && verdict.different != 0;
    ArrayRef<int32_t> expectedIds =
        other ? rowIds : ArrayRef(reference.ids).slice(row * chosen, chosen);
    llvm::append_range(expected.ids, expectedIds);
    if (other)
      llvm::append_range(expected.weights, rule.weights(ref, rowIds));
    else
      llvm::append_range(expected.weights, ArrayRef(reference.weights).slice(row * chosen, chosen));
  }
  report.atMost("router_logits", maxRelativeL2(logits, reference.logits, rows),
                logitTolerance(experts, tolerance));
  report.holds("topk_ids", reason.empty(),
               reason.empty() ? fmt::format("{} differ", different) : reason, "true ties");
  if (!rule.judgesByOwnLogits) {
    report.atMost("topk_weights", maxRelativeL2(weights, expected.weights, rows), tolerance);
    return expected;
  }
  std::vector<double> own;
  for (size_t row = 0; row < rows; ++row)
    llvm::append_range(own, rule.weights(ArrayRef(logits).slice(row * experts, experts),
                                         ArrayRef(expected.ids).slice(row * chosen, chosen)));
  // An exponential of one ulp and a handful of roundings for each, and their sum.
  report.atMost("topk_weights", maxRelativeL2(weights, own, rows),
                (static_cast<double>(chosen) + 16) * 0x1p-24);
  return expected;
}

} // namespace mono::models
