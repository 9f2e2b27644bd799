// Every mailbox of the GLM-5 layer against the stage of the reference that fills it. A stage is
// given what the kernel's own stages before it left, so that only its own rounding is between the
// two.
#include "models/BFloat16.h"
#include "models/Compare.h"
#include "models/Mxfp8.h"
#include "models/glm5/RoundedCheckpoint.h"
#include "test/e2e/TinyLayer.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;
using namespace mono::test;

namespace {

using Values = std::vector<double>;

// Relative errors of a row, in the L2 norm.
//
// A value rounded to bf16, which has 8 significant bits, is off by at most 2^-8 of itself.
constexpr double oneRounding = 0x1p-8;
// What is kept in two bf16 terms is off by at most 2^-16 (the rest, 2^-8 of the value, is rounded
// again), and no mailbox has more than three such roundings behind it: 2^-16 sqrt(3), as they are
// independent. Sums in f32 add less.
constexpr double noRounding = 0x1p-15;
// The input's rounding, felt in gate and up, and the result's: 2^-8 sqrt(3) as they are
// independent, times the slope of SiLU, which is at most 1.1.
constexpr double threeRoundings = 0x1p-7;

/// Columns first ..+ count of a matrix.
Values columns(const Values &matrix, size_t width, size_t first, size_t count) {
  Values result;
  for (size_t row = 0; row < matrix.size() / width; ++row)
    llvm::append_range(result, llvm::ArrayRef(matrix).slice(row * width + first, count));
  return result;
}

/// Matrices of equally many rows, side by side.
Values sideBySide(std::initializer_list<Values> parts, size_t rows) {
  Values result;
  for (size_t row = 0; row < rows; ++row)
    for (const Values &part : parts) {
      size_t width = part.size() / rows;
      llvm::append_range(result, llvm::ArrayRef(part).slice(row * width, width));
    }
  return result;
}

struct Launch {
  const char *name;
  bool ordered;
  int64_t context;
  int64_t sharded = 0; ///< SHARD_A
  int64_t mxAttention = 0, mxActivations = 0;
};

void PrintTo(const Launch &launch, std::ostream *out) { *out << launch.name; }

class LayerMailboxes : public testing::TestWithParam<Launch> {
protected:
  void SetUp() override;

  Values box(const std::string &name, size_t rank = 0) const {
    seen.insert(name);
    return mailboxes[rank].lookup(name).values();
  }
  /// What every rank has for itself, or with SHARD_A all ranks have from each other.
  Values sharedBox(const std::string &name) const {
    if (!sizes.sharded)
      return box(name);
    EXPECT_EQ(box(name + "_of_all", 0), box(name + "_of_all", 1)) << name;
    return box(name + "_of_all");
  }
  /// [rows, HEADS / TP, width] of every rank as [rows, HEADS, width].
  Values ofAllHeads(const char *name) const {
    return sideBySide({box(name, 0), box(name, 1)}, sizes.rows);
  }
  /// Compares `rows` rows.
  static void near(const char *what, const Values &out, const Values &reference, size_t rows,
                   double tolerance) {
    EXPECT_LE(maxRelativeL2(out, reference, rows), tolerance) << what;
  }
  void near(const char *what, const Values &out, const Values &reference, double tolerance) const {
    near(what, out, reference, sizes.rows, tolerance);
  }

  std::vector<size_t> groupExperts(const Values &ids) const;

  void checkDownProjections();
  void checkShares(const Values &small);
  void checkQueries();
  void checkNewEntries();
  void checkScores();
  void checkSections();
  void checkSelection();
  void checkAttention();
  void checkHeads();
  void checkResidual();
  Values unitsOf(size_t rank) const;
  Values expertInput() const;
  void checkCodes(size_t rank, const Values &units, size_t first, const Values &reference) const;
  void checkUnits();
  void checkMlp();

