// How fast the emulator is: instruction rates on one and two host threads, and whole kernels.
#include "bench/Benchmarks.h"
#include "bench/Kernels.h"
#include "lowering/Compile.h"
#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"

#include "llvm/Support/Endian.h"

#include <benchmark/benchmark.h>

using namespace llvm;

namespace mono::bench {

// Enough work that starting the run does not count.
static constexpr uint32_t rounds = 2000;
static constexpr unsigned workgroups = 16;

namespace {

/// What is counted, and what one instruction of it is worth.
struct Rate {
  emu::InstructionClass counted;
  double worth;
  const char *name;
};

} // namespace

/// Launches `rate(out, rounds)` until the benchmark has enough.
static Error launchRate(benchmark::State &state, ArrayRef<uint8_t> codeObject, Rate rate) {
  emu::Options options;
  options.threads = static_cast<unsigned>(state.range(0));
  auto node = EmulatorNode::create(1, options);
  if (!node)
    return node.takeError();
  Device &device = *(*node)->devices().front();
  auto loaded = device.load(codeObject);
  if (!loaded)
    return loaded.takeError();
  auto kernel = (*loaded)->kernel("rate");
  if (!kernel)
    return kernel.takeError();
  auto out = DeviceBuffer::allocate(device, 1024, "out", MemoryKind::Local);
  if (!out)
    return out.takeError();
  std::vector<uint8_t> arguments(12);
  support::endian::write64le(&arguments[0], out->ptr());
  support::endian::write32le(&arguments[8], rounds);
  LaunchConfig config;
  config.kernel = *kernel;
  config.workgroups = {workgroups, 1, 1};
  config.threads = {256, 1, 1};
  config.kernargs = arguments;
  for (auto _ : state) {
    if (Error error = device.launch(config))
      return error;
    if (Error error = device.synchronize())
      return error;
  }
  double done = rate.worth * (*node)->machine().stats(0).count(rate.counted);
  state.counters[rate.name] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  return Error::success();
}

static void measureRate(benchmark::State &state, Expected<std::vector<uint8_t>> (*make)(),
                        Rate rate) {
  Expected<std::vector<uint8_t>> code = make();
  Error error = code ? launchRate(state, *code, rate) : code.takeError();
  if (error)
    state.SkipWithError(toString(std::move(error)).c_str());
}

/// Compiles and sets up the kernel with random inputs, then times launches of all ranks.
static Error launchAttnOutRouter(benchmark::State &state) {
  CompileOptions options;
  options.params = {{"S", state.range(0)}, {"TP", state.range(1)}};
  auto code = compileFile(MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", options);
  if (!code)
    return code.takeError();
  auto node = EmulatorNode::create(static_cast<unsigned>(state.range(1)));
  if (!node)
    return node.takeError();
  auto group = Group::create((*node)->devices(), *code);
  if (!group)
    return group.takeError();
  auto problem = models::findModel("attn_out_router")->random(group->manifest(), 1);
  if (!problem)
    return problem.takeError();
  if (Error error = models::provide(*group, **problem, OperandAccess::Read))
    return error;
  for (auto _ : state)
    if (Error error = group->launch())
      return error;
  return Error::success();
}

static void runAttnOutRouter(benchmark::State &state) {
  if (Error error = launchAttnOutRouter(state))
    state.SkipWithError(toString(std::move(error)).c_str());
}

void registerEmulator() {
  // 16 x 16 x 32 multiply-adds an instruction.
  Rate valu = {emu::InstructionClass::Valu, 1, "instructions"};
  Rate mfma = {emu::InstructionClass::Mfma, 8192, "MAC"};
  benchmark::RegisterBenchmark("emulator/valu", measureRate, valuKernel, valu)
      ->ArgName("threads")
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("emulator/mfma_bf16", measureRate, mfmaKernel, mfma)
      ->ArgName("threads")
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("emulator/attn_out_router", runAttnOutRouter)
      ->ArgNames({"S", "TP"})
      ->Args({4, 8})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
