"""Writes the dialect reference for writers of schedules from what mlir-tblgen says of the ops: without C++ names,
traits, effects and attributes, which the syntax shows, and with bracketed expressions as they are written."""
import pathlib
import re
import sys

CPP_ONLY = re.compile(r"^(?:Traits|Interfaces|Effects): .*\n\n?", re.M)
ATTRIBUTES = re.compile(r"^#### Attributes:\n\n<table>\n.*?</table>\n\n?", re.M | re.S)
EXPRESSION_ROW = re.compile(r"^\| `\w*args` \| variadic of index \|\n", re.M)
EMPTY_TABLE = re.compile(r"^#### \w+:\n\n\|[^\n]*\n\|[ :|-]*\n(?!\|)\n?", re.M)
EXPRESSIONS = re.compile(r"(?:`` )?custom<Exprs>\(\$\w+, \$(\w+)\)")


def for_writers(text):
    text = text.replace("[TOC]\n\n", "")
    text = re.sub(r" \(::mono::\w+\)$", "", text, flags=re.M)
    for useless in (CPP_ONLY, ATTRIBUTES, EXPRESSION_ROW, EMPTY_TABLE):
        text = useless.sub("", text)
    text = EXPRESSIONS.sub(r"`[` $\1 `]`", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def main():
    source, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.write_text(for_writers(source.read_text()))


if __name__ == "__main__":
    main()
