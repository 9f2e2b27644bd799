"""Banners of sections, "// ---- name ----...", are one line; prints file and line of the rest of broken ones.

clang-format breaks what is longer than a line, and what is left of the dashes moves to the next one.
"""
import pathlib
import re
import sys

FOLDERS = ("bench", "dialect", "examples", "lowering", "models", "mono", "runtime", "schedules", "test")
DASHES = re.compile(r"^\s*// -+$")


def broken(lines):
    """Numbers of lines that are only the dashes of a banner."""
    return [number for number, line in enumerate(lines, 1) if DASHES.match(line)]


def main():
    root = pathlib.Path(sys.argv[1])
    # The checker itself must be able to see something.
    samples = {"// ---- name ----": [], "// ---- name\n// -----": [2], "  // -----": [1]}
    if any(broken(text.split("\n")) != found for text, found in samples.items()):
        sys.exit("banners.py does not see what it is for")
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*"))
             if file.suffix in (".h", ".cpp")]
    found = [f"{file.relative_to(root)}:{number}: expected a banner of one line"
             for file in files for number in broken(file.read_text().splitlines())]
    print("\n".join(found))
    return 1 if found or not files else 0


sys.exit(main())
