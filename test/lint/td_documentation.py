"""Every op, type, attribute and pass has a summary, ops and passes a description, and the example of
an op stands, line by line, in the test file it names."""
import pathlib
import re
import sys

DEFINITION = re.compile(r"^def (\w+) *:.*?^}", re.M | re.S)
EXAMPLE = re.compile(r"Example \(([^)]+)\):\s*```mlir\n(.*?)```", re.S)


def problems(root):
    count = 0
    for file in sorted(root.glob("dialect/*.td")) + sorted(root.glob("lowering/*.td")):
        name = file.relative_to(root).as_posix()
        text = file.read_text()
        for match in DEFINITION.finditer(text):
            body, what = match.group(0), match.group(1)
            is_op = re.match(r"def \w+Op\b", body)
            is_pass = re.match(r"def \w+Pass\b", body)
            if not (is_op or is_pass or "AttrDef<" in body or "Mono_Handle<" in body):
                continue
            count += 1
            line = text[: match.start()].count("\n") + 1
            if "let summary" not in body:
                yield f"{name}:{line}: {what} has no summary"
            if (is_op or is_pass) and "let description" not in body:
                yield f"{name}:{line}: {what} has no description"
            if not is_op:
                continue
            example = EXAMPLE.search(body)
            if not example:
                yield f"{name}:{line}: {what} has no example that names a test"
                continue
            test = root / example.group(1)
            if not test.exists():
                yield f"{name}:{line}: the example of {what} names {example.group(1)}, which is not there"
                continue
            known = {l.strip() for l in test.read_text().splitlines()}
            for wanted in example.group(2).splitlines():
                if wanted.strip() not in known | {"", "..."}:
                    yield f"{name}:{line}: example of {what}: '{wanted.strip()}' is not in {example.group(1)}"
    if count < 15:
        yield f"only {count} definitions found"


found = list(problems(pathlib.Path(sys.argv[1])))
print("\n".join(found))
sys.exit(1 if found else 0)
