// What fits on a compute unit of gfx950, with numbers no schedule of today provokes.
#include "lowering/Residency.h"

#include <gtest/gtest.h>

using namespace mono;

namespace {

/// Text of the error without the name of the rule, which must end it; empty if the kernel fits.
std::string check(int64_t vgprs, Residence grid, int64_t staticLds = 0) {
  KernelResources kernel;
  kernel.name = "k";
  kernel.vgprs = vgprs;
  kernel.ldsBytes = staticLds;
  std::string text = toString(checkResidency(kernel, grid));
  llvm::StringRef message = text;
  EXPECT_TRUE(message.empty() || message.consume_back(" [monoc --explain=residency]")) << text;
  return message.str();
}

TEST(Residency, OneWorkgroupOnEachComputeUnit) {
  EXPECT_EQ(check(64, {256, 512, 0}), "");
  EXPECT_EQ(check(64, {257, 512, 0}),
            "kernel 'k': expected at most 256 workgroups, one on each compute unit, but got 257");
}

TEST(Residency, WavefrontsOfAWorkgroup) {
  EXPECT_EQ(check(8, {1, 2048, 0}), "");
  EXPECT_EQ(check(8, {1, 2049, 0}),
            "kernel 'k': expected at most 32 wavefronts on a compute unit, but a workgroup of 2049 "
            "threads has 33");
}

// 512 registers per lane, shared by the wavefronts of a SIMD: 1 of 512, 2 of 256, 3 of 168, 4 of
// 128.
TEST(Residency, RegistersAreSharedByTheWavefrontsOfASimd) {
  EXPECT_EQ(check(512, {256, 256, 0}), "");
  EXPECT_EQ(check(256, {256, 512, 0}), "");
  EXPECT_EQ(check(168, {256, 768, 0}), "");
  EXPECT_EQ(check(128, {256, 1024, 0}), "");
  EXPECT_NE(check(169, {256, 768, 0}), "");
  EXPECT_NE(check(129, {256, 1024, 0}), "");
  EXPECT_EQ(check(257, {256, 512, 0}),
            "kernel 'k': expected at most 512 vector registers per lane of a SIMD, but 2 of the 8 "
            "wavefronts share one and take 264 each (257 in granules of 8); use fewer threads or "
            "smaller tiles");
}

// 5 wavefronts on 4 SIMDs: two share one.
TEST(Residency, AnOddWavefrontCountsForItsSimd) {
  EXPECT_EQ(check(256, {1, 320, 0}), "");
  EXPECT_NE(check(264, {1, 320, 0}), "");
}

TEST(Residency, LdsComesInGranules) {
  EXPECT_EQ(check(64, {256, 512, 163840}), "");
  EXPECT_EQ(check(64, {256, 512, 163841}),
            "kernel 'k': expected at most 163840 bytes of LDS on a compute unit, but a workgroup "
            "takes 165120 (163841 in granules of 1280)");
  // What the object asks for itself counts where it is more.
  EXPECT_NE(check(64, {256, 512, 0}, 163841), "");
}

} // namespace
