// Operand table of glm5_layer and the checks of a kernel against it.
#include "models/glm5/LayerSizes.h"
#include "models/Mxfp4.h"
#include "models/Operands.h"

using namespace llvm;

namespace mono::models::glm5 {

std::vector<std::pair<StringRef, size_t *>> dimensionParams(LayerDims &dims) {
  return {{"HIDDEN", &dims.hidden},      {"HEADS", &dims.heads},
          {"Q_LORA", &dims.qLora},       {"KV_LORA", &dims.kvLora},
          {"NOPE", &dims.nope},          {"ROPE", &dims.rope},
          {"V_DIM", &dims.vDim},         {"INDEX_HEADS", &dims.indexHeads},
          {"INDEX_DIM", &dims.indexDim}, {"TOPK", &dims.topk},
          {"EXPERTS", &dims.experts},    {"MOE", &dims.moe},
          {"CHOSEN", &dims.chosen}};
}

/// A matrix of bf16, or of MXFP8 with its scales.
static void addMatrix(OperandList &list, StringRef name, bool mx, size_t rows, size_t columns) {
  using enum ElementType;
  list.add(OperandAccess::Read, name, mx ? FP8E4M3 : BF16, {rows, columns});
  if (mx)
    list.add(OperandAccess::Read, name.str() + "_scale", E8M0, {rows, columns / mxBlock});
}

static void addTokens(OperandList &list, const LayerSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  list.add(Read, "x", BF16, {sizes.rows, sizes.hidden});
  list.add(Read, "positions", I32, {sizes.rows});
  list.add(Read, "block_table", I32, {sizes.rows, sizes.pages()});
  list.add(Read, "cos_sin", F32, {sizes.context, sizes.rope});
  list.add(Update, "cache_kv", BF16, {sizes.cacheRows(), sizes.cacheWidth()});
  if (sizes.indexer)
    list.add(Update, "cache_index", BF16, {sizes.cacheRows(), sizes.indexDim});
}

static void addAttention(OperandList &list, const LayerSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  size_t heads = sizes.headsPerRank();
  bool mx = sizes.mxAttention;
  list.add(Read, "w_in", BF16, {sizes.hidden});
  addMatrix(list, "w_a", mx, sizes.downRowsPerShare(), sizes.hidden);
  list.add(Read, "q_norm", BF16, {sizes.qLora});
  list.add(Read, "kv_norm", BF16, {sizes.kvLora});
  if (sizes.indexer) {
    list.add(Read, "index_norm_w", F32, {sizes.indexDim});
    list.add(Read, "index_norm_b", F32, {sizes.indexDim});
    addMatrix(list, "w_iq", mx, sizes.indexHeadsPerShare() * sizes.indexDim, sizes.qLora);
  }
  addMatrix(list, "w_qb", mx, heads * sizes.qkDim(), sizes.qLora);
  addMatrix(list, "w_uk", mx, heads * sizes.kvLora, sizes.nope);
  addMatrix(list, "w_uv", mx, heads * sizes.vDim, sizes.kvLora);
  addMatrix(list, "w_o", mx, sizes.hidden, heads * sizes.vDim);
}

static void addExperts(OperandList &list, const LayerSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  size_t units = sizes.moePerRank();
  list.add(Read, "w_post", BF16, {sizes.hidden});
  list.add(Read, "w_gate", BF16, {sizes.experts, sizes.hidden});
  list.add(Read, "bias", F32, {sizes.experts});
  list.add(Read, "w_gate_up", FP4E2M1, {sizes.experts + 1, 2 * units, sizes.hidden});
  list.add(Read, "w_gate_up_scale", E8M0, {sizes.experts + 1, 2 * units, sizes.hidden / mxBlock});
  list.add(Read, "w_down", FP4E2M1, {sizes.experts + 1, sizes.hidden, units});
  list.add(Read, "w_down_scale", E8M0, {sizes.experts + 1, sizes.hidden, units / mxBlock});
}

static void addResults(OperandList &list, const LayerSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  list.add(Write, "y", BF16, {sizes.rows, sizes.hidden});
  list.add(Write, "attn_residual", BF16, {sizes.rows, sizes.hidden});
  list.add(Update, "index_topk", I32, {sizes.rows, sizes.topk});
  list.add(Write, "router_logits", F32, {sizes.rows, sizes.experts});
  list.add(Write, "topk_ids", I32, {sizes.rows, sizes.chosen});
  list.add(Write, "topk_weights", F32, {sizes.rows, sizes.chosen});
}

std::vector<OperandSpec> layerOperands(const LayerSizes &sizes) {
  OperandList list;
  addTokens(list, sizes);
  addAttention(list, sizes);
  addExperts(list, sizes);
  addResults(list, sizes);
  return std::move(list.operands);
}

Error checkLayerSizes(const LayerSizes &sizes) {
  const Division divisions[] = {
      {"HEADS", "TP", sizes.heads, sizes.ranks},
      {"MOE", "32 TP", sizes.moe, mxBlock * sizes.ranks},
      {"HIDDEN", "32", sizes.hidden, mxBlock},
      {"CTX", "PAGE", sizes.context, sizes.page},
      {"ROPE", "2", sizes.rope, 2},
      {"INDEX_HEADS", "the ranks that share them", sizes.indexHeads, sizes.shares()},
      {"Q_LORA", "16 times the ranks that share it", sizes.qLora, 16 * sizes.shares()},
  };
  if (Error error = checkDivisions(divisions))
    return error;
  if (sizes.rows == 0)
    return makeError("expected S to be at least 1, but got 0");
  if (sizes.rope > sizes.indexDim)
    return makeError("expected ROPE to be at most INDEX_DIM = {}, but got {}", sizes.indexDim,
                     sizes.rope);
  if (sizes.chosen > sizes.experts)
    return makeError("expected CHOSEN to be at most EXPERTS = {}, but got {}", sizes.experts,
                     sizes.chosen);
  if (sizes.ordered && sizes.rows > sizes.context)
    return makeError("expected S to be at most CTX = {}, but got {}", sizes.context, sizes.rows);
  return Error::success();
}

Expected<LayerSizes> readLayerSizes(const Manifest &manifest) {
  LayerSizes sizes;
  size_t indexer = 0, sharded = 0, mxAttention = 0, mxActivations = 0;
  std::vector<std::pair<StringRef, size_t *>> params = dimensionParams(sizes);
  params.insert(params.end(), {{"S", &sizes.rows},
                               {"TP", &sizes.ranks},
                               {"CTX", &sizes.context},
                               {"PAGE", &sizes.page},
                               {"INDEXER", &indexer},
                               {"SHARD_A", &sharded},
                               {"ATTN", &mxAttention},
                               {"ACT", &mxActivations}});
  for (auto [name, value] : params)
    if (Error error = readSizeParam(manifest, name, *value))
      return error;
  sizes.indexer = indexer != 0;
  sizes.sharded = sharded != 0;
  sizes.mxAttention = mxAttention != 0;
  sizes.mxActivations = mxActivations != 0;
  if (Error error = checkLayerSizes(sizes))
    return error;
  if (Error error = checkOperands(manifest, layerOperands(sizes)))
    return error;
  return sizes;
}

} // namespace mono::models::glm5
