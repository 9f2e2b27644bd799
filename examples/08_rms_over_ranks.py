# Runs 08_rms_over_ranks.mlir on two emulated GPUs, each with half of the columns, and compares.
import array
import math
import pathlib
import random
import sys

import mono

if len(sys.argv) > 1:
    print("usage: 08_rms_over_ranks.py", file=sys.stderr)
    sys.exit(2)

S, TP, OWN = 4, 2, 256
schedule = pathlib.Path(__file__).with_name("08_rms_over_ranks.mlir")
kernel = mono.compile(schedule, params={"S": S, "TP": TP})
random.seed(1)
x = [array.array("f", (random.gauss(0, 3) for _ in range(S * OWN))) for _ in range(TP)]
y = [array.array("f", [math.nan] * (S * OWN)) for _ in range(TP)]

with mono.Node.emulator(TP) as node, mono.Group(kernel, node) as group:
    for rank in range(TP):
        group.bind(rank, "x", x[rank])
        group.bind(rank, "y", y[rank])
    group.launch()
    group.synchronize()

rms = [math.sqrt(math.fsum(v * v for part in x for v in part[s * OWN:(s + 1) * OWN]) / (TP * OWN)) for s in range(S)]
for rank in range(TP):
    # Sums of 512 squares in f32, a square root and a product: 1e-5 of values up to 4 is far above their roundings.
    wrong = [i for i in range(S * OWN) if not abs(y[rank][i] - x[rank][i] / rms[i // OWN]) < 1e-5]
    print(f"rank {rank}:", f"{len(wrong)} wrong" if wrong else "good")
