// That `monorun --verify` finds wrong kernels: the schedule with one mistake put in must fail, at
// the tensor that the mistake spoils.
#include "test/e2e/Process.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mono::test;

namespace {

struct Mistake {
  const char *name, *right, *wrong, *spoiled;
};

void PrintTo(const Mistake &mistake, std::ostream *out) { *out << mistake.name; }

class WrongSchedule : public ProcessTest, public testing::WithParamInterface<Mistake> {};

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

TEST_P(WrongSchedule, IsFound) {
  const Mistake &mistake = GetParam();
  auto file = llvm::MemoryBuffer::getFile(MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir");
  ASSERT_TRUE(bool(file));
  std::string text = (*file)->getBuffer().str();
  ASSERT_NE(text.find(mistake.right), std::string::npos);
  replaceAll(text, mistake.right, mistake.wrong);
  replaceAll(text, "../../schedules/", MONO_SOURCE_DIR "/schedules/");
  ProcessResult result =
      run(MONORUN, {put("attn_out_router.mlir", text), "-D", "S=2", "-D", "TP=2", "--verify"});
  EXPECT_EQ(result.status, 1) << result.err;
  size_t line = result.out.find(std::string(mistake.spoiled) + " ");
  ASSERT_NE(line, std::string::npos) << result.out;
  std::string found = result.out.substr(line, result.out.find('\n', line) - line);
  EXPECT_NE(found.find("BAD"), std::string::npos) << found;
}

class Variants : public ProcessTest {};

TEST_F(Variants, AScheduleMayHaveNone) {
  fails(MONORUN, 1, "schedule 'attn_out_router' has no variants",
        {MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", "-DS=1", "-DTP=1", "--verify",
         "--variant=large"});
}

TEST_F(Variants, NorGoldenCases) {
  fails(MONORUN, 1, "schedule 'llama3_layer' has no golden cases",
        {MONO_SOURCE_DIR "/models/llama3/layer.mlir", "-DS=1", "-DTP=1",
         "--case=" MONO_SOURCE_DIR "/test/data/glm5_tiny_s4.safetensors"});
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSchedule,
    testing::Values(Mistake{"NoResidual", "arith.addf %x32, %sum", "arith.addf %sum, %sum",
                            "attn_residual"},
                    Mistake{"WrongMean", "constant 6144.0", "constant 3072.0", "router_logits"},
                    Mistake{"WrongScale", "constant 2.5", "constant 2.4", "topk_weights"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
