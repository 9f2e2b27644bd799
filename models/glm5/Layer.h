// A GLM-5 decoder layer in double precision, straight from its formulas: nothing is rounded between
// its inputs and its results, and every stage's result can be had by itself. It reads the
// checkpoint, not the operands cut from it.
#pragma once

#include "models/Matmul.h"
#include "models/WeightCuts.h"
#include "models/glm5/LayerInputs.h"
#include "models/glm5/LayerTensors.h"
#include "models/glm5/Router.h"

#include <map>

namespace mono::models::glm5 {

inline constexpr double indexNormEps = 1e-6;

/// Rotates consecutive pairs (2i, 2i + 1) of `vector` by position * theta^(-2i / size).
void rotatePairs(llvm::MutableArrayRef<double> vector, int32_t position);

/// (x - mean) / sqrt(variance + eps) * weight + bias over each row of weight.size() values.
std::vector<double> layerNorm(llvm::ArrayRef<double> x, llvm::ArrayRef<float> weight,
                              llvm::ArrayRef<float> bias);

using TokenLists = std::vector<std::vector<int32_t>>;

/// What is computed from the normed input alone; all [rows, ...] row-major.
struct DownProjections {
  std::vector<double> h;            ///< [hidden] normed input
  std::vector<double> qA;           ///< [qLora] before its norm
  std::vector<double> kv;           ///< [kvLora + rope] latent and rope part before norm and RoPE
  std::vector<double> index;        ///< [indexDim + indexHeads] index key and weights, likewise
  std::vector<double> q;            ///< [qLora] normed: input of query and index query
  std::vector<double> latent;       ///< [kvLora] normed: new cache row
  std::vector<double> rope;         ///< [rope] rotated: end of the new cache row
  std::vector<double> indexKey;     ///< [indexDim] normed and rotated: new index cache row
  std::vector<double> indexWeights; ///< [indexHeads] with all constant factors
};

/// The indexer's choice.
struct Indexing {
  std::vector<double> query;               ///< [rows, indexHeads, indexDim] rotated
  std::vector<std::vector<double>> scores; ///< a row's tokens 0 .. position
  TokenLists selection;                    ///< a row's min(topk, position + 1) best, ascending
};

/// Two ways to the same attention.
enum class AttentionForm {
  /// Keys and values of every head and token are made from the latents: the definition, and a form
  /// no kernel uses.
  Expanded,
  /// Queries go to the latents instead and outputs come from them, at a hundredth of the work.
  Absorbed,
};

struct Attention {
  std::vector<double> query;       ///< [rows, heads, nope + rope], rotated at the end
  std::vector<double> latentQuery; ///< [rows, heads, kvLora] query through the key expansion
  std::vector<double> latents;     ///< [rows, heads, kvLora] weighted latents; absorbed form only
  std::vector<double> logSums;     ///< [rows, heads] log of the softmax's denominators; likewise
  std::vector<double> heads;       ///< [rows, heads, vDim] outputs of the heads
  std::vector<double> residual;    ///< [rows, hidden] input plus projected heads
};

struct Experts {
  std::vector<double> routed; ///< [rows, chosen, hidden] outputs before their weights
  std::vector<double> shared; ///< [rows, hidden]
  std::vector<double> y;      ///< [rows, hidden] layer output
};

/// Values and what each may be off.
struct Reach {
  std::vector<double> values, reach;
};

class Glm5Layer {
public:
  /// Keeps references to all but the sizes. Cache rows must not be shared by rows at different
  /// positions of different sequences.
  Glm5Layer(const LayerSizes &sizes, unsigned layer, const Checkpoint &checkpoint,
            const LayerInputs &inputs);

