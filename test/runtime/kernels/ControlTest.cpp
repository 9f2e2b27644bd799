// Calls, recursion, tables and stacks of compiled kernels.
#include "test/runtime/kernels/device/Control.hip"

#include "test/runtime/kernels/Differential.h"
#include "test/runtime/kernels/Values.h"

using namespace mono::emu::test;

namespace {

class Control : public KernelSuite {};
INSTANTIATE_KERNELS(Control, "O0", "O3");

constexpr u32 count = 256;
const Shape shape = {.grid = {2, 1, 1}, .block = {128, 1, 1}};

template <typename T>
void runMap(const char *optimization, const char *name, void (*kernel)(const u32 *, T *),
            const Shape &where = shape) {
  Differential run("Control", optimization);
  auto in = run.input(randomIntegers<u32>(count, 71));
  auto out = run.output<T>(count);
  run.both(name, kernel, where, in, out);
  run.expectSame(out, name);
}

TEST_P(Control, Recursion) {
  Differential run("Control", GetParam());
  auto fib = run.output<u32>(128), ack = run.output<u32>(128);
  run.both(TWIN(recursion), {.grid = {2, 1, 1}}, fib, ack);
  run.expectSame(fib, "fibonacci");
  run.expectSame(ack, "ackermann");
  EXPECT_EQ(run.read(fib)[11], 89u);
  EXPECT_EQ(run.read(ack)[11], 9u); // A(2, 3)
}

TEST_P(Control, FunctionPointers) { runMap(GetParam(), TWIN(functionPointers)); }
TEST_P(Control, CallWithStack) { runMap(GetParam(), TWIN(callWithStack)); }
TEST_P(Control, SwitchTable) { runMap(GetParam(), TWIN(switchTable)); }
TEST_P(Control, ScratchArray) { runMap(GetParam(), TWIN(scratchArray)); }
TEST_P(Control, VariableLengthArray) { runMap(GetParam(), TWIN(variableLengthArray)); }
TEST_P(Control, Divergence) { runMap(GetParam(), TWIN(divergence)); }

TEST_P(Control, DynamicLds) {
  Shape withLds = shape;
  withLds.dynamicLdsBytes = 128 * sizeof(u32);
  runMap(GetParam(), TWIN(dynamicLdsReverse), withLds);
}

TEST_P(Control, GenericPointers) {
  Differential run("Control", GetParam());
  auto cells = run.input(randomIntegers<u32>(128, 72));
  run.both(TWIN(genericPointers), {.grid = {2, 1, 1}}, cells);
  run.expectSame(cells);
}

TEST_P(Control, ThreeDimensions) {
  Differential run("Control", GetParam());
  auto out = run.output<u32>(2 * 2 * 3 * 60);
  run.both(TWIN(threeDimensions), {.grid = {3, 2, 2}, .block = {5, 3, 4}}, out);
  run.expectSame(out);
}

TEST_P(Control, TrapIsAnError) {
  Differential run("Control", GetParam());
  auto even = run.input(std::vector<u32>(64, 2));
  EXPECT_EQ(run.device("trapIfOdd", {}, even), "");
  auto odd = run.input(std::vector<u32>(64, 3));
  std::string error = run.device("trapIfOdd", {}, odd);
  EXPECT_NE(error.find("s_trap 2"), std::string::npos) << error;
  EXPECT_NE(error.find("trapIfOdd"), std::string::npos) << error;
}

} // namespace
