# A Python program that sums rows over two emulated GPUs: memory comes from the array module, so that
# nothing but Python is needed. NumPy and PyTorch tensors are bound in the same way.
import array
import pathlib
import sys

import mono

if len(sys.argv) > 1:
    print("usage: 05_python.py", file=sys.stderr)
    sys.exit(2)

schedule = pathlib.Path(__file__).with_name("06_all_reduce.mlir")
kernel = mono.compile(schedule, params={"R": 2})
print(f"{kernel.name}: {kernel.ranks} ranks, {kernel.workspace.peer_bytes} bytes of mailboxes")
for operand in kernel.operands.values():
    print(" ", operand)

with mono.Node.emulator(kernel.ranks) as node, mono.Group(kernel, node) as group:
    outputs = []
    for rank in range(kernel.ranks):
        x = array.array("f", [1000.0 * rank + i + 5 for i in range(256)])
        y = array.array("f", bytes(4 * 256))
        group.bind(rank, "x", x)
        group.bind(rank, "y", y)
        outputs.append(y)
    group.launch()
    group.synchronize()

# x0[i] + x1[i] = 2 i + 1010
for rank, y in enumerate(outputs):
    print(f"rank {rank}: y[0] = {y[0]:g}, y[63] = {y[63]:g}")

try:
    mono.compile(schedule, params={"R": 3})
except mono.Error as error:
    print("three ranks:", str(error).splitlines()[1])
