// The maths of GLM-5's routing.
#include "models/glm5/Router.h"
#include "models/Matmul.h"

#include <cassert>
#include <cmath>
#include <numeric>

using namespace llvm;

namespace mono::models::glm5 {

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<double> rmsNorm(ArrayRef<double> x, [[maybe_unused]] size_t rows,
                            ArrayRef<uint16_t> weight) {
  assert(x.size() == rows * weight.size());
  return models::rmsNorm(x, weight, rmsNormEps);
}

std::vector<double> expertScores(ArrayRef<double> logits, ArrayRef<float> bias) {
  std::vector<double> scores(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    scores[i] = sigmoid(logits[i]) + bias[i];
  return scores;
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

RoutingRule routingRule(ArrayRef<float> bias, size_t chosen) {
  return {chosen, [bias](ArrayRef<double> logits) { return expertScores(logits, bias); },
          expertWeights};
}

Routing route(ArrayRef<double> x, size_t rows, ArrayRef<uint16_t> normWeight,
              ArrayRef<uint16_t> gate, ArrayRef<float> bias, size_t chosen) {
  return routeLogits(multiplyTransposed(rmsNorm(x, rows, normWeight), rows, gate), rows,
                     routingRule(bias, chosen));
}

Routing checkRouting(const RankOutputs &outputs, const Routing &reference, ArrayRef<float> bias,
                     Report &report) {
  size_t chosen = reference.ids.size() / reference.rows;
  return models::checkRouting(outputs, reference, routingRule(bias, chosen), tolerance, report);
}

} // namespace mono::models::glm5
