// The layer on operands: plain loops, nothing shared with the reference but the router's choice.
#include "test/models/LayerKernel.h"
#include "models/BFloat16.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <map>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace mono::test {

LayerSizes smallLayerSizes() {
  LayerSizes sizes;
  sizes.hidden = 64;
  sizes.heads = 4;
  sizes.qLora = 32;
  sizes.kvLora = 32;
  sizes.nope = 16;
  sizes.rope = 8;
  sizes.vDim = 16;
  sizes.indexHeads = 2;
  sizes.indexDim = 16;
  sizes.topk = 8;
  sizes.experts = 16;
  sizes.moe = 128;
  sizes.chosen = 2;
  sizes.rows = 5;
  sizes.ranks = 2;
  sizes.context = 32;
  sizes.page = 4;
  return sizes;
}

Manifest layerManifest(const LayerSizes &sizes) {
  Manifest manifest;
  manifest.kernel = manifest.schedule = "glm5_layer";
  manifest.ranks = static_cast<unsigned>(sizes.ranks);
  for (const OperandSpec &operand : layerOperands(sizes))
    manifest.operands.push_back({operand.name,
                                 operand.access,
                                 Role::Activation,
                                 {operand.shape, operand.element, Layout::RowMajor}});
  LayerSizes copy = sizes;
  for (auto [name, value] : dimensionParams(copy))
    manifest.params.emplace_back(name.str(), static_cast<int64_t>(*value));
  for (auto [name, value] : {std::pair<const char *, size_t>{"S", sizes.rows},
                             {"TP", sizes.ranks},
                             {"CTX", sizes.context},
                             {"PAGE", sizes.page},
                             {"INDEXER", sizes.indexer},
                             {"SHARD_A", sizes.sharded},
                             {"ATTN", sizes.mxAttention},
                             {"ACT", sizes.mxActivations}})
    manifest.params.emplace_back(name, static_cast<int64_t>(value));
  return manifest;
}

