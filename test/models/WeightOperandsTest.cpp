// Where elements of checkpoint tensors end up in the operands of a rank.
#include "models/glm5/WeightOperands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

/// Every element says where it comes from: its index in its tensor (byte by byte for U8), plus a
/// number for the tensor.
class IndexCheckpoint : public Checkpoint {
public:
  static uint32_t mark(llvm::StringRef name) {
    uint32_t sum = 0;
    for (unsigned char letter : name.bytes())
      sum = sum * 31 + letter;
    return sum;
  }
  static uint32_t value(const CheckpointTensor &tensor, uint64_t element) {
    return mark(tensor.name) + static_cast<uint32_t>(element) * 2654435761u;
  }
  void read(const CheckpointTensor &tensor, uint64_t offset,
            llvm::MutableArrayRef<uint8_t> out) const override {
    unsigned width = dtypeBytes(tensor.dtype);
    for (size_t i = 0; i < out.size(); i += width) {
      uint32_t element = value(tensor, (offset + i) / width);
      std::memcpy(&out[i], &element, width);
    }
  }
};

LayerSizes smallSizes() {
  LayerSizes sizes;
  sizes.hidden = 64;
  sizes.heads = 4;
  sizes.qLora = 16;
  sizes.kvLora = 8;
  sizes.nope = 3;
  sizes.rope = 4;
  sizes.vDim = 5;
  sizes.indexHeads = 2;
  sizes.indexDim = 8;
  sizes.experts = 3;
  sizes.moe = 128;
  sizes.ranks = 2;
  return sizes;
}

class WeightOperandsTest : public testing::Test {
protected:
  std::vector<uint8_t> bytes(unsigned rank, const char *name, size_t slice = 0) {
    for (const OperandSpec &operand : layerOperands(sizes))
      if (operand.name == name) {
        TensorType type{operand.shape, operand.element, Layout::RowMajor};
        if (operand.shape.size() == 3)
          type.shape[0] = 1;
        std::vector<uint8_t> out(type.bytes());
        WeightOperands(sizes, 3, checkpoint).fill(rank, name, slice, out);
        return out;
      }
    ADD_FAILURE() << name;
    return {};
  }
  uint16_t bf16(const std::vector<uint8_t> &from, size_t index) {
    uint16_t value = 0;
    std::memcpy(&value, &from[2 * index], 2);
    return value;
  }
  static uint16_t expected(const CheckpointTensor &tensor, size_t row, size_t column) {
    return static_cast<uint16_t>(IndexCheckpoint::value(tensor, row * tensor.columns() + column));
  }
  static uint8_t expectedByte(const CheckpointTensor &tensor, size_t row, size_t column) {
    return static_cast<uint8_t>(expected(tensor, row, column));
  }

  LayerSizes sizes = smallSizes();
  LayerTensors tensors{sizes, 3};
  IndexCheckpoint checkpoint;
};

TEST_F(WeightOperandsTest, KnowsEveryWeightAndNothingElse) {
  for (const OperandSpec &operand : layerOperands(sizes)) {
    llvm::StringRef name = operand.name;
    bool weight = name.starts_with("w_") || name.ends_with("_norm") ||
                  name.starts_with("index_norm") || name == "bias" || name == "cos_sin";
    EXPECT_EQ(WeightOperands::has(name), weight) << operand.name;
  }
}

TEST_F(WeightOperandsTest, SharesOfTheDownProjections) {
  sizes.sharded = true;
  sizes.qLora = 32;
  tensors = LayerTensors(sizes, 3);
  // 16 rows of q_a and 16 of the other 22 a rank.
  std::vector<uint8_t> first = bytes(0, "w_a"), second = bytes(1, "w_a");
  EXPECT_EQ(first.size(), 32u * 64 * 2);
  EXPECT_EQ(second.size(), 32u * 64 * 2);
  EXPECT_EQ(bf16(first, 15 * 64 + 2), expected(tensors.qA, 15, 2));
  EXPECT_EQ(bf16(second, 15 * 64 + 2), expected(tensors.qA, 31, 2));
  EXPECT_EQ(bf16(first, 16 * 64), expected(tensors.kvA, 0, 0));
  EXPECT_EQ(bf16(first, (16 + 12) * 64 + 1), expected(tensors.indexK, 0, 1));
  EXPECT_EQ(bf16(first, (16 + 15) * 64), expected(tensors.indexK, 3, 0));
  EXPECT_EQ(bf16(second, 16 * 64 + 5), expected(tensors.indexK, 4, 5));
  EXPECT_EQ(bf16(second, (16 + 4) * 64), expected(tensors.indexWeights, 0, 0));
  EXPECT_EQ(bf16(second, (16 + 6) * 64), 0);
  EXPECT_EQ(bf16(second, 31 * 64 + 63), 0);
}

TEST_F(WeightOperandsTest, SharesOfTheIndexQueries) {
  EXPECT_EQ(bytes(0, "w_iq"), bytes(1, "w_iq"));
  EXPECT_EQ(bf16(bytes(1, "w_iq"), 15 * 16), expected(tensors.indexQ, 15, 0));
  sizes.sharded = true;
  sizes.qLora = 32;
  tensors = LayerTensors(sizes, 3);
  EXPECT_EQ(bytes(1, "w_iq").size(), 8u * 32 * 2);
  EXPECT_EQ(bf16(bytes(0, "w_iq"), 7 * 32), expected(tensors.indexQ, 7, 0));
  EXPECT_EQ(bf16(bytes(1, "w_iq"), 7 * 32 + 3), expected(tensors.indexQ, 15, 3));
}

