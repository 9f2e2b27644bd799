"""Every error text is provoked by a test: in the tests stands the longest fixed piece of it, or a stretch of three
words or more that no other message has."""
import collections
import pathlib
import re
import sys

FOLDERS = ("dialect", "lowering", "mono", "runtime", "models", "bench")
CALL = re.compile(r"(?:emitOpError|emitError|failure|fail|fault|makeStatusError|makeError)\("
                  r"(?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\([^()]*\))*\))*\)(?:\s*<<[^;]*)?;|"
                  r"InFlightDiagnostic diag =[^;]*;|errs\(\) <<[^;]*;", re.S)
PYTHON_CALL = re.compile(r"raise \w+\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*\)")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
FIELD = re.compile(r"\{\{|\}\}|\{[^{}]*\}")  # of fmt; and braces, which the tests have single

# Messages no input can provoke: a second guard behind one that is tested, or a broken installation.
UNREACHABLE = {
    "expected one index argument, the task",
    "expected an LLVM with the AMDGPU target: ",
    "the LLVM dialect could not be translated to LLVM IR",
    "the code generator can't write this kind of file",
    "can't create a temporary file: ",
    "can't read the linked code object: ",
    "lld could not link the code object: ",
    "the code object has no metadata note",
    "expected weights from a mono.stream of the same task",
    "the code generator failed: ",
    "can't write a temporary file: ",
    # Which of these comes depends on the comgr that is installed; errors.test takes either.
    "expected ROCm's comgr 3 (libamd_comgr.so.3) for --linker=comgr, but it can't be opened: ",
    "comgr has no function '",
    ", which does not know gfx950 (use --linker=lld)",
    "no AMDGPU disassembler: ",
    "no AMDGPU disassembler in this LLVM",
    ": not a usable HIP library: it has no function hipGetDeviceProperties",
    " has no graphs",
    " can be opened; install ROCm, or name the file in ",
    ": this build has no compiler, expected FILE.hsaco",
    # A host that is too old, has no memory left, or another user.
    "the emulator needs an x86-64-v3 CPU, but this host lacks ",
    "' cannot be moved to shared memory: the host has no ",
    "': the host has no ",
    "IPC handle: the host cannot map ",
    "expected a process of user ",
    # A kernel of our own.
    "benchmark kernel, line ",
}


def join_literals(text):
    """Adjacent literals are one text, with Python's f in front or not."""
    return re.sub(r'"\s*\n\s*f?"', "", text)


def pieces_of(call):
    """The fixed pieces of a message, the longest first."""
    joined = join_literals(call)
    pieces = [piece for literal in LITERAL.findall(joined) for piece in FIELD.split(literal)]
    pieces = [piece.replace('\\"', '"') for piece in pieces if " " in piece and len(piece) > 8]
    return sorted(pieces, key=len, reverse=True)


def messages(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".cpp", ".h", ".py"):
                continue
            text = file.read_text()
            for match in (PYTHON_CALL if file.suffix == ".py" else CALL).finditer(text):
                pieces = pieces_of(match.group(0))
                if pieces:
                    line = text[: match.start()].count("\n") + 1
                    yield f"{file.relative_to(root)}:{line}", pieces


def stretches(piece):
    """Three words and more, from each word on, the shorter ones first."""
    words = piece.split()
    for first in range(len(words)):
        for last in range(first + 3, len(words) + 1):
            yield " ".join(words[first:last])


def text_of_tests(root):
    text = []
    for file in sorted((root / "test").rglob("*")):
        if "lint" in file.parts or not file.is_file():
            continue
        if file.suffix in (".mlir", ".test"):
            text.append(file.read_text(errors="replace"))
        elif file.suffix in (".cpp", ".hip", ".py"):
            joined = join_literals(file.read_text(errors="replace"))
            text += (literal.replace('\\"', '"') for literal in LITERAL.findall(joined))
    return "\n".join(text)


def is_provoked(pieces, tests, owners):
    if pieces[0] in tests or pieces[0].strip() in tests:
        return True
    return any(owners[stretch] == 1 and stretch in tests for piece in pieces for stretch in stretches(piece))


def main():
    root = pathlib.Path(sys.argv[1])
    tests = text_of_tests(root)
    found = list(messages(root))
    # In how many messages a stretch stands.
    owners = collections.Counter(s for _, pieces in found for s in {s for p in pieces for s in stretches(p)})
    missing = [f"{place}: no test provokes \"{pieces[0]}\"" for place, pieces in found
               if pieces[0] not in UNREACHABLE and not is_provoked(pieces, tests, owners)]
    print("\n".join(missing))
    print(f"{len(found)} messages, {len(missing)} without a test")
    return 1 if missing or len(found) < 500 else 0


sys.exit(main())
