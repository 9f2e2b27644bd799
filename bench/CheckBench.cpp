// How long the checks take on schedules as large as the chip: 256 workgroups on each of 8 ranks, 20
// stages. The bar: 0.5 s and 500 MB.
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

/// Each task waits for the whole stage before it within its group: `group` workgroups of all ranks.
static std::string allToAll(int64_t group) {
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

/// Ten stages post to the right neighbour, ten receive from the left one: what a rank has read, its
/// left neighbour hears seven launches later, so that slots can be used again after eight.
static std::string ring() {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "mono.schedule @ring target(\"gfx950\") grid(256 x 64) {\n"
     << "%rank = mono.ranks [" << kRanks << "]\n"
     << "%x = mono.operand \"x\" read [256, 64] : f32\n";
  for (int i = 0; i < kStages / 2; ++i)
    os << llvm::formatv(
        "%m{0} = mono.mailbox \"m{0}\" tagged scope(peers) slots({1}) [{1}, 256, 64] "
        ": f32\n",
        i, kRanks);
  for (int i = 0; i < kStages; ++i) {
    bool posts = i < kStages / 2;
    os << llvm::formatv("mono.stage \"s{0}\" (%t) tasks [256] base [{1}] {{\n", i, i * 7 % 256);
    if (posts)
      os << "%v = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>\n"
         << llvm::formatv("mono.post %v to %m{0}[%rank, %t, 0] : tensor<1x64xf32>\n", i);
    else
      os << llvm::formatv("%r = mono.receive %m{0}[(%rank + {1}) mod {2}, %t, 0] [1, 1, 64] sum : "
                          "tensor<1x64xf32>\n",
                          i - kStages / 2, kRanks - 1, kRanks);
    os << "}\n";
  }
  os << "}\n";
  return text;
}

static void check(benchmark::State &state, const std::string &text) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  PassManager pm(&context);
  buildPipeline(pm, {}, Step::Checked, Step::Checked);
  for (auto _ : state)
    if (!module || failed(pm.run(*module)))
      return state.SkipWithError("the schedule is rejected");
}

/// How many posts and receives there are in a launch.
static void countEvents(benchmark::State &state, int eachTask) {
  state.counters["events"] = eachTask * kStages * 256 * kRanks;
}

static void checkAllToAll(benchmark::State &state) {
  check(state, allToAll(state.range(0)));
  countEvents(state, 2);
}

static void checkRing(benchmark::State &state) {
  check(state, ring());
  countEvents(state, 1);
}

void registerCheck() {
  benchmark::RegisterBenchmark("check/all_to_all", checkAllToAll)
      ->ArgName("group")
      ->Arg(1)
      ->Arg(16)
      ->Arg(256)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("check/ring", checkRing)->Unit(benchmark::kMillisecond);
}

} // namespace mono::bench
