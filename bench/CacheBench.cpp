// What a compilation costs that the cache answers, as a host application sees it.
#include "bench/Benchmarks.h"
#include "mono/jit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <benchmark/benchmark.h>

namespace mono::bench {

/// A folder for one benchmark, which goes away with it.
struct Folder {
  Folder() { failed = static_cast<bool>(llvm::sys::fs::createUniqueDirectory("monobench", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  llvm::SmallString<128> path;
  bool failed = false;
};

static void measureHit(benchmark::State &state, const char *schedule) {
  Folder folder;
  jit::CompileOptions options;
  options.parameters = {{"S", 4}, {"TP", 8}};
  options.cacheDirectory = folder.path.str().str();
  auto compile = [&] { return jit::Kernel::compileFile(schedule, options); };
  auto first = compile();
  if (!first || folder.failed)
    return state.SkipWithError("expected a compilation to keep");
  for (auto _ : state) {
    auto kernel = compile();
    if (!kernel || !kernel->info().from_cache)
      return state.SkipWithError("expected a hit");
  }
  state.counters["code_object_bytes"] = double(first->codeObject().size());
}

void registerCache() {
  for (auto [name, schedule] :
       {std::pair("cache/hit/attn_out_router", MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir"),
        std::pair("cache/hit/layer", MONO_SOURCE_DIR "/models/glm5/layer.mlir")})
    benchmark::RegisterBenchmark(name, measureHit, schedule)->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
