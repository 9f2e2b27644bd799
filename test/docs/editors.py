"""The grammar knows every op of the dialect and its patterns compile; the completion script completes."""
import json
import os
import pathlib
import re
import subprocess
import sys


def complete(script, tools, line):
    """What bash offers for a half-typed line."""
    tool, word = line.split(" ")[0], re.split(r"[ =]", line)[-1]
    program = (f'source "{script}"; COMP_LINE="{line}"; COMP_POINT={len(line)}; '
               f'_mono_tools {tool} "{word}"; printf "%s\\n" "${{COMPREPLY[@]}}"')
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True,
                          env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
    return done.stdout.split()


def problems(tools, root):
    editors = root / "docs" / "editors"
    grammar = json.loads((editors / "mono.tmLanguage.json").read_text())
    patterns = [p.get("match") or p["begin"] for p in grammar["patterns"]]
    ops = {m for td in (root / "dialect").glob("*.td")
           for m in re.findall(r'Mono_\w*Op<"(\w+)"', td.read_text())}
    for op in sorted(ops):
        if not any(re.fullmatch(p, f"mono.{op}") for p in patterns):
            yield f"the grammar does not know mono.{op}"
    if len(ops) < 15:
        yield f"expected the ops of the dialect, but found {sorted(ops)}"

    script = editors / "completion.bash"
    for line, expected in [("monoc --emi", {"--emit"}),
                           ("monoc --emit=", {"mono", "placed", "device", "rocdl", "llvm", "asm", "obj", "hsaco"}),
                           ("monoc --emit=pl", {"placed"}),
                           ("monoc --explain=re", {"regions", "require", "residency", "reuse"}),
                           ("monorun --cas", {"--case"}), ("monodiff --com", {"--common"}),
                           ("monoc --depf", {"--depfile"}), ("monoc -Wer", {"-Werror"}),
                           ("monorun --device=", {"emu", "hip"}), ("monorun --coherence=", {"fast"}),
                           ("monorun --stats=", {"json", "text"})]:
        offered = set(complete(script, tools, line))
        if offered != expected:
            yield f"'{line}': expected {sorted(expected)}, but got {sorted(offered)}"


def main():
    found = list(problems(sys.argv[1], pathlib.Path(sys.argv[2])))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
