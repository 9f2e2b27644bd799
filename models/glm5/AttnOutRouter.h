// GLM-5, from the attention output to the routing: output projection over ranks, all-reduce,
// residual, RMSNorm, router. Inputs, double-precision reference and golden cases of the schedule
// attn_out_router.
//
// Operands, rank r of TP, K = 16384 / TP columns of o_proj a rank:
//   h [S, K] bf16 (columns r*K..), w_o [6144, K] bf16 (columns r*K..), x [S, 6144] bf16,
//   w_post [6144] bf16, w_gate [256, 6144] bf16, bias [256] f32; and, equal on every rank,
//   attn_residual [S, 6144] bf16, router_logits [S, 256] f32, topk_ids [S, 8] i32 ascending,
//   topk_weights [S, 8] f32 in the order of topk_ids.
#pragma once

#include "models/Registry.h"

namespace mono::models::glm5 {

/// attn_residual [rows, hidden] = x + h * w_o^T; h [rows, inner], w_o [hidden, inner], all ranks'
/// columns together.
std::vector<double> attnResidual(llvm::ArrayRef<uint16_t> h, llvm::ArrayRef<uint16_t> outProj,
                                 llvm::ArrayRef<uint16_t> x, size_t rows);

/// Uniform inputs with outlier channels in h and x; weights scaled as in the golden cases.
llvm::Expected<std::unique_ptr<Problem>> randomAttnOutRouter(const Manifest &manifest,
                                                             uint64_t seed);

/// The router part of a full-size golden case: h = 0 and x = bf16 of its attn_residual, so that
/// what follows must give its logits, ids and weights.
llvm::Expected<std::unique_ptr<Problem>> goldenAttnOutRouter(const Manifest &manifest,
                                                             const SafetensorsFile &file);

/// S from the case, TP = 8.
llvm::Expected<Params> goldenParamsOfAttnOutRouter(const SafetensorsFile &file);

} // namespace mono::models::glm5
