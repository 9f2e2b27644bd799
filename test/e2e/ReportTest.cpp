// That what `monoc --report` counts from a schedule is what the emulator sees its kernel do.
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mono::test;
namespace json = llvm::json;

namespace {

/// Sizes of the layer that emulate in a second.
const std::string kTiny = "CTX=256 HIDDEN=512 HEADS=16 Q_LORA=256 KV_LORA=128 NOPE=64 ROPE=32 "
                          "V_DIM=64 INDEX_HEADS=8 INDEX_DIM=64 TOPK=64 EXPERTS=16 MOE=256 "
                          "CHOSEN=4 SPLITS=2 ";

class ReportedCosts : public ProcessTest {
protected:
  /// Compiles and runs; fills `report`, `kernel`, and `rank`, the statistics of rank 0.
  void observe(const std::string &file, const std::string &params) {
    std::string path = MONO_SOURCE_DIR "/models/glm5/" + file;
    std::vector<std::string> compile = {path, "--report=json"};
    std::vector<std::string> launch = {path, "--verify", "--stats=json"};
    for (llvm::StringRef define : llvm::split(params, ' '))
      for (auto *arguments : {&compile, &launch})
        arguments->push_back("-D" + define.str());
    report = printedJson(MONOC, compile);
    json::Object stats = printedJson(MONORUN, launch);
    if (const json::Object *object = stats.getObject("kernel"))
      kernel = *object;
    if (const json::Array *ranks = stats.getArray("ranks"))
      rank = *ranks->front().getAsObject();
  }

  /// A number of each stage, or of some.
  std::vector<int64_t> ofStages(llvm::StringRef number,
                                llvm::ArrayRef<llvm::StringRef> stages = {}) const {
    std::vector<int64_t> values;
    for (const json::Value &value : *report.getArray("stages")) {
      const json::Object &stage = *value.getAsObject();
      if (stages.empty() || llvm::is_contained(stages, *stage.getString("name")))
        values.push_back(*stage.getInteger(number));
    }
    return values;
  }
  int64_t mfmas(llvm::ArrayRef<llvm::StringRef> stages = {}) const {
    return llvm::sum_of(ofStages("mfma", stages), int64_t(0));
  }
  /// A number of what the kernel did to an operand.
  int64_t ofMemory(llvm::StringRef operand, llvm::StringRef number) const {
    for (const json::Value &value : *rank.getArray("memory")) {
      const json::Object &memory = *value.getAsObject();
      if (*memory.getString("name") == operand)
        return *memory.getInteger(number);
    }
    return 0;
  }
  int64_t bytesRead(llvm::StringRef operand) const { return ofMemory(operand, "bytes_read"); }

  json::Object report, kernel, rank;
};

/// A schedule whose routed experts, if it has any, are those of models/glm5/layer.mlir.
struct Observed {
  std::string file, params;
  int64_t groups = 0, experts = 0; ///< entries of a full list of experts, and all experts
};

void PrintTo(const Observed &observed, std::ostream *out) { *out << observed.params; }

class ReportedCostsOf : public ReportedCosts, public testing::WithParamInterface<Observed> {
protected:
  void SetUp() override {
    ReportedCosts::SetUp();
    observe(GetParam().file, GetParam().params);
    ASSERT_TRUE(report.getArray("stages") && rank.getArray("memory"));
  }

  /// Calls `visit` with every weight that is streamed: its name, bytes, and whether it is one of
  /// the routed experts.
  template <typename Visit> void forEachStreamed(Visit visit) const {
    for (const json::Value &value : *report.getArray("operands")) {
      const json::Object &operand = *value.getAsObject();
      if (*operand.getString("layout") == "mfma_rows<16>")
        visit(*operand.getString("name"), *operand.getInteger("bytes"),
              operand.getArray("shape")->size() == 3);
    }
  }

  /// Experts that the launch took.
  int64_t expertsTaken() const {
    int64_t taken = 0;
    forEachStreamed([&](llvm::StringRef name, int64_t bytes, bool routed) {
      if (!routed)
        return;
      int64_t each = bytes / GetParam().experts;
      EXPECT_EQ(bytesRead(name) % each, 0) << name.str();
      EXPECT_TRUE(taken == 0 || taken == bytesRead(name) / each) << name.str();
      taken = bytesRead(name) / each;
    });
    return taken;
  }

  /// A launch takes fewer experts than a full list has, and each costs alike.
  void expectMatrixInstructions() const {
    int64_t ofExperts = 0;
    if (GetParam().groups != 0) {
      int64_t taken = expertsTaken(), full = mfmas({"shared_gate_up", "gate_up", "down"});
      EXPECT_GT(taken, 1);
      EXPECT_LE(taken, GetParam().groups);
      ASSERT_EQ(full % GetParam().groups, 0);
      ofExperts = full - full / GetParam().groups * taken;
    }
    EXPECT_EQ(mfmas() - ofExperts, *rank.getInteger("mfma"));
  }

