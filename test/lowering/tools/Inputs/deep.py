"""Writes schedules with too much of something, and one with much of what does no harm, to a folder."""
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def write(name, index, constants="", comment=""):
    (folder / name).write_text(f"""mono.schedule @deep target("gfx950") grid(1 x 64) {{ {comment}
  %a = mono.operand "a" write [{index}] : f32
  mono.stage "s" (%t) tasks [1] base [0] {{
{constants}    %x = arith.constant dense<1.0> : tensor<4xf32>
    mono.store %x, %a[0] : tensor<4xf32>
  }}
}}
""")


write("brackets.mlir", "(" * 100000 + "4" + ")" * 100000)
write("minus.mlir", "-" * 100000 + "4")
write("sum.mlir", " + ".join(["%a"] * 100000))
write("quotients.mlir", "4" + " floordiv 3 mod 7" * 100000)
write("harmless.mlir", "4", "".join(f"    %c{n} = arith.constant -1.0e-6 : f32\n" for n in range(300)),
      "// " + "(" * 1000 + " " + "- + " * 1000)
(folder / "imports.mlir").write_text('mono.import "brackets.mlir"\n')
