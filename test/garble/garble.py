"""Garbled schedules: whatever stands in a file, monoc --check answers in time, with status 0 or 1, and with the
place of what is wrong. Prints which variants break this and how to make them again.

    garble.py MONOC ROOT [--mono-opt=FILE] [--seed=N] [--variants=N] [--compile] [--only=NUMBER]

Variant NUMBER of a seed is the same text in every run. --mono-opt runs the passes one by one, too, --compile makes
code of the variants that pass the check, --only takes one variant and prints its text."""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

SECONDS = 10
MEMORY = 4 << 30  # bytes; a size read from a file must not become an allocation
SMALL = "S=2,TP=2,CTX=64,PAGE=16,SPLITS=2,HIDDEN=256,HEADS=8,KV_HEADS=2,DIM=64"
SOURCES = [  # file: parameters
    "models/glm5/attn_out_router.mlir:S=2,TP=2",
    "models/glm5/layer.mlir:S=2,TP=2",
    f"models/llama3/layer.mlir:{SMALL},MLP=512",
    f"models/qwen3_moe/layer.mlir:{SMALL},EXPERTS=16,MOE=128,CHOSEN=4",
    "examples/01_scale.mlir:",
    "examples/06_all_reduce.mlir:R=4",
    "test/mutation/schedules/acknowledge.mlir:",
    "test/mutation/schedules/experts.mlir:",
    "test/mutation/schedules/regions.mlir:",
    "test/mutation/schedules/ring.mlir:",
    "test/mutation/schedules/router.mlir:S=2,TP=2",
    "test/mutation/schedules/two_shot.mlir:R=2",
    "test/lowering/Bind/movement.mlir:S=3,N=40",
    "test/lowering/Check/valid.mlir:",
    "test/lowering/Check/valid-ranks.mlir:",
    "test/lowering/Device/contract.mlir:",
    "test/lowering/Device/product.mlir:",
    "test/lowering/Device/select.mlir:",
]
TOKEN = re.compile(r'"[^"\n]*"|[%@#!]?[A-Za-z_][\w.$]*|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|->|\s+|.', re.S)
NUMBERS = ["0", "-1", "1", "3", "7", "64", "65535", "1048577", "2147483648", "4294967296", "9223372036854775807",
           "-9223372036854775808", "99999999999999999999999", "1.0e400", "-0.0"]
WORDS = ["f32", "bf16", "f16", "i1", "i32", "i64", "index", "f8E4M3FN", "f4E2M1FN", "f8E8M0FNU", "none", "vector<4xf32>",
         "tensor<*xf32>", "memref<4xf32>", "complex<f32>", "!mono.stream", "\"\"", "\"a\\00b\"", "\u00e9", "\x00", "{", "}", "(", ")", "[", "]",
         "<", ">", "%", "@", "loc(unknown)", "loop", "?", "arith.constant", "mono.stage", "mono.receive", "mono.schedule",
         "func.func", "scf.for", "unrealized_conversion_cast", "#mono.mfma_rows<0>", "affine_map<(d0) -> (d0)>", "dense<1.0>"]


def tokens_of(text):
    return TOKEN.findall(text)


def pick(rng, tokens, wanted=lambda t: not t.isspace()):
    places = [n for n, token in enumerate(tokens) if wanted(token)]
    return rng.choice(places) if places else None


def is_number(token):
    return token.lstrip("-")[:1].isdigit()


def replace_number(rng, tokens):
    at = pick(rng, tokens, is_number)
    if at is not None:
        tokens[at] = rng.choice(NUMBERS + [str(rng.randrange(512))])


def swap_numbers(rng, tokens):
    swap(rng, tokens, is_number)


def swap(rng, tokens, wanted):
    a, b = pick(rng, tokens, wanted), pick(rng, tokens, wanted)
    if a is not None:
        tokens[a], tokens[b] = tokens[b], tokens[a]


def swap_tokens(rng, tokens):
    swap(rng, tokens, lambda t: not t.isspace())


def swap_names(rng, tokens):
    swap(rng, tokens, lambda t: t[0] in "%\"@" and len(t) > 1)


