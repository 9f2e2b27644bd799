// A stand-in for the kernel of glm5_layer: computes every output in double precision from the
// operands of all ranks, in the absorbed form and rank by rank as a kernel would.
#pragma once

#include "models/glm5/LayerProblem.h"

namespace mono::test {

/// A layer that a test computes in no time: 5 rows on 2 ranks.
models::glm5::LayerSizes smallLayerSizes();

/// The manifest of a kernel with these sizes; every operand row-major.
Manifest layerManifest(const models::glm5::LayerSizes &sizes);

/// A code object that carries the manifest; its code does nothing.
std::vector<uint8_t> layerCodeObject(const Manifest &manifest);

/// What such a kernel leaves on every rank, rounded to the operands' types at the end.
std::vector<models::RankOutputs> runLayer(const Manifest &manifest, models::Problem &problem);

} // namespace mono::test
