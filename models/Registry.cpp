// The table of models. A new model is one row here and its own files.
#include "models/Registry.h"
#include "models/glm5/AttnOutRouter.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mono::models {

static constexpr Model models[] = {
    {"attn_out_router", glm5::randomAttnOutRouter, glm5::goldenAttnOutRouter,
     glm5::goldenParamsOfAttnOutRouter},
};

const Model *findModel(StringRef schedule) {
  auto found =
      llvm::find_if(models, [&](const Model &model) { return model.schedule == schedule; });
  return found == std::end(models) ? nullptr : &*found;
}

std::string knownModels() {
  std::string names;
  for (const Model &model : models)
    names += (names.empty() ? "" : ", ") + model.schedule.str();
  return names;
}

} // namespace mono::models
