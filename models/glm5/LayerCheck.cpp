// Comparison of a layer's outputs, choice by choice.
#include "models/glm5/LayerCheck.h"
#include "models/Compare.h"
#include "models/Operands.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

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
  Routing routing = layer.routeTokens(attention);
  std::vector<bool> reach(sizes.experts, false);
  for (size_t row = 0; row < sizes.rows; ++row) {
    std::vector<double> scores =
        expertScores(ArrayRef(routing.logits).slice(row * sizes.experts, sizes.experts), bias);
    double last = HUGE_VAL;
    for (int32_t id : ArrayRef(routing.ids).slice(row * sizes.chosen, sizes.chosen))
      last = std::min(last, scores[id]);
    for (size_t expert = 0; expert < sizes.experts; ++expert)
      reach[expert] = reach[expert] || scores[expert] >= last - expertReach(sizes.topk);
  }
  return reach;
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

/// The launch's own entries, part by part, and that nothing else changed.
void LayerCheck::checkCache(const HostTensor &out, StringRef name, ArrayRef<uint16_t> before,
                            ArrayRef<std::pair<StringRef, const std::vector<double> *>> parts,
                            Report &report) const {
  const LayerSizes &sizes = problem.sizes;
  size_t width = before.size() / sizes.cacheRows(), begin = 0;
  std::vector<uint16_t> after(before.size());
  if (out.bytes.size() != after.size() * sizeof(uint16_t))
    return report.holds(name.str(), false, "an output of another size", "");
  std::memcpy(after.data(), out.bytes.data(), out.bytes.size());

  std::vector<bool> own(sizes.cacheRows(), false);
  std::vector<ArrayRef<uint16_t>> entries;
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t place =
        problem.inputs.cacheRow(sizes, row, static_cast<size_t>(problem.inputs.positions[row]));
    own[place] = true;
    entries.push_back(ArrayRef(after).slice(place * width, width));
  }
  for (auto [part, reference] : parts) {
    size_t partWidth = reference->size() / sizes.rows;
    std::vector<double> written;
    for (ArrayRef<uint16_t> entry : entries)
      llvm::append_range(written, toDouble(entry.slice(begin, partWidth)));
    report.atMost(fmt::format("{}, {}", name, part), maxRelativeL2(written, *reference, sizes.rows),
                  tolerance);
    begin += partWidth;
  }
  size_t changed = 0;
  for (size_t place = 0; place < sizes.cacheRows(); ++place)
    changed += !own[place] &&
               ArrayRef(after).slice(place * width, width) != before.slice(place * width, width);
  report.holds(fmt::format("{}, other rows", name), changed == 0,
               changed == 0 ? "unchanged" : fmt::format("{} changed", changed), "unchanged");
}

void LayerCheck::checkCaches(const RankOutputs &outputs, Report &report) const {
  const LayerGolden *golden = problem.golden ? &*problem.golden : nullptr;
  checkCache(outputs.lookup("cache_kv"), "cache_kv", problem.inputs.cacheKv,
             {{"latent", golden ? &golden->latent : &down.latent},
              {"rope", golden ? &golden->rope : &down.rope}},
             report);
  if (problem.sizes.indexer)
    checkCache(outputs.lookup("cache_index"), "cache_index", problem.inputs.cacheIndex,
               {{"key", golden ? &golden->indexKey : &down.indexKey}}, report);
}

void LayerCheck::adoptGolden(ArrayRef<double> golden, const std::vector<bool> &same,
                             std::vector<double> &reference) const {
  size_t width = reference.size() / same.size();
  for (size_t row = 0; row < same.size(); ++row)
    if (same[row])
      copy(golden.slice(row * width, width),
           reference.begin() + static_cast<ptrdiff_t>(row * width));
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
  std::vector<double> y = layer.runExperts(expected, chosen).y;
  if (golden) {
    for (size_t row = 0; row < sizes.rows; ++row)
      same[row] =
          same[row] && ArrayRef(chosen.ids).slice(row * sizes.chosen, sizes.chosen) ==
                           ArrayRef(golden->routing.ids).slice(row * sizes.chosen, sizes.chosen);
    adoptGolden(golden->y, same, y);
  }
  report.atMost("y", maxRelativeL2(first.lookup("y").values(), y, sizes.rows), layerTolerance);
  checkRanksEqual(outputs, report);
}

} // namespace mono::models::glm5
