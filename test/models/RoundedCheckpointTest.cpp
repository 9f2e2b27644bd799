// Operands of MXFP8 attention weights and the checkpoint of the reference agree: what codes and
// scales of each rank mean is what the rounded checkpoint has, and it is near the exact one.
#include "models/glm5/RoundedCheckpoint.h"
#include "models/Matmul.h"
#include "models/Mxfp8.h"
#include "models/SyntheticCheckpoint.h"
#include "models/glm5/WeightOperands.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

LayerSizes smallSizes() {
  LayerSizes sizes;
  sizes.hidden = 128;
  sizes.heads = 4;
  sizes.qLora = 64;
  sizes.kvLora = 64;
  sizes.nope = 32;
  sizes.rope = 32;
  sizes.vDim = 32;
  sizes.indexHeads = 2;
  sizes.indexDim = 32;
  sizes.experts = 3;
  sizes.moe = 128;
  sizes.ranks = 2;
  sizes.context = 64;
  return sizes;
}

std::vector<uint8_t> bytesOf(const LayerSizes &sizes, const Checkpoint &checkpoint, unsigned rank,
                             llvm::StringRef name) {
  for (const OperandSpec &operand : layerOperands(sizes))
    if (operand.name == name) {
      TensorType type{operand.shape, operand.element, Layout::RowMajor};
      std::vector<uint8_t> out(type.bytes());
      WeightOperands(sizes, 3, checkpoint).fill(rank, name, 0, out);
      return out;
    }
  ADD_FAILURE() << "no operand " << name.str();
  return {};
}

std::vector<double> bf16Values(const std::vector<uint8_t> &bytes) {
  return toDouble({reinterpret_cast<const uint16_t *>(bytes.data()), bytes.size() / 2});
}

TEST(RoundedCheckpoint, IsWhatTheOperandsMean) {
  LayerSizes exact = smallSizes(), mx = smallSizes();
  mx.mxAttention = true;
  SyntheticCheckpoint checkpoint(syntheticParams(exact.hidden, exact.moe, 5));
  RoundedCheckpoint rounded(exact, 3, checkpoint);
  for (const char *name : {"w_a", "w_qb", "w_iq", "w_uk", "w_uv", "w_o"})
    for (unsigned rank = 0; rank < exact.ranks; ++rank) {
      std::vector<uint8_t> codes = bytesOf(mx, checkpoint, rank, name);
      std::vector<uint8_t> scales =
          bytesOf(mx, checkpoint, rank, (llvm::StringRef(name) + "_scale").str());
      std::vector<double> values(codes.size());
      decodeMxfp8(codes, scales, values);
      EXPECT_EQ(values, bf16Values(bytesOf(exact, rounded, rank, name))) << name;

      std::vector<double> original = bf16Values(bytesOf(exact, checkpoint, rank, name));
      for (size_t i = 0; i < values.size(); ++i) {
        double scale = std::exp2(scales[i / mxBlock] - 127);
        // Half a step of three bits of mantissa, or of denormal codes.
        ASSERT_NEAR(values[i], original[i], std::max(std::abs(original[i]) / 16, scale * 0x1p-10))
            << name << ", " << i;
      }
    }
}

TEST(RoundedCheckpoint, PiecesAreThoseOfTheWhole) {
  LayerSizes sizes = smallSizes();
  SyntheticCheckpoint checkpoint(syntheticParams(sizes.hidden, sizes.moe, 6));
  RoundedCheckpoint rounded(sizes, 3, checkpoint);
  LayerTensors tensors(sizes, 3);
  for (const CheckpointTensor *tensor : {&tensors.kvB, &tensors.outProj}) {
    std::vector<uint8_t> whole(tensor->rows() * tensor->rowBytes());
    rounded.read(*tensor, 0, whole);
    size_t piece = mxBlock * sizeof(uint16_t);
    for (size_t offset = 0; offset < whole.size(); offset += 5 * piece) {
      std::vector<uint8_t> part(std::min(2 * piece, whole.size() - offset));
      rounded.read(*tensor, offset, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + long(offset))) << offset;
    }
  }
}

TEST(RoundedCheckpoint, OtherTensorsAreAsTheyAre) {
  LayerSizes sizes = smallSizes();
  SyntheticCheckpoint checkpoint(syntheticParams(sizes.hidden, sizes.moe, 7));
  RoundedCheckpoint rounded(sizes, 3, checkpoint);
  LayerTensors tensors(sizes, 3);
  EXPECT_EQ(rounded.bf16(tensors.gate), checkpoint.bf16(tensors.gate));
  EXPECT_EQ(rounded.bf16(tensors.inputNorm), checkpoint.bf16(tensors.inputNorm));
  EXPECT_NE(rounded.bf16(tensors.qA), checkpoint.bf16(tensors.qA));
}

} // namespace
