// A host application that compiles a schedule it made itself and launches it on memory of its own:
// y = FACTOR x on two devices. Uses mono/jit.h and libmono.so alone; with Node::hip() and streams
// it would be the same program on GPUs.
#include "mono/jit.h"

#include <cstdio>

using namespace mono::jit;

static std::string scheduleFor(double factor) {
  return R"(
mono.schedule @scale target("gfx950") grid(4 x 64) {
  %ROWS = mono.param "ROWS" in [1 to 64]
  %rank = mono.ranks [2]
  %x = mono.operand "x" read [%ROWS, 64] : f32
  %y = mono.operand "y" write [%ROWS, 64] : f32
  mono.stage "scale" (%t) tasks [%ROWS] base [0] {
    %row = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    %factor = arith.constant dense<)" +
         std::to_string(factor) + R"(> : tensor<1x64xf32>
    %scaled = arith.mulf %row, %factor : tensor<1x64xf32>
    mono.store %scaled, %y[%t, 0] : tensor<1x64xf32>
  }
}
)";
}

static void print(const Kernel &kernel) {
  const mono_kernel_info &info = kernel.info();
  std::printf("%s: %u ranks, %u workgroups of %u threads\n", info.name, info.ranks, info.workgroups,
              info.threads);
  for (size_t i = 0; i < info.operand_count; ++i) {
    const mono_operand &operand = kernel.operand(i);
    std::printf("  %s: %s, %lld x %lld, %llu bytes\n", operand.name, operand.layout,
                static_cast<long long>(operand.shape[0]), static_cast<long long>(operand.shape[1]),
                static_cast<unsigned long long>(operand.bytes));
  }
}

/// Device memory of this program: x, y and the workspace of one rank.
struct RankMemory {
  void *x = nullptr, *y = nullptr;
  mono_workspace workspace = {};
};

static Error allocate(Node &node, uint32_t rank, const Kernel &kernel, RankMemory &memory) {
  const mono_workspace_size &size = kernel.info().workspace;
  struct Wanted {
    void *&where;
    uint64_t bytes;
    mono_memory kind;
  };
  for (auto [where, bytes, kind] :
       {Wanted{memory.x, kernel.findOperand("x")->bytes, MONO_LOCAL},
        Wanted{memory.y, kernel.findOperand("y")->bytes, MONO_LOCAL},
        Wanted{memory.workspace.local, size.local_bytes, MONO_LOCAL},
        Wanted{memory.workspace.peer, size.peer_bytes, MONO_PEER_VISIBLE}}) {
    auto allocated = node.allocate(rank, bytes, kind);
    if (!allocated)
      return allocated.error();
    where = *allocated;
  }
  return {};
}

static Error bind(Group &group, uint32_t rank, const Kernel &kernel, const RankMemory &memory) {
  if (Error error = group.bind(rank, "x", memory.x, kernel.findOperand("x")->bytes))
    return error;
  return group.bind(rank, "y", memory.y, kernel.findOperand("y")->bytes);
}

/// Rank r gets x[i] = i + 1000 r.
static Error writeInputs(Node &node, const std::vector<RankMemory> &memory, size_t elements) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank) {
    std::vector<float> x(elements);
    for (size_t i = 0; i < elements; ++i)
      x[i] = static_cast<float>(i + 1000 * rank);
    if (Error error = node.write(rank, memory[rank].x, std::span<const float>(x)))
      return error;
  }
  return {};
}

static Error printOutputs(Node &node, const std::vector<RankMemory> &memory, size_t elements) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank) {
    std::vector<float> y(elements);
    if (Error error = node.read(rank, std::span(y), memory[rank].y))
      return error;
    std::printf("rank %u: y[0] = %g, y[%zu] = %g\n", rank, y.front(), elements - 1, y.back());
  }
  return {};
}

static Error run() {
  CompileOptions options;
  options.parameters = {{"ROWS", 8}};
  auto kernel = Kernel::compileText(scheduleFor(3), options, "scale.mlir");
  if (!kernel)
    return kernel.error();
  print(*kernel);
  auto node = Node::emulator(kernel->info().ranks);
  if (!node)
    return node.error();

  std::vector<RankMemory> memory(node->devices());
  std::vector<mono_workspace> workspaces;
  for (uint32_t rank = 0; rank < memory.size(); ++rank) {
    if (Error error = allocate(*node, rank, *kernel, memory[rank]))
      return error;
    workspaces.push_back(memory[rank].workspace);
  }
  auto group = Group::create(*kernel, *node, workspaces);
  if (!group)
    return group.error();
  for (uint32_t rank = 0; rank < memory.size(); ++rank)
    if (Error error = bind(*group, rank, *kernel, memory[rank]))
      return error;

  size_t elements = kernel->findOperand("x")->bytes / sizeof(float);
  if (Error error = writeInputs(*node, memory, elements))
    return error;
  if (Error error = group->launch())
    return error;
  if (Error error = group->synchronize())
    return error;
  return printOutputs(*node, memory, elements);
}

int main(int argc, char **) {
  if (argc != 1) {
    std::fprintf(stderr, "usage: 02_jit\n");
    return 2;
  }
  if (Error error = run()) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return 1;
  }
  return 0;
}
