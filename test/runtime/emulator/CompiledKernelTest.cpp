// Kernels compiled by clang, run end to end and compared with the same computation on the host.
#include "test/runtime/emulator/AsmKernel.h"

#include <gtest/gtest.h>

#include "llvm/Support/MemoryBuffer.h"

#include <bit>
#include <numeric>
#include <random>

using namespace mono::emu;
using namespace mono::emu::test;

namespace {

std::vector<uint8_t> compiledFile() {
  auto buffer = llvm::MemoryBuffer::getFile(MONO_COMPILED_KERNELS);
  EXPECT_TRUE(bool(buffer)) << MONO_COMPILED_KERNELS;
  return {(*buffer)->getBufferStart(), (*buffer)->getBufferEnd()};
}

/// Bytes of mixed arguments, each aligned to its size.
struct Arguments {
  std::vector<uint8_t> bytes;
  template <typename T> Arguments &add(T value) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    auto *p = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), p, p + sizeof(T));
    return *this;
  }
};

/// Compilers know the hazards: the check must have nothing to say about what they make.
Options everyCheck() {
  Options options = testOptions();
  options.checks.set(Check::Hazard);
  return options;
}

std::string run(TestMachine &m, const std::string &kernel, const Arguments &args, uint32_t groups,
                uint32_t items) {
  Launch launch;
  launch.module = m.modules[0];
  launch.kernel = kernel;
  launch.grid = {groups, 1, 1};
  launch.block = {items, 1, 1};
  launch.kernarg = args.bytes;
  return errorText(m.machine.run({launch}));
}

std::vector<uint32_t> randomWords(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t &w : words)
    w = uint32_t(random());
  return words;
}

} // namespace

TEST(CompiledKernel, VectorAddWithATail) {
  TestMachine m(compiledFile(), "vectorAdd", 1, everyCheck());
  const unsigned n = 1000;
  std::vector<uint32_t> a(n), b(n);
  for (unsigned i = 0; i < n; ++i) {
    a[i] = std::bit_cast<uint32_t>(float(i) * 0.37f);
    b[i] = std::bit_cast<uint32_t>(100.0f - float(i));
  }
  DevicePtr pa = m.buffer(a, "a"), pb = m.buffer(b, "b"), sum = m.output(n, "sum");
  ASSERT_EQ(run(m, "vectorAdd", Arguments().add(pa).add(pb).add(sum).add(n), 4, 256), "");
  auto result = m.read(sum, n);
  for (unsigned i = 0; i < n; ++i) // doubling is exact, so a fused multiply-add rounds the same
    EXPECT_EQ(std::bit_cast<float>(result[i]),
              std::bit_cast<float>(a[i]) * 2.0f + std::bit_cast<float>(b[i]));
}

TEST(CompiledKernel, TreeSumOver256Workgroups) {
  for (unsigned threads : {1u, 2u}) {
    Options options = everyCheck();
    options.threads = threads;
    TestMachine m(compiledFile(), "treeSum", 1, options);
    std::vector<uint32_t> in = randomWords(256 * 256, 5);
    DevicePtr pin = m.buffer(in), partials = m.output(256, "partials"),
              arrived = m.buffer(std::vector<uint32_t>{0}, "arrived"), total = m.output(1, "total");
    Arguments args;
    args.add(pin).add(partials).add(arrived).add(total).add(uint32_t(256));
    ASSERT_EQ(run(m, "treeSum", args, 256, 256), "");
    EXPECT_EQ(m.read(total, 1)[0], std::accumulate(in.begin(), in.end(), uint32_t(0)));
    auto sums = m.read(partials, 256);
    for (unsigned g = 0; g < 256; ++g)
      EXPECT_EQ(sums[g], std::accumulate(&in[256 * g], &in[256 * g] + 256, uint32_t(0)));
  }
}

TEST(CompiledKernel, DivergentIntegerCode) {
  TestMachine m(compiledFile(), "integerMix", 1, everyCheck());
  std::vector<uint32_t> in = randomWords(256, 11);
  for (unsigned n = 0; n < 64; ++n)
    in[n] = n;
  DevicePtr pin = m.buffer(in), out = m.output(256);
  ASSERT_EQ(run(m, "integerMix", Arguments().add(pin).add(out), 4, 64), "");
  auto result = m.read(out, 256);
  for (unsigned n = 0; n < 256; ++n) {
    uint32_t x = in[n], steps = 0;
    for (; x > 1 && steps < 200; ++steps)
      x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    uint64_t wide = uint64_t(in[n]) * 2654435761u;
    if (in[n] % 5 == 0)
      steps += uint32_t(wide >> 32);
    else if (in[n] % 5 == 1)
      steps ^= uint32_t(wide);
    else if (in[n] % 5 == 3)
      steps = in[n] / (steps + 7);
    EXPECT_EQ(result[n], steps) << in[n];
  }
}

TEST(CompiledKernel, ScratchArrays) {
  TestMachine m(compiledFile(), "usesScratch", 1, everyCheck());
  EXPECT_GT(llvm::cantFail(m.machine.kernel(m.modules[0], "usesScratch")).scratchBytes, 0u);
  std::vector<uint32_t> in = randomWords(128, 3);
  DevicePtr pin = m.buffer(in), out = m.output(128);
  ASSERT_EQ(run(m, "usesScratch", Arguments().add(pin).add(out), 2, 64), "");
  auto result = m.read(out, 128);
  for (unsigned n = 0; n < 128; ++n)
    EXPECT_EQ(result[n], in[n] * (in[n] % 16 + 1));
}

TEST(CompiledKernel, ConstantTable) {
  TestMachine m(compiledFile(), "constantTable", 1, everyCheck());
  DevicePtr out = m.output(64);
  ASSERT_EQ(run(m, "constantTable", Arguments().add(out).add(uint32_t(3)), 1, 64), "");
  auto result = m.read(out, 64);
  for (unsigned n = 0; n < 64; ++n)
    EXPECT_EQ(result[n], (n + 3) % 8 * ((n + 3) % 8));
}

TEST(CompiledKernel, FloatConversionsAndDivision) {
  TestMachine m(compiledFile(), "floatMix", 1, everyCheck());
  std::vector<uint32_t> in(64);
  for (unsigned n = 0; n < 64; ++n)
    in[n] = std::bit_cast<uint32_t>(0.173f * float(n) * float(n) - 1.0f);
  DevicePtr pin = m.buffer(in), out = m.output(64);
  ASSERT_EQ(run(m, "floatMix", Arguments().add(pin).add(out), 1, 64), "");
  auto result = m.read(out, 64);
  for (unsigned n = 0; n < 64; ++n) {
    float x = std::bit_cast<float>(in[n]);
    float y = float(_Float16(x)) / (x + 3.0f);
    float expected = y + float(int(x * 10.0f));
    // OpenCL-free C divides with 2.5 ulp at most; the sum adds half an ulp.
    EXPECT_NEAR(std::bit_cast<float>(result[n]), expected, std::abs(expected) * 4e-7f + 4e-7f) << x;
  }
}
