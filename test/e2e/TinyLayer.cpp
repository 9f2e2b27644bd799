// Compiling and loading the small layer.
#include "test/e2e/TinyLayer.h"
#include "lowering/Compile.h"

using namespace llvm;

namespace mono::test {

models::Params tinyLayer(int64_t rows, int64_t ranks) {
  return {{"S", rows},     {"TP", ranks}, {"CTX", 256},       {"PAGE", 16},      {"SPLITS", 2},
          {"HIDDEN", 512}, {"HEADS", 16}, {"Q_LORA", 256},    {"KV_LORA", 128},  {"NOPE", 64},
          {"ROPE", 32},    {"V_DIM", 64}, {"INDEX_HEADS", 8}, {"INDEX_DIM", 64}, {"TOPK", 64},
          {"EXPERTS", 16}, {"MOE", 256},  {"CHOSEN", 4}};
}

Expected<std::vector<uint8_t>> compileLayer(const models::Params &params) {
  CompileOptions options;
  options.params = params;
  return compileFile(MONO_SOURCE_DIR "/models/glm5/layer.mlir", options);
}

Expected<LayerOnEmulator> LayerOnEmulator::create(ArrayRef<uint8_t> codeObject,
                                                  const emu::Options &options) {
  Expected<Manifest> manifest = readManifest(codeObject);
  if (!manifest)
    return manifest.takeError();
  Expected<models::glm5::LayerSizes> sizes = models::glm5::readLayerSizes(*manifest);
  if (!sizes)
    return sizes.takeError();
  auto node = EmulatorNode::create(manifest->ranks, options);
  if (!node)
    return node.takeError();
  Expected<Group> group = Group::create((*node)->devices(), codeObject);
  if (!group)
    return group.takeError();
  return LayerOnEmulator{*sizes, std::move(*node), std::make_unique<Group>(std::move(*group))};
}

} // namespace mono::test
