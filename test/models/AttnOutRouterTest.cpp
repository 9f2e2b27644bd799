// The attn_out_router problem: its reference by hand, its inputs, and that its judgement passes
// right outputs and fails every kind of wrong ones.
#include "models/glm5/AttnOutRouter.h"
#include "models/BFloat16.h"
#include "models/Matmul.h"
#include "models/glm5/AttnOutRouterProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

using namespace mono;
using namespace mono::models;
using namespace mono::models::glm5;

namespace {

constexpr int64_t rows = 2, hidden = 64, inner = 32, experts = 32, chosen = 8, ranks = 2;

Manifest smallManifest() {
  Manifest manifest;
  manifest.kernel = manifest.schedule = "attn_out_router";
  manifest.ranks = ranks;
  auto add = [&](const char *name, OperandAccess access, Shape shape, ElementType element,
                 Layout layout = Layout::RowMajor) {
    manifest.operands.push_back({name, access, Role::Activation, {shape, element, layout}});
  };
  add("h", OperandAccess::Read, {rows, inner}, ElementType::BF16);
  add("w_o", OperandAccess::Read, {hidden, inner}, ElementType::BF16, Layout::MfmaRows16);
  add("x", OperandAccess::Read, {rows, hidden}, ElementType::BF16);
  add("w_post", OperandAccess::Read, {hidden}, ElementType::BF16);
  add("w_gate", OperandAccess::Read, {experts, hidden}, ElementType::BF16, Layout::MfmaRows16);
  add("bias", OperandAccess::Read, {experts}, ElementType::F32);
  add("attn_residual", OperandAccess::Write, {rows, hidden}, ElementType::BF16);
  add("router_logits", OperandAccess::Write, {rows, experts}, ElementType::F32);
  add("topk_ids", OperandAccess::Write, {rows, chosen}, ElementType::I32);
  add("topk_weights", OperandAccess::Write, {rows, chosen}, ElementType::F32);
  return manifest;
}

std::vector<uint16_t> bf16(std::vector<float> values) {
  std::vector<uint16_t> codes;
  for (float value : values)
    codes.push_back(toBf16(value));
  return codes;
}

TEST(AttnResidual, ByHand) {
  // h = (1, 2), (3, -1); w_o = rows (1, 0), (0.5, 0.5), (-1, 2); x = 10, 20, 30 and 0, 0, 1.
  std::vector<double> out = attnResidual(bf16({1, 2, 3, -1}), bf16({1, 0, 0.5, 0.5, -1, 2}),
                                         bf16({10, 20, 30, 0, 0, 1}), 2);
  EXPECT_EQ(out, (std::vector<double>{11, 21.5, 33, 3, 1, -4}));
}

template <typename T> std::vector<T> as(const std::vector<uint8_t> &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Outputs as a perfect kernel would give them, computed here from the operands the problem hands
/// out, rank by rank.
class AttnOutRouterTest : public testing::Test {
protected:
  void SetUp() override {
    manifest = smallManifest();
    auto made = randomAttnOutRouter(manifest, 7);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    problem = std::move(*made);
    std::vector<double> residual = toDouble(input(0, "x"));
    for (unsigned rank = 0; rank < ranks; ++rank) {
      std::vector<double> part =
          multiplyTransposed(toDouble(input(rank, "h")), rows, input(rank, "w_o"));
      for (size_t i = 0; i < residual.size(); ++i)
        residual[i] += part[i];
    }
    bias = as<float>(problem->input(0, *manifest.operand("bias")));
    routing = route(residual, rows, input(0, "w_post"), input(0, "w_gate"), bias, chosen);
    std::vector<uint16_t> rounded;
    for (double value : residual)
      rounded.push_back(toBf16(static_cast<float>(value)));
    outputs.resize(ranks);
    for (RankOutputs &rank : outputs) {
      put<uint16_t>(rank, "attn_residual", rounded);
      put<float>(rank, "router_logits", {routing.logits.begin(), routing.logits.end()});
      put<int32_t>(rank, "topk_ids", routing.ids);
      put<float>(rank, "topk_weights", {routing.weights.begin(), routing.weights.end()});
    }
  }

  std::vector<uint16_t> input(unsigned rank, const char *name) {
    return as<uint16_t>(problem->input(rank, *manifest.operand(name)));
  }
  template <typename T>
  void put(RankOutputs &rank, const char *name, const std::vector<T> &values) {
    HostTensor tensor{manifest.operand(name)->type,
                      std::vector<uint8_t>(values.size() * sizeof(T))};
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    rank[name] = std::move(tensor);
  }
  template <typename T> void change(const char *name, size_t index, T value) {
    for (RankOutputs &rank : outputs)
      std::memcpy(&rank[name].bytes[index * sizeof(T)], &value, sizeof(T));
  }
  /// The bad lines of the verdict.
  std::vector<std::string> faults() {
    Report report;
    problem->check(outputs, report);
    std::vector<std::string> names;
    for (const Finding &finding : report.findings())
      if (!finding.good)
        names.push_back(finding.what);
    EXPECT_EQ(report.good(), names.empty());
    return names;
  }

  Manifest manifest;
  std::unique_ptr<Problem> problem;
  std::vector<float> bias;
  Routing routing;
  std::vector<RankOutputs> outputs;
};

using Names = std::vector<std::string>;

TEST_F(AttnOutRouterTest, PassesRightOutputs) { EXPECT_EQ(faults(), Names{}); }

TEST_F(AttnOutRouterTest, FailsNan) {
  change<uint16_t>("attn_residual", 3, 0x7FC0);
  change<float>("router_logits", 5, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(faults(), (Names{"attn_residual", "router_logits"}));
}

TEST_F(AttnOutRouterTest, FailsOneWrongWeight) {
  change<float>("topk_weights", 9, static_cast<float>(routing.weights[9] * 1.1));
  EXPECT_EQ(faults(), Names{"topk_weights"});
}

TEST_F(AttnOutRouterTest, FailsAnUnexplainedSelection) {
  // The expert of lowest score, put where ascending order wants it.
  std::vector<double> scores =
      expertScores(llvm::ArrayRef(routing.logits).take_front(experts), bias);
  int32_t worst = static_cast<int32_t>(llvm::min_element(scores) - scores.begin());
  std::vector<int32_t> ids(routing.ids.begin(), routing.ids.begin() + chosen);
  ids[0] = worst;
  llvm::sort(ids);
  for (size_t i = 0; i < chosen; ++i)
    change<int32_t>("topk_ids", i, ids[i]);
  EXPECT_EQ(faults(), Names{"topk_ids"});
}

TEST_F(AttnOutRouterTest, FailsRanksThatDiffer) {
  outputs[1]["router_logits"].bytes[0] ^= 1;
  EXPECT_EQ(faults(), Names{"ranks bit-equal"});
}

TEST_F(AttnOutRouterTest, FailsAMissingRankPart) {
  std::vector<double> partial = multiplyTransposed(toDouble(input(0, "h")), rows, input(0, "w_o"));
  std::vector<double> x = toDouble(input(0, "x"));
  for (size_t i = 0; i < x.size(); ++i)
    change<uint16_t>("attn_residual", i, toBf16(static_cast<float>(x[i] + partial[i])));
  EXPECT_EQ(faults(), Names{"attn_residual"});
}

TEST_F(AttnOutRouterTest, SeedsGiveOtherInputs) {
  auto other = randomAttnOutRouter(manifest, 8);
  ASSERT_TRUE(bool(other));
  for (const Operand &operand : manifest.operands)
    if (operand.access == OperandAccess::Read)
      EXPECT_NE(problem->input(0, operand), (*other)->input(0, operand)) << operand.name;
  EXPECT_NE(input(0, "h"), input(1, "h"));
  EXPECT_NE(input(0, "w_o"), input(1, "w_o"));
  EXPECT_EQ(input(0, "x"), input(1, "x"));
}

TEST_F(AttnOutRouterTest, OperandFaultsAreNamed) {
  auto fault = [](const Manifest &changed) {
    return llvm::toString(randomAttnOutRouter(changed, 1).takeError());
  };
  Manifest changed = manifest;
  changed.operands[3].type.shape = {hidden + 1};
  EXPECT_EQ(fault(changed), "operand 'w_post': expected bf16 [64], but got bf16 [65]");
  changed = manifest;
  changed.operands[6].access = OperandAccess::Update;
  EXPECT_EQ(fault(changed), "operand 'attn_residual' has another access than the schedule's");
  changed = manifest;
  changed.operands.pop_back();
  EXPECT_EQ(fault(changed), "expected 10 operands, but got 9");
  changed = manifest;
  changed.operands.back().name = "weights";
  EXPECT_NE(fault(changed).find("has no operand 'topk_weights'"), std::string::npos);
}

TEST(Registry, KnowsItsModels) {
  EXPECT_NE(findModel("attn_out_router"), nullptr);
  EXPECT_EQ(findModel("nothing"), nullptr);
  EXPECT_NE(knownModels().find("attn_out_router"), std::string::npos);
}

} // namespace
