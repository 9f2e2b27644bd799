// Projections of the input, cache access, experts.
#include "models/glm5/Layer.h"
#include "models/Mxfp8.h"
#include "models/WeightCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

using namespace llvm;

namespace mono::models::glm5 {

void rotatePairs(MutableArrayRef<double> vector, int32_t position) {
  double size = static_cast<double>(vector.size());
  for (size_t i = 0; i + 1 < vector.size(); i += 2) {
    double angle = position * std::pow(ropeTheta, -static_cast<double>(i) / size);
    double a = vector[i], b = vector[i + 1];
    vector[i] = a * std::cos(angle) - b * std::sin(angle);
    vector[i + 1] = a * std::sin(angle) + b * std::cos(angle);
  }
}

std::vector<double> layerNorm(ArrayRef<double> x, ArrayRef<float> weight, ArrayRef<float> bias) {
  size_t width = weight.size();
  double count = static_cast<double>(width);
  std::vector<double> result(x.size());
  for (size_t first = 0; first < x.size(); first += width) {
    ArrayRef<double> row = x.slice(first, width);
    double mean = std::accumulate(row.begin(), row.end(), 0.0) / count, squares = 0;
    for (double value : row)
      squares += (value - mean) * (value - mean);
    double factor = 1 / std::sqrt(squares / count + indexNormEps);
    for (size_t i = 0; i < width; ++i)
      result[first + i] = (row[i] - mean) * factor * weight[i] + bias[i];
  }
  return result;
}

Glm5Layer::Glm5Layer(const LayerSizes &sizes, unsigned layer, const Checkpoint &checkpoint,
                     const LayerInputs &inputs)
    : sizes(sizes), tensors(sizes, layer), checkpoint(checkpoint), inputs(inputs),
      writers(sizes.cacheRows(), -1) {
  for (size_t row = 0; row < sizes.rows; ++row)
    writers[inputs.cacheRow(sizes, row, tokens(row) - 1)] = static_cast<int32_t>(row);
}

std::vector<double> Glm5Layer::multiply(ArrayRef<double> activations,
                                        const CheckpointTensor &weight) const {
  assert(activations.size() == sizes.rows * weight.columns());
  return multiplyBf16(checkpoint, weight, activations);
}

/// Rotates the first `rope` values of each of the row's vectors of `width` values.
static void rotateStarts(MutableArrayRef<double> vectors, size_t width, size_t rope,
                         int32_t position) {
  for (size_t first = 0; first < vectors.size(); first += width)
    rotatePairs(vectors.slice(first, rope), position);
}

DownProjections Glm5Layer::project() const {
  size_t rows = sizes.rows;
  DownProjections down;
  down.h = rmsNorm(toDouble(inputs.x), rows, checkpoint.bf16(tensors.inputNorm));
  down.qA = multiply(down.h, tensors.qA);
  down.q = rmsNorm(down.qA, rows, checkpoint.bf16(tensors.qANorm));

  down.kv = multiply(down.h, tensors.kvA);
  std::vector<double> latent;
  for (size_t row = 0; row < rows; ++row) {
    auto values = ArrayRef(down.kv).slice(row * sizes.cacheWidth(), sizes.cacheWidth());
    llvm::append_range(latent, values.take_front(sizes.kvLora));
    llvm::append_range(down.rope, values.drop_front(sizes.kvLora));
    rotatePairs(MutableArrayRef(down.rope).take_back(sizes.rope), inputs.positions[row]);
  }
  down.latent = rmsNorm(latent, rows, checkpoint.bf16(tensors.kvANorm));
  if (!sizes.indexer)
    return down;

  std::vector<double> key = multiply(down.h, tensors.indexK);
  down.indexKey = layerNorm(key, checkpoint.f32(tensors.indexNormWeight),
                            checkpoint.f32(tensors.indexNormBias));
  for (size_t row = 0; row < rows; ++row)
    rotateStarts(MutableArrayRef(down.indexKey).slice(row * sizes.indexDim, sizes.indexDim),
                 sizes.indexDim, sizes.rope, inputs.positions[row]);
  down.indexWeights = multiply(down.h, tensors.indexWeights);
  for (size_t row = 0; row < rows; ++row) {
    llvm::append_range(down.index, ArrayRef(key).slice(row * sizes.indexDim, sizes.indexDim));
    llvm::append_range(down.index,
                       ArrayRef(down.indexWeights).slice(row * sizes.indexHeads, sizes.indexHeads));
  }
  double factor = 1 / std::sqrt(static_cast<double>(sizes.indexHeads * sizes.indexDim));
  for (double &weight : down.indexWeights)
    weight *= factor;
  return down;
}

std::vector<double> Glm5Layer::gather(size_t row, ArrayRef<int32_t> list, ArrayRef<uint16_t> cache,
                                      size_t entryWidth, size_t first, size_t width,
                                      ArrayRef<double> fresh) const {
  std::vector<double> out(list.size() * width);
  for (size_t i = 0; i < list.size(); ++i) {
    MutableArrayRef<double> to = MutableArrayRef(out).slice(i * width, width);
    size_t place = inputs.cacheRow(sizes, row, static_cast<size_t>(list[i]));
    if (int32_t writer = writers[place]; writer >= 0)
      copy(fresh.slice(static_cast<size_t>(writer) * width, width), to.begin());
    else
      toDouble(cache.slice(place * entryWidth + first, width), to);
  }
  return out;
}

Routing Glm5Layer::routeTokens(const Attention &attention) const {
  return route(attention.residual, sizes.rows, checkpoint.bf16(tensors.postNorm),
               checkpoint.bf16(tensors.gate), checkpoint.f32(tensors.bias), sizes.chosen);
}

std::vector<double> Glm5Layer::expertInput(const Attention &attention) const {
  return rmsNorm(attention.residual, sizes.rows, checkpoint.bf16(tensors.postNorm));
}

std::vector<double> Glm5Layer::multiplyExpert(ArrayRef<double> activations, size_t expert,
                                              Projection projection, WeightPart part) const {
  return multiplyMxfp4(checkpoint, tensors.expert(expert, projection),
                       tensors.expertScale(expert, projection), activations, part);
}

std::vector<double> Glm5Layer::expertUnits(ArrayRef<double> g, size_t expert) const {
  std::vector<double> gate = multiplyExpert(g, expert, Projection::Gate);
  std::vector<double> units = multiplyExpert(g, expert, Projection::Up);
  for (size_t i = 0; i < units.size(); ++i)
    units[i] *= silu(gate[i]);
  return units;
}

std::vector<double> Glm5Layer::expertOutput(ArrayRef<double> units, size_t expert) const {
  return multiplyExpert(units, expert, Projection::Down);
}

Experts Glm5Layer::runExperts(const Attention &attention, const Routing &routing) const {
  size_t hidden = sizes.hidden, places = sizes.rows * sizes.chosen;
  std::vector<double> g = expertInput(attention);
  Experts experts;
  experts.shared = expertOutput(expertUnits(g, sizes.experts), sizes.experts);
  experts.routed.resize(places * hidden);
  std::map<int32_t, std::vector<size_t>> users; // places in [rows, chosen] by expert
  for (size_t place = 0; place < places; ++place)
    users[routing.ids[place]].push_back(place);
  for (const auto &[expert, chosenAt] : users) {
    std::vector<double> input;
    for (size_t place : chosenAt)
      llvm::append_range(input, ArrayRef(g).slice(place / sizes.chosen * hidden, hidden));
    auto number = static_cast<size_t>(expert);
    std::vector<double> output = expertOutput(expertUnits(input, number), number);
    for (size_t i = 0; i < chosenAt.size(); ++i)
      copy(ArrayRef(output).slice(i * hidden, hidden),
           experts.routed.begin() + static_cast<ptrdiff_t>(chosenAt[i] * hidden));
  }
  experts.y = attention.residual;
  for (size_t i = 0; i < experts.y.size(); ++i)
    experts.y[i] += experts.shared[i];
  for (size_t place = 0; place < places; ++place)
    for (size_t i = 0; i < hidden; ++i)
      experts.y[place / sizes.chosen * hidden + i] +=
          routing.weights[place] * experts.routed[place * hidden + i];
  return experts;
}

} // namespace mono::models::glm5
