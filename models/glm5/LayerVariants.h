// Random cases of the layer that go to an edge: of routing, of numbers, of positions.
#pragma once

#include "models/glm5/LayerProblem.h"

namespace mono::models::glm5 {

/// The case a variant makes of randomLayerCase(); error naming those there are when there is none
/// of that name.
///
///   same-experts       all rows choose the same experts
///   different-experts  no two rows share a chosen expert, as far as there are experts
///   large              the residual stream is 4096 times larger
///   zero-rows          every other row of the residual stream is zero, the first too
///   scales             an eighth of the experts' scales is 2^-127, one in 64 is 2^16 times larger
///   lengths            rows are in turn as long and as short as they can be
///   borders            positions 0, 1, TOPK - 2 ..= TOPK + 1, CTX - 1, or what of them fits
///   ordered            rows are consecutive tokens of one sequence
///
/// "ordered-NAME" is a variant of ordered rows: in "lengths" they begin at position 0, in "borders"
/// at the last possible one.
llvm::Expected<LayerCase> layerVariant(llvm::StringRef name, LayerSizes sizes, uint64_t seed);

/// How the registry makes the problem of a variant.
llvm::Expected<std::unique_ptr<Problem>> variantOfLayer(const Manifest &manifest,
                                                        llvm::StringRef name, uint64_t seed);

} // namespace mono::models::glm5
