// How long the compiler takes.
#include "bench/Benchmarks.h"
#include "lowering/Compile.h"

#include <benchmark/benchmark.h>

namespace mono::bench {

static void compileAttnOutRouter(benchmark::State &state) {
  CompileOptions options;
  options.params = {{"S", state.range(0)}, {"TP", state.range(1)}};
  for (auto _ : state) {
    auto code = compileFile(MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", options);
    if (!code) {
      state.SkipWithError(llvm::toString(code.takeError()).c_str());
      return;
    }
    benchmark::DoNotOptimize(code->data());
  }
}

void registerCompile() {
  benchmark::RegisterBenchmark("compile/attn_out_router", compileAttnOutRouter)
      ->ArgNames({"S", "TP"})
      ->Args({1, 8})
      ->Args({4, 8})
      ->Args({8, 8})
      ->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
