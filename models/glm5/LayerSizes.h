// Dimensions of a GLM-5 decoder layer and of one launch of it; operands of the schedule glm5_layer.
#pragma once

#include "models/Operands.h"

namespace mono::models::glm5 {

/// Base of the rotary frequencies theta^(-2i / ROPE).
inline constexpr double ropeTheta = 1e6;

/// The model's dimensions, by default those of GLM-5.
struct LayerDims {
  size_t hidden = 6144;
  size_t heads = 64;
  size_t qLora = 2048;
  size_t kvLora = 512;
  size_t nope = 192;
  size_t rope = 64;
  size_t vDim = 256;
  size_t indexHeads = 32;
  size_t indexDim = 128;
  size_t topk = 2048; ///< tokens a row attends to
  size_t experts = 256;
  size_t moe = 2048; ///< units of an expert
  size_t chosen = 8; ///< experts of a token

  /// A head's query and key.
  size_t qkDim() const { return nope + rope; }
  /// A head's rows of kv_b_proj: those for keys, then those for values.
  size_t kvRows() const { return nope + vDim; }
  /// What the cache has of a token: latent, then rotated rope part.
  size_t cacheWidth() const { return kvLora + rope; }
};

/// A layer's dimensions with those of a launch.
struct LayerSizes : LayerDims {
  size_t rows = 1;            ///< S, tokens
  size_t ranks = 8;           ///< TP
  size_t context = 4096;      ///< CTX, tokens a row can have at most
  size_t page = 64;           ///< PAGE, tokens of a cache page
  bool ordered = false;       ///< the rows are consecutive tokens of one sequence; no kernel minds
  bool indexer = true;        ///< the layer chooses its tokens; else they are given
  bool sharded = false;       ///< SHARD_A, ranks share the projections that all of them need
  bool mxAttention = false;   ///< ATTN=mxfp8: attention weights are MXFP8, not bf16
  bool mxActivations = false; ///< ACT=mxfp8: experts take MXFP8 activations, not bf16

  size_t headsPerRank() const { return heads / ranks; }
  size_t moePerRank() const { return moe / ranks; }
  /// Cache pages of a row.
  size_t pages() const { return context / page; }
  /// Tokens in each cache.
  size_t cacheRows() const { return rows * context; }
  /// Ranks that each compute another part of the projections of the normed input and of the index
  /// queries.
  size_t shares() const { return sharded ? ranks : 1; }
  /// Rows of the projections of the normed input but q_a.
  size_t smallRows() const { return kvLora + rope + (indexer ? indexDim + indexHeads : 0); }
  /// The same a share, in whole tiles of 16 rows; what is more is zero.
  size_t smallRowsPerShare() const {
    return (smallRows() + 16 * shares() - 1) / (16 * shares()) * 16;
  }
  /// Rows of the matrix w_a: the rank's share of q_a, then of the rest.
  size_t downRowsPerShare() const { return qLora / shares() + smallRowsPerShare(); }
  size_t indexHeadsPerShare() const { return indexHeads / shares(); }
};

/// All operands, rank r of TP. Projections and norms:
///   w_in [HIDDEN], w_post [HIDDEN], q_norm [Q_LORA], kv_norm [KV_LORA] bf16; index_norm_w,
///   index_norm_b [INDEX_DIM] f32; w_a [Q_LORA + KV_LORA + ROPE + INDEX_DIM + INDEX_HEADS, HIDDEN]
///   bf16 (q_a, latent, rope, index key, index head weights; zero rows up to a multiple of 16; with
///   SHARD_A = 1 the rank's share of q_a, then of the rest);
///   w_qb [HEADS/TP * (NOPE + ROPE), Q_LORA] bf16; w_iq [INDEX_HEADS * INDEX_DIM, Q_LORA] bf16
///   (with SHARD_A = 1 the rank's share of the heads);
///   w_uk [HEADS/TP * KV_LORA, NOPE] bf16 (key part of kv_b, each head transposed); w_uv [HEADS/TP
///   * V_DIM, KV_LORA] bf16 (value part); w_o [HIDDEN, HEADS/TP * V_DIM] bf16; w_gate [EXPERTS,
///   HIDDEN] bf16; bias [EXPERTS] f32.
/// Experts, the last one the shared one:
///   w_gate_up [EXPERTS + 1, 2 MOE/TP, HIDDEN] FP4E2M1 (16 gate rows, then the 16 up rows of the
///   same units, and so on), w_down [EXPERTS + 1, HIDDEN, MOE/TP] FP4E2M1; w_gate_up_scale and
///   w_down_scale E8M0, one for 32 elements of a row.
/// With ATTN = mxfp8 the matrices w_a, w_qb, w_iq, w_uk, w_uv and w_o are FP8E4M3, each with an
/// operand NAME_scale E8M0, one for 32 elements of a row. Tokens and caches:
///   x [S, HIDDEN] bf16; positions [S] i32; block_table [S, CTX/PAGE] i32 (page t / PAGE of a row
///   begins at cache row entry * PAGE); cos_sin [CTX, ROPE] f32 (cosines of a position's angles,
///   then sines); cache_kv [S * CTX, KV_LORA + ROPE] bf16 update (latent, then rotated rope part,
///   interleaved pairs); cache_index [S * CTX, INDEX_DIM] bf16 update (its rope part first,
///   interleaved pairs).
/// Results: y, attn_residual [S, HIDDEN] bf16; index_topk [S, TOPK] i32 (ascending, then -1);
///   router_logits [S, EXPERTS] f32; topk_ids [S, CHOSEN] i32 ascending; topk_weights [S, CHOSEN]
///   f32.
/// Without an indexer (INDEXER = 0) index_topk is read, w_a ends before the index rows, and w_iq,
/// index_norm_w, index_norm_b and cache_index are not there.
std::vector<OperandSpec> layerOperands(const LayerSizes &sizes);

/// Sizes from the compile parameters of a kernel: S, TP, CTX, PAGE, INDEXER, SHARD_A,
/// ATTN, ACT, HIDDEN, HEADS, Q_LORA, KV_LORA, NOPE, ROPE, V_DIM, INDEX_HEADS, INDEX_DIM, TOPK,
/// EXPERTS, MOE, CHOSEN. Error when one is missing, when sizes do not divide as the operands need
/// it, and when the kernel's operands are not layerOperands().
llvm::Expected<LayerSizes> readLayerSizes(const Manifest &manifest);

/// Error naming the first size that does not fit the others.
llvm::Error checkLayerSizes(const LayerSizes &sizes);

/// The dimensions by parameter name, e.g. {"HIDDEN", &dims.hidden}.
std::vector<std::pair<llvm::StringRef, size_t *>> dimensionParams(LayerDims &dims);

} // namespace mono::models::glm5
