// A decoder layer with grouped-query attention in double precision, straight from its formulas:
// nothing is rounded between its inputs and its results. It reads the checkpoint, not the operands
// cut from it.
#pragma once

#include "models/Routing.h"
#include "models/decoder/DecoderInputs.h"
#include "models/decoder/DecoderTensors.h"

namespace mono::models::decoder {

/// Rotates pairs (i, i + size / 2) of `vector` by position * frequencies[i].
void rotateHalves(llvm::MutableArrayRef<double> vector, llvm::ArrayRef<double> frequencies,
                  int32_t position);

/// Softmax over all experts, the largest `chosen`, renormalised to sum to 1: that is the softmax
/// over the chosen logits.
RoutingRule softmaxRule(size_t chosen);

/// All [rows, ...] row-major.
struct DecoderAttention {
  std::vector<double> query;    ///< [heads, dim] rotated
  std::vector<double> key;      ///< [kvHeads, dim] rotated: new cache row
  std::vector<double> value;    ///< [kvHeads, dim] new cache row
  std::vector<double> heads;    ///< [heads, dim] outputs
  std::vector<double> residual; ///< [hidden] input plus projected heads
};

class DecoderLayer {
public:
  /// Keeps references to all but the sizes. Cache rows must not be shared by rows at different
  /// positions of different sequences.
  DecoderLayer(const DecoderModel &model, const DecoderSizes &sizes, unsigned layer,
               const Checkpoint &checkpoint, const DecoderInputs &inputs);

  DecoderAttention attend() const;
  /// Norm, logits and choice of experts.
  Routing routeTokens(const DecoderAttention &attention) const;
  /// The layer's output [rows, hidden]: the residual plus the MLP, or the experts of `routing`.
  std::vector<double> output(const DecoderAttention &attention, const Routing &routing) const;

private:
  std::vector<double> multiply(llvm::ArrayRef<double> activations,
                               const CheckpointTensor &weight) const;
  /// Norms, if the model has that, and rotates heads [rows, count, dim].
  void finishHeads(std::vector<double> &heads, const CheckpointTensor &norm) const;
  /// Tokens 0 .. position of row `row` of a cache, head `head` [tokens, dim]; tokens of this launch
  /// come from `fresh` [rows, kvHeads, dim].
  std::vector<double> gather(size_t row, size_t head, llvm::ArrayRef<uint16_t> cache,
                             llvm::ArrayRef<double> fresh) const;
  void attendGroup(size_t row, size_t group, DecoderAttention &attention) const;
  std::vector<double> expertOutput(llvm::ArrayRef<double> normed, size_t expert) const;

  const DecoderModel &model;
  DecoderSizes sizes;
  DecoderTensors tensors;
  const Checkpoint &checkpoint;
  const DecoderInputs &inputs;
  std::vector<double> frequencies;
  std::vector<int32_t> writers; ///< for each cache row, the row of the launch it is new in, or -1
};

} // namespace mono::models::decoder
