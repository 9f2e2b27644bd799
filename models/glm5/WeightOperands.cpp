// One row of the table for each weight operand, and the few ways in which they are cut.
#include "models/glm5/WeightOperands.h"
#include "models/Matmul.h"
#include "models/Mxfp8.h"
#include "models/WeightCuts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Parallel.h"

#include <cassert>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace mono::models::glm5 {

void WeightOperands::whole(const CheckpointTensor &tensor, Bytes out) const {
  rows(tensor, 0, out);
}

/// As many rows as fit `out`.
void WeightOperands::rows(const CheckpointTensor &tensor, size_t first, Bytes out) const {
  copyRows(checkpoint, tensor, first, out);
}

/// The rank's share of the rows.
void WeightOperands::rankRows(const CheckpointTensor &tensor, unsigned rank, Bytes out) const {
  assert(out.size() * sizes.ranks == tensor.rows() * tensor.rowBytes());
  rows(tensor, rank * (tensor.rows() / sizes.ranks), out);
}

/// The rank's share of the columns.
void WeightOperands::rankColumns(const CheckpointTensor &tensor, unsigned rank, Bytes out) const {
  size_t share = tensor.columns() / sizes.ranks;
  assert(out.size() * sizes.ranks == tensor.rows() * tensor.rowBytes());
  copyColumns(checkpoint, tensor, rank * share, share, out);
}

void WeightOperands::angles(Bytes out) const {
  double pairs = static_cast<double>(sizes.rope / 2);
  std::vector<double> frequencies;
  for (double pair = 0; pair < pairs; ++pair)
    frequencies.push_back(std::pow(ropeTheta, -pair / pairs));
  rotaryTable(frequencies, out);
}

/// All that is multiplied with the normed input, or the rank's share: rows of q_a, then rows of the
/// others, which are counted as if one stood below the other.
void WeightOperands::downProjections(unsigned rank, Bytes out) const {
  size_t share = sizes.sharded ? rank : 0, rowBytes = tensors.qA.rowBytes();
  size_t queryRows = sizes.qLora / sizes.shares();
  rows(tensors.qA, share * queryRows, out.take_front(queryRows * rowBytes));
  out = out.drop_front(queryRows * rowBytes);

  std::fill(out.begin(), out.end(), 0); // what is left of whole tiles
  std::vector<const CheckpointTensor *> others = {&tensors.kvA};
  if (sizes.indexer)
    others.insert(others.end(), {&tensors.indexK, &tensors.indexWeights});
  size_t first = share * sizes.smallRowsPerShare(), end = first + sizes.smallRowsPerShare();
  size_t begin = 0; // of a tensor
  for (const CheckpointTensor *tensor : others) {
    size_t from = std::max(begin, first), to = std::min(begin + tensor->rows(), end);
    if (from < to)
      rows(*tensor, from - begin, out.slice((from - first) * rowBytes, (to - from) * rowBytes));
    begin += tensor->rows();
  }
}

void WeightOperands::indexQueries(unsigned rank, Bytes out) const {
  if (sizes.sharded)
    rankRows(tensors.indexQ, rank, out);
  else
    whole(tensors.indexQ, out);
}

/// For each head the key rows of kv_b [nope, kvLora], transposed.
void WeightOperands::keyExpansion(unsigned rank, Bytes out) const {
  std::vector<uint16_t> keys(sizes.nope * sizes.kvLora);
  Bytes keyBytes(reinterpret_cast<uint8_t *>(keys.data()), keys.size() * sizeof(uint16_t));
  for (size_t local = 0; local < sizes.headsPerRank(); ++local) {
    size_t head = rank * sizes.headsPerRank() + local;
    rows(tensors.kvB, head * sizes.kvRows(), keyBytes);
    for (size_t c = 0; c < sizes.kvLora; ++c)
      for (size_t d = 0; d < sizes.nope; ++d) {
        size_t place = (local * sizes.kvLora + c) * sizes.nope + d;
        std::memcpy(&out[place * sizeof(uint16_t)], &keys[d * sizes.kvLora + c], sizeof(uint16_t));
      }
  }
}

/// For each head the value rows of kv_b [vDim, kvLora].
void WeightOperands::valueExpansion(unsigned rank, Bytes out) const {
  size_t headBytes = sizes.vDim * tensors.kvB.rowBytes();
  for (size_t local = 0; local < sizes.headsPerRank(); ++local) {
    size_t head = rank * sizes.headsPerRank() + local;
    rows(tensors.kvB, head * sizes.kvRows() + sizes.nope, out.slice(local * headBytes, headBytes));
  }
}

/// The rank's units of one expert, gate and up rows in turn.
void WeightOperands::gateUp(const Piece &piece, const CheckpointTensor &gate,
                            const CheckpointTensor &up) const {
  copyGateUp(checkpoint, gate, up, piece.rank * sizes.moePerRank(), sizes.moePerRank(), piece.out);
}

struct WeightOperands::Entry {
  StringRef name;
  void (*fill)(const WeightOperands &, const Piece &);
};

