// Rows as they are, except for keys, whose product runs down the columns.
#include "models/glm5/RoundedCheckpoint.h"
#include "models/BFloat16.h"
#include "models/Matmul.h"
#include "models/Mxfp8.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cstring>

using namespace llvm;

namespace mono::models::glm5 {

static void roundRow(MutableArrayRef<uint16_t> bf16) {
  std::vector<double> values = toDouble(bf16);
  roundToMxfp8(values, MxScale::Fit);
  llvm::transform(values, bf16.begin(),
                  [](double value) { return toBf16(static_cast<float>(value)); });
}

RoundedCheckpoint::RoundedCheckpoint(const LayerDims &dims, unsigned layer, const Checkpoint &exact)
    : dims(dims), tensors(dims, layer), exact(exact) {
  assert(dims.nope % mxBlock == 0);
}

void RoundedCheckpoint::read(const CheckpointTensor &tensor, uint64_t offset,
                             MutableArrayRef<uint8_t> out) const {
  if (tensor.name == tensors.kvB.name)
    return readExpansion(offset, out);
  exact.read(tensor, offset, out);
  const CheckpointTensor *rounded[] = {&tensors.qA,          &tensors.qB,     &tensors.kvA,
                                       &tensors.outProj,     &tensors.indexQ, &tensors.indexK,
                                       &tensors.indexWeights};
  if (llvm::none_of(rounded, [&](const auto *each) { return each->name == tensor.name; }))
    return;
  std::vector<uint16_t> row(out.size() / sizeof(uint16_t));
  std::memcpy(row.data(), out.data(), out.size());
  roundRow(row);
  std::memcpy(out.data(), row.data(), out.size());
}

/// Keys [nope, kvLora] of a head are summed over nope, values [vDim, kvLora] over kvLora.
void RoundedCheckpoint::roundHead(MutableArrayRef<uint16_t> rows) const {
  std::vector<uint16_t> column(dims.nope);
  for (size_t c = 0; c < dims.kvLora; ++c) {
    for (size_t d = 0; d < dims.nope; ++d)
      column[d] = rows[d * dims.kvLora + c];
    roundRow(column);
    for (size_t d = 0; d < dims.nope; ++d)
      rows[d * dims.kvLora + c] = column[d];
  }
  roundRow(rows.drop_front(dims.nope * dims.kvLora));
}

/// The heads that a piece of kv_b touches, rounded whole.
void RoundedCheckpoint::readExpansion(uint64_t offset, MutableArrayRef<uint8_t> out) const {
  uint64_t headBytes = dims.kvRows() * tensors.kvB.rowBytes();
  for (uint64_t head = offset / headBytes; head * headBytes < offset + out.size(); ++head) {
    std::vector<uint16_t> rows(headBytes / sizeof(uint16_t));
    MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(rows.data()), headBytes);
    exact.read(tensors.kvB, head * headBytes, bytes);
    roundHead(rows);
    uint64_t first = std::max(offset, head * headBytes);
    uint64_t end = std::min(offset + out.size(), (head + 1) * headBytes);
    std::memcpy(&out[first - offset], &bytes[first - head * headBytes], end - first);
  }
}

} // namespace mono::models::glm5
