// Steps of decoder layers in double precision.
#include "models/ReferenceOps.h"
#include "models/BFloat16.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace llvm;

namespace mono::models {

double dot(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

void addScaled(double factor, ArrayRef<double> values, MutableArrayRef<double> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] += factor * values[i];
}

double softmax(MutableArrayRef<double> logits) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (double &value : logits)
    sum += value = std::exp(value - largest);
  for (double &value : logits)
    value /= sum;
  return largest + std::log(sum);
}

double silu(double gate) { return gate / (1 + std::exp(-gate)); }

std::vector<double> rmsNorm(ArrayRef<double> x, ArrayRef<uint16_t> weight, double eps) {
  size_t width = weight.size();
  std::vector<double> result(x.size());
  for (size_t first = 0; first < x.size(); first += width) {
    ArrayRef<double> row = x.slice(first, width);
    double factor = 1 / std::sqrt(dot(row, row) / static_cast<double>(width) + eps);
    for (size_t i = 0; i < width; ++i)
      result[first + i] = row[i] * factor * toFloat(weight[i]);
  }
  return result;
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

} // namespace mono::models
