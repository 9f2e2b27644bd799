// monopack's parts on tiny checkpoints: what is read is what was written, conversions, every fault
// of a checkpoint, and files for ranks.
#include "models/BFloat16.h"
#include "models/Mxfp8.h"
#include "models/SyntheticCheckpoint.h"
#include "models/glm5/WeightOperands.h"
#include "models/pack/CheckpointFiles.h"
#include "models/pack/PackLayer.h"
#include "test/e2e/Process.h"
#include "test/models/LayerKernel.h"
#include "test/models/TinyCheckpoint.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;
using mono::test::TinyCheckpoint;

namespace {

class CheckpointFilesTest : public test::ProcessTest {
protected:
  void SetUp() override {
    test::ProcessTest::SetUp();
    checkpoint = std::make_unique<TinyCheckpoint>();
  }

  llvm::Expected<std::unique_ptr<CheckpointFiles>> open() {
    checkpoint->write(path("checkpoint"));
    return CheckpointFiles::open(path("checkpoint"), checkpoint->catalogue());
  }
  std::string fault() {
    auto opened = open();
    std::string text = opened ? "" : llvm::toString(opened.takeError());
    // The folder is another one in each run.
    std::string folder = path("checkpoint");
    if (text.rfind(folder, 0) == 0)
      text.erase(0, folder.size());
    return text;
  }