  /// Streamed weights are read once, though many tasks share them; what else the kernel reads of
  /// weights (norms, biases) it may read on every workgroup.
  void expectWeightBytes() const {
    int64_t streamed = 0, rest = 0;
    forEachStreamed([&](llvm::StringRef name, int64_t bytes, bool routed) {
      if (!routed)
        EXPECT_EQ(bytesRead(name), bytes) << name.str();
      // No kernel needs more experts than are on a full list.
      streamed += routed
                      ? bytes / GetParam().experts * std::min(GetParam().groups, GetParam().experts)
                      : bytes;
    });
    for (const json::Value &value : *report.getArray("operands")) {
      const json::Object &operand = *value.getAsObject();
      if (*operand.getString("role") != "weight" || *operand.getString("layout") != "row_major")
        continue;
      rest += *operand.getInteger("bytes");
      EXPECT_GE(bytesRead(*operand.getString("name")), *operand.getInteger("bytes"));
    }
    EXPECT_EQ(*report.getObject("weight_floor")->getInteger("bytes"), streamed + rest);
  }

  /// Outputs are written once; what else is read is read at least once, but for what data chooses.
  void expectOperandBytes() const {
    for (const json::Value &value : *report.getArray("operands")) {
      const json::Object &operand = *value.getAsObject();
      std::string name = operand.getString("name")->str();
      EXPECT_EQ(*operand.getInteger("written_bytes"), ofMemory(name, "bytes_written")) << name;
      int64_t fixed = *operand.getInteger("read_bytes") - *operand.getInteger("read_bytes_by_data");
      EXPECT_LE(fixed, bytesRead(name)) << name;
    }
  }

  void expectPeerBytes() const {
    EXPECT_EQ(*report.getInteger("peer_bytes"),
              *rank.getObject("bytes")->getObject("peers")->getInteger("written"));
  }

  void expectLds() const {
    int64_t bytes = *kernel.getInteger("lds_bytes");
    EXPECT_EQ(*report.getObject("lds")->getInteger("bytes"), bytes);
    std::vector<int64_t> stages = ofStages("lds_bytes");
    EXPECT_EQ(*llvm::max_element(stages), bytes);
  }
};

TEST_P(ReportedCostsOf, AreThoseOfTheEmulatedKernel) {
  expectMatrixInstructions();
  expectWeightBytes();
  expectOperandBytes();
  expectPeerBytes();
  expectLds();
}

INSTANTIATE_TEST_SUITE_P(
    , ReportedCostsOf,
    testing::Values(Observed{"attn_out_router.mlir", "S=2 TP=2"},
                    Observed{"attn_out_router.mlir", "S=8 TP=8"},
                    // S rows choose 4 of 16 experts each, and all take the shared one.
                    Observed{"layer.mlir", kTiny + "S=1 TP=1", 5, 17},
                    Observed{"layer.mlir", kTiny + "S=4 TP=2", 17, 17},
                    Observed{"layer.mlir", kTiny + "S=4 TP=2 SHARD_A=1", 17, 17},
                    Observed{"layer.mlir", kTiny + "S=7 TP=2 PAGE=16", 17, 17},
                    Observed{"layer.mlir", kTiny + "S=2 TP=1 INDEXER=0", 9, 17}));

// The layer at its full size: overlay saves at least half of LDS, and no placement could do with
// less.
TEST_F(ReportedCosts, ShowOverlayOfTheLayer) {
  for (const char *tokens : {"-DS=4", "-DS=8"}) {
    report = printedJson(
        MONOC, {MONO_SOURCE_DIR "/models/glm5/layer.mlir", "--report=json", tokens, "-DTP=8"});
    ASSERT_TRUE(report.getObject("lds"));
    const json::Object &lds = *report.getObject("lds");
    int64_t sum = 0, peak = 0, bytes = *lds.getInteger("bytes");
    for (const json::Value &value : *lds.getArray("boxes")) {
      const json::Object &box = *value.getAsObject();
      sum += *box.getInteger("bytes");
      peak = std::max(peak, *box.getInteger("offset") + *box.getInteger("bytes"));
    }
    EXPECT_EQ(*lds.getInteger("without_overlay"), sum);
    EXPECT_EQ(bytes, peak);
    EXPECT_EQ(bytes, *lds.getInteger("lower_bound"));
    EXPECT_LE(2 * bytes, sum);
    EXPECT_LE(*report.getInteger("hops"), 14);
  }
}

} // namespace
