"""Every error text of the dialect, the passes and the public interface is provoked by a test: the longest
fixed piece of each message stands in a test file."""
import pathlib
import re
import sys

CALL = re.compile(r"(?:emitOpError|emitError|failure|fail|makeStatusError|makeError)\((?:[^()]|\([^()]*\))*\)(?:\s*<<[^;]*)?;|"
                  r"InFlightDiagnostic diag =[^;]*;", re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')

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
}


def messages(file):
    text = file.read_text()
    for match in CALL.finditer(text):
        # Adjacent literals are one text.
        joined = re.sub(r'"\s*\n\s*"', "", match.group(0))
        literals = LITERAL.findall(joined)
        if "make" in match.group(0)[:4]:  # fmt: the fixed pieces are between the fields
            literals = [p for literal in literals for p in re.split(r"\{[^}]*\}", literal)]
        pieces = [p for p in literals if " " in p and len(p) > 8]
        if pieces:
            yield text[: match.start()].count("\n") + 1, max(pieces, key=len)


def main():
    root = pathlib.Path(sys.argv[1])
    tests = "\n".join(f.read_text(errors="replace") for f in sorted((root / "test").rglob("*"))
                      if f.suffix in (".mlir", ".test", ".cpp") and "lint" not in f.parts)
    tests = re.sub(r'"\s*\n\s*"', "", tests)
    count, missing = 0, []
    for folder in ("dialect", "lowering", "mono"):
        for file in sorted((root / folder).rglob("*.cpp")):
            for line, text in messages(file):
                count += 1
                plain = text.replace('\\"', '"')
                if plain in UNREACHABLE or text in tests or plain in tests:
                    continue
                missing.append(f"{file.relative_to(root)}:{line}: no test provokes \"{text}\"")
    print("\n".join(missing))
    print(f"{count} messages, {len(missing)} without a test")
    return 1 if missing or count < 60 else 0


sys.exit(main())
