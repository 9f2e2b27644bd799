// Attention over the chosen tokens with keys and values expanded from their latents.
#include "models/glm5/Layer.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace mono::models::glm5 {

static void softmax(MutableArrayRef<double> logits) {
  double largest = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (double &value : logits)
    sum += value = std::exp(value - largest);
  for (double &value : logits)
    value /= sum;
}

static double dot(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// query * W: the head's query in terms of latents; keys [nope, kvLora].
static void toLatent(ArrayRef<double> query, ArrayRef<double> keys, MutableArrayRef<double> out) {
  for (size_t d = 0; d < query.size(); ++d)
    for (size_t c = 0; c < out.size(); ++c)
      out[c] += query[d] * keys[d * out.size() + c];
}

void Glm5Layer::attendHead(size_t head, Attention &attention, ArrayRef<std::vector<double>> latents,
                           ArrayRef<std::vector<double>> ropes) const {
  size_t nope = sizes.nope, rope = sizes.rope, kvRows = sizes.kvRows();
  CheckpointTensor expansion = tensors.kvB;
  std::vector<uint8_t> bytes(kvRows * expansion.rowBytes());
  checkpoint.read(expansion, head * bytes.size(), bytes);
  std::vector<double> weights =
      toDouble(ArrayRef(reinterpret_cast<const uint16_t *>(bytes.data()), bytes.size() / 2));
  double scale = 1 / std::sqrt(static_cast<double>(sizes.qkDim()));
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t place = row * sizes.heads + head, count = ropes[row].size() / rope;
    ArrayRef<double> query = ArrayRef(attention.query).slice(place * sizes.qkDim(), sizes.qkDim());
    toLatent(query.take_front(nope), ArrayRef(weights).take_front(nope * sizes.kvLora),
             MutableArrayRef(attention.latentQuery).slice(place * sizes.kvLora, sizes.kvLora));
    std::vector<double> expanded =
        multiplyTransposed(latents[row], count, ArrayRef<double>(weights));
    std::vector<double> p(count);
    for (size_t t = 0; t < count; ++t)
      p[t] = scale * (dot(query.take_front(nope), ArrayRef(expanded).slice(t * kvRows, nope)) +
                      dot(query.drop_front(nope), ArrayRef(ropes[row]).slice(t * rope, rope)));
    softmax(p);
    MutableArrayRef<double> out =
        MutableArrayRef(attention.heads).slice(place * sizes.vDim, sizes.vDim);
    for (size_t t = 0; t < count; ++t)
      for (size_t v = 0; v < sizes.vDim; ++v)
        out[v] += p[t] * expanded[t * kvRows + nope + v];
  }
}

Attention Glm5Layer::attend(const DownProjections &down, const TokenLists &selection) const {
  size_t rows = sizes.rows, heads = sizes.heads;
  Attention attention;
  attention.query = multiply(down.q, tensors.qB);
  attention.latentQuery.resize(rows * heads * sizes.kvLora);
  attention.heads.resize(rows * heads * sizes.vDim);
  std::vector<std::vector<double>> latents, ropes;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t head = 0; head < heads; ++head)
      rotatePairs(MutableArrayRef(attention.query)
                      .slice((row * heads + head) * sizes.qkDim() + sizes.nope, sizes.rope),
                  inputs.positions[row]);
    latents.push_back(gather(row, selection[row], inputs.cacheKv, sizes.cacheWidth(), 0,
                             sizes.kvLora, down.latent));
    ropes.push_back(gather(row, selection[row], inputs.cacheKv, sizes.cacheWidth(), sizes.kvLora,
                           sizes.rope, down.rope));
  }
  parallelFor(0, heads, [&](size_t head) { attendHead(head, attention, latents, ropes); });
  attention.residual = multiply(attention.heads, tensors.outProj);
  std::vector<double> x = toDouble(inputs.x);
  for (size_t i = 0; i < x.size(); ++i)
    attention.residual[i] += x[i];
  return attention;
}

} // namespace mono::models::glm5
