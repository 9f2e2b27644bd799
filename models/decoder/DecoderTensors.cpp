// Names and shapes as in the checkpoints of Llama and Qwen3 (quantised experts as Quark writes
// them).
#include "models/decoder/DecoderTensors.h"
#include "models/Mxfp4.h"

using namespace llvm;

namespace mono::models::decoder {

static Shape shapeOf(std::initializer_list<size_t> dimensions) {
  return Shape(dimensions.begin(), dimensions.end());
}

DecoderTensors::DecoderTensors(const DecoderSizes &sizes, unsigned layer)
    : sizes(sizes), prefix(fmt::format("model.layers.{}.", layer)) {
  auto tensor = [&](StringRef name, std::initializer_list<size_t> shape) {
    return CheckpointTensor{prefix + name.str(), DType::BF16, shapeOf(shape)};
  };
  inputNorm = tensor("input_layernorm.weight", {sizes.hidden});
  query = tensor("self_attn.q_proj.weight", {sizes.heads * sizes.dim, sizes.hidden});
  key = tensor("self_attn.k_proj.weight", {sizes.kvHeads * sizes.dim, sizes.hidden});
  value = tensor("self_attn.v_proj.weight", {sizes.kvHeads * sizes.dim, sizes.hidden});
  queryNorm = tensor("self_attn.q_norm.weight", {sizes.dim});
  keyNorm = tensor("self_attn.k_norm.weight", {sizes.dim});
  outProj = tensor("self_attn.o_proj.weight", {sizes.hidden, sizes.heads * sizes.dim});
  postNorm = tensor("post_attention_layernorm.weight", {sizes.hidden});
  gate = tensor("mlp.gate_proj.weight", {sizes.mlp, sizes.hidden});
  up = tensor("mlp.up_proj.weight", {sizes.mlp, sizes.hidden});
  down = tensor("mlp.down_proj.weight", {sizes.hidden, sizes.mlp});
  router = tensor("mlp.gate.weight", {sizes.experts, sizes.hidden});
}

static StringRef projectionName(DecoderTensors::Projection projection) {
  switch (projection) {
  case DecoderTensors::Projection::Gate:
    return "gate_proj";
  case DecoderTensors::Projection::Up:
    return "up_proj";
  case DecoderTensors::Projection::Down:
    return "down_proj";
  }
  return "";
}

CheckpointTensor DecoderTensors::expertTensor(size_t index, Projection projection, StringRef suffix,
                                              size_t elementsPerByte) const {
  bool down = projection == Projection::Down;
  return {fmt::format("{}mlp.experts.{}.{}.{}", prefix, index, projectionName(projection), suffix),
          DType::U8,
          shapeOf({down ? sizes.hidden : sizes.mlp,
                   (down ? sizes.mlp : sizes.hidden) / elementsPerByte})};
}

CheckpointTensor DecoderTensors::expert(size_t index, Projection projection) const {
  return expertTensor(index, projection, "weight", 2);
}

CheckpointTensor DecoderTensors::expertScale(size_t index, Projection projection) const {
  return expertTensor(index, projection, "weight_scale", mxBlock);
}

} // namespace mono::models::decoder