  std::unique_ptr<TinyCheckpoint> checkpoint;
};

std::vector<uint8_t> readAll(const Checkpoint &from, const CheckpointTensor &tensor) {
  std::vector<uint8_t> bytes(tensor.rows() * tensor.rowBytes());
  from.read(tensor, 0, bytes);
  return bytes;
}

TEST_F(CheckpointFilesTest, ReadsWhatWasWritten) {
  auto opened = open();
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  for (const CheckpointTensor &tensor : checkpoint->catalogue())
    EXPECT_EQ(readAll(**opened, tensor), readAll(checkpoint->source(), tensor)) << tensor.name;
  EXPECT_TRUE((*opened)->notes().empty());
  CheckpointTensor part = checkpoint->catalogue().front();
  std::vector<uint8_t> bytes(6), whole = readAll(**opened, part);
  (*opened)->read(part, 4, bytes);
  EXPECT_EQ(llvm::ArrayRef(bytes), llvm::ArrayRef(whole).slice(4, 6));
}

TEST_F(CheckpointFilesTest, OneFileNeedsNoIndex) {
  checkpoint->shards = 1;
  checkpoint->withIndex = false;
  auto opened = open();
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  CheckpointTensor last = checkpoint->catalogue().back();
  EXPECT_EQ(readAll(**opened, last), readAll(checkpoint->source(), last));
}

TEST_F(CheckpointFilesTest, Bf16KeyNormsAreWidened) {
  checkpoint->narrow("k_norm.weight");
  checkpoint->narrow("k_norm.bias");
  auto opened = open();
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  // The synthetic values are bf16 numbers, so nothing is lost.
  for (const CheckpointTensor &tensor : checkpoint->catalogue())
    if (llvm::StringRef(tensor.name).contains("k_norm"))
      EXPECT_EQ(readAll(**opened, tensor), readAll(checkpoint->source(), tensor)) << tensor.name;
  ASSERT_EQ((*opened)->notes().size(), 2u);
  EXPECT_EQ((*opened)->notes()[0],
            "model.layers.3.self_attn.indexer.k_norm.weight is BF16: widened to F32");
}

TEST_F(CheckpointFilesTest, Bf16SharedExpertsAreQuantised) {
  checkpoint->plainSharedExperts();
  auto opened = open();
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  EXPECT_EQ((*opened)->notes().vec(),
            std::vector<std::string>{
                "shared experts are BF16: quantised to MXFP4 (round to nearest even)"});
  LayerTensors tensors(checkpoint->sizes, 3);
  for (Projection projection : {Projection::Gate, Projection::Up, Projection::Down}) {
    CheckpointTensor codes = tensors.expert(checkpoint->sizes.experts, projection);
    CheckpointTensor scales = tensors.expertScale(checkpoint->sizes.experts, projection);
    std::vector<uint16_t> plain = checkpoint->plainExpert(codes);
    std::vector<uint8_t> expectedCodes(plain.size() / 2), expectedScales(plain.size() / 32);
    quantiseMxfp4(plain, expectedCodes, expectedScales);
    EXPECT_EQ(readAll(**opened, codes), expectedCodes);
    EXPECT_EQ(readAll(**opened, scales), expectedScales);
    // Any whole blocks, as a rank's columns are.
    std::vector<uint8_t> piece(16), scale(1);
    (*opened)->read(codes, codes.rowBytes() + 16, piece);
    EXPECT_EQ(llvm::ArrayRef(piece),
              llvm::ArrayRef(expectedCodes).slice(codes.rowBytes() + 16, 16));
    (*opened)->read(scales, scales.rowBytes() + 1, scale);
    EXPECT_EQ(scale[0], expectedScales[scales.rowBytes() + 1]);
  }
}

TEST_F(CheckpointFilesTest, FaultsAreNamed) {
  checkpoint->remove("self_attn.o_proj.weight");
  EXPECT_EQ(fault(),
            ": the checkpoint has no tensor 'model.layers.3.self_attn.o_proj.weight' (BF16 "
            "[128, 64] expected)");
  checkpoint = std::make_unique<TinyCheckpoint>();
  checkpoint->retype("self_attn.q_a_proj.weight", DType::F16);
  EXPECT_EQ(fault(),
            ": tensor 'model.layers.3.self_attn.q_a_proj.weight': expected BF16 [32, 128], "
            "but got F16 [32, 128]");
  checkpoint = std::make_unique<TinyCheckpoint>();
  checkpoint->reshape("mlp.gate.weight", {64, 8});
  EXPECT_EQ(fault(),
            ": tensor 'model.layers.3.mlp.gate.weight': expected BF16 [4, 128], but got BF16 "
            "[64, 8]");
}

TEST_F(CheckpointFilesTest, ABiasMustNotBeBf16) {
  checkpoint->narrow("e_score_correction_bias");
  EXPECT_EQ(fault(),
            ": tensor 'model.layers.3.mlp.gate.e_score_correction_bias': expected F32 [4], "
            "but got BF16 [4]");
}

TEST_F(CheckpointFilesTest, FaultsOfExpertsAreNamed) {
  checkpoint->remove("experts.2.up_proj.weight_scale");
  EXPECT_EQ(fault(), ": the checkpoint has no tensor 'model.layers.3.mlp.experts.2.up_proj."
                     "weight_scale' (U8 [128, 4] expected)");
  checkpoint = std::make_unique<TinyCheckpoint>();
  checkpoint->remove("shared_experts.down_proj.weight");
  EXPECT_EQ(fault(), ": the checkpoint has no tensor 'model.layers.3.mlp.shared_experts.down_proj."
                     "weight' (U8 [128, 64] or BF16 [128, 128] expected)");
  checkpoint = std::make_unique<TinyCheckpoint>();
  checkpoint->plainExpertAt(1, Projection::Gate);
  EXPECT_EQ(fault(), ": tensor 'model.layers.3.mlp.experts.1.gate_proj.weight': expected U8 [128, "
                     "64], but got BF16 [128, 128]; quantise routed experts to MXFP4 first");
  checkpoint = std::make_unique<TinyCheckpoint>();
  checkpoint->reshape("shared_experts.up_proj.weight", {128, 32});
  EXPECT_EQ(fault(),
            ": tensor 'model.layers.3.mlp.shared_experts.up_proj.weight': expected U8 [128, "
            "64] or BF16 [128, 128], but got U8 [128, 32]");
}

TEST_F(CheckpointFilesTest, FaultsOfTheFolderAreNamed) {
  auto openFault = [&](const std::string &folder) {
    return llvm::toString(CheckpointFiles::open(folder, checkpoint->catalogue()).takeError());
  };
  std::string nowhere = path("nowhere");
  EXPECT_EQ(openFault(nowhere), nowhere + ": expected model.safetensors.index.json or "
                                          "model.safetensors, but there is neither");
  std::string index = put("model.safetensors.index.json", llvm::StringRef("{}"));
  EXPECT_EQ(openFault(path("")), index + ": expected an object 'weight_map'");
  put("model.safetensors.index.json",
      llvm::StringRef(R"({"weight_map": {"a": "../b.safetensors"}})"));
  EXPECT_EQ(openFault(path("")),
            index + ": weight_map: expected a file of the same folder for tensor 'a'");
  put("model.safetensors.index.json", llvm::StringRef("[]"));
  EXPECT_NE(openFault(path("")).find("index: expected"), std::string::npos);

  checkpoint->write(path("checkpoint"));
  std::string shard = path("checkpoint/model-1.safetensors");
  ASSERT_FALSE(llvm::sys::fs::remove(shard));
  EXPECT_NE(openFault(path("checkpoint")).find(shard + ": No such file"), std::string::npos);
  ASSERT_FALSE(bool(writeSafetensors(shard, {}, {})));
  EXPECT_EQ(openFault(path("checkpoint")),
            shard + ": expected tensor 'model.layers.3.self_attn.q_a_proj.weight', which the index "
                    "says is here");
}

class PackLayerTest : public test::ProcessTest {
protected:
  TinyCheckpoint checkpoint;
  Manifest manifest = test::layerManifest(checkpoint.sizes);
};

TEST_F(PackLayerTest, FilesHoldTheOperandsInTheKernelsLayouts) {
  for (Operand &operand : manifest.operands)
    if (operand.name == "w_qb" || operand.name == "w_gate_up")
      operand.type.layout = Layout::MfmaRows16;
  WeightOperands weights(checkpoint.sizes, 3, checkpoint.source());
  for (unsigned rank = 0; rank < 2; ++rank) {
    std::vector<std::string> steps;
    uint64_t done = 0, all = 0;
    std::string out = path("rank.safetensors");
    llvm::Error error =
        packLayer(manifest, 3, checkpoint.source(), rank, out, [&](const PackProgress &progress) {
          EXPECT_EQ(progress.rank, rank);
          EXPECT_GE(progress.doneBytes, done);
          steps.push_back(progress.operand);
          done = progress.doneBytes;
          all = progress.allBytes;
        });
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    EXPECT_EQ(done, all);
    EXPECT_EQ(steps.size(), 20u); // one an operand and the end
    auto file = SafetensorsFile::open(out);
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    EXPECT_EQ(file->tensors().size(), 19u);
    EXPECT_EQ(file->metadata("rank").get(), std::to_string(rank));
    EXPECT_EQ(file->metadata("layer").get(), "3");
    EXPECT_EQ(file->metadata("param.MOE").get(), "128");
    EXPECT_EQ(file->metadata("layout.w_gate_up").get(), "mfma_rows<16>");
    EXPECT_EQ(file->metadata("layout.w_down").get(), "row_major");
    EXPECT_EQ(file->find("w_gate_up")->shape, (Shape{5, 128, 64})); // bytes
    for (const TensorView &view : file->tensors()) {
      const TensorType &type = manifest.operand(view.name)->type;
      TensorType slice = type;
      if (type.shape.size() == 3)
        slice.shape[0] = 1;
      std::vector<uint8_t> rowMajor(type.bytes()), packed(type.bytes());
      for (size_t i = 0; i < type.bytes() / slice.bytes(); ++i)
        weights.fill(rank, view.name, i,
                     llvm::MutableArrayRef(rowMajor).slice(i * slice.bytes(), slice.bytes()));
      llvm::cantFail(pack(type, rowMajor, packed));
      EXPECT_EQ(view.data, llvm::ArrayRef(packed)) << view.name;
    }
  }
}

TEST_F(PackLayerTest, AttentionIsRoundedToMxfp8WhenTheKernelWantsIt) {
  LayerSizes sizes = checkpoint.sizes;
  sizes.mxAttention = true;
  Manifest mx = test::layerManifest(sizes);
  std::string out = path("rank.safetensors");
  ASSERT_FALSE(bool(packLayer(mx, 3, checkpoint.source(), 1, out, [](const PackProgress &) {})));
  auto file = SafetensorsFile::open(out);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->tensors().size(), 25u); // six matrices have scales
  WeightOperands exact(checkpoint.sizes, 3, checkpoint.source());
  for (const char *name : {"w_a", "w_qb", "w_iq", "w_uk", "w_uv", "w_o"}) {
    const TensorView *codes = file->find(name), *scales = file->find(std::string(name) + "_scale");
    ASSERT_TRUE(codes && scales) << name;
    EXPECT_EQ(codes->dtype, DType::F8E4M3);
    std::vector<uint16_t> bf16(codes->data.size());
    exact.fill(1, name, 0, {reinterpret_cast<uint8_t *>(bf16.data()), 2 * bf16.size()});
    std::vector<double> rounded(bf16.begin(), bf16.end()), expected;
    decodeMxfp8(codes->data, scales->data, rounded);
    for (uint16_t value : bf16)
      expected.push_back(toFloat(value));
    roundToMxfp8(expected, MxScale::Fit);
    EXPECT_EQ(rounded, expected) << name;
  }
}

