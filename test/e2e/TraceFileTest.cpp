// The timeline that monorun writes, and stops at tasks.
#include "test/e2e/Process.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace llvm;
using namespace mono::test;

namespace {

const char *const kSchedule = MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir";

struct Slice {
  int64_t begin, end;
};

class TraceFile : public ProcessTest {
protected:
  /// The events of a run of attn_out_router for one token on two ranks.
  json::Array trace() {
    ProcessResult result =
        run(MONORUN, {kSchedule, "-DS=1", "-DTP=2", "--verify", "--trace=" + path("trace.json")});
    EXPECT_EQ(result.status, 0) << result.err;
    auto file = MemoryBuffer::getFile(path("trace.json"));
    if (!file)
      return {};
    text = (*file)->getBuffer().str();
    Expected<json::Value> value = json::parse(text);
    if (!value) {
      ADD_FAILURE() << toString(value.takeError());
      return {};
    }
    return *value->getAsObject()->getArray("traceEvents");
  }
  std::string text;
};

TEST_F(TraceFile, HasEveryTaskOnItsWorkgroup) {
  json::Array events = trace();
  std::map<std::string, int> tasks;
  for (const json::Value &value : events) {
    const json::Object &event = *value.getAsObject();
    const json::Object *args = event.getObject("args");
    if (event.getString("ph") != "X" || !args)
      continue;
    std::string stage = event.getString("name")->str();
    ++tasks[stage];
    int64_t base = StringSwitch<int64_t>(stage).Case("reduce", 192).Case("router", 240).Default(0);
    EXPECT_EQ(event.getInteger("tid"), base + *args->getInteger("task")) << stage;
  }
  // As the file says, on each of two ranks.
  EXPECT_EQ(tasks, (std::map<std::string, int>{
                       {"o_proj", 384}, {"reduce", 96}, {"router", 32}, {"select", 2}}));
}

TEST_F(TraceFile, SlicesOfARowNestAndArrowsGoForward) {
  json::Array events = trace();
  std::map<std::pair<int64_t, int64_t>, std::vector<Slice>> rows;
  std::map<int64_t, int64_t> starts;
  unsigned arrows = 0;
  for (const json::Value &value : events) {
    const json::Object &event = *value.getAsObject();
    StringRef phase = *event.getString("ph");
    int64_t step = *event.getInteger("ts");
    if (phase == "X")
      rows[{*event.getInteger("pid"), *event.getInteger("tid")}].push_back(
          {step, step + *event.getInteger("dur")});
    if (phase == "s")
      starts[*event.getInteger("id")] = step;
    if (phase == "f") {
      ++arrows;
      EXPECT_LT(starts.at(*event.getInteger("id")), step);
    }
  }
  EXPECT_EQ(rows.size(), 512u);
  for (auto &[row, slices] : rows) {
    sort(slices, [](const Slice &a, const Slice &b) {
      return std::pair(a.begin, -a.end) < std::pair(b.begin, -b.end);
    });
    std::vector<int64_t> open;
    for (const Slice &slice : slices) {
      while (!open.empty() && open.back() <= slice.begin)
        open.pop_back();
      EXPECT_TRUE(open.empty() || slice.end <= open.back()) << "workgroup " << row.second;
      open.push_back(slice.end);
    }
  }
  // Each of reduce, router and select waits on both ranks.
  EXPECT_GE(arrows, 2u * (48 + 16 + 1));
  EXPECT_NE(text.find("waits for partial"), std::string::npos);
  EXPECT_NE(text.find("waits for scaled"), std::string::npos);
  EXPECT_NE(text.find("waits for logits"), std::string::npos);
}

TEST_F(TraceFile, IsTheSameInEveryRun) {
  trace();
  std::string first = text;
  trace();
  EXPECT_EQ(text, first);
}

TEST_F(TraceFile, CannotGoJustAnywhere) {
  ProcessResult result =
      run(MONORUN, {kSchedule, "-DS=1", "-DTP=1", "--verify", "--trace=" + path("no/such/folder")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("can't write '"), std::string::npos) << result.err;
}

TEST_F(TraceFile, StopsWhereATaskBegins) {
  ProcessResult result =
      run(MONORUN, {kSchedule, "-DS=1", "-DTP=1", "--verify", "--break=reduce:3"});
  EXPECT_EQ(result.status, 0) << result.err;
  // Task 3 of a stage whose first is on workgroup 192.
  EXPECT_EQ(
      result.out.find("stopped where task reduce:3 begins: rank 0, workgroup 195, wavefront "), 0u)
      << result.out;
  EXPECT_NE(result.out.find("exec 0xffffffffffffffff"), std::string::npos) << result.out;
}

/// What is shown of LDS says which rank it was.
TEST_F(TraceFile, StopsOnTheRankThatIsNamed) {
  for (const char *rank : {"0", "1"}) {
    ProcessResult result =
        run(MONORUN, {kSchedule, "-DS=1", "-DTP=2", "--verify", "--quiet", "--break=router:3",
                      std::string("--rank=") + rank, "--dump=row"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(
        result.out.find(std::string("stopped where task router:3 begins: rank ") + rank + ", "), 0u)
        << result.out;
    EXPECT_NE(result.out.find(std::string("region 'row' of rank ") + rank), std::string::npos)
        << result.out;
  }
  fails(MONORUN, 1, "--rank: expected a rank below 1, but got 1",
        {kSchedule, "-DS=1", "-DTP=1", "--verify", "--break=reduce:3", "--rank=1"});
}

TEST_F(TraceFile, StopsOnlyAtTasksThereAre) {
  fails(MONORUN, 1,
        "schedule 'attn_out_router' has no stage 'reduced'; it has o_proj, reduce, router, select",
        {kSchedule, "-DS=1", "-DTP=1", "--verify", "--break=reduced:3"});
  fails(MONORUN, 1, "expected STAGE:TASK, but got 'reduce'",
        {kSchedule, "-DS=1", "-DTP=1", "--verify", "--break=reduce"});
  fails(MONORUN, 1, "expected a task of stage 'reduce' from 0 to 47, but got '48'",
        {kSchedule, "-DS=1", "-DTP=1", "--verify", "--break=reduce:48"});
}

} // namespace