  DownProjections project() const;
  /// Needs an indexer.
  Indexing index(const DownProjections &down) const;
  /// The same from index queries [rows, indexHeads, indexDim] that are given.
  Indexing index(const DownProjections &down, std::vector<double> query) const;
  /// Attends to these tokens of each row.
  Attention attend(const DownProjections &down, const TokenLists &selection,
                   AttentionForm form = AttentionForm::Expanded) const;
  /// The steps of the absorbed form, each from the results of those before it: queries,
  Attention projectQueries(const DownProjections &down) const;
  /// `latents` and `logSums`,
  void attendLatents(const DownProjections &down, const TokenLists &selection,
                     Attention &attention) const;
  /// `heads`,
  void expandValues(Attention &attention) const;
  /// and `residual`.
  void projectHeads(Attention &attention) const;
  /// Norm, logits and choice of experts.
  Routing routeTokens(const Attention &attention) const;
  /// The experts' input: the normed residual [rows, hidden].
  std::vector<double> expertInput(const Attention &attention) const;
  /// Runs the experts of `routing` (ids and weights) on the residual.
  Experts runExperts(const Attention &attention, const Routing &routing) const;
  /// The layer's output when experts take MXFP8 activations: their input, and their units with the
  /// weights of the routing applied, rounded by MxScale::Floor.
  std::vector<double> outputOfCodes(const Attention &attention, const Routing &routing) const;
  /// The same for a launch that made this residual, rounded to bf16, and these weights, and how far
  /// its output may be from it.
  Reach reachOfCodes(const Attention &attention, const Routing &routing) const;
  /// SiLU(gate(g)) * up(g) [rows, moe] for the rows of g [rows, hidden].
  std::vector<double> expertUnits(llvm::ArrayRef<double> g, size_t expert) const;
  /// The down projection of units [rows, moe].
  std::vector<double> expertOutput(llvm::ArrayRef<double> units, size_t expert) const;

  /// How far the score of each token may be off when a kernel computes it from bf16 activations
  /// with f32 sums: four standard deviations of the rounding errors on the way (LayerIndexer.cpp).
  std::vector<std::vector<double>> scoreTolerance(const DownProjections &down,
                                                  const Indexing &indexing) const;

private:
  std::vector<double> multiply(llvm::ArrayRef<double> activations,
                               const CheckpointTensor &weight) const;
  std::vector<double> multiplyExpert(llvm::ArrayRef<double> activations, size_t expert,
                                     Projection projection,
                                     WeightPart part = WeightPart::Value) const;
  /// A row that an expert works for, and the expert's weight.
  struct ExpertUse {
    size_t row;
    double weight;
  };
  /// By expert, the shared one too.
  std::map<size_t, std::vector<ExpertUse>> expertUses(const Routing &routing) const;
  Reach productOfExpert(const Reach &activations, size_t expert, Projection projection) const;
  Reach unitsOfExpert(const Reach &g, llvm::ArrayRef<ExpertUse> uses, size_t expert) const;

  size_t tokens(size_t row) const { return static_cast<size_t>(inputs.positions[row]) + 1; }
  /// `out` = tokens `list` of row `row` from a cache, values [first, first + width) of each entry;
  /// tokens that are rows of this launch come from `fresh` [rows, width].
  std::vector<double> gather(size_t row, llvm::ArrayRef<int32_t> list,
                             llvm::ArrayRef<uint16_t> cache, size_t entryWidth, size_t first,
                             size_t width, llvm::ArrayRef<double> fresh) const;
  std::vector<double> indexKeys(size_t row, const DownProjections &down) const;
  /// The chosen tokens of a row.
  struct Keys {
    std::vector<double> latents; ///< [tokens, kvLora]
    std::vector<double> ropes;   ///< [tokens, rope]
  };
  std::vector<Keys> chosenKeys(const DownProjections &down, const TokenLists &selection) const;
  std::vector<double> headExpansion(size_t head) const;
  void absorbQueries(Attention &attention) const;
  void attendExpanded(size_t head, llvm::ArrayRef<Keys> keys, Attention &attention) const;

  LayerSizes sizes;
  LayerTensors tensors;
  const Checkpoint &checkpoint;
  const LayerInputs &inputs;
  std::vector<int32_t> writers; ///< for each cache row, the row of the launch it is new in, or -1
};

} // namespace mono::models::glm5
