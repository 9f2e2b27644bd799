"""Every relative link in the documentation leads to a file of the repository."""
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]\n]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def main():
    root = pathlib.Path(sys.argv[1])
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "test").rglob("README.md"))]
    count, broken = 0, []
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
        for target in LINK.findall(text):
            if "://" in target:
                continue
            count += 1
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(root)}: no file {target}")
    print("\n".join(broken))
    print(f"{count} links, {len(broken)} broken")
    return 1 if broken or count < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
