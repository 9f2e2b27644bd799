"""The table of published bugs is whole, and every test it names exists; prints the row and the name."""
import pathlib
import re
import sys

TABLE = "test/lowering/Check/README.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+) \|$")
NAMED = re.compile(r"`([^`]+)`")
SCHEDULE = re.compile(r"^(\S+\.mlir) @(\w+)$")
FILE = re.compile(r"^[\w./-]+\.(mlir|cpp|h|md)$")
TEST = re.compile(r"^(\w+)\.(\w+)$")
BUGS = 47


def found(root, name):
    places = (pathlib.Path(TABLE).parent, "test", ".")
    return next((root / place / name for place in places if (root / place / name).is_file()), None)


def rejected(text, name):
    """Whether a schedule of that name stands in a part of the file with an expected error."""
    return any(f"mono.schedule @{name} " in part and "expected-error" in part
               for part in text.split("// -----"))


def fault(root, tests, name):
    """What is wrong with a name in backquotes; none if it is right or no test."""
    if match := SCHEDULE.match(name):
        file = found(root, match.group(1))
        if file and rejected(file.read_text(), match.group(2)):
            return None
        return "no rejected schedule of that name"
    if FILE.match(name):
        return None if found(root, name) else "no such file"
    if match := TEST.match(name):
        return None if match.groups() in tests else "no such test"
    return None


def google_tests(root):
    pattern = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
    return {match for file in (root / "test").rglob("*.cpp")
            for match in pattern.findall(file.read_text())}


def faults(root, rows):
    tests = google_tests(root)
    numbers = [int(number) for number, _, _ in rows]
    if numbers != list(range(1, BUGS + 1)):
        yield f"expected rows 1 to {BUGS}, but got {numbers}"
    for number, _, held_by in rows:
        for name in NAMED.findall(held_by):
            if reason := fault(root, tests, name):
                yield f"row {number}: {name}: {reason}"


def main():
    root = pathlib.Path(sys.argv[1])
    lines = (root / TABLE).read_text().splitlines()
    messages = list(faults(root, [match.groups() for match in map(ROW.match, lines) if match]))
    # The checker itself must be able to see a name that leads nowhere.
    for wrong in ("deadlock.mlir @nowhere", "nowhere.cpp", "Nowhere.ToBeSeen",
                  "valid.mlir @two_producers"):
        if not fault(root, google_tests(root), wrong):
            messages.append(f"{wrong} passes as a test")
    print("\n".join(f"{TABLE}: {message}" for message in messages))
    sys.exit(bool(messages))


main()
