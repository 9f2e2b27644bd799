"""Every include between top-level folders is one of the allowed edges; prints file, line and edge."""
import pathlib
import re
import sys

# Who may include whom besides itself. Nothing may include examples, bench or test.
ALLOWED = {
    "dialect": set(),
    "lowering": {"dialect"},
    "schedules": {"dialect"},
    "runtime": set(),
    "mono": {"lowering", "runtime"},
    "models": {"schedules", "lowering", "runtime"},
    "examples": {"models", "schedules", "lowering", "runtime", "mono"},
    "bench": {"models", "schedules", "lowering", "runtime", "mono"},
    "test": {"dialect", "lowering", "schedules", "runtime", "models", "mono"},
}
# Inside runtime/emulator the parts are layered too.
EMULATOR = {
    "numeric": set(),
    "exec": {"numeric"},
    "decode": {"exec"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def part_of(path):
    parts = path.split("/")
    return parts[2] if parts[:2] == ["runtime", "emulator"] and len(parts) > 3 else None


def violations(root):
    for folder in ALLOWED:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".td"):
                continue
            name = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = match.group(1)
                top = target.split("/")[0]
                if top in ALLOWED and top != folder and top not in ALLOWED[folder]:
                    yield f"{name}:{number}: {folder} must not include {top} ({target})"
                if folder == "runtime" and target.startswith("mlir/"):
                    yield f"{name}:{number}: runtime must not include MLIR ({target})"
                source, wanted = part_of(name), part_of(target)
                if source and wanted and wanted != source and wanted not in EMULATOR[source]:
                    yield f"{name}:{number}: emulator/{source} must not include emulator/{wanted}"


def main():
    root = pathlib.Path(sys.argv[1])
    # The checker itself must be able to see something.
    seen = sum(1 for _ in (root / "dialect").rglob("*.cpp"))
    found = list(violations(root))
    print("\n".join(found))
    if not seen:
        print("no sources found below", root)
    return 1 if found or not seen else 0


sys.exit(main())
