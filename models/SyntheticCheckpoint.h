// A decoder layer whose weights are functions of their names and a seed (test/data/README.md):
// nothing is stored, every piece is made when it is read.
#pragma once

#include "models/Checkpoint.h"

#include <functional>

namespace mono::models {

struct SyntheticParams {
  uint64_t seed = 1;
  unsigned layer = 3;
  /// Least E8M0 scale of gate and up projections, and of down projections.
  uint8_t inBase = 117, downBase = 118;
};

/// The E8M0 bases under which an expert's projections keep the variance of their inputs, for
/// experts of `units` units.
SyntheticParams syntheticParams(size_t hidden, size_t units, uint64_t seed);

/// Changes bytes [offset, offset + out.size()) of a tensor, whole elements. Called from several
/// threads.
using TensorEdit = std::function<void(const CheckpointTensor &tensor, uint64_t offset,
                                      llvm::MutableArrayRef<uint8_t> out)>;

class SyntheticCheckpoint : public Checkpoint {
public:
  /// With an edit, what is read is what that leaves.
  explicit SyntheticCheckpoint(const SyntheticParams &params, TensorEdit edit = nullptr)
      : params(params), edit(std::move(edit)) {}
  /// Answers for every tensor; its name's end decides how large its values are.
  void read(const CheckpointTensor &tensor, uint64_t offset,
            llvm::MutableArrayRef<uint8_t> out) const override;

private:
  void generate(const CheckpointTensor &tensor, uint64_t offset,
                llvm::MutableArrayRef<uint8_t> out) const;
  void readBytes(const CheckpointTensor &tensor, uint64_t offset,
                 llvm::MutableArrayRef<uint8_t> out) const;

  SyntheticParams params;
  TensorEdit edit;
};

} // namespace mono::models
