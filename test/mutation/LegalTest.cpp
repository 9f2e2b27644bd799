// No false rejections: changes that leave a schedule right keep passing the checks, and the kernel
// computes the same bits.
#include "test/mutation/Legal.h"
#include "lowering/Pipeline.h"
#include "test/mutation/Sources.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <set>

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
    // Only what passes the checks can be compiled.
    std::string messages = check(*changed);
    EXPECT_EQ(messages, "") << bound.name;
    if (messages.empty() && GetParam().runs)
      expectSameBits(bound, *changed);
    return places;
  }

  static void expectSameBits(BoundSource &bound, ModuleOp changed) {
    ASSERT_EQ(check(*bound.module), "") << bound.name;
    auto before = outputsOf(*bound.module), after = outputsOf(changed);
    if (before && after) {
      EXPECT_TRUE(*before == *after) << bound.name;
      return;
    }
    for (auto *outputs : {&before, &after})
      if (llvm::Error error = outputs->takeError())
        ADD_FAILURE() << bound.name << ": " << llvm::toString(std::move(error));
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
      pairs[index].first->moveAfter(pairs[index].second); // behind what both of them use
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

//===----------------------------------------------------------------------===//
// That no schedule is left out
//===----------------------------------------------------------------------===//

bool mentions(const std::string &path, StringRef word) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file && (*file)->getBuffer().contains(word);
}

TEST(Sources, AreAllSchedulesButThoseThatAreNotWhole) {
  std::set<std::string> expected = {
      "test/dialect/ops.mlir",                 // parsed and printed only
      "test/dialect/routine.mlir",             // the same
      "test/lowering/Bind/Inputs/param.mlir",  // without stages
      "test/lowering/Bind/bind.mlir",          // bound, not checked: stores twice
      "test/lowering/Bind/names.mlir",         // two schedules in one file
      "test/lowering/Bind/notes.mlir",         // says what only the compiler may
      "test/lowering/Device/loads-ahead.mlir", // not checked: receives without posts
      "test/lowering/Place/pinned.mlir",       // placed, not checked: reads LDS nobody wrote
      "test/lowering/Place/place.mlir",        // the same
      "test/lowering/Place/scratch.mlir",      // the same
  };
  for (const Source &source : allSources())
    expected.insert(source.file);
  std::set<std::string> found;
  for (const char *folder : {"examples", "models", "schedules", "test"}) {
    std::error_code error;
    for (llvm::sys::fs::recursive_directory_iterator
             entry(Twine(MONO_SOURCE_DIR "/") + folder, error),
         end;
         entry != end && !error; entry.increment(error)) {
      const std::string &path = entry->path();
      if (StringRef(path).ends_with(".mlir") && mentions(path, "mono.schedule @") &&
          !mentions(path, "expected-error"))
        found.insert(path.substr(sizeof MONO_SOURCE_DIR));
    }
    EXPECT_FALSE(error) << error.message();
  }
  EXPECT_EQ(found, expected);
}

} // namespace
