// Comparison of a layer's outputs, choice by choice.
#include "models/glm5/LayerCheck.h"
#include "models/Compare.h"
#include "models/Operands.h"
#include "models/TestTokens.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mono::models::glm5 {

// An expert whose score is this far below that of the last chosen one may be chosen by a kernel
// that takes another of two equal tokens: the fewer tokens a row attends to, the more one of them
// moves logits, and scores by up to a quarter of that (the slope of the sigmoid).
static double expertReach(size_t topk) {
  return std::min(0.02 + 8.0 / static_cast<double>(topk), 0.15);
}

LayerCheck::LayerCheck(const LayerCase &layerCase, const Checkpoint &checkpoint)
    : problem(layerCase), checkpoint(checkpoint),
      layer(layerCase.sizes, layerCase.synthetic.layer, checkpoint, layerCase.inputs),
      down(layer.project()) {
  if (problem.sizes.indexer) {
    indexing = layer.index(down);
    selection = problem.golden ? problem.golden->selection : indexing->selection;
  } else {
    selection = problem.inputs.selection;
  }
  attention = layer.attend(down, selection, AttentionForm::Absorbed);
}

std::vector<bool> LayerCheck::expertsInReach() const {
  const LayerSizes &sizes = problem.sizes;
  std::vector<float> bias = checkpoint.f32(LayerTensors(sizes, problem.synthetic.layer).bias);
  return models::expertsInReach(layer.routeTokens(attention), routingRule(bias, sizes.chosen),
                                expertReach(sizes.topk));
}

/// The tokens before the padding; none when something else follows it.
static std::vector<int32_t> unpadded(ArrayRef<double> row) {
  std::vector<int32_t> tokens;
  for (double value : row.take_while([](double value) { return value != -1; }))
    tokens.push_back(static_cast<int32_t>(value));
  if (llvm::any_of(row.drop_front(tokens.size()), [](double value) { return value != -1; }))
    return {};
  return tokens;
}

/// Returns the tokens with which later stages must be compared.
TokenLists LayerCheck::checkSelection(const HostTensor &out, Report &report) const {
  const LayerSizes &sizes = problem.sizes;
  std::vector<double> values = out.values();
  std::vector<std::vector<double>> tolerances = layer.scoreTolerance(down, *indexing);
  const auto &scores = problem.golden ? problem.golden->scores : indexing->scores;
  TokenLists expected = selection;
  size_t different = 0;
  std::string reason;
  for (size_t row = 0; row < sizes.rows; ++row) {
    std::vector<int32_t> tokens = unpadded(ArrayRef(values).slice(row * sizes.topk, sizes.topk));
    SelectionVerdict verdict =
        compareSelection(tokens, selection[row], {scores[row], tolerances[row]});
    different += verdict.different;
    if (verdict.good)
      expected[row] = std::move(tokens);
    else
      reason = fmt::format("token {}: {}", row, verdict.reason);
  }
  report.holds("index_topk", reason.empty(),
               reason.empty() ? fmt::format("{} differ", different) : reason, "true ties");
  return expected;
}

void LayerCheck::checkCaches(const RankOutputs &outputs, Report &report) const {
  const LayerSizes &sizes = problem.sizes;
  const LayerInputs &inputs = problem.inputs;
  const LayerGolden *golden = problem.golden ? &*problem.golden : nullptr;
  std::vector<size_t> own;
  for (size_t row = 0; row < sizes.rows; ++row)
    own.push_back(inputs.cacheRow(sizes, row, static_cast<size_t>(inputs.positions[row])));
  HostTensor kv = outputs.lookup("cache_kv"), index = outputs.lookup("cache_index");
  checkCache("cache_kv",
             CacheOfRank{inputs.cacheKv,
                         kv,
                         {{"latent", golden ? golden->latent : down.latent},
                          {"rope", golden ? golden->rope : down.rope}}},
             sizes.cacheRows(), own, tolerance, report);
  if (sizes.indexer)
    checkCache(
        "cache_index",
        CacheOfRank{inputs.cacheIndex, index, {{"key", golden ? golden->indexKey : down.indexKey}}},
        sizes.cacheRows(), own, tolerance, report);
}

void LayerCheck::adoptGolden(ArrayRef<double> golden, const std::vector<bool> &same,
                             std::vector<double> &reference) const {
  size_t width = reference.size() / same.size();
  for (size_t row = 0; row < same.size(); ++row)
    if (same[row])
      copy(golden.slice(row * width, width),
           reference.begin() + static_cast<ptrdiff_t>(row * width));
}

/// `y` by what its roundings may do to it, from the residual and the weights of the kernel itself.
void LayerCheck::checkReach(const RankOutputs &out, Routing routing, Report &report) const {
  Attention attention;
  attention.residual = out.lookup("attn_residual").values();
  routing.weights = out.lookup("topk_weights").values();
  Reach expected = layer.reachOfCodes(attention, routing);
  report.atMost("y, of what roundings explain",
                maxOfReach(out.lookup("y").values(), expected.values, expected.reach), 1);
}

void LayerCheck::check(ArrayRef<RankOutputs> outputs, Report &report) const {
  const LayerSizes &sizes = problem.sizes;
  const LayerGolden *golden = problem.golden ? &*problem.golden : nullptr;
  const RankOutputs &first = outputs.front();
  checkCaches(first, report);

  TokenLists tokens =
      sizes.indexer ? checkSelection(first.lookup("index_topk"), report) : selection;
  Attention expected =
      tokens == selection ? attention : layer.attend(down, tokens, AttentionForm::Absorbed);
  Routing routing = layer.routeTokens(expected);
  std::vector<double> residual = expected.residual;
  std::vector<bool> same(sizes.rows, golden != nullptr);
  for (size_t row = 0; row < sizes.rows; ++row)
    same[row] = same[row] && tokens[row] == selection[row];
  if (golden) {
    adoptGolden(golden->attnResidual, same, residual);
    adoptGolden(golden->routing.logits, same, routing.logits);
  }
  report.atMost("attn_residual",
                maxRelativeL2(first.lookup("attn_residual").values(), residual, sizes.rows),
                tolerance);

  std::vector<float> bias = checkpoint.f32(LayerTensors(sizes, problem.synthetic.layer).bias);
  Routing chosen = checkRouting(first, routing, bias, report);
  std::vector<double> got = first.lookup("y").values();
  if (sizes.mxActivations && problem.fewWeights) {
    checkReach(first, chosen, report);
    return checkRanksEqual(outputs, report);
  }
  std::vector<double> y = layer.runExperts(expected, chosen).y;
  if (sizes.mxActivations) {
    report.atMost("y", maxRelativeL2(got, layer.outputOfCodes(expected, chosen), sizes.rows),
                  codesTolerance);
    report.atMost("y, exact activations", maxRelativeL2(got, y, sizes.rows),
                  exactActivationTolerance);
    return checkRanksEqual(outputs, report);
  }
  if (golden) {
    for (size_t row = 0; row < sizes.rows; ++row)
      same[row] =
          same[row] && ArrayRef(chosen.ids).slice(row * sizes.chosen, sizes.chosen) ==
                           ArrayRef(golden->routing.ids).slice(row * sizes.chosen, sizes.chosen);
    adoptGolden(golden->y, same, y);
  }
  report.atMost("y", maxRelativeL2(got, y, sizes.rows), layerTolerance);
  checkRanksEqual(outputs, report);
}

} // namespace mono::models::glm5
