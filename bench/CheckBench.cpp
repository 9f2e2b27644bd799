// How long the checks take on a schedule as large as the chip: 256 workgroups on each of 8 ranks,
// 20 stages, each task waiting for the whole stage before it within its group. The bar: 0.5 s.
#include "bench/Benchmarks.h"
#include "lowering/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include <benchmark/benchmark.h>

using namespace mlir;

namespace mono::bench {

constexpr int kStages = 20, kRanks = 8;

/// The text of the schedule; `group` workgroups of all ranks exchange with each other.
static std::string scheduleText(int64_t group) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "mono.schedule @large target(\"gfx950\") grid(256 x 64) {\n"
     << "%rank = mono.ranks [" << kRanks << "]\n"
     << "%x = mono.operand \"x\" read [256, 64] : f32\n"
     << "%y = mono.operand \"y\" write [256, 64] : f32\n";
  for (int i = 0; i < kStages; ++i)
    os << llvm::formatv("%m{0} = mono.mailbox \"m{0}\" tagged scope(peers) slots(2) [{1}, 256, 64] "
                        ": f32\n",
                        i, kRanks);
  for (int i = 0; i <= kStages; ++i) {
    // Another base for each stage, so that program order ties the groups together.
    os << llvm::formatv("mono.stage \"s{0}\" (%t) tasks [256] base [{1}] {{\n", i, i * 7 % 256);
    if (i > 0)
      os << llvm::formatv("%r = mono.receive %m{0}[0, (%t floordiv {1}) * {1}, 0] [{2}, {1}, 64] "
                          "sum : tensor<{1}x64xf32>\n",
                          i - 1, group, kRanks);
    os << "%v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>\n";
    if (i < kStages)
      os << llvm::formatv("mono.post %v to %m{0}[%rank, %t, 0] : tensor<1x64xf32>\n", i);
    else
      os << "mono.store %v, %y[%t, 0] : tensor<1x64xf32>\n";
    os << "}\n";
  }
  os << "}\n";
  return text;
}

static void checkLarge(benchmark::State &state) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(scheduleText(state.range(0)), ParserConfig(&context));
  PassManager pm(&context);
  buildPipeline(pm, {}, Step::Checked, Step::Checked);
  for (auto _ : state)
    if (!module || failed(pm.run(*module)))
      return state.SkipWithError("the schedule is rejected");
  state.counters["events"] = 2 * kStages * 256 * kRanks;
}

void registerCheck() {
  benchmark::RegisterBenchmark("check/all_to_all", checkLarge)
      ->ArgName("group")
      ->Arg(1)
      ->Arg(16)
      ->Arg(256)
      ->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
