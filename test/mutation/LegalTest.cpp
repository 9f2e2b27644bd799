// No false rejections: changes that leave a schedule right keep passing the checks, and the kernel
// computes the same bits.
#include "test/mutation/Legal.h"
#include "lowering/Manifest.h"
#include "lowering/Pipeline.h"
#include "test/mutation/Sources.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mono;
using namespace mono::test;

namespace {

struct Subject {
  Source source;
  bool runs; ///< small enough to be run after each change
};

void PrintTo(const Subject &subject, std::ostream *out) { *out << subject.source.file; }

std::vector<Subject> allSubjects() {
  std::vector<Subject> subjects;
  for (Source &source : allSources())
    subjects.push_back({std::move(source), true});
  for (const char *large : {"models/glm5/attn_out_router.mlir:S=4,TP=8",
                            "models/glm5/layer.mlir:S=4,TP=8", "models/glm5/layer.mlir:S=8,TP=8"})
    subjects.push_back({parseSource(large), false});
  return subjects;
}

/// The outputs of three launches, or a message.
llvm::Expected<std::vector<uint8_t>> outputsOf(ModuleOp placed) {
  auto manifest = parseManifest(manifestOf(scheduleOf(placed), /*watchdogCycles=*/0));
  if (!manifest)
    return manifest.takeError();
  auto inputs = Inputs::create(*manifest, /*launches=*/3);
  if (!inputs)
    return inputs.takeError();
  auto compiled = compilePlaced(placed);
  if (!compiled)
    return compiled.takeError();
  return runLaunches(compiled->codeObject, /*launches=*/3, {}, *inputs);
}

class LegalChange : public testing::TestWithParam<Subject> {
protected:
  LegalChange() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// Runs `change` on a copy of each schedule of the file. Returns what the changes return in sum.
  int64_t apply(llvm::function_ref<int64_t(ScheduleOp)> change) {
    Source source = GetParam().source;
    source.file = MONO_SOURCE_DIR "/" + source.file;
    std::vector<BoundSource> bound = bindSource(context, source);
    EXPECT_FALSE(bound.empty());
    int64_t sum = 0;
    for (BoundSource &each : bound)
      sum += applyTo(each, change);
    return sum;
  }

private:
  int64_t applyTo(BoundSource &bound, llvm::function_ref<int64_t(ScheduleOp)> change) {
    OwningOpRef<ModuleOp> changed = bound.module->clone();
    int64_t places = change(scheduleOf(*changed));
    if (places == 0)
      return 0;
    EXPECT_EQ(check(*changed), "") << bound.name;
    if (GetParam().runs)
      expectSameBits(bound, *changed);
    return places;
  }

  static void expectSameBits(BoundSource &bound, ModuleOp changed) {
    EXPECT_EQ(check(*bound.module), "") << bound.name;
    auto before = outputsOf(*bound.module), after = outputsOf(changed);
    ASSERT_TRUE(bool(before)) << bound.name << llvm::toString(before.takeError());
    ASSERT_TRUE(bool(after)) << bound.name << llvm::toString(after.takeError());
    EXPECT_TRUE(*before == *after) << bound.name;
  }

  MLIRContext context;
};

TEST_P(LegalChange, OtherNames) {
  EXPECT_GT(apply([](ScheduleOp schedule) {
              rename(schedule);
              return 1;
            }),
            0);
}

TEST_P(LegalChange, MoreSlots) {
  apply([](ScheduleOp schedule) {
    addSlots(schedule);
    return 1;
  });
}

TEST_P(LegalChange, WiderScope) { apply(widenScopes); }

TEST_P(LegalChange, StagesInTwo) { apply(splitStages); }

TEST_P(LegalChange, IndependentStagesInAnotherOrder) {
  // One pair at a time.
  bool more = true;
  for (size_t index = 0; more; ++index) {
    more = false;
    apply([&](ScheduleOp schedule) -> int64_t {
      auto pairs = independentNeighbours(schedule);
      if (index >= pairs.size())
        return 0;
      more = true;
      pairs[index].second->moveBefore(pairs[index].first);
      return 1;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(, LegalChange, testing::ValuesIn(allSubjects()));

//===----------------------------------------------------------------------===//
// That the changes happen
//===----------------------------------------------------------------------===//

class Changes : public LegalChange {};

TEST_P(Changes, FindTheirPlaces) {
  // Most of the layer's stages have several tasks, most of its mailboxes belong to one device, and
  // its two caches are written by neighbours that only receive the same words.
  EXPECT_GE(apply(splitStages), 15);
  EXPECT_GE(apply(widenScopes), 15);
  EXPECT_GE(apply([](ScheduleOp schedule) { return independentNeighbours(schedule).size(); }), 1);
}

INSTANTIATE_TEST_SUITE_P(, Changes,
                         testing::Values(Subject{parseSource("models/glm5/layer.mlir:S=4,TP=8"),
                                                 false}));

} // namespace
