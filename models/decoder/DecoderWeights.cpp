// Which operand is cut from which tensors.
#include "models/decoder/DecoderWeights.h"
#include "models/WeightCuts.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace mono::models::decoder {

using Bytes = MutableArrayRef<uint8_t>;

static constexpr StringLiteral names[] = {
    "cos_sin", "w_in",     "w_qkv",  "q_norm",       "k_norm",    "w_o",
    "w_post",  "w_router", "w_down", "w_down_scale", "w_gate_up", "w_gate_up_scale"};

bool DecoderWeights::has(StringRef operand) { return is_contained(names, operand); }

/// The rank's query heads, then its key and its value heads.
void DecoderWeights::heads(unsigned rank, Bytes out) const {
  auto take = [&](const CheckpointTensor &tensor, size_t first, size_t count) {
    size_t bytes = count * sizes.dim * tensor.rowBytes();
    copyRows(checkpoint, tensor, first * sizes.dim, out.take_front(bytes));
    out = out.drop_front(bytes);
  };
  take(tensors.query, rank * sizes.headsPerRank(), sizes.headsPerRank());
  take(tensors.key, sizes.firstKvHead(rank), sizes.kvHeadsPerRank());
  take(tensors.value, sizes.firstKvHead(rank), sizes.kvHeadsPerRank());
}

/// The rank's units, gate and up rows in turn.
void DecoderWeights::gateUp(unsigned rank, const CheckpointTensor &gate, const CheckpointTensor &up,
                            Bytes out) const {
  copyGateUp(checkpoint, gate, up, rank * sizes.mlpPerRank(), sizes.mlpPerRank(), out);
}

/// The rank's share of the columns.
void DecoderWeights::down(unsigned rank, const CheckpointTensor &tensor, Bytes out,
                          uint8_t filler) const {
  size_t share = tensor.columns() / sizes.ranks;
  copyColumns(checkpoint, tensor, rank * share, share, out, filler);
}

/// An operand of all experts: codes of zero pad the depth, with scales of one.
void DecoderWeights::expert(unsigned rank, StringRef operand, size_t index, Bytes out) const {
  static constexpr uint8_t scaleOne = 127;
  using enum DecoderTensors::Projection;
  if (operand == "w_gate_up")
    gateUp(rank, tensors.expert(index, Gate), tensors.expert(index, Up), out);
  else if (operand == "w_gate_up_scale")
    gateUp(rank, tensors.expertScale(index, Gate), tensors.expertScale(index, Up), out);
  else if (operand == "w_down")
    down(rank, tensors.expert(index, Down), out, /*filler=*/0);
  else
    down(rank, tensors.expertScale(index, Down), out, scaleOne);
}

void DecoderWeights::fill(unsigned rank, StringRef operand, size_t slice, Bytes out) const {
  if (operand == "cos_sin")
    return rotaryTable(model.frequencies(sizes.dim), out);
  if (operand == "w_qkv")
    return heads(rank, out);
  if (operand == "w_o")
    return down(rank, tensors.outProj, out, 0);
  bool isMlp = operand.starts_with("w_gate_up") || operand.starts_with("w_down");
  if (isMlp && model.hasExperts)
    return expert(rank, operand, slice, out);
  if (operand == "w_gate_up")
    return gateUp(rank, tensors.gate, tensors.up, out);
  if (operand == "w_down")
    return down(rank, tensors.down, out, 0);
  copyRows(checkpoint,
           *StringSwitch<const CheckpointTensor *>(operand)
                .Case("w_in", &tensors.inputNorm)
                .Case("q_norm", &tensors.queryNorm)
                .Case("k_norm", &tensors.keyNorm)
                .Case("w_post", &tensors.postNorm)
                .Case("w_router", &tensors.router),
           0, out);
}

} // namespace mono::models::decoder
