// The test problem of attn_out_router: sizes, inputs and expected results, however they were made.
#pragma once

#include "models/glm5/Router.h"

#include <optional>

namespace mono::models::glm5 {

/// Sizes of the block, read from the operands so that small schedules of the same name can be
/// tested too.
struct AttnOutRouterSizes {
  size_t rows, ranks, inner, hidden, experts, chosen;
  size_t innerPerRank() const { return inner / ranks; }
};

/// What every rank's operands are cut from; row-major, all ranks together.
struct AttnOutRouterInputs {
  std::vector<uint16_t> h;          ///< [rows, inner]
  std::vector<uint16_t> outProj;    ///< [hidden, inner]
  std::vector<uint16_t> x;          ///< [rows, hidden]
  std::vector<uint16_t> normWeight; ///< [hidden]
  std::vector<uint16_t> gate;       ///< [experts, hidden]
  std::vector<float> bias;          ///< [experts]
};

/// What must come out.
struct AttnOutRouterResults {
  std::vector<double> attnResidual; ///< [rows, hidden]
  Routing routing;
};

/// The sizes of a kernel whose operands are those of attn_out_router (AttnOutRouter.h); error
/// naming the first operand that is missing or of another access, shape or element type.
llvm::Expected<AttnOutRouterSizes> checkAttnOutRouter(const Manifest &manifest);

/// The double-precision reference.
AttnOutRouterResults attnOutRouterReference(const AttnOutRouterSizes &sizes,
                                            const AttnOutRouterInputs &inputs);

/// The problem with these inputs. Without `expected`, the reference is computed when outputs are
/// checked.
std::unique_ptr<Problem> makeAttnOutRouterProblem(const AttnOutRouterSizes &sizes,
                                                  AttnOutRouterInputs inputs,
                                                  std::optional<AttnOutRouterResults> expected);

} // namespace mono::models::glm5