const WeightOperands::Entry *WeightOperands::find(StringRef operand) {
  using W = WeightOperands;
  static constexpr auto gate = Projection::Gate, up = Projection::Up, down = Projection::Down;
  static const Entry entries[] = {
      {"w_in", [](const W &w, const Piece &p) { w.whole(w.tensors.inputNorm, p.out); }},
      {"cos_sin", [](const W &w, const Piece &p) { w.angles(p.out); }},
      {"w_a", [](const W &w, const Piece &p) { w.downProjections(p.rank, p.out); }},
      {"q_norm", [](const W &w, const Piece &p) { w.whole(w.tensors.qANorm, p.out); }},
      {"kv_norm", [](const W &w, const Piece &p) { w.whole(w.tensors.kvANorm, p.out); }},
      {"index_norm_w",
       [](const W &w, const Piece &p) { w.whole(w.tensors.indexNormWeight, p.out); }},
      {"index_norm_b", [](const W &w, const Piece &p) { w.whole(w.tensors.indexNormBias, p.out); }},
      {"w_iq", [](const W &w, const Piece &p) { w.indexQueries(p.rank, p.out); }},
      {"w_qb", [](const W &w, const Piece &p) { w.rankRows(w.tensors.qB, p.rank, p.out); }},
      {"w_uk", [](const W &w, const Piece &p) { w.keyExpansion(p.rank, p.out); }},
      {"w_uv", [](const W &w, const Piece &p) { w.valueExpansion(p.rank, p.out); }},
      {"w_o", [](const W &w, const Piece &p) { w.rankColumns(w.tensors.outProj, p.rank, p.out); }},
      {"w_post", [](const W &w, const Piece &p) { w.whole(w.tensors.postNorm, p.out); }},
      {"w_gate", [](const W &w, const Piece &p) { w.whole(w.tensors.gate, p.out); }},
      {"bias", [](const W &w, const Piece &p) { w.whole(w.tensors.bias, p.out); }},
      {"w_gate_up",
       [](const W &w, const Piece &p) {
         w.gateUp(p, w.tensors.expert(p.slice, gate), w.tensors.expert(p.slice, up));
       }},
      {"w_gate_up_scale",
       [](const W &w, const Piece &p) {
         w.gateUp(p, w.tensors.expertScale(p.slice, gate), w.tensors.expertScale(p.slice, up));
       }},
      {"w_down",
       [](const W &w, const Piece &p) {
         w.rankColumns(w.tensors.expert(p.slice, down), p.rank, p.out);
       }},
      {"w_down_scale",
       [](const W &w, const Piece &p) {
         w.rankColumns(w.tensors.expertScale(p.slice, down), p.rank, p.out);
       }},
  };
  const Entry *found =
      llvm::find_if(entries, [&](const Entry &entry) { return entry.name == operand; });
  return found == std::end(entries) ? nullptr : found;
}

bool WeightOperands::isAttention(StringRef operand) {
  static constexpr StringLiteral names[] = {"w_a", "w_iq", "w_qb", "w_uk", "w_uv", "w_o"};
  return llvm::is_contained(names, operand);
}

/// The values of a matrix of which `piece` wants codes or scales.
std::vector<double> WeightOperands::exactValues(const Entry &matrix, const Piece &piece,
                                                size_t elements) const {
  std::vector<uint16_t> bf16(elements);
  Bytes bytes(reinterpret_cast<uint8_t *>(bf16.data()), elements * sizeof(uint16_t));
  matrix.fill(*this, {piece.rank, piece.slice, bytes});
  return toDouble(bf16);
}

/// Quantises a matrix, pieces side by side.
static void quantiseMatrix(ArrayRef<double> values, MutableArrayRef<uint8_t> codes,
                           MutableArrayRef<uint8_t> scales) {
  constexpr size_t blocks = 1024; // a task
  parallelFor(0, llvm::divideCeil(scales.size(), blocks), [&](size_t task) {
    size_t first = task * blocks, count = std::min(blocks, scales.size() - first);
    quantiseMxfp8(values.slice(first * mxBlock, count * mxBlock), MxScale::Fit,
                  codes.slice(first * mxBlock, count * mxBlock), scales.slice(first, count));
  });
}

void WeightOperands::codes(const Entry &matrix, const Piece &piece) const {
  std::vector<double> values = exactValues(matrix, piece, piece.out.size());
  std::vector<uint8_t> scales(values.size() / mxBlock);
  quantiseMatrix(values, piece.out, scales);
}

void WeightOperands::scales(const Entry &matrix, const Piece &piece) const {
  std::vector<double> values = exactValues(matrix, piece, piece.out.size() * mxBlock);
  std::vector<uint8_t> codes(values.size());
  quantiseMatrix(values, codes, piece.out);
}

/// The matrix that an operand has the scales of; empty if it is none of the attention's.
static StringRef matrixOfScale(StringRef operand) {
  return operand.consume_back("_scale") ? operand : StringRef();
}

bool WeightOperands::has(StringRef operand) {
  return find(operand) != nullptr || isAttention(matrixOfScale(operand));
}

void WeightOperands::fill(unsigned rank, StringRef operand, size_t slice, Bytes out) const {
  Piece piece{rank, slice, out};
  if (StringRef matrix = matrixOfScale(operand); isAttention(matrix))
    return scales(*find(matrix), piece);
  const Entry &entry = *find(operand);
  if (sizes.mxAttention && isAttention(operand))
    return codes(entry, piece);
  entry.fill(*this, piece);
}

} // namespace mono::models::glm5
