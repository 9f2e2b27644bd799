// The indexer: scores, choice, and what rounding may do to a score.
#include "models/glm5/Layer.h"

#include <cassert>
#include <cmath>
#include <numeric>

using namespace llvm;

namespace mono::models::glm5 {

static std::vector<int32_t> firstTokens(size_t count) {
  std::vector<int32_t> list(count);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// Keys of the row's tokens 0 .. position.
std::vector<double> Glm5Layer::indexKeys(size_t row, const DownProjections &down) const {
  return gather(row, firstTokens(tokens(row)), inputs.cacheIndex, sizes.indexDim, 0, sizes.indexDim,
                down.indexKey);
}

Indexing Glm5Layer::index(const DownProjections &down) const {
  assert(sizes.indexer);
  std::vector<double> query = multiply(down.q, tensors.indexQ);
  for (size_t place = 0; place < sizes.rows * sizes.indexHeads; ++place)
    rotatePairs(MutableArrayRef(query).slice(place * sizes.indexDim, sizes.rope),
                inputs.positions[place / sizes.indexHeads]);
  return index(down, std::move(query));
}

Indexing Glm5Layer::index(const DownProjections &down, std::vector<double> query) const {
  size_t heads = sizes.indexHeads, width = heads * sizes.indexDim;
  Indexing result;
  result.query = std::move(query);
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t count = tokens(row);
    std::vector<double> dots = multiplyTransposed(ArrayRef(result.query).slice(row * width, width),
                                                  heads, ArrayRef<double>(indexKeys(row, down)));
    std::vector<double> scores(count);
    for (size_t head = 0; head < heads; ++head)
      for (size_t t = 0; t < count; ++t)
        scores[t] += down.indexWeights[row * heads + head] * std::max(0.0, dots[head * count + t]);
    result.selection.push_back(selectTop(scores, sizes.topk));
    result.scores.push_back(std::move(scores));
  }
  return result;
}

static double squaredNorm(ArrayRef<double> vector) {
  return std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0);
}

static std::vector<double> squares(ArrayRef<double> values) {
  std::vector<double> result(values.vec());
  for (double &value : result)
    value *= value;
  return result;
}

// A bf16 value is off by at most 2^-9 of itself, and errors are spread evenly: 2^-9 / sqrt 3 each.
// On the way to the index query lie four such roundings (normed input, q_a normed, query, rotated
// query), to the index key three (normed input, key normed, rotated key), to a head's weight two.
// An error made before a projection is spread over all directions, so that it changes a dot product
// by its size times |q| |k| / sqrt(d); one made on the vectors themselves changes each product by
// its size times the product. Both are counted for all seven, and the errors are taken as
// independent.
static constexpr double roundingVariance = 0x1p-18 / 3;
static constexpr double dotVariance = 7 * roundingVariance;
static constexpr double weightVariance = 2 * roundingVariance;
static constexpr double deviations = 4;

std::vector<std::vector<double>> Glm5Layer::scoreTolerance(const DownProjections &down,
                                                           const Indexing &indexing) const {
  size_t heads = sizes.indexHeads, dim = sizes.indexDim;
  std::vector<std::vector<double>> tolerance;
  for (size_t row = 0; row < sizes.rows; ++row) {
    std::vector<double> keys = indexKeys(row, down);
    size_t count = tokens(row);
    ArrayRef<double> query = ArrayRef(indexing.query).slice(row * heads * dim, heads * dim);
    std::vector<double> dots = multiplyTransposed(query, heads, ArrayRef<double>(keys));
    std::vector<double> products =
        multiplyTransposed(squares(query), heads, ArrayRef<double>(squares(keys)));
    std::vector<double> variance(count);
    for (size_t head = 0; head < heads; ++head) {
      double weight = down.indexWeights[row * heads + head];
      double querySquare = squaredNorm(query.slice(head * dim, dim)) / static_cast<double>(dim);
      for (size_t t = 0; t < count; ++t) {
        double dot = std::max(0.0, dots[head * count + t]);
        double keySquare = squaredNorm(ArrayRef(keys).slice(t * dim, dim));
        variance[t] += weight * weight *
                       (dotVariance * (products[head * count + t] + querySquare * keySquare) +
                        weightVariance * dot * dot);
      }
    }
    for (double &value : variance)
      value = deviations * std::sqrt(value);
    tolerance.push_back(std::move(variance));
  }
  return tolerance;
}

} // namespace mono::models::glm5
