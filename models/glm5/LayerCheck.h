// The judgement on the outputs of glm5_layer.
#pragma once

#include "models/glm5/LayerProblem.h"

namespace mono::models::glm5 {

/// What a layer output may be off, relative L2 of the worst row; `tolerance` for all before it.
inline constexpr double layerTolerance = 1e-2;

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
