# 07_gelu_mlp.mlir on two emulated GPUs against the same MLP in Python's double precision. The weights are
# random codes and scales, as a checkpoint would have them: `weight` F8_E4M3 and `weight_scale_inv` F32.
import array
import math
import pathlib
import random
import sys

import mono

if len(sys.argv) > 1:
    print("usage: 07_gelu_mlp.py", file=sys.stderr)
    sys.exit(2)

S, TP, HIDDEN, MLP, BLOCK = 3, 2, 256, 512, 128
UNITS = MLP // TP


def e4m3(code):
    """Sign, four bits of exponent with bias 7, three of mantissa."""
    exponent, mantissa = code >> 3 & 15, code & 7
    value = math.ldexp(8 + mantissa, exponent - 10) if exponent else math.ldexp(mantissa, -9)
    return -value if code & 0x80 else value


class Matrix:
    """[rows, columns] of codes, and a scale for each block."""

    def __init__(self, rows, columns):
        # No code of 7 in the upper bits: there lies NaN.
        self.codes = [bytes(random.choice((0, 128)) + random.randrange(0x70) for _ in range(columns))
                      for _ in range(rows)]
        self.scales = [array.array("f", [random.uniform(1, 2) / 2048 for _ in range(columns // BLOCK)])
                       for _ in range(rows // BLOCK)]

    def value(self, row, column):
        return e4m3(self.codes[row][column]) * self.scales[row // BLOCK][column // BLOCK]

    def cut(self, rows, columns):
        """Codes and scales of a rank: whole blocks."""
        blocks = slice(columns.start // BLOCK, columns.stop // BLOCK)
        return (b"".join(line[columns] for line in self.codes[rows]),
                b"".join(line[blocks].tobytes() for line in self.scales[rows.start // BLOCK:rows.stop // BLOCK]))

    def times(self, x):
        rows = [[self.value(row, c) for c in range(len(x[0]))] for row in range(len(self.codes))]
        return [[math.fsum(map(float.__mul__, line, row)) for row in rows] for line in x]


def bf16(values):
    """f32 cut to bf16, and what is left of the values."""
    raw = array.array("f", values).tobytes()
    kept = b"".join(raw[i + 2:i + 4] for i in range(0, len(raw), 4))
    return kept, array.array("f", b"".join(b"\0\0" + kept[i:i + 2] for i in range(0, len(kept), 2))).tolist()


def normal(count, scale=1.0):
    return [random.gauss(0, scale) for _ in range(count)]


def layer_norm(row, gamma, beta):
    mean = math.fsum(row) / len(row)
    rstd = 1 / math.sqrt(math.fsum((v - mean) ** 2 for v in row) / len(row) + 1e-5)
    return [(v - mean) * rstd * g + b for v, g, b in zip(row, gamma, beta)]


def gelu(v):
    return v / 2 * math.erfc(-v / math.sqrt(2))


random.seed(7)
x16, x = bf16(normal(S * HIDDEN, 2))
x = [x[i * HIDDEN:(i + 1) * HIDDEN] for i in range(S)]
gamma, beta, b1, b2 = (array.array("f", normal(n)) for n in (HIDDEN, HIDDEN, MLP, HIDDEN))
w1, w2 = Matrix(MLP, HIDDEN), Matrix(HIDDEN, MLP)
units = [[gelu(v + b) for v, b in zip(row, b1)] for row in w1.times([layer_norm(row, gamma, beta) for row in x])]
expected = [[a + p + b for a, p, b in zip(*rows, b2)] for rows in zip(x, w2.times(units))]

kernel = mono.compile(pathlib.Path(__file__).with_name("07_gelu_mlp.mlir"), params={"S": S, "TP": TP, "MLP": MLP})
outputs = []
with mono.Node.emulator(TP) as node, mono.Group(kernel, node) as group:
    for rank in range(TP):
        own, everything = slice(rank * UNITS, (rank + 1) * UNITS), slice(0, HIDDEN)
        codes1, scales1 = w1.cut(own, everything)
        codes2, scales2 = w2.cut(everything, own)
        y = bytearray(b"\xff" * (2 * S * HIDDEN))  # NaN
        for name, data in {
            "x": x16, "gamma": gamma.tobytes(), "beta": beta.tobytes(), "b1": b1[own].tobytes(), "b2": b2.tobytes(),
            "w1": kernel.pack("w1", codes1), "w1_scale": scales1, "w2": kernel.pack("w2", codes2), "w2_scale": scales2,
            "y": y,
        }.items():
            group.bind(rank, name, data if name == "y" else bytearray(data))
        outputs.append(y)
    group.launch()
    group.synchronize()

for s in range(S):
    row = b"".join(b"\0\0" + outputs[0][2 * i:2 * i + 2] for i in range(s * HIDDEN, (s + 1) * HIDDEN))
    got = array.array("f", row).tolist()
    error = math.dist(got, expected[s]) / math.hypot(*expected[s])
    # Four roundings to bf16 (normed, units, parts, y), each about 2^-9 of a row.
    print(f"row {s}:", "good" if error < 8e-3 else "bad", f"relative error {error:.1e}")
print("ranks equal:", all(y == outputs[0] for y in outputs))
