// That `monorun --verify` finds wrong kernels: the schedule with one mistake put in must fail, at
// the tensor that the mistake spoils.
#include "test/e2e/Process.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mono::test;

namespace {

struct Mistake {
  const char *name, *right, *wrong, *spoiled;
  const char *file = "glm5/attn_out_router.mlir";
  std::vector<std::string> params = {"-DS=2", "-DTP=2"};
};

void PrintTo(const Mistake &mistake, std::ostream *out) { *out << mistake.name; }

class WrongSchedule : public ProcessTest, public testing::WithParamInterface<Mistake> {};

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

TEST_P(WrongSchedule, IsFound) {
  const Mistake &mistake = GetParam();
  auto file = llvm::MemoryBuffer::getFile(std::string(MONO_SOURCE_DIR "/models/") + mistake.file);
  ASSERT_TRUE(bool(file));
  std::string text = (*file)->getBuffer().str();
  ASSERT_NE(text.find(mistake.right), std::string::npos);
  replaceAll(text, mistake.right, mistake.wrong);
  replaceAll(text, "../../schedules/", MONO_SOURCE_DIR "/schedules/");
  std::vector<std::string> arguments = mistake.params;
  arguments.insert(arguments.end(), {put("wrong.mlir", text), "--verify"});
  ProcessResult result = run(MONORUN, arguments);
  EXPECT_EQ(result.status, 1) << result.err;
  size_t line = result.out.find("\n" + std::string(mistake.spoiled) + " ");
  ASSERT_NE(line, std::string::npos) << result.out;
  std::string found = result.out.substr(line + 1, result.out.find('\n', line + 1) - line - 1);
  EXPECT_NE(found.find("BAD"), std::string::npos) << found;
}

class Variants : public ProcessTest {};

TEST_F(Variants, AScheduleMayHaveNone) {
  fails(MONORUN, 1, "schedule 'attn_out_router' has no variants",
        {MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", "-DS=1", "-DTP=1", "--verify",
         "--variant=large"});
}

TEST_F(Variants, KnownSchedulesMakeInputs) {
  fails(MONORUN, 1, "needs an input: give --inputs or --verify\n",
        {MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", "-DS=1", "-DTP=1", "--quiet"});
}

TEST_F(Variants, NorGoldenCases) {
  fails(MONORUN, 1, "schedule 'llama3_layer' has no golden cases",
        {MONO_SOURCE_DIR "/models/llama3/layer.mlir", "-DS=1", "-DTP=1",
         "--case=" MONO_SOURCE_DIR "/test/data/glm5_tiny_s4.safetensors"});
}

/// Small decoder layers; the last parameters are the model's own.
std::vector<std::string> small(std::vector<std::string> own) {
  own.insert(own.end(), {"-DS=2", "-DTP=2", "-DCTX=64", "-DPAGE=16", "-DSPLITS=2", "-DHIDDEN=256",
                         "-DHEADS=8", "-DKV_HEADS=2", "-DDIM=64"});
  return own;
}
const std::vector<std::string> llama3 = small({"-DMLP=512"}),
                               qwen3 = small({"-DEXPERTS=16", "-DMOE=128", "-DCHOSEN=4"});

INSTANTIATE_TEST_SUITE_P(
    All, WrongSchedule,
    testing::Values(Mistake{"NoResidual", "arith.addf %x32, %sum", "arith.addf %sum, %sum",
                            "attn_residual"},
                    Mistake{"WrongMean", "constant 6144.0", "constant 3072.0", "router_logits"},
                    Mistake{"WrongScale", "constant 2.5", "constant 2.4", "topk_weights"},
                    Mistake{"UnscaledScores", "math.rsqrt %dimF", "math.sqrt %dimF",
                            "attn_residual", "llama3/layer.mlir", llama3},
                    Mistake{"KeysForValues", "%t, %KV, %ALL, %DIM)", "%t, %KV, %H, %DIM)",
                            "cache_v, value", "llama3/layer.mlir", llama3},
                    Mistake{"GateForUp", "extract_slice %raw[0, 16]", "extract_slice %raw[0, 0]",
                            "y", "llama3/layer.mlir", llama3},
                    Mistake{"LargeEps", "constant 1.0e-6", "constant 1.0e-1", "cache_k, key",
                            "qwen3_moe/layer.mlir", qwen3},
                    Mistake{"TwiceTheWeights", "mono.call @store_groups(%list, %ids, %weights,",
                            "%twice = arith.addf %weights, %weights : tensor<?x?xf32>\n"
                            "    mono.call @store_groups(%list, %ids, %twice,",
                            "y", "qwen3_moe/layer.mlir", qwen3}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
