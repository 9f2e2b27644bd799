// Operand table of decoder layers and the checks of a kernel against it.
#include "models/decoder/DecoderSizes.h"
#include "models/Mxfp4.h"
#include "models/Operands.h"
#include "models/WeightCuts.h"

using namespace llvm;

namespace mono::models::decoder {

static void addTokens(OperandList &list, const DecoderSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  list.add(Read, "x", BF16, {sizes.rows, sizes.hidden});
  list.add(Read, "positions", I32, {sizes.rows});
  list.add(Read, "block_table", I32, {sizes.rows, sizes.pages()});
  list.add(Read, "cos_sin", F32, {sizes.context, sizes.dim});
  for (StringRef cache : {"cache_k", "cache_v"})
    list.add(Update, cache, BF16, {sizes.cacheRows(), sizes.kvHeadsPerRank(), sizes.dim});
}

static void addAttention(OperandList &list, const DecoderModel &model, const DecoderSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  size_t heads = sizes.headsPerRank() + 2 * sizes.kvHeadsPerRank();
  list.add(Read, "w_in", BF16, {sizes.hidden});
  list.add(Read, "w_qkv", BF16, {heads * sizes.dim, sizes.hidden});
  if (model.hasQkNorm)
    for (StringRef norm : {"q_norm", "k_norm"})
      list.add(Read, norm, BF16, {sizes.dim});
  list.add(Read, "w_o", BF16, {sizes.hidden, sizes.headsPerRank() * sizes.dim});
  list.add(Read, "w_post", BF16, {sizes.hidden});
}

static void addMlp(OperandList &list, const DecoderModel &model, const DecoderSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  size_t units = sizes.mlpPerRank(), padded = sizes.paddedMlpPerRank(), experts = sizes.experts;
  if (!model.hasExperts) {
    list.add(Read, "w_gate_up", BF16, {2 * units, sizes.hidden});
    list.add(Read, "w_down", BF16, {sizes.hidden, units});
    return;
  }
  list.add(Read, "w_router", BF16, {experts, sizes.hidden});
  list.add(Read, "w_gate_up", FP4E2M1, {experts, 2 * units, sizes.hidden});
  list.add(Read, "w_gate_up_scale", E8M0, {experts, 2 * units, sizes.hidden / mxBlock});
  list.add(Read, "w_down", FP4E2M1, {experts, sizes.hidden, padded});
  list.add(Read, "w_down_scale", E8M0, {experts, sizes.hidden, padded / mxBlock});
}

static void addResults(OperandList &list, const DecoderModel &model, const DecoderSizes &sizes) {
  using enum OperandAccess;
  using enum ElementType;
  list.add(Write, "y", BF16, {sizes.rows, sizes.hidden});
  list.add(Write, "attn_residual", BF16, {sizes.rows, sizes.hidden});
  if (!model.hasExperts)
    return;
  list.add(Write, "router_logits", F32, {sizes.rows, sizes.experts});
  list.add(Write, "topk_ids", I32, {sizes.rows, sizes.chosen});
  list.add(Write, "topk_weights", F32, {sizes.rows, sizes.chosen});
}

std::vector<OperandSpec> decoderOperands(const DecoderModel &model, const DecoderSizes &sizes) {
  OperandList list;
  addTokens(list, sizes);
  addAttention(list, model, sizes);
  addMlp(list, model, sizes);
  addResults(list, model, sizes);
  return std::move(list.operands);
}

Error checkDecoderSizes(const DecoderSizes &sizes) {
  // Ranks share the key heads evenly, or each key head is that of as many ranks.
  size_t more = std::max(sizes.kvHeads, sizes.ranks), fewer = std::min(sizes.kvHeads, sizes.ranks);
  const Division divisions[] = {
      {"HEADS", "TP", sizes.heads, sizes.ranks},
      {"HEADS", "KV_HEADS", sizes.heads, sizes.kvHeads},
      {"the larger of KV_HEADS and TP", "the smaller", more, fewer},
      {"the units of the MLP", "16 TP", sizes.mlp, gateRows * sizes.ranks},
      {"HIDDEN", "128", sizes.hidden, 128},
      {"CTX", "PAGE", sizes.context, sizes.page},
      {"CTX", "32 SPLITS", sizes.context, 32 * sizes.splits},
      {"DIM", "2", sizes.dim, 2},
  };
  if (Error error = checkDivisions(divisions))
    return error;
  if (sizes.chosen > sizes.experts)
    return makeError("expected CHOSEN to be at most EXPERTS = {}, but got {}", sizes.experts,
                     sizes.chosen);
  if (sizes.ordered && sizes.rows > sizes.context)
    return makeError("expected S to be at most CTX = {}, but got {}", sizes.context, sizes.rows);
  return Error::success();
}

Expected<DecoderSizes> readDecoderSizes(const DecoderModel &model, const Manifest &manifest) {
  DecoderSizes sizes;
  std::vector<std::pair<StringRef, size_t *>> params = {
      {"S", &sizes.rows},        {"TP", &sizes.ranks},
      {"CTX", &sizes.context},   {"PAGE", &sizes.page},
      {"SPLITS", &sizes.splits}, {"HIDDEN", &sizes.hidden},
      {"HEADS", &sizes.heads},   {"KV_HEADS", &sizes.kvHeads},
      {"DIM", &sizes.dim},       {model.hasExperts ? "MOE" : "MLP", &sizes.mlp}};
  if (model.hasExperts)
    params.insert(params.end(), {{"EXPERTS", &sizes.experts}, {"CHOSEN", &sizes.chosen}});
  for (auto [name, value] : params)
    if (Error error = readSizeParam(manifest, name, *value))
      return error;
  if (Error error = checkDecoderSizes(sizes))
    return error;
  if (Error error = checkOperands(manifest, decoderOperands(model, sizes)))
    return error;
  return sizes;
}

} // namespace mono::models::decoder
