"""HBM bytes that the modelled caches let a golden case of models/glm5/layer.mlir read, over the floor.

The floor counts each byte once that no kernel can do without. `monoc --report` says what operands a launch
reads; of those that data chooses the case says how much: the experts it hits, the tokens it selects, the
index keys up to its positions. A launch that asks for other weights of experts than those once is an
error. usage: hbm_floor.py MONOC MONORUN SCHEDULE CASE BAR [-DNAME=VALUE...]; fails
when any rank reads more than BAR times the floor.
"""
import json
import math
import struct
import subprocess
import sys

EXPERTS = ["w_gate_up", "w_gate_up_scale", "w_down", "w_down_scale"]


def read_case(path):
    """The positions, the routed experts that any row chose, and the metadata of a golden case."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()

        def integers(name):
            first, end = header[name]["data_offsets"]
            file.seek(begin + first)
            return struct.unpack(f"<{(end - first) // 4}i", file.read(end - first))

        return integers("positions"), set(integers("topk_ids")), {
            key: int(value) for key, value in header["__metadata__"].items() if value.isdigit()}


def read_report(monoc, schedule, parameters):
    """The operands of the report by name."""
    run = subprocess.run([monoc, schedule, "--report=json", *parameters], stdout=subprocess.PIPE,
                         text=True, check=True)
    return {operand["name"]: operand for operand in json.loads(run.stdout)["operands"]}


def row_bytes(operand, axes=1):
    """Bytes of what the last axes of an operand hold."""
    return operand["bytes"] // math.prod(operand["shape"][:-axes])


def expert_bytes(operands, routed):
    """Bytes of the weights of the experts that are hit, by operand: the routed ones and the shared one."""
    return {name: (len(routed) + 1) * row_bytes(operands[name], axes=2) for name in EXPERTS}


def check_experts(rank, experts):
    """Each expert is read by one workgroup or another, once."""
    asked = {memory["name"]: memory["bytes_read"] for memory in rank["memory"]}
    for name, size in experts.items():
        if asked[name] != size:
            sys.exit(f"{name}: expected {size} bytes to be read, those of the experts that the case hits, "
                     f"but got {asked[name]}")


def floor_of(operands, positions, experts, dims):
    """Bytes by what they are read for."""
    fixed = [o for o in operands.values() if not o["read_bytes_by_data"]]
    weights = sum(o["read_bytes"] for o in fixed if o["role"] == "weight")
    tokens = [min(position + 1, dims["index_topk"]) for position in positions]
    return {"attention, router and norm weights": weights,
            "experts": sum(experts.values()),
            "latents": row_bytes(operands["cache_kv"]) * sum(tokens),
            "index keys": row_bytes(operands["cache_index"]) * sum(p + 1 for p in positions),
            "other operands": sum(o["read_bytes"] for o in fixed) - weights}


def main(monoc, monorun, schedule, case, bar, *parameters):
    run = subprocess.run([monorun, schedule, f"--case={case}", "--stats=json", *parameters],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"monorun: status {run.returncode}")
    text = run.stdout[run.stdout.index("{\n"):]
    stats = json.loads(text[:text.index("\n}\n") + 3])
    positions, routed, dims = read_case(case)
    bound = [f"-D{name}={value}" for name, value in stats["kernel"]["params"].items()]
    operands = read_report(monoc, schedule, bound)
    experts = expert_bytes(operands, routed)
    floor = floor_of(operands, positions, experts, dims)
    worst = 0
    for number, rank in enumerate(stats["ranks"]):
        check_experts(rank, experts)
        total, read = sum(floor.values()), rank["caches_modelled"]["hbm_bytes_read"]
        worst = max(worst, read / total)
        print(f"rank {number}: {read} bytes from HBM (modelled), floor {total}: {read / total:.4f}")
        if number == 0:
            for name, size in floor.items():
                print(f"  floor, {name}: {size}")
            for memory in sorted(rank["memory"], key=lambda m: -m["hbm_bytes_read_modelled"]):
                if memory["hbm_bytes_read_modelled"]:
                    print(f"  from HBM, {memory['name']}: {memory['hbm_bytes_read_modelled']}")
    if worst > float(bar):
        sys.exit(f"expected at most {bar} times the floor, but got {worst:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
