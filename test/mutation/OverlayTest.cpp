// LDS changes hands: where one region follows another in the same bytes, the emulator's race check
// sees what the barrier between the two owners is for.
#include "lowering/Pipeline.h"
#include "lowering/Place/Arena.h"
#include "test/mutation/Sources.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mono;
using namespace mono::test;

namespace {

/// Pairs of boxes of which the second takes bytes over from the first.
int64_t ownerChanges(const ArenaPlan &plan) {
  int64_t count = 0;
  for (const ArenaPlan::Box &first : plan.boxes)
    for (const ArenaPlan::Box &second : plan.boxes)
      count += first.lastStage < second.firstStage && first.offset < second.offset + second.bytes &&
               second.offset < first.offset + first.bytes;
  return count;
}

class Overlay : public testing::Test {
protected:
  Overlay() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.printOpOnDiagnostic(false);
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  OwningOpRef<ModuleOp> placed(StringRef text) {
    OwningOpRef<ModuleOp> module = bindText(context, text, "overlay.mlir", {});
    EXPECT_TRUE(module);
    EXPECT_EQ(check(*module), "");
    return module;
  }

  /// What the emulator says with one barrier left out; empty if nothing.
  std::string without(ModuleOp module, int64_t barrier) {
    OwningOpRef<ModuleOp> copy = module.clone();
    auto outputs = outputsOf(*copy, barrier);
    return outputs ? std::string() : llvm::toString(outputs.takeError());
  }

  MLIRContext context;
};

// Rows are spread over both wavefronts: each reads what the other one has written.
constexpr const char *kTwoOwners = R"(
mono.schedule @two_owners target("gfx950") grid(1 x 128) {
  %x = mono.operand "x" read [4, 256] : f32
  %y = mono.operand "y" write [4, 256] : f32
  %a = mono.region "a" [2, 256] : f32
  %b = mono.region "b" [2, 256] : f32
  mono.stage "first" (%t) tasks [1] base [0] {
    %v = mono.load %x[0, 0] [2, 256] : tensor<2x256xf32>
    mono.store %v, %a[0, 0] : tensor<2x256xf32>
    %top = mono.load %a[0, 0] [1, 256] : tensor<1x256xf32>
    %bottom = mono.load %a[1, 0] [1, 256] : tensor<1x256xf32>
    mono.store %top, %y[1, 0] : tensor<1x256xf32>
    mono.store %bottom, %y[0, 0] : tensor<1x256xf32>
  }
  mono.stage "second" (%t) tasks [1] base [0] {
    %v = mono.load %x[2, 0] [2, 256] : tensor<2x256xf32>
    mono.store %v, %b[0, 0] : tensor<2x256xf32>
    %top = mono.load %b[0, 0] [1, 256] : tensor<1x256xf32>
    %bottom = mono.load %b[1, 0] [1, 256] : tensor<1x256xf32>
    mono.store %top, %y[3, 0] : tensor<1x256xf32>
    mono.store %bottom, %y[2, 0] : tensor<1x256xf32>
  }
}
)";

TEST_F(Overlay, AMissingBarrierBetweenOwnersIsARace) {
  OwningOpRef<ModuleOp> module = placed(kTwoOwners);
  EXPECT_EQ(ownerChanges(planOf(scheduleOf(*module))), 1);
  OwningOpRef<ModuleOp> copy = module->clone();
  auto compiled = compilePlaced(*copy);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  // Written before it is read, read before it is written over, written before it is read, and one
  // in front of the epoch word; none elsewhere.
  EXPECT_EQ(compiled->barriers, 4);
  EXPECT_EQ(without(*module, /*barrier=*/-1), "");
  EXPECT_TRUE(StringRef(without(*module, 0)).contains("read of LDS nobody wrote"));
  for (int64_t barrier : {1, 2})
    EXPECT_TRUE(StringRef(without(*module, barrier)).contains("LDS race")) << barrier;
}

// Bytes that never change hands need no barrier in between.
TEST_F(Overlay, RegionsThatLiveApartNeedNone) {
  std::string text = kTwoOwners;
  text.insert(text.find("\n  mono.stage \"first\""), " at 4096");
  OwningOpRef<ModuleOp> module = placed(text);
  EXPECT_EQ(ownerChanges(planOf(scheduleOf(*module))), 0);
  auto compiled = compilePlaced(*module);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  EXPECT_EQ(compiled->barriers, 3);
}

// What the planner decides for the whole layer runs under the race check, and it decides a lot.
TEST_F(Overlay, OfTheWholeLayerRunsWithoutARace) {
  Source source = tinyLayer();
  source.file = MONO_SOURCE_DIR "/" + source.file;
  std::vector<BoundSource> bound = bindSource(context, source);
  ASSERT_EQ(bound.size(), 1u);
  ASSERT_EQ(check(*bound.front().module), "");
  EXPECT_GT(ownerChanges(planOf(scheduleOf(*bound.front().module))), 100);
  EXPECT_EQ(without(*bound.front().module, /*barrier=*/-1), "");
}

} // namespace
