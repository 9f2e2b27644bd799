// Decoder layers with grouped-query attention and a gated MLP, dense or of experts: dimensions,
// launch and operands. One description for all models of this kind (DecoderModels.h).
#pragma once

#include "models/Operands.h"

namespace mono::models::decoder {

/// What a model has besides its dimensions.
struct DecoderModel {
  llvm::StringLiteral schedule;
  double eps;      ///< of every RMSNorm
  bool hasQkNorm;  ///< RMSNorm of each head of queries and keys before RoPE
  bool hasExperts; ///< MXFP4 experts, softmax routing; else a bf16 MLP
  /// Rotary frequencies of the pairs (i, i + dim / 2) of a head of `dim` values.
  std::vector<double> (*frequencies)(size_t dim);
};

/// Dimensions of a layer and of one launch of it.
struct DecoderSizes {
  size_t hidden = 0;
  size_t heads = 0;   ///< query heads
  size_t kvHeads = 0; ///< key and value heads
  size_t dim = 0;     ///< of a head
  size_t mlp = 0;     ///< units of the MLP, or of an expert
  size_t experts = 0; ///< 0: a dense MLP
  size_t chosen = 0;  ///< experts of a token

  size_t rows = 1;      ///< S, tokens
  size_t ranks = 1;     ///< TP
  size_t context = 0;   ///< CTX, tokens a row can have at most
  size_t page = 0;      ///< PAGE, tokens of a cache page
  size_t splits = 1;    ///< SPLITS, attention tasks of a row and key head
  bool ordered = false; ///< the rows are consecutive tokens of one sequence

  size_t headsPerRank() const { return heads / ranks; }
  /// Key heads on a rank: at least one, which several ranks then share.
  size_t kvHeadsPerRank() const { return (kvHeads + ranks - 1) / ranks; }
  size_t firstKvHead(size_t rank) const { return rank * kvHeads / ranks; }
  size_t mlpPerRank() const { return mlp / ranks; }
  /// Units of an expert in w_down: whole tiles of MXFP4 weights; what is more is zero.
  size_t paddedMlpPerRank() const { return (mlpPerRank() + 127) / 128 * 128; }
  size_t pages() const { return context / page; }
  size_t cacheRows() const { return rows * context; }
};

/// All operands, rank r of TP, with H and KV query and key heads on a rank:
///   x [S, HIDDEN] bf16; positions [S], block_table [S, PAGES] i32; cos_sin [CTX, DIM] f32;
///   cache_k, cache_v [S * CTX, KV, DIM] bf16 (update);
///   w_in, w_post [HIDDEN], q_norm, k_norm [DIM] (with QK norm) bf16; w_qkv [(H + 2 KV) * DIM,
///   HIDDEN] bf16 (queries, keys, values); w_o [HIDDEN, H * DIM] bf16; dense: w_gate_up [2 *
///   MLP/TP, HIDDEN], w_down [HIDDEN, MLP/TP] bf16; experts: w_router [EXPERTS, HIDDEN] bf16;
///   w_gate_up [EXPERTS, 2 * MLP/TP, HIDDEN], w_down [EXPERTS, HIDDEN, padded MLP/TP] MXFP4, each
///   with its scales (_scale).
/// Rows of w_gate_up: gateRows gate rows, then the up rows of the same units, and so on.
/// Results: y, attn_residual [S, HIDDEN] bf16; with experts router_logits [S, EXPERTS] f32,
///   topk_ids [S, CHOSEN] i32 ascending, topk_weights [S, CHOSEN] f32.
std::vector<OperandSpec> decoderOperands(const DecoderModel &model, const DecoderSizes &sizes);

/// Sizes from the compile parameters of a kernel: S, TP, CTX, PAGE, SPLITS, HIDDEN, HEADS,
/// KV_HEADS, DIM, and MLP, or MOE, EXPERTS and CHOSEN. Error when one is missing, when sizes do not
/// divide as the operands need it, and when the kernel's operands are not decoderOperands().
llvm::Expected<DecoderSizes> readDecoderSizes(const DecoderModel &model, const Manifest &manifest);

/// Error naming the first size that does not fit the others.
llvm::Error checkDecoderSizes(const DecoderSizes &sizes);

} // namespace mono::models::decoder
