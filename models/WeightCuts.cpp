// Cuts and products of checkpoint tensors, piece by piece: a tensor is never in memory as a whole.
#include "models/WeightCuts.h"
#include "models/Mxfp4.h"

#include "llvm/Support/Parallel.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace llvm;

namespace mono::models {

void copyRows(const Checkpoint &checkpoint, const CheckpointTensor &tensor, size_t first,
              MutableArrayRef<uint8_t> out) {
  assert(out.size() % tensor.rowBytes() == 0);
  checkpoint.read(tensor, first * tensor.rowBytes(), out);
}

void copyColumns(const Checkpoint &checkpoint, const CheckpointTensor &tensor, size_t first,
                 size_t count, MutableArrayRef<uint8_t> out, uint8_t filler) {
  size_t size = dtypeBytes(tensor.dtype), bytes = count * size, width = out.size() / tensor.rows();
  assert(width >= bytes);
  parallelFor(0, tensor.rows(), [&](size_t row) {
    MutableArrayRef<uint8_t> to = out.slice(row * width, width);
    checkpoint.read(tensor, row * tensor.rowBytes() + first * size, to.take_front(bytes));
    std::fill(to.begin() + static_cast<ptrdiff_t>(bytes), to.end(), filler);
  });
}

void copyGateUp(const Checkpoint &checkpoint, const CheckpointTensor &gate,
                const CheckpointTensor &up, size_t first, size_t count,
                MutableArrayRef<uint8_t> out) {
  size_t groupBytes = gateRows * gate.rowBytes();
  parallelFor(0, count / gateRows, [&](size_t index) {
    MutableArrayRef<uint8_t> group = out.slice(2 * index * groupBytes, 2 * groupBytes);
    copyRows(checkpoint, gate, first + index * gateRows, group.take_front(groupBytes));
    copyRows(checkpoint, up, first + index * gateRows, group.drop_front(groupBytes));
  });
}

void rotaryTable(ArrayRef<double> frequencies, MutableArrayRef<uint8_t> out) {
  size_t pairs = frequencies.size(), positions = out.size() / (2 * pairs * sizeof(float));
  for (size_t position = 0; position < positions; ++position)
    for (size_t column = 0; column < 2 * pairs; ++column) {
      double angle = static_cast<double>(position) * frequencies[column % pairs];
      float value = static_cast<float>(column < pairs ? std::cos(angle) : std::sin(angle));
      std::memcpy(&out[(position * 2 * pairs + column) * sizeof(float)], &value, sizeof(float));
    }
}

std::vector<double> multiplyBf16(const Checkpoint &checkpoint, const CheckpointTensor &weight,
                                 ArrayRef<double> activations) {
  return multiplyTransposed(activations, activations.size() / weight.columns(), weight.rows(),
                            [&](size_t n, size_t k, MutableArrayRef<double> out) {
                              std::array<uint16_t, 512> piece;
                              auto bytes = MutableArrayRef(
                                  reinterpret_cast<uint8_t *>(piece.data()), 2 * out.size());
                              checkpoint.read(weight, n * weight.rowBytes() + 2 * k, bytes);
                              toDouble(ArrayRef(piece).take_front(out.size()), out);
                            });
}

std::vector<double> multiplyMxfp4(const Checkpoint &checkpoint, const CheckpointTensor &codes,
                                  const CheckpointTensor &scales, ArrayRef<double> activations,
                                  WeightPart part) {
  return multiplyTransposed(
      activations, activations.size() / (2 * codes.columns()), codes.rows(),
      [&](size_t n, size_t k, MutableArrayRef<double> out) {
        std::array<uint8_t, 256> code;
        std::array<uint8_t, 16> scale;
        auto codePiece = MutableArrayRef(code).take_front(out.size() / 2);
        auto scalePiece = MutableArrayRef(scale).take_front(out.size() / mxBlock);
        checkpoint.read(codes, n * codes.columns() + k / 2, codePiece);
        checkpoint.read(scales, n * scales.columns() + k / mxBlock, scalePiece);
        decodeMxfp4(codePiece, scalePiece, out);
        if (part == WeightPart::Magnitude)
          for (double &weight : out)
            weight = std::abs(weight);
      });
}

} // namespace mono::models