TEST_F(PackLayerTest, FaultsAreNamed) {
  auto ignore = [](const PackProgress &) {};
  auto fault = [&](const Manifest &changed, unsigned rank, const std::string &out) {
    return llvm::toString(packLayer(changed, 3, checkpoint.source(), rank, out, ignore));
  };
  EXPECT_EQ(fault(manifest, 2, path("x")), "expected a rank below 2, but got 2");
  EXPECT_NE(fault(manifest, 0, path("no/such/folder/x")).find("No such file"), std::string::npos);
  Manifest changed = manifest;
  changed.schedule = "other";
  EXPECT_EQ(fault(changed, 0, path("x")), "schedule 'other' has no packing, only glm5_layer has");
  EXPECT_EQ(llvm::toString(layerTensorsOf(changed, 3).takeError()),
            "schedule 'other' has no packing, only glm5_layer has");
  changed = manifest;
  for (Operand &operand : changed.operands)
    if (operand.name == "w_down")
      operand.type.layout = Layout::MfmaRows16; // 64 columns, but the layout wants 128
  EXPECT_EQ(fault(changed, 0, path("x")).rfind("w_down: layout mfma_rows<16>", 0), 0u);
  EXPECT_FALSE(llvm::sys::fs::exists(path("x")));
}

/// The command line on a code object that carries such a manifest.
class Monopack : public PackLayerTest {
protected:
  void SetUp() override {
    PackLayerTest::SetUp();
    kernel = put("layer.hsaco", test::layerCodeObject(manifest));
    checkpoint.plainSharedExperts();
    checkpoint.write(path("checkpoint"));
  }
  std::vector<std::string> arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {kernel, "--checkpoint=" + path("checkpoint"), "--layer=3",
                                    "--out=" + path("out")};
    llvm::append_range(all, more);
    return all;
  }
  std::string kernel;
};

