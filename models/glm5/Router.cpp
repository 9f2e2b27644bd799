// The maths of routing and how a kernel's routing is judged.
#include "models/glm5/Router.h"
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/Matmul.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace mono::models::glm5 {

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<double> rmsNorm(ArrayRef<double> x, size_t rows, ArrayRef<uint16_t> weight) {
  size_t hidden = weight.size();
  std::vector<double> result(x.size());
  for (size_t s = 0; s < rows; ++s) {
    ArrayRef<double> row = x.slice(s * hidden, hidden);
    double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    double factor = 1 / std::sqrt(squares / hidden + rmsNormEps);
    for (size_t i = 0; i < hidden; ++i)
      result[s * hidden + i] = row[i] * factor * toFloat(weight[i]);
  }
  return result;
}

std::vector<double> expertScores(ArrayRef<double> logits, ArrayRef<float> bias) {
  std::vector<double> scores(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    scores[i] = sigmoid(logits[i]) + bias[i];
  return scores;
}

std::vector<int32_t> selectTop(ArrayRef<double> scores, size_t count) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  // NaN, which no order holds, goes last.
  auto key = [&](int32_t i) { return std::isnan(scores[i]) ? -HUGE_VAL : scores[i]; };
  llvm::sort(order,
             [&](int32_t a, int32_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  order.resize(std::min(count, order.size()));
  llvm::sort(order);
  return order;
}

std::vector<double> expertWeights(ArrayRef<double> logits, ArrayRef<int32_t> ids) {
  std::vector<double> weights;
  for (int32_t id : ids)
    weights.push_back(sigmoid(logits[id]));
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double &weight : weights)
    weight *= routedScaling / sum;
  return weights;
}

Routing route(ArrayRef<double> x, size_t rows, ArrayRef<uint16_t> normWeight,
              ArrayRef<uint16_t> gate, ArrayRef<float> bias, size_t chosen) {
  Routing routing;
  routing.rows = rows;
  routing.logits = multiplyTransposed(rmsNorm(x, rows, normWeight), rows, gate);
  for (size_t s = 0; s < rows; ++s) {
    ArrayRef<double> logits = ArrayRef(routing.logits).slice(s * bias.size(), bias.size());
    std::vector<int32_t> ids = selectTop(expertScores(logits, bias), chosen);
    llvm::append_range(routing.weights, expertWeights(logits, ids));
    llvm::append_range(routing.ids, ids);
  }
  return routing;
}

/// How far each score of a kernel may be from the reference's: what its logits show, plus the f32
/// rounding of the sigmoid and of the sum with the bias, on either side.
static std::vector<double> scoreTolerance(ArrayRef<double> outLogits, ArrayRef<double> refLogits,
                                          ArrayRef<float> bias) {
  std::vector<double> out = expertScores(outLogits, bias), ref = expertScores(refLogits, bias);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(out[i] - ref[i]) + std::abs(ref[i]) * 0x1p-22;
  return out;
}

double logitTolerance(size_t experts) {
  auto withDeviations = [](size_t count) { return 1 + 4 / std::sqrt(static_cast<double>(count)); };
  return tolerance * withDeviations(experts) / withDeviations(256);
}

Routing checkRouting(const RankOutputs &outputs, const Routing &reference, ArrayRef<float> bias,
                     Report &report) {
  size_t experts = bias.size(), rows = reference.rows, chosen = reference.ids.size() / rows;
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
  for (size_t s = 0; s < rows; ++s) {
    ArrayRef<double> ref = ArrayRef(reference.logits).slice(s * experts, experts);
    ArrayRef<int32_t> rowIds = ArrayRef(ids).slice(s * chosen, chosen);
    std::vector<double> scores = expertScores(ref, bias);
    std::vector<double> errors =
        scoreTolerance(ArrayRef(logits).slice(s * experts, experts), ref, bias);
    SelectionVerdict verdict = compareSelection(
        rowIds, ArrayRef(reference.ids).slice(s * chosen, chosen), {scores, errors});
    different += verdict.different;
    if (!verdict.good)
      reason = fmt::format("token {}: {}", s, verdict.reason);
    bool other = verdict.good && verdict.different != 0;
    ArrayRef<int32_t> expectedIds =
        other ? rowIds : ArrayRef(reference.ids).slice(s * chosen, chosen);
    llvm::append_range(expected.ids, expectedIds);
    if (other)
      llvm::append_range(expected.weights, expertWeights(ref, rowIds));
    else
      llvm::append_range(expected.weights, ArrayRef(reference.weights).slice(s * chosen, chosen));
  }
  report.atMost("router_logits", maxRelativeL2(logits, reference.logits, rows),
                logitTolerance(experts));
  report.holds("topk_ids", reason.empty(),
               reason.empty() ? fmt::format("{} differ", different) : reason, "true ties");
  report.atMost("topk_weights", maxRelativeL2(weights, expected.weights, rows), tolerance);
  return expected;
}

} // namespace mono::models::glm5
