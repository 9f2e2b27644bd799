"""Runs what the documentation shows. Kinds of fenced blocks, by the words after the fence:

  console            `$ command` lines are run (`> ` lines go on with it), and the lines after one are its
                     output, where `...` stands for anything and only words count, not where lines
                     end. `status=N`: what the last command ends with. `long`: only with --long.
  mlir file=NAME     written to NAME before the commands after it run (any language)
  mlir from=FILE     stands so in FILE of the repository, apart from indentation (any language)
  text, json         shown only

Any other kind is an error, so that nothing is shown that no test has seen.
Each page has a folder of its own in which the tree's folders can be seen.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.S | re.M)
SHOWN = ("text", "json")
# What a page may change: it gets a copy.
EDITED = ("examples", "models", "schedules")


def dedent_all(text):
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def commands(body):
    """(command, output) for each `$` line of a block."""
    result, lines = [], body.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            if not result:
                raise ValueError(f"expected '$ ' before the first command, but got '{line}'")
            result[-1][1].append(line)
            continue
        command = line[2:]
        while lines and lines[0].startswith("> "):
            command += "\n" + lines.pop(0)[2:]
        result.append((command, []))
    return result


def matches(expected, output):
    """Whether output is what is shown. Only words count: a page may break long lines."""
    pieces = [re.escape(" ".join(piece.split())) for piece in "\n".join(expected).split("...")]
    return re.fullmatch(".*?".join(pieces), " ".join(output.split()), re.S)


class Page:
    def __init__(self, file, root, build, long):
        self.file, self.root, self.long = file, root, long
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name)
        for entry in root.iterdir():
            if entry.name in EDITED:
                shutil.copytree(entry, self.work / entry.name)
            elif not entry.name.startswith((".", "build")):
                (self.work / entry.name).symlink_to(entry)
        (self.work / "build").symlink_to(build)
        self.environment = dict(os.environ, MONO_CACHE_DIR=str(self.work / ".cache"),
                                PATH=f"{build / 'bin'}:{os.environ['PATH']}")
        self.ran = 0

    def run(self, command, expected, status):
        self.ran += 1
        done = subprocess.run(["bash", "-c", command], cwd=self.work, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = done.stdout
        if done.returncode != status:
            return f"`{command}`: expected status {status}, but got {done.returncode} and:\n{output}"
        if expected and not matches(expected, output):
            return f"`{command}`: expected\n" + "\n".join(expected) + f"\nbut got\n{output}"
        return None

    def block(self, info, body):
        words = info.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if "file" in options:
            (self.work / options["file"]).write_text(body)
        elif "from" in options:
            if dedent_all(body) not in dedent_all((self.root / options["from"]).read_text()):
                yield f"expected this to stand in {options['from']}:\n{body}"
        elif words[:1] == ["console"]:
            if "long" in words and not self.long:
                return
            shown = commands(body)
            for index, (command, expected) in enumerate(shown):
                status = int(options.get("status", 0)) if index + 1 == len(shown) else 0
                problem = self.run(command, expected, status)
                if problem:
                    yield problem
        elif words[:1] not in ([word] for word in SHOWN):
            yield f"expected a kind of block that is tested or {' or '.join(SHOWN)}, but got '{info}'"

    def problems(self):
        text = self.file.read_text()
        for match in FENCE.finditer(text):
            line = text[: match.start()].count("\n") + 1
            for problem in self.block(match.group("info"), match.group("body")):
                yield f"{self.file.relative_to(self.root)}:{line}: {problem}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    failures = ran = 0
    for name in options.pages:
        page = Page((options.root / name).resolve(), options.root.resolve(), options.build.resolve(), options.long)
        for problem in page.problems():
            failures += 1
            print(problem)
        ran += page.ran
    print(f"{len(options.pages)} pages, {ran} commands, {failures} problems")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
