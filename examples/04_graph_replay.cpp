// Captures the launch of each rank into a HIP graph and replays it, and launches a second group
// directly beside it: both must go through the same values, which lie in device memory alone. Needs
// HIP, or the emulated HIP library named by MONO_HIP_LIBRARY.
#include "examples/Example.h"
#include "lowering/Compile.h"
#include "runtime/Error.h"
#include "runtime/hip/HipGraph.h"
#include "runtime/hip/HipNode.h"

using namespace mono;
using namespace mono::examples;

static constexpr unsigned ranks = 2;
using Words = std::vector<uint32_t>;

static llvm::ArrayRef<uint8_t> bytesOf(const Words &words) {
  return {reinterpret_cast<const uint8_t *>(words.data()), words.size() * 4};
}

/// x of rank r is (r + 1) (i + 1); both other operands start at zero.
static llvm::Error writeInputs(Group &group) {
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Words x(256);
    for (uint32_t i = 0; i < 256; ++i)
      x[i] = (rank + 1) * (i + 1);
    for (auto [operand, words] : {std::pair("x", x), {"position", Words(256)}, {"y", Words(256)}})
      if (llvm::Error error = group.write(rank, operand, bytesOf(words)))
        return error;
  }
  return llvm::Error::success();
}

/// What y is after so many launches, by the same recurrence on the host.
static Words expected(unsigned launches) {
  Words y(256);
  for (uint32_t position = 0; position < launches; ++position)
    for (uint32_t i = 0; i < 256; ++i)
      y[i] = 3 * y[i] + 3 * (i + 1) * position;
  return y;
}

static llvm::Error checkOutputs(Group &group, const char *what, const Words &wanted) {
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Words y(256);
    if (llvm::Error error = group.read(
            rank, "y", {reinterpret_cast<uint8_t *>(y.data()), y.size() * sizeof(uint32_t)}))
      return error;
    for (unsigned i = 0; i < y.size(); ++i)
      if (y[i] != wanted[i])
        return makeError("{}, rank {}, y[{}]: expected {}, but got {}", what, rank, i, wanted[i],
                         y[i]);
  }
  return llvm::Error::success();
}

namespace {

/// A group with a stream of ours for each rank.
struct Runner {
  Group group;
  std::vector<hip::HipStream> streams;

  static llvm::Expected<Runner> create(hip::HipNode &node, llvm::ArrayRef<uint8_t> code) {
    auto group = Group::create(node.devices(), code);
    if (!group)
      return group.takeError();
    Runner runner{std::move(*group), {}};
    for (unsigned rank = 0; rank < ranks; ++rank) {
      auto stream = hip::HipStream::create(node.device(rank));
      if (!stream)
        return stream.takeError();
      runner.streams.push_back(std::move(*stream));
    }
    if (llvm::Error error = writeInputs(runner.group))
      return error;
    if (llvm::Error error = runner.group.prepare())
      return error;
    return runner;
  }

  llvm::Error synchronize() const {
    for (const hip::HipStream &stream : streams)
      if (llvm::Error error = stream.synchronize())
        return error;
    return llvm::Error::success();
  }
};

} // namespace

static llvm::Expected<std::vector<hip::HipGraph>> captureRanks(Runner &runner) {
  std::vector<hip::HipGraph> graphs;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    auto graph = hip::HipGraph::capture(runner.streams[rank], [&](StreamHandle stream) {
      return runner.group.enqueue(rank, stream);
    });
    if (!graph)
      return graph.takeError();
    graphs.push_back(std::move(*graph));
  }
  return graphs;
}

static llvm::Error replay(const Runner &runner, llvm::ArrayRef<hip::HipGraph> graphs) {
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (llvm::Error error = graphs[rank].launch(runner.streams[rank]))
      return error;
  return llvm::Error::success();
}

/// `launches` of each kind; the outputs are compared after the first, after each hundredth and at
/// the end.
static llvm::Error compare(Runner &replayed, Runner &direct, unsigned launches) {
  auto graphs = captureRanks(replayed);
  if (!graphs)
    return graphs.takeError();
  for (unsigned done = 1; done <= launches; ++done) {
    if (llvm::Error error = replay(replayed, *graphs))
      return error;
    if (llvm::Error error =
            direct.group.enqueue({direct.streams[0].handle(), direct.streams[1].handle()}))
      return error;
    if (done != 1 && done % 100 && done != launches)
      continue;
    for (Runner *runner : {&replayed, &direct})
      if (llvm::Error error = runner->synchronize())
        return error;
    Words wanted = expected(done);
    if (llvm::Error error = checkOutputs(replayed.group, "replay", wanted))
      return error;
    if (llvm::Error error = checkOutputs(direct.group, "direct launch", wanted))
      return error;
  }
  return llvm::Error::success();
}

static llvm::Error run(const char *schedule, unsigned launches) {
  auto code = compileFile(schedule, {});
  if (!code)
    return code.takeError();
  hip::HipSelection selection;
  selection.count = ranks;
  auto node = hip::HipNode::create(selection);
  if (!node)
    return node.takeError();
  auto replayed = Runner::create(**node, *code);
  if (!replayed)
    return replayed.takeError();
  auto direct = Runner::create(**node, *code);
  if (!direct)
    return direct.takeError();
  if (llvm::Error error = compare(*replayed, *direct, launches))
    return error;
  std::printf("%u replays equal %u direct launches\n", launches, launches);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  unsigned launches = 100;
  if (argc == 3 && !llvm::StringRef(argv[2]).getAsInteger(10, launches))
    argc = 2;
  const char *schedule = scheduleArgument(argc, argv);
  return schedule ? finish(run(schedule, launches))
                  : usage("04_graph_replay 04_graph_replay.mlir [LAUNCHES]");
}