  LayerSizes sizes;
  LayerCase layerCase;
  std::unique_ptr<Checkpoint> exact, rounded;
  Checkpoint *checkpoint = nullptr; ///< what the kernel's weights are
  std::unique_ptr<Glm5Layer> layer;
  std::vector<RankOutputs> outputs, mailboxes;
  std::vector<std::string> names;     ///< of all mailboxes
  mutable std::set<std::string> seen; ///< those asked for
  /// The reference, into which what the kernel has is put step by step.
  DownProjections down;
  Attention attention;
  TokenLists selection;
  Values residual, normed; ///< [rows, hidden] after attention, and the experts' input
};

void LayerMailboxes::SetUp() {
  Params params = tinyLayer(/*rows=*/4, /*ranks=*/2);
  for (auto &[name, value] : params)
    if (name == "CTX")
      value = GetParam().context;
  params.emplace_back("SHARD_A", GetParam().sharded);
  params.emplace_back("ATTN", GetParam().mxAttention);
  params.emplace_back("ACT", GetParam().mxActivations);
  auto code = compileLayer(params);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto run = LayerOnEmulator::create(*code);
  ASSERT_TRUE(bool(run)) << llvm::toString(run.takeError());
  sizes = run->sizes;
  sizes.ordered = GetParam().ordered;
  layerCase = randomLayerCase(sizes, 21);
  auto problem = makeLayerProblem(layerCase);
  ASSERT_FALSE(bool(provide(*run->group, *problem, OperandAccess::Read)));
  ASSERT_FALSE(bool(provide(*run->group, *problem, OperandAccess::Update)));
  ASSERT_EQ(llvm::toString(run->group->launch()), "");
  outputs = llvm::cantFail(readOutputs(*run->group));
  names = llvm::cantFail(postedMailboxes(*run->group));
  auto read = readMailboxes(*run->group, names);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  mailboxes = std::move(*read);
  exact = std::make_unique<SyntheticCheckpoint>(layerCase.synthetic);
  rounded = std::make_unique<RoundedCheckpoint>(sizes, layerCase.synthetic.layer, *exact);
  checkpoint = sizes.mxAttention ? rounded.get() : exact.get();
  layer =
      std::make_unique<Glm5Layer>(sizes, layerCase.synthetic.layer, *checkpoint, layerCase.inputs);
  down = layer->project();
}

void LayerMailboxes::checkDownProjections() {
  size_t width = sizes.smallRowsPerShare() * sizes.shares(), kv = sizes.cacheWidth();
  near("q_a", sharedBox("q_a"), down.qA, noRounding);
  Values small = sharedBox("small");
  near("small, latent", columns(small, width, 0, sizes.kvLora),
       columns(down.kv, kv, 0, sizes.kvLora), noRounding);
  near("small, rope", columns(small, width, sizes.kvLora, sizes.rope),
       columns(down.kv, kv, sizes.kvLora, sizes.rope), noRounding);
  size_t index = sizes.indexDim + sizes.indexHeads;
  near("small, index key", columns(small, width, kv, sizes.indexDim),
       columns(down.index, index, 0, sizes.indexDim), noRounding);
  Values weights = columns(small, width, kv + sizes.indexDim, sizes.indexHeads);
  near("small, index weights", weights,
       columns(down.index, index, sizes.indexDim, sizes.indexHeads), noRounding);
  size_t padding = width - kv - index;
  EXPECT_EQ(columns(small, width, kv + index, padding), Values(sizes.rows * padding));
  if (sizes.sharded)
    checkShares(small);

  double factor = 1 / std::sqrt(static_cast<double>(sizes.indexHeads * sizes.indexDim));
  for (size_t i = 0; i < weights.size(); ++i)
    down.indexWeights[i] = weights[i] * factor;
}

/// The parts of the depth that a rank's tasks hand on make up its share, to the bit.
void LayerMailboxes::checkShares(const Values &small) {
  size_t queries = sizes.qLora / sizes.ranks, others = sizes.smallRowsPerShare();
  for (size_t rank = 0; rank < sizes.ranks; ++rank) {
    Values parts = box("down_part", rank);
    std::vector<float> sum(sizes.rows * (queries + others));
    for (size_t i = 0; i < parts.size(); ++i)
      sum[i % sum.size()] += static_cast<float>(parts[i]);
    Values share = sideBySide({columns(sharedBox("q_a"), sizes.qLora, rank * queries, queries),
                               columns(small, others * sizes.ranks, rank * others, others)},
                              sizes.rows);
    EXPECT_EQ(Values(sum.begin(), sum.end()), share) << "rank " << rank;
    EXPECT_GT(parts.size(), sum.size()); // more than one part
  }
}

void LayerMailboxes::checkQueries() {
  attention = layer->projectQueries(down);
  size_t qk = sizes.qkDim();
  Values nope = ofAllHeads("q_nope"), rope = ofAllHeads("q_pe"), latent = ofAllHeads("q_latent");
  near("q_nope", nope, columns(attention.query, qk, 0, sizes.nope), noRounding);
  near("q_pe", rope, columns(attention.query, qk, sizes.nope, sizes.rope), oneRounding);
  near("q_latent", latent, attention.latentQuery, noRounding);
  attention.query = sideBySide({nope, rope}, sizes.rows * sizes.heads);
  attention.latentQuery = latent;
}

void LayerMailboxes::checkNewEntries() {
  Values kv = box("new_kv"), key = box("new_index"), places;
  for (size_t row = 0; row < sizes.rows; ++row)
    places.push_back(static_cast<double>(layerCase.inputs.cacheRow(
        sizes, row, static_cast<size_t>(layerCase.inputs.positions[row]))));
  EXPECT_EQ(box("places"), places);
  Values latent = columns(kv, sizes.cacheWidth(), 0, sizes.kvLora);
  Values rope = columns(kv, sizes.cacheWidth(), sizes.kvLora, sizes.rope);
  near("new_kv, latent", latent, down.latent, oneRounding);
  near("new_kv, rope", rope, down.rope, oneRounding);
  near("new_index", key, down.indexKey, oneRounding);
  down.latent = latent;
  down.rope = rope;
  down.indexKey = key;
}

void LayerMailboxes::checkScores() {
  near("index_q", sharedBox("index_q"), layer->index(down).query, oneRounding);
  Indexing indexing = layer->index(down, sharedBox("index_q"));
  Values scores = box("index_scores");
  for (size_t row = 0; row < sizes.rows; ++row) {
    auto own = llvm::ArrayRef(scores).slice(row * sizes.context, sizes.context);
    size_t count = indexing.scores[row].size();
    near("index_scores", own.take_front(count).vec(), indexing.scores[row], 1, noRounding);
    EXPECT_TRUE(llvm::all_of(own.drop_front(count), [](double x) { return x == -INFINITY; }));
  }
}

/// Of contexts that are selected from in sections, the best of each, in rising order of their
/// tokens.
void LayerMailboxes::checkSections() {
  if (!llvm::is_contained(names, "section_scores"))
    return;
  Values scores = box("index_scores"), best = box("section_scores"), tokens = box("section_tokens");
  size_t sections = best.size() / sizes.rows / sizes.topk, width = sizes.context / sections;
  for (size_t place = 0; place < sizes.rows * sections; ++place) {
    auto own = llvm::ArrayRef(scores).slice(place * width, width);
    size_t begin = place % sections * width;
    std::vector<int32_t> chosen = selectTop(own, sizes.topk);
    llvm::erase_if(chosen, [&](int32_t token) { return own[token] == -INFINITY; });
    for (size_t i = 0; i < sizes.topk; ++i) {
      size_t at = place * sizes.topk + i;
      EXPECT_EQ(best[at], i < chosen.size() ? own[chosen[i]] : -INFINITY) << at;
      if (i < chosen.size())
        EXPECT_EQ(tokens[at], static_cast<double>(begin + static_cast<size_t>(chosen[i]))) << at;
    }
  }
}

/// Exactly the best by the kernel's own scores.
void LayerMailboxes::checkSelection() {
  Values scores = box("index_scores"), expected;
  for (size_t row = 0; row < sizes.rows; ++row) {
    size_t count = static_cast<size_t>(layerCase.inputs.positions[row]) + 1;
    auto own = llvm::ArrayRef(scores).slice(row * sizes.context, count);
    selection.push_back(selectTop(own, std::min(count, sizes.topk)));
    llvm::append_range(expected, selection.back());
    expected.resize((row + 1) * sizes.topk, -1);
  }
  EXPECT_EQ(box("selected"), expected);
  EXPECT_EQ(outputs[0].lookup("index_topk").values(), expected);
}

/// One head's parts, combined; a split without tokens has sum 0.
struct Combined {
  Values latent;
  double logSum = 0;
};

Combined combine(llvm::ArrayRef<double> maxima, llvm::ArrayRef<double> sums,
                 llvm::ArrayRef<llvm::ArrayRef<double>> parts) {
  double most = *llvm::max_element(maxima), total = 0;
  Combined result{Values(parts[0].size())};
  for (size_t split = 0; split < parts.size(); ++split) {
    double factor = std::exp(maxima[split] - most);
    total += factor * sums[split];
    for (size_t c = 0; c < parts[split].size(); ++c)
      result.latent[c] += factor * parts[split][c];
  }
  for (double &value : result.latent)
    value /= total;
  result.logSum = most + std::log(total);
  return result;
}

/// The numerators of the softmax are rounded, their sum is of the rounded ones: each weight is off
/// by 2^-8 of itself, and a sum of latents that point anywhere by no more.
void LayerMailboxes::checkAttention() {
  layer->attendLatents(down, selection, attention);
  size_t heads = sizes.headsPerRank(), width = sizes.kvLora;
  Values latents = ofAllHeads("o_latent");
  for (size_t rank = 0; rank < sizes.ranks; ++rank) {
    Values maxima = box("attention_max", rank), sums = box("attention_sum", rank);
    Values parts = box("attention_part", rank);
    size_t splits = maxima.size() / (sizes.rows * heads);
    for (size_t place = 0; place < sizes.rows * heads; ++place) {
      size_t row = place / heads, head = place % heads;
      std::vector<llvm::ArrayRef<double>> own;
      for (size_t split = 0; split < splits; ++split)
        own.push_back(
            llvm::ArrayRef(parts).slice(((row * splits + split) * heads + head) * width, width));
      Combined combined = combine(llvm::ArrayRef(maxima).slice(place * splits, splits),
                                  llvm::ArrayRef(sums).slice(place * splits, splits), own);
      size_t global = row * sizes.heads + rank * heads + head;
      EXPECT_NEAR(combined.logSum, attention.logSums[global], oneRounding) << "head " << global;
      near("attention_part", combined.latent,
           columns(attention.latents, attention.latents.size(), global * width, width), 1,
           oneRounding);
      near("o_latent", columns(latents, latents.size(), global * width, width), combined.latent, 1,
           noRounding);
    }
  }
  attention.latents = latents;
}

void LayerMailboxes::checkHeads() {
  layer->expandValues(attention);
  Values heads = ofAllHeads("heads");
  near("heads", heads, attention.heads, oneRounding);
  attention.heads = heads;
}

/// A rank's part of the output projection is that of its heads alone; then the residual and the
/// norm.
void LayerMailboxes::checkResidual() {
  size_t part = sizes.rows * sizes.hidden, own = sizes.headsPerRank() * sizes.vDim;
  Values partial = box("o_partial"), x = toDouble(layerCase.inputs.x);
  EXPECT_EQ(box("o_partial", 1), partial);
  residual = x;
  for (size_t rank = 0; rank < sizes.ranks; ++rank) {
    Attention alone = attention;
    for (size_t i = 0; i < alone.heads.size(); ++i)
      if (i / own % sizes.ranks != rank)
        alone.heads[i] = 0;
    layer->projectHeads(alone);
    for (size_t i = 0; i < part; ++i) {
      alone.residual[i] -= x[i];
      residual[i] += partial[rank * part + i];
    }
    near("o_partial", columns(partial, partial.size(), rank * part, part), alone.residual,
         oneRounding);
  }

  LayerTensors tensors(sizes, layerCase.synthetic.layer);
  Values gamma = toDouble(checkpoint->bf16(tensors.postNorm)), scaled(part);
  size_t groups = sizes.hidden / 128;
  Values squares(groups * sizes.rows), rowSquares(sizes.rows);
  for (size_t i = 0; i < part; ++i) {
    size_t row = i / sizes.hidden, column = i % sizes.hidden;
    scaled[i] = residual[i] * gamma[column];
    squares[column / 128 * sizes.rows + row] += residual[i] * residual[i];
    rowSquares[row] += residual[i] * residual[i];
  }
  near("scaled", box("scaled"), scaled, oneRounding);
  near("squares", box("squares"), squares, groups, noRounding);

  normed = box("scaled");
  for (size_t i = 0; i < part; ++i)
    normed[i] /=
        std::sqrt(rowSquares[i / sizes.hidden] / static_cast<double>(sizes.hidden) + rmsNormEps);
  Values logits = multiplyTransposed(normed, sizes.rows, checkpoint->bf16(tensors.gate));
  near("logits", box("logits"), logits, noRounding);
}

/// The shared expert, then the distinct chosen ones, rising. Further groups have none.
std::vector<size_t> LayerMailboxes::groupExperts(const Values &ids) const {
  std::set<double> distinct(ids.begin(), ids.end());
  std::vector<size_t> experts = {sizes.experts};
  for (double id : distinct)
    experts.push_back(static_cast<size_t>(id));
  return experts;
}

/// A rank's units of all groups, whatever they travel as.
Values LayerMailboxes::unitsOf(size_t rank) const {
  if (!sizes.mxActivations)
    return box("units", rank);
  Values units = box("unit_codes", rank), scales = box("unit_scales", rank);
  for (size_t i = 0; i < units.size(); ++i)
    units[i] *= scales[i / mxBlock];
  return units;
}

/// What the experts' products take: codes are made of values that were rounded to bf16.
Values LayerMailboxes::expertInput() const {
  Values input = normed;
  if (!sizes.mxActivations)
    return input;
  for (double &value : input)
    value = toFloat(toBf16(static_cast<float>(value)));
  roundToMxfp8(input, MxScale::Floor);
  return input;
}

/// Units [first, ...) are those of the reference, rounded to codes by the rule of the
/// specification: within half a step of three bits of mantissa, or of denormal codes, or saturated.
/// The sums before add 2^-10 at most.
void LayerMailboxes::checkCodes(size_t rank, const Values &units, size_t first,
                                const Values &reference) const {
  Values scales = box("unit_scales", rank);
  for (size_t block = 0; block < reference.size() / mxBlock; ++block) {
    double scale = scales[first / mxBlock + block], largest = 0;
    for (size_t i = block * mxBlock; i < (block + 1) * mxBlock; ++i) {
      double value = std::abs(reference[i]), code = std::abs(units[first + i]);
      largest = std::max(largest, value);
      if (value > 448 * scale)
        EXPECT_EQ(code, 448 * scale) << i;
      else
        EXPECT_NEAR(units[first + i], reference[i],
                    std::max(value * (0x1p-4 + 0x1p-10), scale * 0x1p-10))
            << i;
    }
    if (largest > 0) {
      EXPECT_GE(largest, 256 * scale * (1 - 0x1p-10));
      EXPECT_LE(largest, 512 * scale * (1 + 0x1p-10));
    }
  }
}

void LayerMailboxes::checkUnits() {
  Values ids = outputs[0].lookup("topk_ids").values();
  Values weights = outputs[0].lookup("topk_weights").values();
  std::vector<size_t> experts = groupExperts(ids);
  size_t own = sizes.moePerRank();
  for (size_t rank = 0; rank < sizes.ranks; ++rank) {
    Values units = unitsOf(rank);
    size_t perGroup = sizes.rows * own;
    for (size_t group = 0; group < units.size() / perGroup; ++group) {
      Values reference(perGroup);
      if (group < experts.size()) {
        Values all = layer->expertUnits(expertInput(), experts[group]);
        reference = columns(all, sizes.moe, rank * own, own);
      }
      for (size_t row = 0; group > 0 && group < experts.size() && row < sizes.rows; ++row) {
        double weight = 0;
        for (size_t i = row * sizes.chosen; i < (row + 1) * sizes.chosen; ++i)
          if (ids[i] == static_cast<double>(experts[group]))
            weight = weights[i];
        for (size_t unit = 0; unit < own; ++unit)
          reference[row * own + unit] *= weight;
      }
      if (sizes.mxActivations)
        checkCodes(rank, units, group * perGroup, reference);
      else
        near("units", columns(units, units.size(), group * perGroup, perGroup), reference,
             threeRoundings);
    }
  }
}

/// A rank's part of the output is that of its units alone.
void LayerMailboxes::checkMlp() {
  Values ids = outputs[0].lookup("topk_ids").values(), partial = box("mlp_partial");
  EXPECT_EQ(box("mlp_partial", 1), partial);
  std::vector<size_t> experts = groupExperts(ids);
  size_t own = sizes.moePerRank(), part = sizes.rows * sizes.hidden;
  for (size_t rank = 0; rank < sizes.ranks; ++rank) {
    Values units = unitsOf(rank), reference(part);
    for (size_t group = 0; group < experts.size(); ++group) {
      Values all(sizes.rows * sizes.moe);
      for (size_t row = 0; row < sizes.rows; ++row)
        for (size_t unit = 0; unit < own; ++unit)
          all[row * sizes.moe + rank * own + unit] = units[(group * sizes.rows + row) * own + unit];
      Values output = layer->expertOutput(all, experts[group]);
      for (size_t i = 0; i < part; ++i)
        reference[i] += output[i];
    }
    near("mlp_partial", columns(partial, partial.size(), rank * part, part), reference,
         oneRounding);
  }
}

TEST_P(LayerMailboxes, HoldWhatTheStagesOfTheReferenceGive) {
  checkDownProjections();
  checkQueries();
  checkNewEntries();
  checkScores();
  checkSections();
  checkSelection();
  checkAttention();
  checkHeads();
  checkResidual();
  checkUnits();
  checkMlp();
  EXPECT_EQ(seen, std::set<std::string>(names.begin(), names.end()));
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerMailboxes,
                         testing::Values(Launch{"independent", false, 256},
                                         Launch{"ordered", true, 256},
                                         Launch{"in_sections", false, 32768},
                                         Launch{"sharded", false, 256, /*sharded=*/1},
                                         Launch{"mxfp8_attention", false, 256, 0, 1, 0},
                                         Launch{"mxfp8_activations", false, 256, 0, 0, 1},
                                         Launch{"mxfp8_both", true, 256, 0, 1, 1},
                                         Launch{"sharded_mxfp8", false, 256, 1, 1, 1}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
