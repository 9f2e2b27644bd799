"""Writes the routine reference from schedules/: the table of README.md, then of each file the first comment,
and each routine with the comment above it, its signature and where its stages run."""
import pathlib
import re
import sys

COMMENT = re.compile(r"(?:^//[^\n]*\n)+", re.M)
ROUTINE = re.compile(r"(?P<comment>(?:^//[^\n]*\n)*)^(?P<head>mono\.routine @(?P<name>\w+)\(.*?)\s*\{\n"
                     r"(?P<body>.*?)^\}", re.M | re.S)
STAGE = re.compile(r'mono\.stage "(?P<name>\w+)" \(%\w+\) tasks \[(?P<tasks>[^]]*)\] base \[(?P<base>[^]]*)\]')
CALL = re.compile(r"mono\.call @(\w+)\(")


def prose(comment):
    """Comment lines as Markdown: indented ones are a table of shapes and stay as they are."""
    text, result, indented = [line[2:] for line in comment.splitlines()], [], False
    for line in text:
        deep = line.startswith("  ")
        if deep != indented:
            result.append("```text" if deep else "```")
            indented = deep
        result.append(line[2:] if deep else re.sub(r"([*_<])", r"\\\1", line[1:]))
    if indented:
        result.append("```")
    return "\n".join(result)


def expression(text):
    """An expression in brackets as prose has it."""
    return re.sub(r"%|symbol\((%?\w+)\)", lambda found: (found[1] or "").lstrip("%"), text)


def places(name, bodies):
    """Where the stages of a routine and of those it calls run."""
    for stage in STAGE.finditer(bodies[name]):
        base = expression(stage["base"])
        yield (f'Stage "{stage["name"]}": tasks `{expression(stage["tasks"])}`, from workgroup `{base}` on'
               f'{"" if "%" in stage["base"] else " (fixed)"}.')
    for called in CALL.findall(bodies[name]):
        yield from places(called, bodies)


def page(file, bodies):
    text = file.read_text()
    routines = list(ROUTINE.finditer(text))
    if not routines:
        return
    first = COMMENT.match(text)
    yield f"\n## schedules/{file.name}\n"
    if first:
        yield prose(first.group(0)) + "\n"
    for routine in routines:
        if not routine["comment"]:
            raise SystemExit(f"{file}: routine '@{routine['name']}' has no comment")
        yield f"\n### `@{routine['name']}`\n\n{prose(routine['comment'])}\n\n```mlir\n{routine['head']}\n```\n"
        stages = list(places(routine["name"], bodies))
        if stages:
            yield "\n" + "\n".join(stages) + "\n"


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = sorted(folder.glob("*.mlir"))
    lines = ["# Routines\n", "\nWritten from the comments of `schedules/` when the project is built. Import a file with\n"
             "`mono.import`, call a routine with `mono.call`; it is inlined.\n\n",
             (folder / "README.md").read_text()]
    bodies = {routine["name"]: routine["body"] for file in files for routine in ROUTINE.finditer(file.read_text())}
    for file in files:
        lines.extend(page(file, bodies))
    output.write_text("".join(lines))


if __name__ == "__main__":
    main()
