// A kernel's parameters and operands against the layer's.
#include "models/Registry.h"
#include "models/glm5/LayerProblem.h"
#include "test/models/LayerKernel.h"

#include <gtest/gtest.h>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

std::string fault(const Manifest &manifest) {
  return llvm::toString(readLayerSizes(manifest).takeError());
}

Manifest with(const char *param, int64_t value) {
  Manifest manifest = test::layerManifest(LayerSizes{});
  for (auto &[name, known] : manifest.params)
    if (name == param)
      known = value;
  return manifest;
}

TEST(LayerSizes, AreThoseOfGlm5ByDefault) {
  LayerSizes sizes;
  sizes.rows = 4;
  Manifest manifest = test::layerManifest(sizes);
  auto read = readLayerSizes(manifest);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->smallRows(), 736u); // 576 + 128 + 32
  EXPECT_EQ(read->cacheWidth(), 576u);
  auto describe = [&](const char *name) { return manifest.operand(name)->type.describe(); };
  EXPECT_EQ(describe("w_a"), "bf16 [2784, 6144], row_major");
  EXPECT_EQ(describe("w_qb"), "bf16 [2048, 2048], row_major");
  EXPECT_EQ(describe("w_uk"), "bf16 [4096, 192], row_major");
  EXPECT_EQ(describe("w_uv"), "bf16 [2048, 512], row_major");
  EXPECT_EQ(describe("w_o"), "bf16 [6144, 2048], row_major");
  EXPECT_EQ(describe("w_gate_up"), "f4E2M1FN [257, 512, 6144], row_major");
  EXPECT_EQ(describe("w_gate_up_scale"), "f8E8M0FNU [257, 512, 192], row_major");
  EXPECT_EQ(describe("w_down"), "f4E2M1FN [257, 6144, 256], row_major");
  EXPECT_EQ(describe("w_down_scale"), "f8E8M0FNU [257, 6144, 8], row_major");
  EXPECT_EQ(describe("block_table"), "i32 [4, 64], row_major");
}

TEST(LayerSizes, Mxfp8AttentionHasScales) {
  LayerSizes sizes;
  sizes.mxAttention = true;
  Manifest manifest = test::layerManifest(sizes);
  EXPECT_TRUE(bool(readLayerSizes(manifest)));
  auto describe = [&](const char *name) { return manifest.operand(name)->type.describe(); };
  EXPECT_EQ(describe("w_a"), "f8E4M3FN [2784, 6144], row_major");
  EXPECT_EQ(describe("w_a_scale"), "f8E8M0FNU [2784, 192], row_major");
  EXPECT_EQ(describe("w_uk_scale"), "f8E8M0FNU [4096, 6], row_major");
  EXPECT_EQ(describe("w_o_scale"), "f8E8M0FNU [6144, 64], row_major");
  EXPECT_EQ(describe("w_gate"), "bf16 [256, 6144], row_major");
}

TEST(LayerSizes, WithoutIndexerItsOperandsAreGone) {
  LayerSizes sizes;
  sizes.indexer = false;
  Manifest manifest = test::layerManifest(sizes);
  EXPECT_TRUE(bool(readLayerSizes(manifest)));
  EXPECT_EQ(manifest.operand("w_iq"), nullptr);
  EXPECT_EQ(manifest.operand("cache_index"), nullptr);
  EXPECT_EQ(manifest.operand("index_topk")->access, OperandAccess::Update);
  EXPECT_EQ(manifest.operand("w_a")->type.shape[0], 2624);
  sizes.rope = 60; // 2620 rows
  EXPECT_EQ(sizes.downRowsPerShare(), 2624u);
}

TEST(LayerSizes, RanksCanShareWhatAllOfThemNeed) {
  LayerSizes sizes;
  sizes.sharded = true;
  Manifest manifest = test::layerManifest(sizes);
  auto read = readLayerSizes(manifest);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(manifest.operand("w_a")->type.shape[0], 2048 / 8 + 96); // 736 / 8 in whole tiles
  EXPECT_EQ(manifest.operand("w_iq")->type.shape[0], 4096 / 8);
  sizes.indexHeads = 12;
  EXPECT_EQ(llvm::toString(checkLayerSizes(sizes)),
            "expected INDEX_HEADS to be a multiple of the ranks that share them = 8, but got 12");
  sizes.indexHeads = 32;
  sizes.qLora = 64;
  EXPECT_EQ(
      llvm::toString(checkLayerSizes(sizes)),
      "expected Q_LORA to be a multiple of 16 times the ranks that share it = 128, but got 64");
}

TEST(LayerSizes, ParametersAreChecked) {
  Manifest manifest = test::layerManifest(LayerSizes{});
  manifest.params.pop_back();
  EXPECT_EQ(fault(manifest), "kernel 'glm5_layer' has no parameter 'ACT'");
  EXPECT_EQ(fault(with("TOPK", -1)), "parameter 'TOPK': expected a size, but got -1");
  EXPECT_EQ(fault(with("TP", 3)), "expected HEADS to be a multiple of TP = 3, but got 64");
  EXPECT_EQ(fault(with("MOE", 128)), "expected MOE to be a multiple of 32 TP = 256, but got 128");
  EXPECT_EQ(fault(with("HIDDEN", 6145)),
            "expected HIDDEN to be a multiple of 32 = 32, but got 6145");
  EXPECT_EQ(fault(with("PAGE", 0)), "expected CTX to be a multiple of PAGE = 0, but got 4096");
  EXPECT_EQ(fault(with("S", 0)), "expected S to be at least 1, but got 0");
  EXPECT_EQ(fault(with("ROPE", 130)), "expected ROPE to be at most INDEX_DIM = 128, but got 130");
  EXPECT_EQ(fault(with("CHOSEN", 300)), "expected CHOSEN to be at most EXPERTS = 256, but got 300");
}

