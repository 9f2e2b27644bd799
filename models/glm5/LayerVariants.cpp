// What each variant changes.
#include "models/glm5/LayerVariants.h"
#include "models/BFloat16.h"
#include "models/HashTensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <numeric>

using namespace llvm;
using namespace llvm::support;

namespace mono::models::glm5 {

static LayerCase caseAt(const LayerSizes &sizes, uint64_t seed, ArrayRef<int32_t> positions) {
  LayerCase result = randomLayerCase(sizes, seed);
  result.inputs = syntheticInputs(sizes, seed, positions);
  addOutliers(result.inputs, sizes, seed);
  return result;
}

static std::vector<int32_t> consecutive(const LayerSizes &sizes, size_t first) {
  std::vector<int32_t> positions(sizes.rows);
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(first));
  return positions;
}

static LayerCase lengths(const LayerSizes &sizes, uint64_t seed) {
  std::vector<int32_t> positions = consecutive(sizes, 0);
  if (!sizes.ordered)
    for (size_t row = 0; row < sizes.rows; row += 2)
      positions[row] = static_cast<int32_t>(sizes.context - 1) - positions[row];
  return caseAt(sizes, seed, positions);
}

static LayerCase borders(const LayerSizes &sizes, uint64_t seed) {
  if (sizes.ordered)
    return caseAt(sizes, seed, consecutive(sizes, sizes.context - sizes.rows));
  auto last = static_cast<int32_t>(sizes.context) - 1, topk = static_cast<int32_t>(sizes.topk);
  const int32_t edges[] = {0, topk, topk - 1, last, topk - 2, topk + 1, 1};
  std::vector<int32_t> positions;
  for (size_t row = 0; row < sizes.rows; ++row)
    positions.push_back(std::clamp(edges[row % std::size(edges)], 0, last));
  return caseAt(sizes, seed, positions);
}

static LayerCase large(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result = randomLayerCase(sizes, seed);
  for (uint16_t &value : result.inputs.x)
    value = toBf16(toFloat(value) * 4096);
  return result;
}

static LayerCase zeroRows(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result = randomLayerCase(sizes, seed);
  for (size_t i = 0; i < result.inputs.x.size(); ++i)
    if (i / sizes.hidden % 2 == 0)
      result.inputs.x[i] = 0;
  return result;
}

/// A bias that outweighs every sigmoid for the first `chosen` experts.
static LayerCase sameExperts(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result = randomLayerCase(sizes, seed);
  result.edit = [chosen = sizes.chosen](const CheckpointTensor &tensor, uint64_t offset,
                                        MutableArrayRef<uint8_t> out) {
    if (!StringRef(tensor.name).ends_with("e_score_correction_bias"))
      return;
    for (size_t i = 0; i < out.size() / 4; ++i)
      if (offset / 4 + i < chosen)
        endian::write32le(&out[4 * i], std::bit_cast<uint32_t>(20.0f));
  };
  return result;
}

/// Experts of a row have gate weights in the direction of the row, which is large enough that
/// attention does not turn it: its logits are about 4 to 6, those of other rows near 0.
static LayerCase differentExperts(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result = large(sizes, seed);
  std::vector<double> x = toDouble(result.inputs.x), gate(sizes.experts * sizes.hidden);
  for (size_t expert = 0; expert < sizes.experts; ++expert) {
    ArrayRef<double> row =
        ArrayRef(x).slice(expert / sizes.chosen % sizes.rows * sizes.hidden, sizes.hidden);
    double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    double wanted = 4 + 2 * static_cast<double>(expert % sizes.chosen) / sizes.chosen;
    // The normed row is row * sqrt(hidden / squares), about.
    double factor = wanted / std::sqrt(squares * static_cast<double>(sizes.hidden));
    for (size_t i = 0; i < sizes.hidden; ++i)
      gate[expert * sizes.hidden + i] = row[i] * factor;
  }
  result.edit = [gate = std::move(gate)](const CheckpointTensor &tensor, uint64_t offset,
                                         MutableArrayRef<uint8_t> out) {
    if (StringRef(tensor.name).ends_with("mlp.gate.weight"))
      for (size_t i = 0; i < out.size() / 2; ++i)
        endian::write16le(&out[2 * i], toBf16(static_cast<float>(gate[offset / 2 + i])));
  };
  return result;
}

static LayerCase scales(const LayerSizes &sizes, uint64_t seed) {
  LayerCase result = randomLayerCase(sizes, seed);
  result.fewWeights = true;
  result.edit = [seed](const CheckpointTensor &tensor, uint64_t offset,
                       MutableArrayRef<uint8_t> out) {
    if (!StringRef(tensor.name).ends_with("weight_scale"))
      return;
    HashTensor words(tensor.name + ".variant", seed);
    for (size_t i = 0; i < out.size(); ++i) {
      uint64_t word = words.word(offset + i) % 64;
      if (word < 8)
        out[i] = 0;
      else if (word == 8)
        out[i] = static_cast<uint8_t>(out[i] + 16);
    }
  };
  return result;
}

namespace {
struct Variant {
  StringLiteral name;
  LayerCase (*make)(const LayerSizes &, uint64_t seed);
};
} // namespace

static constexpr Variant variants[] = {
    {"same-experts", sameExperts},
    {"different-experts", differentExperts},
    {"large", large},
    {"zero-rows", zeroRows},
    {"scales", scales},
    {"lengths", lengths},
    {"borders", borders},
    {"ordered", randomLayerCase},
};

Expected<LayerCase> layerVariant(StringRef name, LayerSizes sizes, uint64_t seed) {
  StringRef rest = name;
  sizes.ordered = rest.consume_front("ordered-") || name == "ordered";
  if (Error error = checkLayerSizes(sizes))
    return error;
  for (const Variant &variant : variants)
    if (variant.name == rest)
      return variant.make(sizes, seed);
  std::string known;
  for (const Variant &variant : variants)
    known += (known.empty() ? "" : ", ") + variant.name.str();
  return makeError("schedule 'glm5_layer' has no variant '{}'; it has {}", name, known);
}

Expected<std::unique_ptr<Problem>> variantOfLayer(const Manifest &manifest, StringRef name,
                                                  uint64_t seed) {
  Expected<LayerSizes> sizes = readLayerSizes(manifest);
  if (!sizes)
    return sizes.takeError();
  Expected<LayerCase> layerCase = layerVariant(name, *sizes, seed);
  if (!layerCase)
    return layerCase.takeError();
  return makeLayerProblem(std::move(*layerCase));
}

} // namespace mono::models::glm5
