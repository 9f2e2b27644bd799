"""Every routine of schedules/ stands in the generated reference and in a test of its own, and
schedules/README.md has every block that the library promises, with routines that exist."""
import pathlib
import re
import sys

BLOCKS = (
    "RMSNorm", "LayerNorm", "RoPE, neighbours paired", "RoPE, halves paired", "GQA decode attention, paged",
    "sliding window", "softcap", "sinks", "SwiGLU", "GELU", "linear, bf16", "linear, FP8 in blocks", "linear, MXFP8",
    "linear, MXFP4", "MoE routing, softmax", "MoE routing, sigmoid with bias", "MoE routing in groups", "MoE experts",
    "top-k", "argmax over the vocabulary", "embedding lookup", "all-reduce", "all-gather", "reduce-scatter",
)
ROUTINE = re.compile(r"^mono\.routine @(\w+)\(", re.M)
ROW = re.compile(r"^\| ([^|]+?) \| (.+) \|$", re.M)


def problems(root, reference):
    routines = {name: file.name for file in sorted((root / "schedules").glob("*.mlir"))
                for name in ROUTINE.findall(file.read_text())}
    if len(routines) < 60:
        yield f"expected the routines of schedules/, but found {len(routines)}"
    page = reference.read_text()
    # Called in a schedule, or named to what builds one.
    tests = "\n".join(file.read_text() for file in sorted((root / "test" / "schedules").glob("*.cpp")))
    for name, file in routines.items():
        if f"### `@{name}`" not in page:
            yield f"schedules/{file}: '@{name}' is not in {reference.name}"
        if not re.search(rf'@{name}\(|"{name}"', tests):
            yield f"schedules/{file}: no test of test/schedules calls '@{name}'"
    blocks = dict(ROW.findall((root / "schedules" / "README.md").read_text()))
    for block in BLOCKS:
        if block not in blocks:
            yield f"schedules/README.md: no row for '{block}'"
    for block, text in blocks.items():
        for name in re.findall(r"`@(\w+)`", text):
            if name not in routines:
                yield f"schedules/README.md: '{block}' names '@{name}', which is not there"
    if "| RMSNorm |" not in page:
        yield f"{reference.name} lacks the table of schedules/README.md"


found = list(problems(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
print("\n".join(found))
sys.exit(1 if found else 0)