namespace {

using Vector = std::vector<double>;

/// Matrix times vector; rows of `width` = vector.size() elements from `first` on.
Vector times(const Vector &matrix, size_t first, size_t rows, const Vector &vector) {
  Vector out(rows);
  for (size_t n = 0; n < rows; ++n)
    for (size_t k = 0; k < vector.size(); ++k)
      out[n] += matrix[(first + n) * vector.size() + k] * vector[k];
  return out;
}

Vector part(const Vector &from, size_t first, size_t count) {
  return {from.begin() + static_cast<ptrdiff_t>(first),
          from.begin() + static_cast<ptrdiff_t>(first + count)};
}

Vector rms(const Vector &x, const Vector &weight) {
  double squares = 0;
  for (double value : x)
    squares += value * value;
  Vector out(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = x[i] * weight[i] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  return out;
}

double dot(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

class LayerKernel {
public:
  LayerKernel(const Manifest &manifest, Problem &problem) : manifest(manifest) {
    sizes = llvm::cantFail(readLayerSizes(manifest));
    operands.resize(sizes.ranks);
    for (unsigned rank = 0; rank < sizes.ranks; ++rank)
      for (const Operand &operand : manifest.operands)
        if (operand.access != OperandAccess::Write)
          operands[rank][operand.name] =
              HostTensor{operand.type, problem.input(rank, operand)}.values();
  }

  std::vector<RankOutputs> run() {
    for (const Operand &operand : manifest.operands)
      if (operand.access == OperandAccess::Write || (operand.name == "index_topk" && sizes.indexer))
        outputs[operand.name] = {};
      else if (operand.access == OperandAccess::Update)
        outputs[operand.name] = operands[0][operand.name];
    for (size_t s = 0; s < sizes.rows; ++s)
      project(s);
    for (size_t s = 0; s < sizes.rows; ++s)
      finish(s);
    return std::vector<RankOutputs>(sizes.ranks, encoded());
  }

private:
  const Vector &in(const char *name, size_t rank = 0) { return operands[rank][name]; }
  size_t cacheRow(size_t s, size_t token) {
    return static_cast<size_t>(in("block_table")[s * sizes.pages() + token / sizes.page]) *
               sizes.page +
           token % sizes.page;
  }
  double position(size_t s) { return in("positions")[s]; }

  /// Rotates the pairs that begin at `first` by the angles of row `s`.
  void rotate(Vector &v, size_t first, size_t s) {
    size_t pairs = sizes.rope / 2, table = static_cast<size_t>(position(s)) * sizes.rope;
    for (size_t i = 0; i < pairs; ++i) {
      double cosine = in("cos_sin")[table + i], sine = in("cos_sin")[table + pairs + i];
      double a = v[first + 2 * i], b = v[first + 2 * i + 1];
      v[first + 2 * i] = a * cosine - b * sine;
      v[first + 2 * i + 1] = b * cosine + a * sine;
    }
  }

  void store(const char *cache, size_t s, const Vector &entry) {
    size_t place = cacheRow(s, static_cast<size_t>(position(s)));
    llvm::copy(entry, outputs[cache].begin() + static_cast<ptrdiff_t>(place * entry.size()));
  }

  void project(size_t s) {
    Vector h = rms(part(in("x"), s * sizes.hidden, sizes.hidden), in("w_in"));
    Vector qA, small;
    size_t queries = sizes.qLora / sizes.shares(), others = sizes.smallRowsPerShare();
    for (size_t share = 0; share < sizes.shares(); ++share) {
      llvm::append_range(qA, times(in("w_a", share), 0, queries, h));
      llvm::append_range(small, times(in("w_a", share), queries, others, h));
    }
    q.push_back(rms(qA, in("q_norm")));
    Vector entry = rms(part(small, 0, sizes.kvLora), in("kv_norm"));
    llvm::append_range(entry, part(small, sizes.kvLora, sizes.rope));
    rotate(entry, sizes.kvLora, s);
    store("cache_kv", s, entry);
    if (!sizes.indexer)
      return;
    size_t first = sizes.cacheWidth();
    Vector key = part(small, first, sizes.indexDim);
    double mean = 0, square = 0;
    for (double value : key) {
      mean += value / static_cast<double>(key.size());
      square += value * value / static_cast<double>(key.size());
    }
    for (size_t i = 0; i < key.size(); ++i)
      key[i] = (key[i] - mean) / std::sqrt(square - mean * mean + 1e-6) * in("index_norm_w")[i] +
               in("index_norm_b")[i];
    rotate(key, 0, s);
    store("cache_index", s, key);
    headWeights.push_back(part(small, first + sizes.indexDim, sizes.indexHeads));
  }

  std::vector<int32_t> chooseTokens(size_t s) {
    Vector query;
    for (size_t share = 0; share < sizes.shares(); ++share)
      llvm::append_range(
          query, times(in("w_iq", share), 0, sizes.indexHeadsPerShare() * sizes.indexDim, q[s]));
    Vector scores(static_cast<size_t>(position(s)) + 1);
    for (size_t head = 0; head < sizes.indexHeads; ++head) {
      rotate(query, head * sizes.indexDim, s);
      for (size_t t = 0; t < scores.size(); ++t) {
        Vector key = part(outputs["cache_index"], cacheRow(s, t) * sizes.indexDim, sizes.indexDim);
        double product = dot(part(query, head * sizes.indexDim, sizes.indexDim), key);
        scores[t] += headWeights[s][head] * std::max(0.0, product) /
                     std::sqrt(static_cast<double>(sizes.indexHeads * sizes.indexDim));
      }
    }
    return selectTop(scores, sizes.topk);
  }

  std::vector<int32_t> givenTokens(size_t s) {
    std::vector<int32_t> tokens;
    for (double value : part(in("index_topk"), s * sizes.topk, sizes.topk))
      if (value >= 0)
        tokens.push_back(static_cast<int32_t>(value));
    return tokens;
  }

  /// One head in the absorbed form; its part of the projected output.
  Vector attend(size_t s, size_t rank, size_t head, const std::vector<int32_t> &tokens) {
    Vector query = times(in("w_qb", rank), head * sizes.qkDim(), sizes.qkDim(), q[s]);
    rotate(query, sizes.nope, s);
    Vector wide =
        times(in("w_uk", rank), head * sizes.kvLora, sizes.kvLora, part(query, 0, sizes.nope));
    llvm::append_range(wide, part(query, sizes.nope, sizes.rope));
    Vector latent(sizes.kvLora);
    double sum = 0;
    for (int32_t token : tokens) {
      Vector entry =
          part(outputs["cache_kv"], cacheRow(s, static_cast<size_t>(token)) * sizes.cacheWidth(),
               sizes.cacheWidth());
      double p = std::exp(dot(wide, entry) / std::sqrt(static_cast<double>(sizes.qkDim())));
      sum += p;
      for (size_t c = 0; c < sizes.kvLora; ++c)
        latent[c] += p * entry[c];
    }
    for (double &value : latent)
      value /= sum;
    return times(in("w_uv", rank), head * sizes.vDim, sizes.vDim, latent);
  }

  /// One rank's share of an expert.
  Vector expert(size_t rank, size_t index, const Vector &g) {
    size_t units = sizes.moePerRank(), hidden = sizes.hidden;
    Vector gateUp = dequantised(rank, "w_gate_up", index, 2 * units * hidden);
    Vector down = dequantised(rank, "w_down", index, hidden * units);
    Vector rows = times(gateUp, 0, 2 * units, g), middle(units);
    for (size_t unit = 0; unit < units; ++unit) {
      double gate = rows[unit / 16 * 32 + unit % 16], up = rows[unit / 16 * 32 + 16 + unit % 16];
      middle[unit] = gate / (1 + std::exp(-gate)) * up;
    }
    return times(down, 0, hidden, middle);
  }

  Vector dequantised(size_t rank, const std::string &name, size_t index, size_t count) {
    Vector values = part(in(name.c_str(), rank), index * count, count);
    const Vector &scales = in((name + "_scale").c_str(), rank);
    for (size_t i = 0; i < count; ++i)
      values[i] *= scales[(index * count + i) / 32];
    return values;
  }

  void finish(size_t s) {
    std::vector<int32_t> tokens = sizes.indexer ? chooseTokens(s) : givenTokens(s);
    Vector residual = part(in("x"), s * sizes.hidden, sizes.hidden);
    for (size_t rank = 0; rank < sizes.ranks; ++rank) {
      Vector heads;
      for (size_t head = 0; head < sizes.headsPerRank(); ++head)
        llvm::append_range(heads, attend(s, rank, head, tokens));
      add(residual, times(in("w_o", rank), 0, sizes.hidden, heads), 1);
    }
    Vector g = rms(residual, in("w_post"));
    Vector logits = times(in("w_gate"), 0, sizes.experts, g);
    std::vector<float> bias(in("bias").begin(), in("bias").end());
    std::vector<int32_t> ids = selectTop(expertScores(logits, bias), sizes.chosen);
    Vector weights = expertWeights(logits, ids), y = residual;
    for (size_t rank = 0; rank < sizes.ranks; ++rank) {
      add(y, expert(rank, sizes.experts, g), 1);
      for (size_t i = 0; i < ids.size(); ++i)
        add(y, expert(rank, static_cast<size_t>(ids[i]), g), weights[i]);
    }
    tokens.resize(sizes.topk, -1);
    llvm::append_range(outputs["y"], y);
    llvm::append_range(outputs["attn_residual"], residual);
    if (sizes.indexer)
      llvm::append_range(outputs["index_topk"], tokens);
    llvm::append_range(outputs["router_logits"], logits);
    llvm::append_range(outputs["topk_ids"], ids);
    llvm::append_range(outputs["topk_weights"], weights);
  }

  static void add(Vector &to, const Vector &values, double factor) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] += factor * values[i];
  }

  RankOutputs encoded() {
    RankOutputs result;
    for (const auto &[name, values] : outputs) {
      HostTensor tensor{manifest.operand(name)->type, {}};
      auto append = [&](auto value) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
        tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof(value));
      };
      for (double value : values)
        if (tensor.type.element == ElementType::BF16)
          append(toBf16(static_cast<float>(value)));
        else if (tensor.type.element == ElementType::F32)
          append(static_cast<float>(value));
        else
          append(static_cast<int32_t>(value));
      result[name] = std::move(tensor);
    }
    return result;
  }

  const Manifest &manifest;
  LayerSizes sizes;
  std::vector<std::map<std::string, Vector>> operands;
  std::map<std::string, Vector> outputs;
  std::vector<Vector> q, headWeights;
};

} // namespace

std::vector<RankOutputs> runLayer(const Manifest &manifest, Problem &problem) {
  return LayerKernel(manifest, problem).run();
}

} // namespace mono::test
