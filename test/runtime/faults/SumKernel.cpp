// The schedule, and its sums by a formula.
#include "test/runtime/faults/SumKernel.h"
#include "lowering/Compile.h"
#include "runtime/Error.h"

#include <gtest/gtest.h>

using namespace llvm;

namespace mono::test {

static constexpr const char *schedule = R"(
mono.schedule @sum target("gfx950") grid(4 x 64) {
  %S = mono.param "S" in [1 to 8]
  %rank = mono.ranks [8]
  %x = mono.operand "x" read [%S, 256] : f32
  %y = mono.operand "y" write [%S, 256] : f32
  %parts = mono.mailbox "parts" tagged scope(peers) slots(2) [8, %S, 256] : f32
  mono.stage "post" (%t) tasks [4] base [0] {
    %part = mono.load %x[0, %t * 64] [%S, 64] : tensor<?x64xf32>
    mono.post %part to %parts[%rank, 0, %t * 64] : tensor<?x64xf32>
  }
  mono.stage "sum" (%t) tasks [4] base [0] {
    %sum = mono.receive %parts[0, 0, %t * 64] [8, %S, 64] sum : tensor<?x64xf32>
    mono.store %sum, %y[0, %t * 64] : tensor<?x64xf32>
  }
}
)";

std::vector<uint8_t> sumCodeObject(unsigned rows, int64_t watchdogCycles) {
  CompileOptions options;
  options.params = {{"S", rows}};
  options.watchdogCycles = watchdogCycles;
  auto result = compile(MemoryBuffer::getMemBuffer(schedule, "sum.mlir"), options);
  if (result)
    return result->output;
  ADD_FAILURE() << toString(result.takeError());
  return {};
}

static size_t elements(const Group &group) {
  return group.manifest().operand("x")->type.bytes() / sizeof(float);
}

Error writeTerms(Group &group, unsigned rank, unsigned launch) {
  std::vector<float> x(elements(group), float((rank + 1) * (launch + 1)));
  return group.write(rank, "x", {reinterpret_cast<const uint8_t *>(x.data()), 4 * x.size()});
}

Error checkSums(Group &group, unsigned rank, unsigned launch) {
  std::vector<float> y(elements(group));
  if (Error error = group.read(rank, "y", {reinterpret_cast<uint8_t *>(y.data()), 4 * y.size()}))
    return error;
  float wanted = float(launch + 1) * (sumRanks * (sumRanks + 1) / 2);
  for (size_t i = 0; i < y.size(); ++i)
    if (y[i] != wanted)
      return makeError("rank {}, launch {}, y[{}]: expected {}, but got {}", rank, launch, i,
                       wanted, y[i]);
  return Error::success();
}

std::string waitedFor(unsigned rank, unsigned peer, int64_t cycles, unsigned wanted,
                      unsigned seen) {
  return fmt::format("watchdog: workgroup [0-3] of rank {} waited in stage 'sum' for element "
                     "\\[{}, [0-9]+, [0-9]+\\] of mailbox 'parts' longer than {} cycles: expected "
                     "tag {}, but saw {}",
                     rank, peer, cycles, wanted, seen);
}

} // namespace mono::test
