// Compiles 01_scale.mlir, runs it on one emulated GPU and prints the last row.
#include "examples/Example.h"
#include "lowering/Compile.h"

using namespace mono;
using namespace mono::examples;

static llvm::Error run(const char *schedule) {
  auto code = compileFile(schedule, {});
  if (!code)
    return code.takeError();
  auto node = EmulatorNode::create(/*ranks=*/1);
  if (!node)
    return node.takeError();
  auto group = Group::create((*node)->devices(), *code);
  if (!group)
    return group.takeError();

  std::vector<float> x(4 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  if (llvm::Error error = writeFloats(*group, 0, "x", x))
    return error;
  if (llvm::Error error = group->launch())
    return error;
  auto y = readFloats(*group, 0, "y", x.size());
  if (!y)
    return y.takeError();
  std::printf("y[192] = %g, y[255] = %g\n", (*y)[192], (*y)[255]);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  const char *schedule = scheduleArgument(argc, argv);
  return schedule ? finish(run(schedule)) : usage("01_scale 01_scale.mlir");
}
