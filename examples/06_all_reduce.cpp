// Compiles 06_all_reduce.mlir for four ranks, launches it three times without any reset and prints
// what every rank got.
#include "examples/Example.h"
#include "lowering/Compile.h"

using namespace mono;
using namespace mono::examples;

/// In launch l, rank r contributes (r + 1) (l + 1) in every element.
static llvm::Error launch(Group &group, unsigned index) {
  for (unsigned rank = 0; rank < group.ranks(); ++rank) {
    std::vector<float> x(256, static_cast<float>((rank + 1) * (index + 1)));
    if (llvm::Error error = writeFloats(group, rank, "x", x))
      return error;
  }
  if (llvm::Error error = group.launch())
    return error;
  std::printf("launch %u:", index);
  for (unsigned rank = 0; rank < group.ranks(); ++rank) {
    auto y = readFloats(group, rank, "y", 256);
    if (!y)
      return y.takeError();
    std::printf(" rank %u has %g", rank, y->back());
  }
  std::printf("\n");
  return llvm::Error::success();
}

static llvm::Error run(const char *schedule) {
  CompileOptions options;
  options.params = {{"R", 4}};
  auto code = compileFile(schedule, options);
  if (!code)
    return code.takeError();
  auto node = EmulatorNode::create(/*ranks=*/4);
  if (!node)
    return node.takeError();
  auto group = Group::create((*node)->devices(), *code);
  if (!group)
    return group.takeError();
  for (unsigned index = 0; index < 3; ++index)
    if (llvm::Error error = launch(*group, index))
      return error;
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  const char *schedule = scheduleArgument(argc, argv);
  return schedule ? finish(run(schedule)) : usage("06_all_reduce 06_all_reduce.mlir");
}