TEST_F(Monopack, WritesAFileARankAndSaysWhatItDoes) {
  test::ProcessResult result = run(MONOPACK, arguments());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, path("out/layer3.rank0.safetensors") + "\n" +
                            path("out/layer3.rank1.safetensors") + "\n");
  EXPECT_NE(result.err.find("note: shared experts are BF16: quantised to MXFP4"),
            std::string::npos);
  EXPECT_NE(result.err.find("rank 1: 0.1 of 0.1 MB, done"), std::string::npos) << result.err;
  EXPECT_TRUE(bool(SafetensorsFile::open(path("out/layer3.rank1.safetensors"))));
}

TEST_F(Monopack, PacksOneRankWhenAsked) {
  test::ProcessResult result = run(MONOPACK, arguments({"--rank=1"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, path("out/layer3.rank1.safetensors") + "\n");
}

TEST_F(Monopack, FaultsAreStatusOneAndUsageIsTwo) {
  fails(MONOPACK, 1, "monopack: error: expected a rank below 2, but got 5",
        arguments({"--rank=5"}));
  fails(MONOPACK, 1, "No such file", {path("none"), "--checkpoint=x", "--layer=3", "--out=y"});
  fails(MONOPACK, 1, "not a code object",
        {put("bad.hsaco", llvm::StringRef("x")), "--checkpoint=x", "--layer=3", "--out=y"});
  fails(MONOPACK, 1, "there is neither", {kernel, "--checkpoint=x", "--layer=3", "--out=y"});
  fails(MONOPACK, 1, "the checkpoint has no tensor 'model.layers.4.input_layernorm.weight'",
        {kernel, "--checkpoint=" + path("checkpoint"), "--layer=4", "--out=y"});
  std::vector<std::string> blocked = arguments();
  blocked.back() = "--out=" + kernel + "/out";
  fails(MONOPACK, 1, "Not a directory", blocked);
  fails(MONOPACK, 2, "must be specified at least once", {kernel});
}

} // namespace
