// How evenly the workgroups share the bytes of the experts that a launch hits: a model of the
// tasks, held against what each workgroup of the emulated kernel reads, whatever the routing.
#include "test/e2e/Process.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mono::test;
namespace json = llvm::json;

namespace {

constexpr int64_t kHidden = 512, kUnits = 256, kChosen = 8;

/// GLM-5's experts as one of eight ranks has them: 256 units of each, all 257 of them. Only the
/// width of the residual stream and the attention are smaller.
const std::vector<std::string> kSizes = {
    "-DTP=1",        "-DCTX=256",       "-DPAGE=16",      "-DSPLITS=2", "-DHIDDEN=512",
    "-DHEADS=16",    "-DQ_LORA=256",    "-DKV_LORA=128",  "-DNOPE=64",  "-DROPE=32",
    "-DV_DIM=64",    "-DINDEX_HEADS=8", "-DINDEX_DIM=64", "-DTOPK=64",  "-DMOE=256",
    "-DEXPERTS=256", "-DCHOSEN=8"};

struct Routing {
  std::string name;
  int64_t rows;
  std::string variant; ///< of monorun --verify; empty: random
  int64_t least, most; ///< distinct routed experts
  bool scaled = false; ///< activations as MXFP8, for tiles of another height
};

void PrintTo(const Routing &routing, std::ostream *out) { *out << routing.name; }

class ExpertBalance : public ProcessTest, public testing::WithParamInterface<Routing> {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    std::vector<std::string> arguments = {MONO_SOURCE_DIR "/models/glm5/layer.mlir",
                                          "-DS=" + std::to_string(GetParam().rows)};
    llvm::append_range(arguments, kSizes);
    if (GetParam().scaled)
      arguments.push_back("-DACT=mxfp8");
    std::vector<std::string> compile = arguments, launch = arguments;
    compile.push_back("--report=json");
    launch.insert(launch.end(), {"--verify=5", "--stats=json"});
    if (!GetParam().variant.empty())
      launch.push_back("--variant=" + GetParam().variant);
    report = printedJson(MONOC, compile);
    stats = printedJson(MONORUN, launch);
    ASSERT_TRUE(report.getArray("stages") && stats.getArray("ranks"));
    ctas = *report.getObject("grid")->getInteger("ctas");
  }

  const json::Object &named(const json::Array &all, llvm::StringRef name) const {
    auto found = llvm::find_if(
        all, [&](const json::Value &one) { return one.getAsObject()->getString("name") == name; });
    EXPECT_TRUE(found != all.end()) << name.str();
    return *found->getAsObject();
  }
  /// A stage of the experts.
  const json::Object &stage(llvm::StringRef name) const {
    return named(*report.getArray("stages"), (name + (GetParam().scaled ? "_mx" : "")).str());
  }
  /// What the kernel read of an operand.
  int64_t read(llvm::StringRef operand, llvm::StringRef number) const {
    const json::Object &rank = *stats.getArray("ranks")->front().getAsObject();
    return *named(*rank.getArray("memory"), operand).getInteger(number);
  }

  /// Adds the first `tasks` tasks of a stage to those of each workgroup.
  void addTasks(const json::Object &stage, int64_t tasks, std::vector<int64_t> &counts) const {
    for (int64_t task = 0; task < tasks; ++task)
      ++counts[(*stage.getInteger("base") + task) % ctas];
  }

  json::Object report, stats;
  int64_t ctas = 0;
};

TEST_P(ExpertBalance, IsThatOfWholeTasks) {
  int64_t tiles = *stage("shared_gate_up").getInteger("tasks");
  int64_t tileBytes = 2 * kUnits / tiles * kHidden / 2; // codes of 4 bits
  int64_t experts = read("w_gate_up", "bytes_read") / (tiles * tileBytes);
  int64_t routed = experts - 1; // the shared one is always there
  EXPECT_GE(routed, GetParam().least);
  EXPECT_LE(routed, GetParam().most);

  std::vector<int64_t> beside(ctas), after(ctas);
  addTasks(stage("shared_gate_up"), tiles, beside);
  addTasks(stage("gate_up"), routed * tiles, after);
  // Nobody has more than whole tasks make necessary.
  EXPECT_EQ(*llvm::max_element(beside), 1);
  EXPECT_EQ(*llvm::max_element(after), llvm::divideCeil(routed * tiles, ctas));

  // And the kernel does as the model says.
  std::vector<int64_t> all(ctas);
  for (int64_t workgroup = 0; workgroup < ctas; ++workgroup)
    all[workgroup] = beside[workgroup] + after[workgroup];
  EXPECT_EQ(read("w_gate_up", "bytes_read"), llvm::sum_of(all, int64_t(0)) * tileBytes);
  EXPECT_EQ(read("w_gate_up", "most_bytes_read_by_workgroup"), *llvm::max_element(all) * tileBytes);

  EXPECT_EQ(read("w_down", "bytes_read"), *stage("down").getInteger("workgroups") *
                                              read("w_down", "most_bytes_read_by_workgroup"));
}

INSTANTIATE_TEST_SUITE_P(, ExpertBalance,
                         testing::Values(Routing{"OneRow", 1, "", kChosen, kChosen},
                                         Routing{"FourAlike", 4, "same-experts", kChosen, kChosen},
                                         Routing{"FourRandom", 4, "", 25, 31},
                                         Routing{"FourDifferent", 4, "different-experts", 32, 32},
                                         Routing{"EightAlike", 8, "same-experts", kChosen, kChosen},
                                         Routing{"EightRandom", 8, "", 48, 63},
                                         Routing{"EightDifferent", 8, "different-experts", 64, 64},
                                         Routing{"OneRowScaled", 1, "", kChosen, kChosen, true},
                                         Routing{"FourDifferentScaled", 4, "different-experts", 32,
                                                 32, true},
                                         Routing{"EightRandomScaled", 8, "", 48, 63, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
