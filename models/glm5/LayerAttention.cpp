// Attention over the chosen tokens.
#include "models/glm5/Layer.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace mono::models::glm5 {

static std::vector<double> transposed(ArrayRef<double> matrix, size_t columns) {
  size_t rows = matrix.size() / columns;
  std::vector<double> result(matrix.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      result[c * rows + r] = matrix[r * columns + c];
  return result;
}

/// A head's rows of kv_b_proj [nope + vDim, kvLora]: from a latent to a key, then to a value.
std::vector<double> Glm5Layer::headExpansion(size_t head) const {
  std::vector<uint16_t> rows(sizes.kvRows() * sizes.kvLora);
  size_t bytes = rows.size() * sizeof(uint16_t);
  checkpoint.read(tensors.kvB, head * bytes,
                  MutableArrayRef(reinterpret_cast<uint8_t *>(rows.data()), bytes));
  return toDouble(rows);
}

/// latentQuery[c] = sum over d of query[d] * key expansion[d, c].
void Glm5Layer::absorbQueries(Attention &attention) const {
  parallelFor(0, sizes.heads, [&](size_t head) {
    std::vector<double> expansion = headExpansion(head);
    for (size_t row = 0; row < sizes.rows; ++row) {
      size_t place = row * sizes.heads + head;
      auto out = MutableArrayRef(attention.latentQuery).slice(place * sizes.kvLora, sizes.kvLora);
      for (size_t d = 0; d < sizes.nope; ++d)
        addScaled(attention.query[place * sizes.qkDim() + d],
                  ArrayRef(expansion).slice(d * sizes.kvLora, sizes.kvLora), out);
    }
  });
}

void Glm5Layer::attendExpanded(size_t head, ArrayRef<Keys> keys, Attention &attention) const {
  size_t nope = sizes.nope, rope = sizes.rope, kvRows = sizes.kvRows();
  std::vector<double> expansion = headExpansion(head);
  double scale = 1 / std::sqrt(static_cast<double>(sizes.qkDim()));
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t place = row * sizes.heads + head, count = keys[row].ropes.size() / rope;
    ArrayRef<double> query = ArrayRef(attention.query).slice(place * sizes.qkDim(), sizes.qkDim());
    std::vector<double> expanded =
        multiplyTransposed(keys[row].latents, count, ArrayRef<double>(expansion));
    std::vector<double> p(count);
    for (size_t t = 0; t < count; ++t)
      p[t] = scale * (dot(query.take_front(nope), ArrayRef(expanded).slice(t * kvRows, nope)) +
                      dot(query.drop_front(nope), ArrayRef(keys[row].ropes).slice(t * rope, rope)));
    softmax(p);
    auto out = MutableArrayRef(attention.heads).slice(place * sizes.vDim, sizes.vDim);
    for (size_t t = 0; t < count; ++t)
      addScaled(p[t], ArrayRef(expanded).slice(t * kvRows + nope, sizes.vDim), out);
  }
}

std::vector<Glm5Layer::Keys> Glm5Layer::chosenKeys(const DownProjections &down,
                                                   const TokenLists &selection) const {
  std::vector<Keys> keys;
  for (size_t row = 0; row < sizes.rows; ++row)
    keys.push_back({gather(row, selection[row], inputs.cacheKv, sizes.cacheWidth(), 0, sizes.kvLora,
                           down.latent),
                    gather(row, selection[row], inputs.cacheKv, sizes.cacheWidth(), sizes.kvLora,
                           sizes.rope, down.rope)});
  return keys;
}

void Glm5Layer::attendLatents(const DownProjections &down, const TokenLists &selection,
                              Attention &attention) const {
  size_t heads = sizes.heads, rope = sizes.rope;
  double scale = 1 / std::sqrt(static_cast<double>(sizes.qkDim()));
  attention.latents.clear();
  attention.logSums.clear();
  std::vector<Keys> keys = chosenKeys(down, selection);
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t count = keys[row].ropes.size() / rope;
    auto latentQuery =
        ArrayRef(attention.latentQuery).slice(row * heads * sizes.kvLora, heads * sizes.kvLora);
    std::vector<double> ropeQuery;
    for (size_t place = row * heads; place < (row + 1) * heads; ++place) {
      auto query = ArrayRef(attention.query).slice(place * sizes.qkDim() + sizes.nope, rope);
      ropeQuery.insert(ropeQuery.end(), query.begin(), query.end());
    }
    std::vector<double> p =
        multiplyTransposed(latentQuery, heads, ArrayRef<double>(keys[row].latents));
    addScaled(1, multiplyTransposed(ropeQuery, heads, ArrayRef<double>(keys[row].ropes)), p);
    for (double &logit : p)
      logit *= scale;
    for (size_t head = 0; head < heads; ++head)
      attention.logSums.push_back(softmax(MutableArrayRef(p).slice(head * count, count)));
    std::vector<double> latents =
        multiplyTransposed(p, heads, ArrayRef<double>(transposed(keys[row].latents, sizes.kvLora)));
    attention.latents.insert(attention.latents.end(), latents.begin(), latents.end());
  }
}

void Glm5Layer::expandValues(Attention &attention) const {
  size_t heads = sizes.heads;
  parallelFor(0, heads, [&](size_t head) {
    std::vector<double> expansion = headExpansion(head);
    auto values = ArrayRef(expansion).drop_front(sizes.nope * sizes.kvLora);
    for (size_t row = 0; row < sizes.rows; ++row)
      for (size_t v = 0; v < sizes.vDim; ++v)
        attention.heads[(row * heads + head) * sizes.vDim + v] = dot(
            ArrayRef(attention.latents).slice((row * heads + head) * sizes.kvLora, sizes.kvLora),
            values.slice(v * sizes.kvLora, sizes.kvLora));
  });
}

Attention Glm5Layer::projectQueries(const DownProjections &down) const {
  size_t rows = sizes.rows, heads = sizes.heads;
  Attention attention;
  attention.query = multiply(down.q, tensors.qB);
  attention.latentQuery.resize(rows * heads * sizes.kvLora);
  attention.heads.resize(rows * heads * sizes.vDim);
  for (size_t place = 0; place < rows * heads; ++place)
    rotatePairs(
        MutableArrayRef(attention.query).slice(place * sizes.qkDim() + sizes.nope, sizes.rope),
        inputs.positions[place / heads]);
  absorbQueries(attention);
  return attention;
}

void Glm5Layer::projectHeads(Attention &attention) const {
  attention.residual = multiply(attention.heads, tensors.outProj);
  addScaled(1, toDouble(inputs.x), attention.residual);
}

Attention Glm5Layer::attend(const DownProjections &down, const TokenLists &selection,
                            AttentionForm form) const {
  Attention attention = projectQueries(down);
  if (form == AttentionForm::Expanded) {
    std::vector<Keys> keys = chosenKeys(down, selection);
    parallelFor(0, sizes.heads, [&](size_t head) { attendExpanded(head, keys, attention); });
  } else {
    attendLatents(down, selection, attention);
    expandValues(attention);
  }
  projectHeads(attention);
  return attention;
}

} // namespace mono::models::glm5
