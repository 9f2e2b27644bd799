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

#include <functional>

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
  auto out = DeviceBuffer::allocate(device, workgroups * 1024, "out", MemoryKind::Local);
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

static void measureRate(benchmark::State &state,
                        const std::function<Expected<std::vector<uint8_t>>()> &make, Rate rate) {
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

/// One of each kind of vector instruction that compilers and kernels use often.
static constexpr const char *commonInstructions[] = {
    "v_mov_b32 v16, v1",
    "v_add_u32 v16, v1, v2",
    "v_add_f32 v16, v1, v2",
    "v_fma_f32 v16, v1, v2, v4",
    "v_max_f32 v16, v1, v2",
    "v_med3_f32 v16, v1, v2, v4",
    "v_cmp_gt_f32 vcc, v1, v2",
    "v_cndmask_b32 v16, v1, v2, vcc",
    "v_lshl_add_u64 v[16:17], v[6:7], 2, v[8:9]",
    "v_mad_u64_u32 v[16:17], vcc, v6, v7, v[8:9]",
    "v_perm_b32 v16, v1, v2, v4",
    "v_pk_fma_f32 v[16:17], v[6:7], v[8:9], v[10:11]",
    "v_pk_add_f16 v16, v1, v2",
    "v_pk_fma_f16 v16, v1, v2, v4",
    "v_fma_mix_f32 v16, v1, v2, v4 op_sel_hi:[1,0,0]",
    "v_dot2_f32_bf16 v16, v1, v2, v4",
    "v_add_f32_dpp v16, v1, v2 row_shr:4 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v16, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
    "v_add_f64 v[16:17], v[6:7], v[8:9]",
    "v_exp_f32 v16, v1",
    "v_log_f32 v16, v1",
    "v_rcp_f32 v16, v1",
    "v_rsq_f32 v16, v1",
    "v_sin_f32 v16, v1",
    "v_cvt_pk_bf16_f32 v16, v1, v2",
    "v_cvt_pkrtz_f16_f32 v16, v1, v2",
    "v_cvt_pk_fp8_f32 v16, v1, v2",
    "v_cvt_pk_f32_fp8 v[16:17], v1",
    "v_cvt_scalef32_pk_bf16_fp4 v16, v1, v2",
    "v_cvt_scalef32_pk_fp4_f32 v16, v1, v2, v4",
};
/// Of those, what a kernel without f32 denormals runs another way.
static constexpr const char *flushingInstructions[] = {
    "v_add_f32 v16, v1, v2",
    "v_fma_f32 v16, v1, v2, v4",
    "v_pk_fma_f32 v[16:17], v[6:7], v[8:9], v[10:11]",
};

/// emulator/instruction/NAME on one thread; names end in "+flush" where f32 denormals are flushed.
static void registerInstructions(ArrayRef<const char *> list, bool flushes) {
  const Rate rate = {emu::InstructionClass::Valu, 1, "instructions"};
  for (StringRef text : list) {
    auto make = [text, flushes] { return instructionKernel(text, flushes); };
    std::string name =
        "emulator/instruction/" + text.split(' ').first.str() + (flushes ? "+flush" : "");
    benchmark::RegisterBenchmark(
        name.c_str(), [make, rate](benchmark::State &state) { measureRate(state, make, rate); })
        ->ArgName("threads")
        ->Arg(1)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

void registerEmulator() {
  // Multiply-adds an instruction: 16 x 16 x 32 and 16 x 16 x 128.
  const Rate valu = {emu::InstructionClass::Valu, 1, "instructions"};
  const Rate bf16 = {emu::InstructionClass::Mfma, 8192, "MAC"};
  const Rate mxfp4 = {emu::InstructionClass::Mfma, 32768, "MAC"};
  auto add = [](const char *name, auto make, Rate rate) {
    benchmark::RegisterBenchmark(
        name, [make, rate](benchmark::State &state) { measureRate(state, make, rate); })
        ->ArgName("threads")
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  add("emulator/valu", valuKernel, valu);
  add("emulator/mfma_bf16", bf16Kernel, bf16);
  add("emulator/mfma_mxfp4", mxfp4Kernel, mxfp4);
  registerInstructions(commonInstructions, false);
  registerInstructions(flushingInstructions, true);
  benchmark::RegisterBenchmark("emulator/attn_out_router", runAttnOutRouter)
      ->ArgNames({"S", "TP"})
      ->Args({4, 8})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
