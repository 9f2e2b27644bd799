// The table of models. A new model is one row here and its own files.
#include "models/Registry.h"
#include "models/decoder/DecoderModels.h"
#include "models/glm5/AttnOutRouter.h"
#include "models/glm5/LayerProblem.h"
#include "models/glm5/LayerVariants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mono::models {

static constexpr Model models[] = {
    {"attn_out_router", "glm5/attn_out_router.mlir", glm5::randomAttnOutRouter, nullptr,
     glm5::goldenAttnOutRouter, glm5::goldenParamsOfAttnOutRouter},
    {"glm5_layer", "glm5/layer.mlir", glm5::randomLayer, glm5::variantOfLayer, glm5::goldenLayer,
     glm5::goldenParamsOfLayer},
    {"llama3_layer", "llama3/layer.mlir", decoder::randomLlama3, decoder::variantOfLlama3, nullptr,
     nullptr},
    {"qwen3_moe_layer", "qwen3_moe/layer.mlir", decoder::randomQwen3Moe, decoder::variantOfQwen3Moe,
     nullptr, nullptr},
};

const Model *findModel(StringRef schedule) {
  auto found =
      llvm::find_if(models, [&](const Model &model) { return model.schedule == schedule; });
  return found == std::end(models) ? nullptr : &*found;
}

const Model *findModelOfFile(StringRef path) {
  StringRef folder = sys::path::filename(sys::path::parent_path(path));
  StringRef name = sys::path::filename(path);
  auto found = llvm::find_if(models, [&](const Model &model) {
    auto [knownFolder, knownName] = StringRef(model.file).split('/');
    // Seen from its own folder, a file shows only its name.
    bool sameFile = name == knownName && (folder.empty() || folder == knownFolder);
    return sameFile || sys::path::stem(path) == model.schedule;
  });
  return found == std::end(models) ? nullptr : &*found;
}

std::string knownModels() {
  std::string names;
  for (const Model &model : models)
    names += (names.empty() ? "" : ", ") + model.schedule.str();
  return names;
}

} // namespace mono::models
