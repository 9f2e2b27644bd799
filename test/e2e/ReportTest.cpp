// That what `monoc --report` counts from a schedule is what the emulator sees its kernel do.
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mono::test;
namespace json = llvm::json;

namespace {

class ReportedCosts : public ProcessTest {
protected:
  json::Object parsed(const std::string &program, std::vector<std::string> arguments) {
    ProcessResult result = run(program, arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    // A verdict may stand before or after.
    llvm::StringRef text = result.out;
    text = text.drop_front(std::min(text.find("{\n"), text.size()));
    text = text.take_front(text.find("\n}\n") + 2);
    llvm::Expected<json::Value> value = json::parse(text);
    EXPECT_TRUE(bool(value)) << llvm::toString(value.takeError());
    return value ? std::move(*value->getAsObject()) : json::Object();
  }

  /// Compiles and runs; fills `report` and `rank`, the statistics of rank 0.
  void observe(const std::string &file, const std::string &params) {
    std::string path = MONO_SOURCE_DIR "/models/glm5/" + file;
    std::vector<std::string> compile = {path, "--report=json"};
    std::vector<std::string> launch = {path, "--verify", "--stats=json"};
    for (llvm::StringRef define : llvm::split(params, ' '))
      for (auto *arguments : {&compile, &launch})
        arguments->push_back("-D" + define.str());
    report = parsed(MONOC, compile);
    json::Object stats = parsed(MONORUN, launch);
    if (const json::Array *ranks = stats.getArray("ranks"))
      rank = *ranks->front().getAsObject();
  }

  int64_t mfmas(llvm::ArrayRef<llvm::StringRef> stages = {}) const {
    int64_t sum = 0;
    for (const json::Value &value : *report.getArray("stages")) {
      const json::Object &stage = *value.getAsObject();
      if (stages.empty() || llvm::is_contained(stages, *stage.getString("name")))
        sum += *stage.getInteger("mfma");
    }
    return sum;
  }
  /// Bytes of weights that the kernel read.
  int64_t bytesRead(llvm::ArrayRef<llvm::StringRef> operands) const {
    int64_t sum = 0;
    for (const json::Value &value : *rank.getArray("memory")) {
      const json::Object &memory = *value.getAsObject();
      if (llvm::is_contained(operands, *memory.getString("name")))
        sum += *memory.getInteger("bytes_read");
    }
    return sum;
  }

  /// Bytes that the kernel wrote at a level of the memory.
  int64_t bytesWritten(llvm::StringRef level) const {
    return *rank.getObject("bytes")->getObject(level)->getInteger("written");
  }

  json::Object report, rank;
};

TEST_F(ReportedCosts, AreThoseOfTheEmulatedKernel) {
  observe("attn_out_router.mlir", "S=2 TP=2");
  ASSERT_TRUE(report.getArray("stages") && rank.getArray("memory"));
  EXPECT_EQ(mfmas(), *rank.getInteger("mfma"));
  // One task selects, so that even its bias is read once.
  EXPECT_EQ(*report.getObject("weight_floor")->getInteger("bytes"),
            bytesRead({"w_o", "w_post", "w_gate", "bias"}));
  EXPECT_EQ(*report.getInteger("peer_bytes"), bytesWritten("peers"));
}

// A launch takes fewer experts than a full list has, and each costs alike.
TEST_F(ReportedCosts, CountFullListsOfExperts) {
  observe("layer.mlir", "S=4 TP=2 CTX=256 SPLITS=2 HIDDEN=512 HEADS=16 Q_LORA=256 KV_LORA=128 "
                        "NOPE=64 ROPE=32 V_DIM=64 INDEX_HEADS=8 INDEX_DIM=64 TOPK=64 EXPERTS=16 "
                        "MOE=256 CHOSEN=4");
  ASSERT_TRUE(report.getArray("stages") && rank.getArray("memory"));
  constexpr int64_t kGroups = 17;                 // 16 rows choose 4 of 16, and the shared one
  constexpr int64_t kGateUpBytes = 256 * 512 / 2; // of an expert: 2 * 128 units, half a byte each
  int64_t streamed = bytesRead({"w_gate_up"});
  ASSERT_EQ(streamed % kGateUpBytes, 0);
  int64_t groups = streamed / kGateUpBytes;
  EXPECT_GT(groups, 1);
  EXPECT_LE(groups, kGroups);
  int64_t experts = mfmas({"gate_up", "down"});
  ASSERT_EQ(experts % kGroups, 0);
  EXPECT_EQ(mfmas() - experts + experts / kGroups * groups, *rank.getInteger("mfma"));
}

// What sharing the projections saves of HBM, and what it sends instead; the bytes from the shapes
// of the model.
TEST_F(ReportedCosts, OfSharedProjections) {
  constexpr int64_t kRows = 4, kRanks = 8, kHidden = 6144, kQueries = 2048, kIndex = 32 * 128;
  constexpr int64_t kOthers = 736, kPaddedOthers = 8 * 96; // 512 + 64 + 128 + 32
  json::Object forms[2];
  for (int sharded : {0, 1}) {
    forms[sharded] = parsed(MONOC, {MONO_SOURCE_DIR "/models/glm5/layer.mlir", "--report=json",
                                    "-DS=4", "-DTP=8", "-DSHARD_A=" + std::to_string(sharded)});
    ASSERT_TRUE(forms[sharded].getObject("weight_floor"));
  }
  auto weights = [&](int sharded) {
    return *forms[sharded].getObject("weight_floor")->getInteger("bytes");
  };
  auto sent = [&](int sharded) { return *forms[sharded].getInteger("peer_bytes"); };
  EXPECT_EQ(weights(0) - weights(1),
            2 * ((kQueries + kOthers) * kHidden + kIndex * kQueries) -
                2 * ((kQueries + kPaddedOthers) * kHidden + kIndex * kQueries) / kRanks);
  // Words of 8 bytes: an f32, or two bf16. Two all-reduces, and then what is shared.
  constexpr int64_t kAllReduces = 2 * kRows * kHidden / 2;
  constexpr int64_t kShares = kRows * (kQueries + kPaddedOthers + kIndex / 2) / kRanks;
  EXPECT_EQ(sent(0), 8 * (kRanks - 1) * kAllReduces);
  EXPECT_EQ(sent(1), 8 * (kRanks - 1) * (kAllReduces + kShares));
  EXPECT_EQ(*forms[1].getInteger("hops"), *forms[0].getInteger("hops") + 1);
  EXPECT_LE(*forms[1].getInteger("hops"), 14);
}

// The layer at its full size: overlay saves at least half of LDS, and no placement could do with
// less.
TEST_F(ReportedCosts, ShowOverlayOfTheLayer) {
  for (const char *tokens : {"-DS=4", "-DS=8"}) {
    report = parsed(MONOC,
                    {MONO_SOURCE_DIR "/models/glm5/layer.mlir", "--report=json", tokens, "-DTP=8"});
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
