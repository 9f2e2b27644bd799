// Inputs of all ranks of a decoder layer, and the judgement on its outputs.
#include "models/Compare.h"
#include "models/Operands.h"
#include "models/SyntheticCheckpoint.h"
#include "models/decoder/Decoder.h"
#include "models/decoder/DecoderModels.h"
#include "models/decoder/DecoderWeights.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <optional>

using namespace llvm;

namespace mono::models::decoder {

// Relative L2 of the worst row: `layerTolerance` for the layer's output, `tolerance` for all
// before.
static constexpr double tolerance = 5e-3, layerTolerance = 1e-2;
// How far rounding on a kernel's way may move a logit against another, when logits vary by
// about 1.5.
static constexpr double logitReach = 0.1;

namespace {

class DecoderProblem : public Problem {
public:
  DecoderProblem(const DecoderModel &model, const DecoderSizes &sizes, uint64_t seed)
      : model(model), sizes(sizes), synthetic(syntheticParams(sizes.hidden, sizes.mlp, seed)),
        inputs(randomDecoderInputs(sizes, seed)), checkpoint(synthetic),
        weights(model, sizes, synthetic.layer, checkpoint),
        layer(model, sizes, synthetic.layer, checkpoint, inputs) {}

  void fill(unsigned rank, const Operand &operand, size_t slice,
            MutableArrayRef<uint8_t> out) override {
    StringRef name = operand.name;
    if (name == "cache_k" || name == "cache_v")
      // A cache has three dimensions and so comes in slices, one for each of its rows.
      copy(bytesOf(ArrayRef(cacheOf(name, rank))).slice(slice * out.size(), out.size()),
           out.begin());
    else if (!DecoderWeights::has(name))
      copy(activation(name), out.begin());
    else if (operand.type.shape.size() == 3 && !inReach(slice))
      std::memset(out.data(), 0xFF, out.size()); // codes -6, scales NaN
    else
      weights.fill(rank, name, slice, out);
  }

  void check(ArrayRef<RankOutputs> outputs, Report &report) override {
    checkCacheOf("cache_k", "key", attention().key, outputs, report);
    checkCacheOf("cache_v", "value", attention().value, outputs, report);
    const RankOutputs &first = outputs.front();
    report.atMost(
        "attn_residual",
        maxRelativeL2(first.lookup("attn_residual").values(), attention().residual, sizes.rows),
        tolerance);
    Routing routing;
    if (model.hasExperts)
      routing = checkRouting(first, layer.routeTokens(attention()), softmaxRule(sizes.chosen),
                             tolerance, report);
    report.atMost(
        "y",
        maxRelativeL2(first.lookup("y").values(), layer.output(attention(), routing), sizes.rows),
        layerTolerance);
    checkRanksEqual(outputs, report, /*own=*/{"cache_k", "cache_v"});
  }

private:
  const DecoderAttention &attention() {
    if (!lazyAttention)
      lazyAttention = layer.attend();
    return *lazyAttention;
  }

  bool inReach(size_t expert) {
    if (reach.empty())
      reach = expertsInReach(layer.routeTokens(attention()), softmaxRule(sizes.chosen), logitReach);
    return reach[expert];
  }

  /// The rank's heads of values [count, kvHeads, dim].
  template <typename T> std::vector<T> headsOf(ArrayRef<T> values, unsigned rank) const {
    size_t all = sizes.kvHeads * sizes.dim, first = sizes.firstKvHead(rank) * sizes.dim;
    std::vector<T> own;
    for (size_t at = 0; at < values.size(); at += all)
      llvm::append_range(own, values.slice(at + first, sizes.kvHeadsPerRank() * sizes.dim));
    return own;
  }

  const std::vector<uint16_t> &cacheOf(StringRef name, unsigned rank) {
    std::vector<uint16_t> &cache = caches[fmt::format("{}.{}", name, rank)];
    if (cache.empty())
      cache = headsOf(ArrayRef(name == "cache_k" ? inputs.cacheK : inputs.cacheV), rank);
    return cache;
  }

  void checkCacheOf(StringRef name, StringRef part, ArrayRef<double> expected,
                    ArrayRef<RankOutputs> outputs, Report &report) {
    std::vector<HostTensor> after;
    std::vector<std::vector<double>> own;
    for (auto [rank, output] : enumerate(outputs)) {
      after.push_back(output.lookup(name));
      own.push_back(headsOf(expected, static_cast<unsigned>(rank)));
    }
    std::vector<CacheOfRank> ranks;
    for (size_t rank = 0; rank < outputs.size(); ++rank)
      ranks.push_back(
          {cacheOf(name, static_cast<unsigned>(rank)), after[rank], {{part, own[rank]}}});
    checkCache(name, ranks, sizes.cacheRows(), inputs.ownRows(), tolerance, report);
  }

  ArrayRef<uint8_t> activation(StringRef operand) const {
    if (operand == "x")
      return bytesOf(ArrayRef(inputs.x));
    return bytesOf(ArrayRef(operand == "positions" ? inputs.positions : inputs.table.blocks));
  }

  const DecoderModel &model;
  DecoderSizes sizes;
  SyntheticParams synthetic;
  DecoderInputs inputs;
  SyntheticCheckpoint checkpoint;
  DecoderWeights weights;
  DecoderLayer layer;
  std::optional<DecoderAttention> lazyAttention;
  std::vector<bool> reach;
  StringMap<std::vector<uint16_t>> caches;
};

} // namespace

std::unique_ptr<Problem> makeDecoderProblem(const DecoderModel &model, const DecoderSizes &sizes,
                                            uint64_t seed) {
  return std::make_unique<DecoderProblem>(model, sizes, seed);
}

} // namespace mono::models::decoder
