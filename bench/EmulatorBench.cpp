// How fast the emulator is: instruction rates on one and two host threads, and whole kernels.
#include "bench/Benchmarks.h"
#include "bench/Instructions.h"
#include "bench/Kernels.h"
#include "bench/Stopwatch.h"
#include "lowering/Compile.h"
#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "runtime/EmulatorDevice.h"
#include "runtime/Group.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <benchmark/benchmark.h>

#include <functional>

using namespace llvm;

namespace mono::bench {

// Enough work that starting the run does not count, and short enough to find a quiet moment.
static constexpr uint32_t rounds = 100;
static constexpr unsigned workgroups = 16;

static Error runOnce(Device &device, const LaunchConfig &config) {
  if (Error error = device.launch(config))
    return error;
  return device.synchronize();
}

/// Launches `rate(out, rounds)` again and again, and reports the best launch: other processes can
/// only make one slower. One thread is timed by what it uses of a processor, two by the clock, and
/// beside that by what they use together: on a busy machine the clock says little.
static Error launchRate(benchmark::State &state, ArrayRef<uint8_t> codeObject,
                        const InstructionRow &row) {
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
  auto out = DeviceBuffer::allocate(device, workgroups * 4096, "out", MemoryKind::Local);
  if (!out)
    return out.takeError();
  std::vector<uint8_t> arguments(12);
  support::endian::write64le(&arguments[0], out->ptr());
  support::endian::write32le(&arguments[8], rounds);
  LaunchConfig config;
  config.kernel = *kernel;
  config.workgroups = {workgroups, 1, 1};
  config.threads = {256, 1, 1};
  config.dynamicLdsBytes = 4096;
  config.kernargs = arguments;
  // The first launch writes the memory that others read, which makes it another case.
  if (Error error = runOnce(device, config))
    return error;
  double best = 0, bestUsed = 0;
  for (auto _ : state) {
    (*node)->machine().resetStats();
    const Stopwatch clock(false), processor(true);
    if (Error error = runOnce(device, config))
      return error;
    const double used = processor.seconds();
    const double seconds = options.threads == 1 ? used : clock.seconds();
    state.SetIterationTime(seconds);
    const double done = row.worth * double((*node)->machine().stats(0).count(row.counted));
    best = std::max(best, done / seconds);
    bestUsed = std::max(bestUsed, done / used);
  }
  state.counters[row.unit] = best;
  if (options.threads > 1)
    state.counters["of_each_processor"] = bestUsed;
  return Error::success();
}

static void measureRate(benchmark::State &state,
                        const std::function<Expected<std::vector<uint8_t>>()> &make,
                        const InstructionRow &row) {
  Expected<std::vector<uint8_t>> code = make();
  Error error = code ? launchRate(state, *code, row) : code.takeError();
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

/// A rate benchmark under `name`, on each of `threads` host threads.
static void registerRate(const std::string &name,
                         std::function<Expected<std::vector<uint8_t>>()> make, InstructionRow row,
                         std::initializer_list<int64_t> threads) {
  benchmark::internal::Benchmark *rate = benchmark::RegisterBenchmark(
      name.c_str(),
      [make = std::move(make), row](benchmark::State &state) { measureRate(state, make, row); });
  for (int64_t count : threads)
    rate->Arg(count);
  rate->ArgName("threads")->UseManualTime()->MinTime(0.2)->Unit(benchmark::kMillisecond);
}

/// Name of a row: its mnemonic; "+flush" where f32 denormals are flushed; the operand formats of a
/// matrix instruction that leaves them to its modifiers.
static std::string rowName(const InstructionRow &row) {
  StringRef text = row.text;
  std::string name = text.split(' ').first.str();
  if (row.flushesDenormals)
    name += "+flush";
  if (auto [front, formats] = text.split("cbsz:"); !formats.empty())
    name += "+cbsz:" + formats.str();
  llvm::replace(name, ' ', '+');
  return name;
}

static void registerRows(const std::string &group, ArrayRef<InstructionRow> rows) {
  for (const InstructionRow &row : rows) {
    auto make = [row] { return instructionKernel(row.text, row.flushesDenormals); };
    registerRate("emulator/" + group + "/" + rowName(row), make, row, {1});
  }
}

void registerEmulator() {
  using enum emu::InstructionClass;
  // Multiply-adds an instruction: 16 x 16 x 32 and 16 x 16 x 128.
  registerRate("emulator/valu", valuKernel, {"", Valu, 1, "instructions/s"}, {1, 2});
  registerRate("emulator/mfma_bf16", bf16Kernel, {"", Mfma, 8192, "MAC/s"}, {1, 2});
  registerRate("emulator/mfma_mxfp4", mxfp4Kernel, {"", Mfma, 32768, "MAC/s"}, {1, 2});
  registerRows("instruction", valuRows());
  registerRows("matrix", matrixRows());
  registerRows("memory", memoryRows());
  benchmark::RegisterBenchmark("emulator/attn_out_router", runAttnOutRouter)
      ->ArgNames({"S", "TP"})
      ->Args({4, 8})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
