// Names and shapes as in the checkpoints of GLM-5 (quantised experts as Quark writes them).
#include "models/glm5/LayerTensors.h"
#include "models/Mxfp4.h"

using namespace llvm;

namespace mono::models::glm5 {

static Shape shapeOf(std::initializer_list<size_t> dimensions) {
  return Shape(dimensions.begin(), dimensions.end());
}

LayerTensors::LayerTensors(const LayerDims &dims, unsigned layer)
    : dims(dims), prefix(fmt::format("model.layers.{}.", layer)) {
  auto tensor = [&](StringRef name, std::initializer_list<size_t> shape,
                    DType dtype = DType::BF16) {
    return CheckpointTensor{prefix + name.str(), dtype, shapeOf(shape)};
  };
  size_t indexRows = dims.indexHeads * dims.indexDim;
  inputNorm = tensor("input_layernorm.weight", {dims.hidden});
  qA = tensor("self_attn.q_a_proj.weight", {dims.qLora, dims.hidden});
  qANorm = tensor("self_attn.q_a_layernorm.weight", {dims.qLora});
  qB = tensor("self_attn.q_b_proj.weight", {dims.heads * dims.qkDim(), dims.qLora});
  kvA = tensor("self_attn.kv_a_proj_with_mqa.weight", {dims.cacheWidth(), dims.hidden});
  kvANorm = tensor("self_attn.kv_a_layernorm.weight", {dims.kvLora});
  kvB = tensor("self_attn.kv_b_proj.weight", {dims.heads * dims.kvRows(), dims.kvLora});
  outProj = tensor("self_attn.o_proj.weight", {dims.hidden, dims.heads * dims.vDim});
  indexQ = tensor("self_attn.indexer.wq_b.weight", {indexRows, dims.qLora});
  indexK = tensor("self_attn.indexer.wk.weight", {dims.indexDim, dims.hidden});
  indexNormWeight = tensor("self_attn.indexer.k_norm.weight", {dims.indexDim}, DType::F32);
  indexNormBias = tensor("self_attn.indexer.k_norm.bias", {dims.indexDim}, DType::F32);
  indexWeights = tensor("self_attn.indexer.weights_proj.weight", {dims.indexHeads, dims.hidden});
  postNorm = tensor("post_attention_layernorm.weight", {dims.hidden});
  gate = tensor("mlp.gate.weight", {dims.experts, dims.hidden});
  bias = tensor("mlp.gate.e_score_correction_bias", {dims.experts}, DType::F32);
}

static StringRef projectionName(Projection projection) {
  switch (projection) {
  case Projection::Gate:
    return "gate_proj";
  case Projection::Up:
    return "up_proj";
  case Projection::Down:
    return "down_proj";
  }
  return "";
}

CheckpointTensor LayerTensors::expertTensor(size_t index, Projection projection, StringRef suffix,
                                            size_t elementsPerByte) const {
  bool down = projection == Projection::Down;
  std::string owner = index == dims.experts ? "shared_experts" : fmt::format("experts.{}", index);
  return {
      fmt::format("{}mlp.{}.{}.{}", prefix, owner, projectionName(projection), suffix), DType::U8,
      shapeOf({down ? dims.hidden : dims.moe, (down ? dims.moe : dims.hidden) / elementsPerByte})};
}

CheckpointTensor LayerTensors::expert(size_t index, Projection projection) const {
  return expertTensor(index, projection, "weight", 2);
}

CheckpointTensor LayerTensors::expertScale(size_t index, Projection projection) const {
  return expertTensor(index, projection, "weight_scale", mxBlock);
}

std::vector<CheckpointTensor> LayerTensors::all(bool indexer) const {
  std::vector<CheckpointTensor> tensors = {inputNorm, qA,      qANorm,   qB,   kvA, kvANorm,
                                           kvB,       outProj, postNorm, gate, bias};
  if (indexer)
    tensors.insert(tensors.end(), {indexQ, indexK, indexNormWeight, indexNormBias, indexWeights});
  for (size_t index = 0; index <= dims.experts; ++index)
    for (Projection projection : {Projection::Gate, Projection::Up, Projection::Down}) {
      tensors.push_back(expert(index, projection));
      tensors.push_back(expertScale(index, projection));
    }
  return tensors;
}

} // namespace mono::models::glm5