TEST(LayerSizes, OrderedRowsMustFitTheirSequence) {
  LayerSizes sizes;
  sizes.ordered = true;
  sizes.rows = 9;
  sizes.context = sizes.page = 8;
  EXPECT_EQ(llvm::toString(checkLayerSizes(sizes)), "expected S to be at most CTX = 8, but got 9");
}

TEST(LayerSizes, OperandsAreChecked) {
  Manifest manifest = test::layerManifest(LayerSizes{});
  manifest.operands.pop_back();
  EXPECT_EQ(fault(manifest), "expected 30 operands, but got 29");
  EXPECT_EQ(fault(with("V_DIM", 128)),
            "operand 'w_uv': expected bf16 [1024, 512], but got bf16 [2048, 512]");
}

TEST(GoldenLayerCase, TheKernelMustBeTheCases) {
  auto file = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/glm5_tiny_s4.safetensors");
  ASSERT_TRUE(bool(file));
  LayerGolden golden = llvm::cantFail(readLayerGolden(*file));
  auto faultOf = [&](LayerSizes sizes) {
    return llvm::toString(goldenLayerCase(sizes, golden).takeError());
  };
  LayerSizes sizes = golden.sizes();
  EXPECT_EQ(faultOf(sizes), "");
  sizes.context = 4096;
  EXPECT_EQ(faultOf(sizes), "");
  sizes.context = 128;
  EXPECT_EQ(faultOf(sizes),
            "the case needs CTX of at least 256, but the kernel was compiled for 128");
  sizes = golden.sizes();
  sizes.rows = 8;
  EXPECT_EQ(faultOf(sizes), "the case needs S = 4, but the kernel was compiled for 8");
  sizes = LayerSizes{};
  EXPECT_EQ(faultOf(sizes), "the case needs HIDDEN = 512, but the kernel was compiled for 6144");
  sizes = golden.sizes();
  sizes.indexer = false;
  EXPECT_EQ(faultOf(sizes), "the case needs INDEXER = 1, but the kernel was compiled for 0");
  sizes = golden.sizes();
  sizes.mxActivations = true;
  EXPECT_EQ(faultOf(sizes),
            "the case needs ATTN = bf16 and ACT = bf16, but the kernel was compiled "
            "for bf16 and mxfp8");
}

TEST(GoldenLayerCase, FullCasesUseEightRanks) {
  auto file = SafetensorsFile::open(std::string(MONO_TEST_DATA) + "/glm5_full_s8.safetensors");
  ASSERT_TRUE(bool(file));
  LayerSizes sizes = llvm::cantFail(readLayerGolden(*file)).sizes();
  EXPECT_EQ(sizes.ranks, 8u);
  EXPECT_EQ(sizes.rows, 8u);
  EXPECT_EQ(sizes.context, 4096u);
}

TEST(LayerGolden, FaultsOfTheFileAreNamed) {
  std::map<std::string, std::string> metadata;
  auto faultOf = [&](llvm::ArrayRef<TensorView> tensors) {
    std::string text = llvm::cantFail(formatSafetensors(tensors, metadata));
    auto file = SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(text));
    return llvm::toString(readLayerGolden(*file).takeError());
  };
  EXPECT_EQ(faultOf({}), "the file has no metadata key 'hidden_size'");
  for (const char *key :
       {"hidden_size", "num_attention_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "index_n_heads", "index_head_dim", "index_topk",
        "n_routed_experts", "moe_intermediate_size", "num_experts_per_tok", "seed", "layer",
        "base_in", "base_dn"})
    metadata[key] = "128";
  metadata["seed"] = "one";
  EXPECT_EQ(faultOf({}), "metadata key 'seed': expected a number, but got 'one'");
  metadata["seed"] = "1";
  metadata["base_in"] = metadata["base_dn"] = "256";
  EXPECT_EQ(faultOf({}), "metadata key 'base_in': expected at most 255, but got 256\n"
                         "metadata key 'base_dn': expected at most 255, but got 256");
  metadata["base_in"] = metadata["base_dn"] = "115";
  EXPECT_EQ(faultOf({}), "the file has no tensor 'positions'");
  std::vector<uint8_t> bytes = {255, 255, 255, 255};
  EXPECT_EQ(faultOf({{"positions", DType::I32, {1}, bytes}}),
            "tensor 'positions': expected positions of at least 0, but got -1");
  bytes.assign(4, 0);
  EXPECT_EQ(faultOf({{"positions", DType::I32, {1}, bytes}}),
            "the file has no tensor 'attn_residual'");
  EXPECT_EQ(faultOf({{"positions", DType::I32, {1}, bytes},
                     {"attn_residual", DType::F32, {1, 1}, bytes}}),
            "tensor 'attn_residual': expected shape [1, 128], but got F32 [1, 1]");
}

TEST(Registry, FindsTheModelOfAFile) {
  const Model *layer = findModel("glm5_layer");
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(findModelOfFile("models/glm5/layer.mlir"), layer);
  EXPECT_EQ(findModelOfFile("layer.mlir"), layer);
  EXPECT_EQ(findModelOfFile("elsewhere/glm5_layer.mlir"), layer);
  EXPECT_EQ(findModelOfFile("models/kimi/layer.mlir"), nullptr);
  EXPECT_EQ(findModelOfFile("x/attn_out_router.mlir"), findModel("attn_out_router"));
}

} // namespace