TEST_F(WeightOperandsTest, DownProjectionsStandBelowEachOther) {
  std::vector<uint8_t> wA = bytes(1, "w_a");
  EXPECT_EQ(bf16(wA, 15 * 64 + 2), expected(tensors.qA, 15, 2));
  EXPECT_EQ(bf16(wA, 16 * 64 + 2), expected(tensors.kvA, 0, 2));
  EXPECT_EQ(bf16(wA, (16 + 12) * 64), expected(tensors.indexK, 0, 0));
  EXPECT_EQ(bf16(wA, (16 + 12 + 8 + 1) * 64 + 63), expected(tensors.indexWeights, 1, 63));
  // 38 rows, then zeros up to 48.
  EXPECT_EQ(wA.size(), 48u * 64 * 2);
  EXPECT_NE(bf16(wA, 37 * 64), 0);
  EXPECT_EQ(bf16(wA, 38 * 64), 0);
  EXPECT_EQ(bf16(wA, 47 * 64 + 63), 0);
  sizes.indexer = false;
  EXPECT_EQ(bytes(1, "w_a").size(), 32u * 64 * 2);
  EXPECT_EQ(bf16(bytes(1, "w_a"), 28 * 64), 0);
}

TEST_F(WeightOperandsTest, AnglesAreATable) {
  // Two pairs of frequencies 1 and 1e-3; position 3 begins at 12.
  sizes.context = sizes.page = 4;
  std::vector<uint8_t> table = bytes(0, "cos_sin");
  std::vector<float> values(table.size() / 4);
  std::memcpy(values.data(), table.data(), table.size());
  ASSERT_EQ(values.size(), 16u);
  EXPECT_FLOAT_EQ(values[12], std::cos(3.0f));
  EXPECT_FLOAT_EQ(values[13], std::cos(0.003f));
  EXPECT_FLOAT_EQ(values[14], std::sin(3.0f));
  EXPECT_FLOAT_EQ(values[15], std::sin(0.003f));
}

TEST_F(WeightOperandsTest, HeadsOfARank) {
  // Rank 1 has heads 2 and 3 of 7 rows each in q_b, 8 rows each in kv_b.
  EXPECT_EQ(bf16(bytes(1, "w_qb"), 0), expected(tensors.qB, 14, 0));
  EXPECT_EQ(bf16(bytes(1, "w_qb"), 13 * 16 + 5), expected(tensors.qB, 27, 5));
  // w_uk [2 * 8, 3]: row 8 * head + c, column d of kv_b row 8 * (2 + head) + d, column c.
  EXPECT_EQ(bf16(bytes(1, "w_uk"), (8 + 6) * 3 + 2), expected(tensors.kvB, 3 * 8 + 2, 6));
  // w_uv [2 * 5, 8]: row 5 * head + v is kv_b row 8 * (2 + head) + 3 + v.
  EXPECT_EQ(bf16(bytes(1, "w_uv"), (5 + 4) * 8 + 7), expected(tensors.kvB, 3 * 8 + 3 + 4, 7));
  // w_o [64, 10]: columns 10 to 19 of 20.
  EXPECT_EQ(bf16(bytes(1, "w_o"), 63 * 10 + 9), expected(tensors.outProj, 63, 19));
}

TEST_F(WeightOperandsTest, ExpertsOfARank) {
  for (size_t expert : {size_t(1), sizes.experts}) {
    CheckpointTensor gate = tensors.expert(expert, Projection::Gate);
    CheckpointTensor up = tensors.expert(expert, Projection::Up);
    CheckpointTensor down = tensors.expert(expert, Projection::Down);
    // Rank 1 has units 64 to 127; 32 bytes per row. Unit 64 + 21 is in the second group of 16.
    std::vector<uint8_t> gateUp = bytes(1, "w_gate_up", expert);
    EXPECT_EQ(gateUp[(32 + 5) * 32 + 9], expectedByte(gate, 64 + 21, 9));
    EXPECT_EQ(gateUp[(32 + 16 + 5) * 32 + 9], expectedByte(up, 64 + 21, 9));
    // 32 bytes of 64 a row.
    EXPECT_EQ(bytes(1, "w_down", expert)[63 * 32 + 31], expectedByte(down, 63, 63));
    // Scales: 2 per row of gate and up; 4 per row of down, 2 of them the rank's.
    CheckpointTensor upScale = tensors.expertScale(expert, Projection::Up);
    EXPECT_EQ(bytes(1, "w_gate_up_scale", expert)[(32 + 16 + 5) * 2 + 1],
              expectedByte(upScale, 64 + 21, 1));
    CheckpointTensor downScale = tensors.expertScale(expert, Projection::Down);
    EXPECT_EQ(bytes(0, "w_down_scale", expert)[63 * 2 + 1], expectedByte(downScale, 63, 1));
    EXPECT_EQ(bytes(1, "w_down_scale", expert)[63 * 2], expectedByte(downScale, 63, 2));
  }
}

TEST(LayerTensors, NamesAreTheCheckpoints) {
  LayerTensors tensors(LayerDims{}, 7);
  EXPECT_EQ(tensors.expert(17, Projection::Up).name,
            "model.layers.7.mlp.experts.17.up_proj.weight");
  EXPECT_EQ(tensors.expertScale(256, Projection::Down).name,
            "model.layers.7.mlp.shared_experts.down_proj.weight_scale");
  EXPECT_EQ(tensors.expert(0, Projection::Down).shape, (Shape{6144, 1024}));
  EXPECT_EQ(tensors.expertScale(0, Projection::Gate).shape, (Shape{2048, 192}));
  EXPECT_EQ(tensors.kvB.shape, (Shape{28672, 512}));
  EXPECT_EQ(tensors.all(true).size(), 16u + 257 * 6);
  EXPECT_EQ(tensors.all(false).size(), 11u + 257 * 6);
}

} // namespace