def delete_token(rng, tokens):
    del tokens[pick(rng, tokens)]


def double_token(rng, tokens):
    at = pick(rng, tokens)
    tokens.insert(at, tokens[at])


def strange_token(rng, tokens):
    tokens[pick(rng, tokens)] = rng.choice(WORDS)


def on_lines(change):
    def apply(rng, tokens):
        lines = "".join(tokens).split("\n")
        change(rng, lines)
        tokens[:] = tokens_of("\n".join(lines))
    return apply


@on_lines
def double_line(rng, lines):
    at = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines) + 1), lines[at])


@on_lines
def delete_line(rng, lines):
    del lines[rng.randrange(len(lines))]


@on_lines
def swap_lines(rng, lines):
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


@on_lines
def cut_off(rng, lines):
    del lines[rng.randrange(len(lines)):]


def flip_bytes(rng, tokens):
    text = list("".join(tokens))
    for _ in range(rng.randrange(1, 20)):
        text[rng.randrange(len(text))] = chr(rng.randrange(256))
    tokens[:] = tokens_of("".join(text))


# What leaves most of the file as it was comes more often: it gets further.
CHANGES = [replace_number] * 6 + [swap_numbers] * 3 + [swap_names] * 4 + [strange_token] * 3 + [
    swap_tokens, delete_token, delete_token, double_token, double_line, double_line, delete_line, delete_line,
    swap_lines, swap_lines, cut_off, flip_bytes]


def variant(root, seed, number):
    """Text and parameters of one variant."""
    rng = random.Random(f"{seed}/{number}")
    file, params = rng.choice(SOURCES).split(":")
    text = rng.choice((root / file).read_text().split("// -----"))
    text = re.sub(r'"(?:\.\./)+(schedules/[^"]*)"', lambda m: f'"{root}/{m.group(1)}"', text)
    tokens = tokens_of(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if any(not token.isspace() for token in tokens):
            rng.choice(CHANGES)(rng, tokens)
    params = dict(p.split("=") for p in params.split(",") if p)
    if params and rng.random() < 0.1:
        params[rng.choice(list(params))] = rng.choice(NUMBERS[:12])
    return file, "".join(tokens), [f"-D{name}={value}" for name, value in params.items()]


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def complaint(command, placed=True):
    """What is wrong with how a tool took it, or None; and its exit status, if nothing is."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return f"no answer after {SECONDS} s", None
    messages = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1):
        return f"status {done.returncode}: {messages[-600:]}", None
    if done.returncode == 1 and placed and not re.search(r":\d+:\d+: error: ", messages):
        return f"an error without a place: {messages[:600]}", None
    return None, done.returncode


def check(arguments, number):
    file, text, params = variant(arguments.root, arguments.seed, number)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "garbled.mlir")
        pathlib.Path(path).write_text(text, encoding="latin-1", errors="replace")
        found, status = complaint([arguments.monoc, "--check", path, *params])
        for step in ("bind-parameters", "check-schedule", "place-memory", "lower-to-device"):
            if arguments.mono_opt and not found:
                found, _ = complaint([arguments.mono_opt, path, "--mono-" + step])
        if status == 0 and arguments.compile and not found:  # a kernel that spills is nowhere in the file
            output = os.path.join(folder, "out.hsaco")
            found, _ = complaint([arguments.monoc, path, *params, "-o", output], placed=False)
    if found:
        found = f"--seed={arguments.seed} --only={number} ({file}, {' '.join(params)}): {found}"
    return found, status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("monoc")
    parser.add_argument("root", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--mono-opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variants", type=int, default=300)
    parser.add_argument("--only", type=int)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    numbers = range(arguments.variants)
    if arguments.only is not None:
        numbers = [arguments.only]
        print(variant(arguments.root, arguments.seed, arguments.only)[1])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda number: check(arguments, number), numbers))
    found = [text for text, _ in results if text]
    passed = sum(status == 0 for _, status in results)
    print("\n".join(found))
    print(f"{len(results)} variants: {passed} pass the check, {len(found)} taken badly")
    return 1 if found else 0


sys.exit(main())
