"""HBM bytes that the modelled caches let a golden case of models/glm5/layer.mlir read, over the floor.

The floor counts each byte once that no kernel can do without: the weights, of the experts those that
the case hits, of the caches the tokens selected and the index keys. usage: hbm_floor.py MONORUN
SCHEDULE CASE BAR [arguments of monorun...]; fails when any rank reads more than BAR times the floor.
"""
import json
import struct
import subprocess
import sys

SHARED = ["w_a", "w_iq", "w_qb", "w_uk", "w_uv", "w_o", "w_gate"]
EXPERTS = ["w_gate_up", "w_gate_up_scale", "w_down", "w_down_scale"]
BF16 = 2


def read_case(path):
    """The positions and the metadata of a golden case."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin = file.tell()
        first, end = header["positions"]["data_offsets"]
        file.seek(begin + first)
        positions = struct.unpack(f"<{(end - first) // 4}i", file.read(end - first))
    return positions, {key: int(value) for key, value in header["__metadata__"].items()
                       if value.isdigit()}


def floor_of(rank, positions, dims):
    """Bytes by what they are read for."""
    asked = {memory["name"]: memory["bytes_read"] for memory in rank["memory"]}
    # Weights are read by one workgroup each, so that what was asked for is what there is to read.
    floor = {"weights": sum(asked[name] for name in SHARED),
             "experts": sum(asked[name] for name in EXPERTS)}
    width = dims["kv_lora_rank"] + dims["qk_rope_head_dim"]
    tokens = [min(position + 1, dims["index_topk"]) for position in positions]
    floor["latents"] = BF16 * width * sum(tokens)
    floor["index keys"] = BF16 * dims["index_head_dim"] * sum(p + 1 for p in positions)
    return floor


def main(monorun, schedule, case, bar, *arguments):
    run = subprocess.run([monorun, schedule, f"--case={case}", "--stats=json", *arguments],
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"monorun: status {run.returncode}")
    text = run.stdout[run.stdout.index("{\n"):]
    ranks = json.loads(text[:text.index("\n}\n") + 3])["ranks"]
    positions, dims = read_case(case)
    worst = 0
    for number, rank in enumerate(ranks):
        floor = floor_of(rank, positions, dims)
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


main(*sys.argv[1:])
