// Attention and MLP of decoder layers.
#include "models/decoder/Decoder.h"
#include "models/ReferenceOps.h"
#include "models/WeightCuts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Parallel.h"

#include <cmath>
#include <map>

using namespace llvm;

namespace mono::models::decoder {

void rotateHalves(MutableArrayRef<double> vector, ArrayRef<double> frequencies, int32_t position) {
  size_t pairs = frequencies.size();
  for (size_t i = 0; i < pairs; ++i) {
    double angle = position * frequencies[i], a = vector[i], b = vector[i + pairs];
    vector[i] = a * std::cos(angle) - b * std::sin(angle);
    vector[i + pairs] = a * std::sin(angle) + b * std::cos(angle);
  }
}

RoutingRule softmaxRule(size_t chosen) {
  return {chosen, [](ArrayRef<double> logits) { return logits.vec(); },
          [](ArrayRef<double> logits, ArrayRef<int32_t> ids) {
            std::vector<double> weights;
            for (int32_t id : ids)
              weights.push_back(logits[id]);
            softmax(weights);
            return weights;
          },
          /*judgesByOwnLogits=*/true};
}

DecoderLayer::DecoderLayer(const DecoderModel &model, const DecoderSizes &sizes, unsigned layer,
                           const Checkpoint &checkpoint, const DecoderInputs &inputs)
    : model(model), sizes(sizes), tensors(sizes, layer), checkpoint(checkpoint), inputs(inputs),
      frequencies(model.frequencies(sizes.dim)), writers(sizes.cacheRows(), -1) {
  for (auto [row, place] : enumerate(inputs.ownRows()))
    writers[place] = static_cast<int32_t>(row);
}

std::vector<double> DecoderLayer::multiply(ArrayRef<double> activations,
                                           const CheckpointTensor &weight) const {
  return multiplyBf16(checkpoint, weight, activations);
}

void DecoderLayer::finishHeads(std::vector<double> &heads, const CheckpointTensor &norm) const {
  if (model.hasQkNorm)
    heads = rmsNorm(heads, checkpoint.bf16(norm), model.eps);
  size_t width = heads.size() / sizes.rows;
  for (size_t first = 0; first < heads.size(); first += sizes.dim)
    rotateHalves(MutableArrayRef(heads).slice(first, sizes.dim), frequencies,
                 inputs.positions[first / width]);
}

std::vector<double> DecoderLayer::gather(size_t row, size_t head, ArrayRef<uint16_t> cache,
                                         ArrayRef<double> fresh) const {
  size_t tokens = static_cast<size_t>(inputs.positions[row]) + 1, dim = sizes.dim;
  std::vector<double> out(tokens * dim);
  for (size_t token = 0; token < tokens; ++token) {
    MutableArrayRef<double> to = MutableArrayRef(out).slice(token * dim, dim);
    size_t place = inputs.cacheRow(row, token);
    if (int32_t writer = writers[place]; writer >= 0)
      copy(fresh.slice((static_cast<size_t>(writer) * sizes.kvHeads + head) * dim, dim),
           to.begin());
    else
      toDouble(cache.slice((place * sizes.kvHeads + head) * dim, dim), to);
  }
  return out;
}

/// The query heads of one row that share a key head.
void DecoderLayer::attendGroup(size_t row, size_t group, DecoderAttention &attention) const {
  size_t dim = sizes.dim, perGroup = sizes.heads / sizes.kvHeads;
  std::vector<double> keys = gather(row, group, inputs.cacheK, attention.key);
  std::vector<double> values = gather(row, group, inputs.cacheV, attention.value);
  size_t tokens = keys.size() / dim;
  double scale = 1 / std::sqrt(static_cast<double>(dim));
  for (size_t head = group * perGroup; head < (group + 1) * perGroup; ++head) {
    size_t place = (row * sizes.heads + head) * dim;
    ArrayRef<double> query = ArrayRef(attention.query).slice(place, dim);
    std::vector<double> p(tokens);
    for (size_t token = 0; token < tokens; ++token)
      p[token] = scale * dot(query, ArrayRef(keys).slice(token * dim, dim));
    softmax(p);
    for (size_t token = 0; token < tokens; ++token)
      addScaled(p[token], ArrayRef(values).slice(token * dim, dim),
                MutableArrayRef(attention.heads).slice(place, dim));
  }
}

DecoderAttention DecoderLayer::attend() const {
  DecoderAttention attention;
  std::vector<double> x = toDouble(inputs.x);
  std::vector<double> h = rmsNorm(x, checkpoint.bf16(tensors.inputNorm), model.eps);
  attention.query = multiply(h, tensors.query);
  attention.key = multiply(h, tensors.key);
  attention.value = multiply(h, tensors.value);
  finishHeads(attention.query, tensors.queryNorm);
  finishHeads(attention.key, tensors.keyNorm);
  attention.heads.resize(attention.query.size());
  parallelFor(0, sizes.rows * sizes.kvHeads, [&](size_t index) {
    attendGroup(index / sizes.kvHeads, index % sizes.kvHeads, attention);
  });
  attention.residual = multiply(attention.heads, tensors.outProj);
  addScaled(1, x, attention.residual);
  return attention;
}

Routing DecoderLayer::routeTokens(const DecoderAttention &attention) const {
  std::vector<double> normed =
      rmsNorm(attention.residual, checkpoint.bf16(tensors.postNorm), model.eps);
  return routeLogits(multiply(normed, tensors.router), sizes.rows, softmaxRule(sizes.chosen));
}

/// silu(gate) * up.
static void gateUnits(ArrayRef<double> gate, MutableArrayRef<double> up) {
  for (size_t i = 0; i < up.size(); ++i)
    up[i] *= silu(gate[i]);
}

std::vector<double> DecoderLayer::expertOutput(ArrayRef<double> normed, size_t expert) const {
  using enum DecoderTensors::Projection;
  auto product = [&](ArrayRef<double> activations, DecoderTensors::Projection projection) {
    return multiplyMxfp4(checkpoint, tensors.expert(expert, projection),
                         tensors.expertScale(expert, projection), activations);
  };
  std::vector<double> gate = product(normed, Gate), units = product(normed, Up);
  gateUnits(gate, units);
  return product(units, Down);
}

std::vector<double> DecoderLayer::output(const DecoderAttention &attention,
                                         const Routing &routing) const {
  std::vector<double> normed =
      rmsNorm(attention.residual, checkpoint.bf16(tensors.postNorm), model.eps);
  std::vector<double> y = attention.residual;
  if (!model.hasExperts) {
    std::vector<double> gate = multiply(normed, tensors.gate), units = multiply(normed, tensors.up);
    gateUnits(gate, units);
    addScaled(1, multiply(units, tensors.down), y);
    return y;
  }
  size_t hidden = sizes.hidden;
  std::map<int32_t, std::vector<size_t>> users; // places in [rows, chosen] by expert
  for (size_t place = 0; place < routing.ids.size(); ++place)
    users[routing.ids[place]].push_back(place);
  for (const auto &[expert, places] : users) {
    std::vector<double> input;
    for (size_t place : places)
      llvm::append_range(input, ArrayRef(normed).slice(place / sizes.chosen * hidden, hidden));
    std::vector<double> result = expertOutput(input, static_cast<size_t>(expert));
    for (auto [i, place] : enumerate(places))
      addScaled(routing.weights[place], ArrayRef(result).slice(i * hidden, hidden),
                MutableArrayRef(y).slice(place / sizes.chosen * hidden, hidden));
  }
  return y;
}

} // namespace mono::models::decoder
