"""Every page of docs/rules: its first schedule is refused for that rule, its second compiles."""
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"```mlir\n(.*?)```", re.S)


def compile_block(monoc, text, folder):
    file = folder / "schedule.mlir"
    file.write_text(text)
    return subprocess.run([monoc, str(file), "-o", str(folder / "out.hsaco")], capture_output=True, text=True)


def problems(monoc, page, folder):
    blocks = BLOCK.findall(page.read_text())
    if len(blocks) != 2:
        yield f"expected a schedule that breaks the rule and one that keeps it, but got {len(blocks)}"
        return
    broken, kept = (compile_block(monoc, block, folder) for block in blocks)
    tag = f"[monoc --explain={page.stem}]"
    if broken.returncode != 1 or tag not in broken.stderr:
        yield f"expected status 1 and {tag}, but got {broken.returncode} and:\n{broken.stderr}"
    if kept.returncode != 0:
        yield f"expected the second schedule to compile, but got:\n{kept.stderr}"
    shown = subprocess.run([monoc, f"--explain={page.stem}"], capture_output=True, text=True)
    if shown.stdout != page.read_text():
        yield "monoc --explain prints something else"


def main():
    monoc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    pages = sorted(p for p in (root / "docs" / "rules").glob("*.md") if p.name != "README.md")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            for problem in problems(monoc, page, pathlib.Path(folder)):
                failures += 1
                print(f"{page.name}: {problem}")
    print(f"{len(pages)} pages, {failures} problems")
    return 1 if failures or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
