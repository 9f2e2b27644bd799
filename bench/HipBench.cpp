// What a launch takes on GPUs: a graph of 32 launches, replayed 40 times. A replay takes as long as
// its slowest rank; the median of the replays counts, by HIP's own events.
#include "bench/Benchmarks.h"
#include "lowering/Compile.h"
#include "models/GroupTensors.h"
#include "models/Registry.h"
#include "runtime/Error.h"
#include "runtime/hip/HipGraph.h"
#include "runtime/hip/HipNode.h"

#include <benchmark/benchmark.h>

using namespace llvm;

namespace mono::bench {

namespace {

constexpr unsigned ranks = 8, launchesOfGraph = 32, replays = 40, warmUps = 3;

struct Schedule {
  const char *name, *file;
  std::vector<std::pair<std::string, int64_t>> params;
};

/// One rank: its stream, what is replayed on it, and when that begins and ends.
struct Rank {
  hip::HipStream stream;
  hip::HipEvent begin, end;
  hip::HipGraph graph;
};

} // namespace

/// Inputs of the model that knows the schedule, or zeros.
static Error provideInputs(Group &group) {
  const Manifest &manifest = group.manifest();
  if (const models::Model *model = models::findModel(manifest.schedule)) {
    auto problem = model->random(manifest, /*seed=*/1);
    if (!problem)
      return problem.takeError();
    if (Error error = models::provide(group, **problem, OperandAccess::Read))
      return error;
    return models::provide(group, **problem, OperandAccess::Update);
  }
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (const Operand &operand : manifest.operands)
      if (operand.access != OperandAccess::Write)
        if (Error error =
                group.write(rank, operand.name, std::vector<uint8_t>(operand.type.bytes())))
          return error;
  return Error::success();
}

static Expected<Rank> captureRank(Group &group, const hip::HipDevice &device, unsigned rank) {
  auto stream = hip::HipStream::create(device);
  if (!stream)
    return stream.takeError();
  auto begin = hip::HipEvent::create(device);
  if (!begin)
    return begin.takeError();
  auto end = hip::HipEvent::create(device);
  if (!end)
    return end.takeError();
  auto graph = hip::HipGraph::capture(*stream, [&](StreamHandle handle) -> Error {
    for (unsigned launch = 0; launch < launchesOfGraph; ++launch)
      if (Error error = group.enqueue(rank, handle))
        return error;
    return Error::success();
  });
  if (!graph)
    return graph.takeError();
  return Rank{std::move(*stream), std::move(*begin), std::move(*end), std::move(*graph)};
}

/// Seconds of the slowest rank.
static Expected<double> replay(ArrayRef<Rank> all) {
  for (const Rank &rank : all) {
    if (Error error = rank.begin.record(rank.stream))
      return error;
    if (Error error = rank.graph.launch(rank.stream))
      return error;
    if (Error error = rank.end.record(rank.stream))
      return error;
  }
  double slowest = 0;
  for (const Rank &rank : all) {
    if (Error error = rank.stream.synchronize())
      return error;
    Expected<double> seconds = rank.end.secondsSince(rank.begin);
    if (!seconds)
      return seconds.takeError();
    slowest = std::max(slowest, *seconds);
  }
  return slowest;
}

/// Seconds a launch, of each replay in rising order.
static Expected<std::vector<double>> measure(const Schedule &schedule) {
  CompileOptions options;
  options.params = schedule.params;
  auto code = compileFile(schedule.file, options);
  if (!code)
    return code.takeError();
  hip::HipSelection selection;
  selection.count = ranks;
  auto node = hip::HipNode::create(selection);
  if (!node)
    return node.takeError();
  auto group = Group::create((*node)->devices(), *code);
  if (!group)
    return group.takeError();
  if (Error error = provideInputs(*group))
    return error;
  if (Error error = group->prepare())
    return error;
  std::vector<Rank> all;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Expected<Rank> captured = captureRank(*group, (*node)->device(rank), rank);
    if (!captured)
      return captured.takeError();
    all.push_back(std::move(*captured));
  }
  std::vector<double> seconds;
  for (unsigned i = 0; i < warmUps + replays; ++i) {
    Expected<double> took = replay(all);
    if (!took)
      return took.takeError();
    if (i >= warmUps)
      seconds.push_back(*took / launchesOfGraph);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

static void measureOnGpus(benchmark::State &state, const Schedule &schedule) {
  for (auto _ : state) {
    auto seconds = measure(schedule);
    if (!seconds)
      return state.SkipWithError(toString(seconds.takeError()).c_str());
    state.SetIterationTime((*seconds)[replays / 2]);
    state.counters["fastest_us"] = seconds->front() * 1e6;
    state.counters["slowest_us"] = seconds->back() * 1e6;
  }
}

void registerHip() {
  for (const Schedule &schedule :
       {Schedule{"hip/all_reduce", MONO_SOURCE_DIR "/examples/06_all_reduce.mlir", {{"R", ranks}}},
        Schedule{"hip/attn_out_router",
                 MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir",
                 {{"S", 4}, {"TP", ranks}}},
        Schedule{
            "hip/layer", MONO_SOURCE_DIR "/models/glm5/layer.mlir", {{"S", 4}, {"TP", ranks}}}})
    benchmark::RegisterBenchmark(schedule.name, measureOnGpus, schedule)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
}

} // namespace mono::bench
