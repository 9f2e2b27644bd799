// Reading of whole-layer golden cases.
#include "models/glm5/LayerGolden.h"
#include "models/GoldenFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mono::models::glm5 {

static Error readDims(const SafetensorsFile &file, LayerDims &dims) {
  const std::pair<StringRef, size_t *> keys[] = {
      {"hidden_size", &dims.hidden},
      {"num_attention_heads", &dims.heads},
      {"q_lora_rank", &dims.qLora},
      {"kv_lora_rank", &dims.kvLora},
      {"qk_nope_head_dim", &dims.nope},
      {"qk_rope_head_dim", &dims.rope},
      {"v_head_dim", &dims.vDim},
      {"index_n_heads", &dims.indexHeads},
      {"index_head_dim", &dims.indexDim},
      {"index_topk", &dims.topk},
      {"n_routed_experts", &dims.experts},
      {"moe_intermediate_size", &dims.moe},
      {"num_experts_per_tok", &dims.chosen},
  };
  for (auto [key, value] : keys) {
    Expected<uint64_t> number = caseNumber(file, key);
    if (!number)
      return number.takeError();
    *value = *number;
  }
  return Error::success();
}

static Error readSynthetic(const SafetensorsFile &file, SyntheticParams &params) {
  auto seed = caseNumber(file, "seed"), layer = caseNumber(file, "layer", UINT32_MAX);
  auto in = caseNumber(file, "base_in", UINT8_MAX), down = caseNumber(file, "base_dn", UINT8_MAX);
  if (!seed || !layer || !in || !down)
    return joinErrors(joinErrors(seed.takeError(), layer.takeError()),
                      joinErrors(in.takeError(), down.takeError()));
  params = {*seed, static_cast<unsigned>(*layer), static_cast<uint8_t>(*in),
            static_cast<uint8_t>(*down)};
  return Error::success();
}

static Error readPositions(const SafetensorsFile &file, std::vector<int32_t> &positions) {
  Expected<const TensorView *> view = file.get("positions", DType::I32, 1);
  if (!view)
    return view.takeError();
  Expected<std::vector<int32_t>> values =
      tensorValues<int32_t>(file, "positions", DType::I32, (*view)->shape);
  if (!values)
    return values.takeError();
  for (int32_t position : *values)
    if (position < 0)
      return makeError("tensor 'positions': expected positions of at least 0, but got {}",
                       position);
  positions = std::move(*values);
  return Error::success();
}

namespace {
/// Reads [rows, columns] tensors; the first fault is kept.
class Reader {
public:
  Reader(const SafetensorsFile &file, size_t rows) : file(file), rows(rows) {}

  std::vector<double> floats(StringRef name, size_t columns) {
    return keep(caseValues(file, name, shape(columns)));
  }
  std::vector<int32_t> integers(StringRef name, size_t columns) {
    return keep(tensorValues<int32_t>(file, name, DType::I32, shape(columns)));
  }
  Error takeError() { return std::move(fault); }

private:
  Shape shape(size_t columns) const {
    return {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
  }
  template <typename T> std::vector<T> keep(Expected<std::vector<T>> values) {
    if (values)
      return std::move(*values);
    if (fault)
      consumeError(values.takeError());
    else
      fault = values.takeError();
    return {};
  }

  const SafetensorsFile &file;
  size_t rows;
  Error fault = Error::success();
};
} // namespace

/// First and second members of all pairs, to pairs; the rest of a row stays.
static std::vector<double> interleave(ArrayRef<double> values, size_t width, size_t rope) {
  std::vector<double> result(values.vec());
  for (size_t first = 0; first < values.size(); first += width)
    for (size_t i = 0; i < rope / 2; ++i) {
      result[first + 2 * i] = values[first + i];
      result[first + 2 * i + 1] = values[first + rope / 2 + i];
    }
  return result;
}

/// Cuts the padding behind each row of [rows, width] values.
template <typename T>
static std::vector<std::vector<T>> ragged(ArrayRef<T> values, ArrayRef<size_t> lengths) {
  std::vector<std::vector<T>> result;
  size_t width = values.size() / lengths.size();
  for (size_t row = 0; row < lengths.size(); ++row)
    result.push_back(values.slice(row * width, std::min(width, lengths[row])).vec());
  return result;
}

static Error readResults(const SafetensorsFile &file, LayerGolden &golden) {
  const LayerDims &dims = golden.dims;
  size_t rows = golden.positions.size();
  std::vector<size_t> tokens;
  for (int32_t position : golden.positions)
    tokens.push_back(static_cast<size_t>(position) + 1);
  Reader reader(file, rows);
  golden.attnResidual = reader.floats("attn_residual", dims.hidden);
  golden.y = reader.floats("y", dims.hidden);
  std::vector<double> scores = reader.floats("index_scores", *llvm::max_element(tokens));
  std::vector<int32_t> selection = reader.integers("index_topk", dims.topk);
  golden.routing = {rows, reader.floats("router_logits", dims.experts),
                    reader.integers("topk_ids", dims.chosen),
                    reader.floats("topk_weights", dims.chosen)};
  golden.latent = reader.floats("new_latent", dims.kvLora);
  golden.rope = reader.floats("new_rope", dims.rope);
  golden.indexKey = reader.floats("new_index_key", dims.indexDim);
  if (Error error = reader.takeError())
    return error;
  golden.scores = ragged(ArrayRef<double>(scores), tokens);
  golden.selection = ragged(ArrayRef<int32_t>(selection), tokens);
  golden.rope = interleave(golden.rope, dims.rope, dims.rope);
  golden.indexKey = interleave(golden.indexKey, dims.indexDim, dims.rope);
  return Error::success();
}

Expected<LayerGolden> readLayerGolden(const SafetensorsFile &file) {
  LayerGolden golden;
  if (Error error = readDims(file, golden.dims))
    return error;
  if (Error error = readSynthetic(file, golden.synthetic))
    return error;
  if (Error error = readPositions(file, golden.positions))
    return error;
  if (Error error = checkLayerSizes(golden.sizes()))
    return error;
  if (Error error = readResults(file, golden))
    return error;
  return golden;
}

LayerSizes LayerGolden::sizes() const {
  LayerSizes sizes{dims};
  sizes.rows = positions.size();
  sizes.ranks = 8;
  while (sizes.ranks > 1 && sizes.moePerRank() < 128)
    sizes.ranks /= 2;
  size_t step = std::clamp<size_t>(dims.topk / 2, 64, 1024);
  int32_t last = positions.empty() ? 0 : *llvm::max_element(positions);
  sizes.context = alignTo(static_cast<size_t>(last) + 1, step);
  return sizes;
}

} // namespace mono::models::glm5
