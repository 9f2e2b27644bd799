// The GLM-5 layer at the dimensions of the tiny golden cases, compiled and on the emulator.
#pragma once

#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "models/glm5/LayerProblem.h"
#include "runtime/EmulatorDevice.h"

namespace mono::test {

/// Parameters of models/glm5/layer.mlir: contexts of 256 tokens in pages of 16, 64 chosen, in two
/// splits.
models::Params tinyLayer(int64_t rows, int64_t ranks);

/// The code object; diagnostics go to stderr.
llvm::Expected<std::vector<uint8_t>> compileLayer(const models::Params &params);

/// A compiled layer, loaded on a node of its own.
struct LayerOnEmulator {
  models::glm5::LayerSizes sizes;
  std::unique_ptr<EmulatorNode> node;
  std::unique_ptr<Group> group; ///< gone before the node

  static llvm::Expected<LayerOnEmulator> create(llvm::ArrayRef<uint8_t> codeObject,
                                                const emu::Options &options = {});
};

} // namespace mono::test
