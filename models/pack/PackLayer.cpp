// Slice by slice from checkpoint to file.
#include "models/pack/PackLayer.h"
#include "models/Problem.h"
#include "models/glm5/WeightOperands.h"

using namespace llvm;

namespace mono::models {

static constexpr StringLiteral packable = "glm5_layer";

static Expected<glm5::LayerSizes> sizesOf(const Manifest &manifest) {
  if (manifest.schedule != packable)
    return makeError("schedule '{}' has no packing, only {} has", manifest.schedule, packable);
  return glm5::readLayerSizes(manifest);
}

Expected<std::vector<CheckpointTensor>> layerTensorsOf(const Manifest &manifest, unsigned layer) {
  Expected<glm5::LayerSizes> sizes = sizesOf(manifest);
  if (!sizes)
    return sizes.takeError();
  return glm5::LayerTensors(*sizes, layer).all(sizes->indexer);
}

static std::map<std::string, std::string> metadataOf(const Manifest &manifest, unsigned layer,
                                                     unsigned rank,
                                                     ArrayRef<const Operand *> weights) {
  std::map<std::string, std::string> metadata = {{"schedule", manifest.schedule},
                                                 {"layer", std::to_string(layer)},
                                                 {"rank", std::to_string(rank)}};
  for (const auto &[name, value] : manifest.params)
    metadata["param." + name] = std::to_string(value);
  for (const Operand *operand : weights)
    metadata["layout." + operand->name] = layoutName(operand->type.layout).str();
  return metadata;
}

Error packLayer(const Manifest &manifest, unsigned layer, const Checkpoint &checkpoint,
                unsigned rank, StringRef path, function_ref<void(const PackProgress &)> progress) {
  Expected<glm5::LayerSizes> sizes = sizesOf(manifest);
  if (!sizes)
    return sizes.takeError();
  if (rank >= sizes->ranks)
    return makeError("expected a rank below {}, but got {}", sizes->ranks, rank);
  std::vector<const Operand *> weights;
  std::vector<TensorView> tensors;
  PackProgress state;
  state.rank = rank;
  for (const Operand &operand : manifest.operands)
    if (glm5::WeightOperands::has(operand.name)) {
      weights.push_back(&operand);
      tensors.push_back(
          {operand.name, dtypeOf(operand.type.element), fileShapeOf(operand.type), {}});
      state.allBytes += operand.type.bytes();
    }
  auto writer =
      SafetensorsWriter::create(path, tensors, metadataOf(manifest, layer, rank, weights));
  if (!writer)
    return writer.takeError();
  glm5::WeightOperands source(*sizes, layer, checkpoint);
  for (const Operand *operand : weights) {
    state.operand = operand->name;
    progress(state);
    TensorType slice = sliceType(operand->type);
    std::vector<uint8_t> rowMajor(slice.bytes()), packed(slice.bytes());
    for (size_t i = 0; i < sliceCount(operand->type); ++i) {
      source.fill(rank, operand->name, i, rowMajor);
      if (Error error = pack(slice, rowMajor, packed))
        return addContext(std::move(error), operand->name);
      if (Error error = writer->append(packed))
        return error;
    }
    state.doneBytes += operand->type.bytes();
  }
  state.operand.clear();
  progress(state);
  return writer->finish();
}

} // namespace mono::models
