// Loads to LDS, bounded buffers and transposing reads of compiled kernels.
#include "test/runtime/kernels/device/Device.h"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/SmallFloats.h"
#include "test/runtime/kernels/Values.h"

using namespace mono::emu::test;

namespace {

class DeviceMemory : public KernelSuite {};
INSTANTIATE_KERNELS(DeviceMemory, "O0", "O3");

TEST_P(DeviceMemory, GlobalLoadLds) {
  Differential run("Memory", GetParam());
  for (u32 dwords : {1u, 3u, 4u}) {
    const u32 stride = dwords == 1 ? 1 : 4;
    auto in = run.input(randomIntegers<u32>(64 * dwords, 111));
    auto out = run.output<u32>(64 * stride);
    ASSERT_EQ(run.device("globalLoadLds" + std::to_string(4 * dwords), {}, in, out), "");
    std::vector<u32> got = run.read(out);
    for (u32 lane = 0; lane < 64; ++lane)
      for (u32 n = 0; n < stride; ++n) // the fourth dword of a 12-byte load stays as it was
        EXPECT_EQ(got[stride * lane + n],
                  n < dwords ? in.host[(63 - lane) * dwords + n] : 0xabababab);
  }
}

TEST_P(DeviceMemory, BufferBounds) {
  Differential run("Memory", GetParam());
  const u32 bytes = 100; // 25 dwords; whole lanes and parts of quads fall outside
  auto in = run.input(randomIntegers<u32>(64 * 4, 112));
  auto store = run.input(std::vector<u32>(64, 77));
  auto out = run.output<u32>(7 * 64);
  ASSERT_EQ(run.device("buffers", {}, in, store, out, bytes), "");
  std::vector<u32> got = run.read(out), stored = run.read(store);
  auto word = [&](u32 n) { return n < bytes / 4 ? in.host[n] : 0; };
  const u8 *memory = reinterpret_cast<const u8 *>(in.host.data());
  for (u32 lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(got[lane], word(lane));
    for (u32 n = 0; n < 4; ++n)
      EXPECT_EQ(got[64 * (1 + n) + lane], word(4 * lane + n)) << lane << ", " << n;
    EXPECT_EQ(got[64 * 5 + lane], memory[lane]);
    u32 half = lane * 2 < bytes ? memory[2 * lane] | memory[2 * lane + 1] << 8 : 0;
    EXPECT_EQ(got[64 * 6 + lane], half);
    EXPECT_EQ(stored[lane], lane < bytes / 4 ? in.host[lane] + 1 : 77);
  }
}

TEST_P(DeviceMemory, BufferLoadLds) {
  Differential run("Memory", GetParam());
  const u32 bytes = 160;
  auto in = run.input(randomIntegers<u32>(256, 113));
  auto out = run.output<u32>(64 + 256);
  ASSERT_EQ(run.device("bufferLoadLds", {}, in, out, bytes), "");
  std::vector<u32> got = run.read(out);
  auto word = [&](u32 n) { return n < bytes / 4 ? in.host[n] : 0; };
  for (u32 n = 0; n < 64; ++n)
    EXPECT_EQ(got[n], word(n));
  for (u32 n = 0; n < 256; ++n)
    EXPECT_EQ(got[64 + n], word(n));
}

TEST_P(DeviceMemory, TransposingReads) {
  Differential run("Memory", GetParam());
  auto in = run.input(randomIntegers<u32>(128, 114));
  auto out16 = run.output<u32>(128), out8 = run.output<u32>(128), out4 = run.output<u32>(128);
  ASSERT_EQ(run.device("transposingReads", {}, in, out16, out8, out4), "");
  const std::pair<unsigned, std::vector<u32>> results[] = {
      {16, run.read(out16)}, {8, run.read(out8)}, {4, run.read(out4)}};
  for (const auto &[width, got] : results)
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned row = 0; row < 64 / width; ++row) {
        // A tile of a group of 16 lanes is 32 dwords; lane l of it gets column l.
        unsigned expected = itemOf(&in.host[lane / 16 * 32], row * 16 + lane % 16, width);
        EXPECT_EQ(itemOf(&got[2 * lane], row, width), expected)
            << width << " bits, lane " << lane << ", row " << row;
      }
}

TEST_P(DeviceMemory, UnalignedAccess) {
  Differential run("Memory", GetParam());
  const u32 size = 1 + 2 + 4 + 8 + 8;
  auto in = run.input(randomIntegers<u8>(64 * size, 115));
  auto out = run.output<u8>(64 * size);
  ASSERT_EQ(run.device("unalignedAccess", {}, in, out), "");
  std::vector<u8> expected(64 * size), got = run.read(out);
  for (u32 lane = 0; lane < 64; ++lane) {
    u8 *to = &expected[(63 - lane) * size];
    std::memcpy(to, &in.host[lane * size], size);
    auto increment = [](u8 *p, u32 bytes) {
      for (u32 n = 0; n < bytes && ++p[n] == 0; ++n)
        continue; // carry on
    };
    increment(to, 1);
    increment(to + 1, 2);
    increment(to + 3, 4);
    increment(to + 7, 8);
  }
  EXPECT_EQ(got, expected);
}

// ---- what is not there --------------------------------------------------------------------------

// Device printf is a library function that the compiled file leaves undefined.
TEST(DeviceLibrary, PrintfIsRefusedByName) {
  mono::emu::Machine machine(1);
  auto module = machine.load(0, compiledKernels("Printf", "O3"));
  ASSERT_FALSE(bool(module));
  std::string error = llvm::toString(module.takeError());
  EXPECT_NE(error.find("hostPrintf"), std::string::npos) << error;
}

} // namespace
