// Bank conflicts, as the emulator models them, of what the matrix cores leave in LDS.
#include "test/lowering/Device/OneGpu.h"

using namespace mono;
using namespace mono::test;

namespace {

emu::Stats statsOf(const std::string &schedule) {
  emu::Options options;
  options.countBankConflicts = true;
  OneGpu gpu(schedule, options);
  gpu.write("a", std::vector<uint16_t>(16 * 512));
  gpu.write("b", std::vector<uint16_t>(64 * 512));
  gpu.launch();
  return gpu.stats();
}

} // namespace

/// 16 rows of 64 sums, two parts of the depth. Rows of the regions are an odd multiple of 16 bytes
/// long; without padding the sums of 16 rows would share four banks, 60 cycles a store.
TEST(BankConflicts, ProductHasNone) {
  emu::Stats stats = statsOf(R"(mono.schedule @p target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [16, 512] : bf16
  %b = mono.operand "b" read [64, 512] : bf16
  %y = mono.operand "y" write [16, 64] : f32
  %ra = mono.region "ra" [16, 512] pad(8) : bf16
  %rb = mono.region "rb" [64, 512] pad(8) : bf16
  mono.stage "s" (%t) tasks [1] base [0] {
    %va = mono.load %a[0, 0] [16, 512] : tensor<16x512xbf16>
    mono.store %va, %ra[0, 0] : tensor<16x512xbf16>
    %vb = mono.load %b[0, 0] [64, 512] : tensor<64x512xbf16>
    mono.store %vb, %rb[0, 0] : tensor<64x512xbf16>
    %p = mono.product %ra[0, 0] [16, 512], %rb[0, 0] [64, 512] : tensor<16x64xf32>
    mono.store %p, %y[0, 0] : tensor<16x64xf32>
  }
})");
  EXPECT_GT(stats.ldsAccesses, 0u);
  EXPECT_EQ(stats.ldsBankConflicts, 0u);
}

/// 8 rows of 64 sums from each of 8 wavefronts: 8 rows would share four banks.
TEST(BankConflicts, ContractionHasNone) {
  emu::Stats stats = statsOf(R"(mono.schedule @c target("gfx950") grid(1 x 512) {
  %a = mono.operand "a" read [16, 512] : bf16
  %b = mono.operand "b" read weight [64, 512] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [8, 64] : f32
  mono.stage "s" (%t) tasks [1] base [0] {
    %w = mono.stream %b[0, 0] [64, 512] split_k(8)
    %p = mono.contract %a[0, 0] [8, 512], %w : tensor<8x64xf32>
    mono.store %p, %y[0, 0] : tensor<8x64xf32>
  }
})");
  EXPECT_GT(stats.ldsAccesses, 0u);
  EXPECT_EQ(stats.ldsBankConflicts, 0u);
}
