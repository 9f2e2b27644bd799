// The judgement on the outputs of glm5_layer.
#pragma once

#include "models/glm5/LayerProblem.h"

namespace mono::models::glm5 {

/// What a layer output may be off, relative L2 of the worst row; `tolerance` for all before it.
inline constexpr double layerTolerance = 1e-2;

/// With MXFP8 activations, against the reference that does not round them. E4M3 has steps of an
/// eighth of a power of two, so it is off by 2^-3 / sqrt(12) of that, or 2.5e-2 of values spread
/// evenly over a binade (root mean square). The input's error is felt in gate and up, 3.5e-2 as
/// they are independent, and the units' adds to it: 4.3e-2 of the experts' output, which is at most
/// the layer's. The largest of a block may saturate, by an eighth: hence a little more.
inline constexpr double exactActivationTolerance = 5e-2;
/// The same against the reference that rounds them too. A difference n before rounding moves a
/// value over the border between two codes, a step s apart, with probability n / s; its mean square
/// becomes n s. What the input is off (3e-3, mean 2.4e-3, step 8.8e-2) becomes 1.5e-2, felt
/// twice 2.1e-2, and by the units' rounding 3.8e-2. So the chain of roundings hides most of an
/// error; stage by stage test/e2e/LayerMailboxTest.cpp is exact.
inline constexpr double codesTolerance = 4e-2;

/// Both bars are means over many weights. Where few outweigh all others (LayerCase::fewWeights) one
/// activation next to a border between two codes decides, and a step is up to an eighth of it:
/// there each element is judged by what all roundings on the way can do to it
/// (Glm5Layer::reachOfCodes).

/// The reference of one case, computed once, and the comparison of outputs with it.
///
/// Choices of tokens and experts are discontinuous, so what follows a choice is compared with the
/// reference under the kernel's own choice, provided that the errors of the compared scores explain
/// it. Rows whose choices are those of a golden case are compared with the golden results.
class LayerCheck {
public:
  /// Keeps references to both.
  LayerCheck(const LayerCase &layerCase, const Checkpoint &checkpoint);

  /// For each expert, whether a token chooses it, or might under rounding.
  std::vector<bool> expertsInReach() const;
  /// Judges the outputs of all ranks.
  void check(llvm::ArrayRef<RankOutputs> outputs, Report &report) const;

private:
  TokenLists checkSelection(const HostTensor &out, Report &report) const;
  void checkReach(const RankOutputs &out, Routing routing, Report &report) const;
  void checkCaches(const RankOutputs &outputs, Report &report) const;
  /// Puts the golden rows in place of those of `reference` for rows where `same` holds.
  void adoptGolden(llvm::ArrayRef<double> golden, const std::vector<bool> &same,
                   std::vector<double> &reference) const;

  const LayerCase &problem;
  const Checkpoint &checkpoint;
  Glm5Layer layer;
  DownProjections down;
  std::optional<Indexing> indexing;
  TokenLists selection; ///< expected
  Attention attention;  ///< under `selection`
};

} // namespace mono::models::glm5
