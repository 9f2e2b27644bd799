// What a launch costs in the runtime itself: groups over a HIP library whose functions return at
// once.
#include "bench/Benchmarks.h"
#include "lowering/Compile.h"
#include "runtime/Group.h"
#include "runtime/hip/HipNode.h"

#include <benchmark/benchmark.h>

using namespace llvm;

namespace mono::bench {

static Error bindAll(Group &group) {
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    for (const Operand &operand : group.manifest().operands)
      if (operand.access == OperandAccess::Read)
        if (Error error =
                group.write(rank, operand.name, std::vector<uint8_t>(operand.type.bytes())))
          return error;
  return Error::success();
}

/// Starts all ranks of the all-reduce example, each on a stream, as a server would.
static Error launchAllRanks(benchmark::State &state, unsigned ranks) {
  CompileOptions options;
  options.params = {{"R", ranks}};
  auto code = compileFile(MONO_SOURCE_DIR "/examples/06_all_reduce.mlir", options);
  if (!code)
    return code.takeError();
  auto library = hip::HipLibrary::open(MONO_STUB_HIP);
  if (!library)
    return library.takeError();
  hip::HipSelection selection;
  selection.count = ranks;
  auto node = hip::HipNode::create(std::move(*library), selection);
  if (!node)
    return node.takeError();
  auto group = Group::create((*node)->devices(), *code);
  if (!group)
    return group.takeError();
  if (Error error = bindAll(*group))
    return error;
  std::vector<StreamHandle> streams(ranks, nullptr);
  for (auto _ : state)
    if (Error error = group->enqueue(streams))
      return error;
  state.counters["per_launch"] = benchmark::Counter(
      ranks, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  return Error::success();
}

static void measureLaunch(benchmark::State &state) {
  if (Error error = launchAllRanks(state, static_cast<unsigned>(state.range(0))))
    state.SkipWithError(toString(std::move(error)).c_str());
}

void registerLaunch() {
  benchmark::RegisterBenchmark("launch/stub", measureLaunch)
      ->ArgName("ranks")
      ->Arg(2)
      ->Arg(8)
      ->Unit(benchmark::kMicrosecond);
}

} // namespace mono::bench
