"""mono/mono.py: the Python interface over the C one. Needs nothing but Python; what concerns NumPy is
skipped where there is none."""
import array
import ctypes
import gc
import math
import os
import pathlib
import random as random_module
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import weakref

import mono

try:
    import numpy
except ImportError:
    numpy = None

CODES = """
mono.schedule @codes target("gfx950") grid(1 x 64) {
  %w = mono.operand "w" read [16, 128] : f4E2M1FN, #mono.mfma_rows<16>
  %y = mono.operand "y" write [64] : f32
  mono.stage "fill" (%t) tasks [1] base [0] {
    %one = arith.constant dense<1.0> : tensor<64xf32>
    mono.store %one, %y[0] : tensor<64xf32>
  }
}
"""
LAYER = pathlib.Path(__file__).resolve().parents[2] / "models" / "glm5" / "layer.mlir"
SCALE = """
mono.schedule @scale target("gfx950") grid(4 x 64) {
  %ROWS = mono.param "ROWS" in [1 to 64]
  %x = mono.operand "x" read [%ROWS, 64] : f32
  %y = mono.operand "y" write [%ROWS, 64] : f32
  mono.stage "scale" (%t) tasks [%ROWS] base [0] {
    %row = mono.load %x[%t, 0] [1, 64] : tensor<1x64xf32>
    %two = arith.constant dense<2.0> : tensor<1x64xf32>
    %doubled = arith.mulf %row, %two : tensor<1x64xf32>
    mono.store %doubled, %y[%t, 0] : tensor<1x64xf32>
  }
}
"""
PROJECT = """
mono.schedule @project target("gfx950") grid(1 x 64) {
  %h = mono.operand "h" read [1, 32] : bf16
  %w = mono.operand "w" read weight [16, 32] : bf16, #mono.mfma_rows<16>
  %y = mono.operand "y" write [1, 16] : f32
  mono.stage "project" (%t) tasks [1] base [0] {
    %s = mono.stream %w[0, 0] [16, 32] split_k(1)
    %p = mono.contract %h[0, 0] [1, 32], %s : tensor<1x16xf32>
    mono.store %p, %y[0, 0] : tensor<1x16xf32>
  }
}
"""


def scale(rows=4):
    return mono.compile_text(SCALE, params={"ROWS": rows}, cache_dir="")


class Failing(unittest.TestCase):

    def fails(self, status, text, function, *arguments, **options):
        with self.assertRaises(mono.Error) as raised:
            function(*arguments, **options)
        self.assertEqual(raised.exception.status, status)
        self.assertIn(text, str(raised.exception))


class Kernels(Failing):

    def test_describe_themselves(self):
        kernel = scale(rows=3)
        self.assertEqual((kernel.name, kernel.target, kernel.ranks), ("scale", "gfx950", 1))
        self.assertEqual((kernel.workgroups, kernel.threads), (4, 64))
        self.assertEqual(kernel.params, {"ROWS": 3})
        self.assertEqual(list(kernel.operands), ["x", "y"])
        y = kernel.operands["y"]
        self.assertEqual((y.access, y.element, y.shape, y.layout, y.bytes, y.is_weight),
                         ("write", "f32", (3, 64), "row_major", 768, False))
        self.assertEqual(kernel.workspace.epoch_bytes, 16)
        self.assertFalse(kernel.from_cache)
        self.assertEqual(kernel.cache_note, "switched off by the options")

    def test_load_a_code_object(self):
        kernel = scale()
        self.assertEqual(kernel.code_object[:4], b"\x7fELF")
        self.assertEqual(mono.load(kernel.code_object).params, {"ROWS": 4})
        self.fails(mono.CODE_OBJECT_ERROR, "", mono.load, kernel.code_object[:200])

    def test_pack_weights(self):
        kernel = mono.compile_text(PROJECT, cache_dir="")
        words = array.array("H", range(16 * 32))
        packed = array.array("H", kernel.pack("w", words))
        for n in range(16):
            for k in range(32):  # docs/manifest.md
                self.assertEqual(packed[k // 8 * 128 + n * 8 + k % 8], words[n * 32 + k])
        self.assertEqual(kernel.unpack("w", packed), words.tobytes())
        self.fails(mono.INVALID_ARGUMENT, "expected 1024 bytes", kernel.pack, "w", bytes(8))

    def test_raise_diagnostics(self):
        self.fails(mono.COMPILE_ERROR, "expected parameter 'ROWS' in 1 to 64, but got 65", scale, 65)
        self.fails(mono.FILE_ERROR, "no/such.mlir: No such file", mono.compile, "no/such.mlir")
        self.fails(mono.INVALID_ARGUMENT, "expected linker", mono.compile_text, SCALE, linker="gold")


class Library(unittest.TestCase):

    def test_must_be_of_this_version(self):
        with unittest.mock.patch.object(mono, "_ABI_VERSION", 99), self.assertRaisesRegex(
                ImportError, "expected libmono of ABI version 99, but got [0-9]"):
            mono._load()

    def import_without(self, library, folder):
        """What `import mono` says in a process of its own, with this copy of the module."""
        environment = {**os.environ, "PYTHONPATH": folder, "MONO_LIBRARY": library}
        environment.pop("LD_PRELOAD", None)  # of sanitizers
        return subprocess.run([sys.executable, "-c", "import mono"], env=environment,
                              capture_output=True, text=True).stderr

    def test_says_where_it_was_looked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(mono.__file__, folder)
            self.assertIn("ImportError: can't load no/such.so, which MONO_LIBRARY names: ",
                          self.import_without("no/such.so", folder))
            beside = pathlib.Path(folder).resolve() / "libmono.so.1"
            self.assertIn(
                f"ImportError: can't load libmono.so.1, expected it as {beside}, in the path of the "
                "loader, or where MONO_LIBRARY says: ", self.import_without("", folder))


class Arguments(Failing):

    def test_are_what_they_look_like_to_python(self):
        self.fails(mono.INVALID_ARGUMENT, "expected an integer of 64 bits, but got 18446744073709551618",
                   scale, 2**64 + 2)
        self.fails(mono.INVALID_ARGUMENT, "64 bits", mono.compile_text, SCALE, {"ROWS": 4},
                   watchdog_cycles=2**64 + 5)
        self.fails(mono.INVALID_ARGUMENT, "expected an integer of 32 bits, but got 4294967297",
                   mono.Node.emulator, 2**32 + 1)
        self.fails(mono.INVALID_ARGUMENT, "expected a text without NUL, but got", mono.compile_text,
                   SCALE, {"ROWS\0x": 4})
        with mono.Node.emulator(1) as node, mono.Group(scale(), node) as group:
            self.fails(mono.INVALID_ARGUMENT, "32 bits", group.bind, 2**32, "x", bytearray(1024))


class Groups(Failing):

    def setUp(self):
        self.kernel = scale()
        self.node = mono.Node.emulator(1)
        self.group = mono.Group(self.kernel, self.node)
        self.addCleanup(self.node.close)
        self.addCleanup(self.group.close)

    def run_group(self):
        self.group.launch()
        self.group.synchronize()

    def test_run_on_buffers(self):
        x = array.array("f", range(256))
        y = (ctypes.c_float * 256)()
        self.group.bind(0, "x", x)
        self.group.bind(0, "y", y)
        self.run_group()
        self.assertEqual(list(y), [2.0 * i for i in range(256)])

    def test_keep_what_queued_launches_use(self):
        x = array.array("f", [1] * 256)
        y = (ctypes.c_float * 256)()
        self.group.bind(0, "x", x)
        self.group.bind(0, "y", y)
        self.group.launch()
        self.group.bind(0, "x", array.array("f", [3] * 256))
        replaced = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNotNone(replaced())
        self.group.synchronize()
        self.assertEqual(list(y), [2.0] * 256)
        gc.collect()
        self.assertIsNone(replaced())
        self.run_group()
        self.assertEqual(list(y), [6.0] * 256)

    def test_run_on_device_memory(self):
        x, y = self.node.allocate(0, 1024), self.node.allocate(0, 1024)
        self.node.write(0, x, array.array("f", range(256)))
        self.group.bind(0, "x", x)
        self.group.bind(0, "y", y)
        self.run_group()
        result = array.array("f", self.node.read(0, y, 1024))
        self.assertEqual(list(result), [2.0 * i for i in range(256)])
        self.node.free(0, x)
        self.node.free(0, y)

    def test_take_a_workspace(self):
        size = self.kernel.workspace
        local = self.node.allocate(0, size.local_bytes)
        peer = self.node.allocate(0, max(size.peer_bytes, 1), peer_visible=True)
        with mono.Group(self.kernel, self.node, [(local, peer)]) as group:
            x, y = array.array("f", range(256)), array.array("f", bytes(1024))
            group.bind(0, "x", x)
            group.bind(0, "y", y)
            group.launch()
            group.synchronize()
            self.assertEqual(y[255], 510)

    def test_bind_again_to_other_memory(self):
        y = array.array("f", bytes(1024))
        self.group.bind(0, "y", y)
        for first in range(3):
            x = array.array("f", range(first, first + 256))
            self.group.bind(0, "x", x)
            del x  # the group keeps it
            self.run_group()
            self.assertEqual(y[0], 2 * first)

    def test_refuse_wrong_memory(self):
        bind = self.group.bind
        self.fails(mono.INVALID_ARGUMENT, "no operand 'z'; it has x, y", bind, 0, "z", 16)
        self.fails(mono.INVALID_ARGUMENT, "expected 1024 bytes", bind, 0, "x", bytearray(1000))
        self.fails(mono.INVALID_ARGUMENT, "operand 'x': expected a writable, contiguous", bind, 0, "x",
                   bytes(1024))
        self.fails(mono.INVALID_ARGUMENT, "operand 'x': expected a buffer of bytes or of f32, but got one of 'i', 4 bytes each",
                   bind, 0, "x", array.array("i", bytes(1024)))
        self.fails(mono.INVALID_ARGUMENT, "but got one of 'd', 8 bytes each", bind, 0, "x",
                   array.array("d", bytes(1024)))
        self.fails(mono.INVALID_ARGUMENT, "expected a rank below 1", bind, 1, "x", bytearray(1024))
        self.fails(mono.INVALID_ARGUMENT, "'x' of rank 0 is not bound", self.group.launch)
        self.fails(mono.INVALID_ARGUMENT, "for each of 1 ranks", self.group.launch, [0, 0])

    def test_refuse_wrong_nodes(self):
        self.fails(mono.INVALID_ARGUMENT, "but got 9", mono.Node.emulator, 9)
        with mono.Node.emulator(2) as two:
            self.fails(mono.INVALID_ARGUMENT, "has 2 devices", mono.Group, self.kernel, two)
        self.fails(mono.INVALID_ARGUMENT, "for each of 1 ranks", mono.Group, self.kernel, self.node,
                   [])


def layer(rows):
    """The GLM-5 layer in small, for two ranks."""
    params = dict(S=rows, TP=2, CTX=256, PAGE=16, SPLITS=2, HIDDEN=512, HEADS=16, Q_LORA=256, KV_LORA=128,
                  NOPE=64, ROPE=32, V_DIM=64, INDEX_HEADS=8, INDEX_DIM=64, TOPK=64, EXPERTS=16, MOE=256,
                  CHOSEN=4)
    return mono.compile(LAYER, params=params, cache_dir="")


def contents(operand):
    """Something finite for each element; row s is at position 7 s + 9, in pages of its own."""
    random = random_module.Random(operand.name)
    if operand.name == "positions":
        return array.array("i", [7 * i + 9 for i in range(operand.bytes // 4)])
    if operand.name == "block_table":
        return array.array("i", range(operand.bytes // 4))
    if operand.element == "bf16":  # in +-[2^-7, 2^-6)
        data = bytearray(random.randbytes(operand.bytes))
        data[0::2] = data[0::2].translate(bytes(i & 0x7F for i in range(256)))
        data[1::2] = data[1::2].translate(bytes(0x3C | i & 0x80 for i in range(256)))
        return data
    if operand.element == "f32":
        return array.array("f", [random.uniform(-1, 1) for _ in range(operand.bytes // 4)])
    if operand.element == "f8E8M0FNU":
        return bytearray(b"\x78" * operand.bytes)
    return bytearray(random.randbytes(operand.bytes) if operand.element == "f4E2M1FN" else
                     operand.bytes)


class SharedWorkspace(Failing):

    def provide(self, group):
        """Binds memory to all operands; what is written, by rank and name."""
        written = {}
        for rank in range(group.kernel.ranks):
            for name, operand in group.kernel.operands.items():
                data = contents(operand)
                if not operand.bytes:  # another format's: no elements, but an address
                    data = group.node.allocate(rank, 16)
                group.bind(rank, name, data)
                if operand.access != "read":
                    written[rank, name] = data
        return written

    def outputs(self, group, written):
        group.launch()
        group.synchronize()
        return {key: bytes(data) for key, data in written.items()}

    def test_layers_of_four_and_eight_rows_take_turns(self):
        kernels, alone = [layer(8), layer(4)], []
        for kernel in kernels:
            with mono.Node.emulator(2) as node, mono.Group(kernel, node) as group:
                alone.append(self.outputs(group, self.provide(group)))
                self.assertNotEqual(alone[-1][0, "y"].strip(b"\0"), b"")
        with mono.Node.emulator(2) as node, mono.Group(kernels[0], node) as eight, mono.Group(
                kernels[1], node, shared_with=eight) as four:
            groups = [(eight, self.provide(eight)), (four, self.provide(four))]
            for which in (0, 1, 0, 0, 1, 1, 0):
                self.assertEqual(self.outputs(*groups[which]), alone[which])

    def test_refuse_what_cannot_be_shared(self):
        four, eight = layer(4), layer(8)
        with mono.Node.emulator(2) as node, mono.Node.emulator(2) as other, mono.Group(
                four, node) as group:
            self.fails(mono.DEVICE_ERROR, "make the group of the kernel that needs most first",
                       mono.Group, eight, node, shared_with=group)
            self.fails(mono.INVALID_ARGUMENT, "expected no workspaces and the same node", mono.Group,
                       four, other, shared_with=group)


class OnAnotherDevice:
    """A tensor that says it lies in the memory of a CUDA device."""

    def __dlpack__(self):
        capsule = numpy.zeros((4, 64), numpy.float32).__dlpack__()
        mono._DLTensor.from_address(mono._capsule_pointer(capsule, b"dltensor")).device_type = 2
        return capsule


class Capsule:
    """A tensor of DLPack that no library has made."""
    _new = ctypes.pythonapi.PyCapsule_New
    _new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    def __init__(self, shape, code, bits):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.data = ctypes.create_string_buffer(math.prod(shape) * bits // 8)
        self.tensor = mono._DLTensor(ctypes.addressof(self.data), mono._DL_CPU, 0, len(shape), code,
                                     bits, 1, self.shape, None, 0)

    def __dlpack__(self):
        return Capsule._new(ctypes.addressof(self.tensor), b"dltensor", None)


class Packed(Failing):
    """FP4, two elements a byte; without NumPy, which has no such thing either."""

    def setUp(self):
        self.node = mono.Node.emulator(1)
        self.addCleanup(self.node.close)

    def test_bind_bytes_of_two_elements(self):
        with mono.Group(mono.compile_text(CODES, cache_dir=""), self.node) as group:
            group.bind(0, "w", Capsule((16, 64), mono._DL_UINT, 8))
            for shape in ((16, 128), (1024,), (8, 128)):
                self.fails(mono.INVALID_ARGUMENT,
                           "expected f4E2M1FN [16, 128] as bytes [16, 64], but got 8-bit elements",
                           group.bind, 0, "w", Capsule(shape, mono._DL_UINT, 8))

    def test_take_no_number_for_bytes(self):
        kernel = mono.compile_text(CODES, cache_dir="")
        address = self.node.allocate(0, 64)
        with self.assertRaises(TypeError):
            self.node.write(0, address, 16)
        with self.assertRaises(TypeError):
            kernel.pack("w", 1024)


@unittest.skipIf(numpy is None, "needs NumPy (python3-numpy)")
class DLPack(Failing):

    def setUp(self):
        self.node = mono.Node.emulator(1)
        self.addCleanup(self.node.close)

    def test_run_on_arrays(self):
        with mono.Group(scale(), self.node) as group:
            x = numpy.arange(256, dtype=numpy.float32).reshape(4, 64)
            y = numpy.zeros_like(x)
            group.bind(0, "x", x)
            group.bind(0, "y", y)
            group.launch()
            group.synchronize()
            self.assertTrue((y == 2 * x).all())

    def test_project_bf16(self):
        kernel = mono.compile_text(PROJECT, cache_dir="")
        h = numpy.arange(32, dtype=numpy.float32).reshape(1, 32)
        w = (numpy.arange(16 * 32) % 7 - 3).astype(numpy.float32).reshape(16, 32)

        def bf16(values):  # exact: all are small integers
            return (values.view(numpy.uint32) >> 16).astype(numpy.uint16)

        packed = numpy.frombuffer(kernel.pack("w", bf16(w).tobytes()), numpy.uint16).copy()
        y = numpy.zeros((1, 16), numpy.float32)
        with mono.Group(kernel, self.node) as group:
            group.bind(0, "h", bf16(h))
            group.bind(0, "w", packed.reshape(16, 32))
            group.bind(0, "y", y)
            group.launch()
            group.synchronize()
        self.assertTrue((y == h @ w.T).all(), y)

    def test_refuse_other_tensors(self):
        with mono.Group(scale(), self.node) as group:
            def fails(text, tensor):
                self.fails(mono.INVALID_ARGUMENT, text, group.bind, 0, "x", tensor)

            fails("expected f32 [4, 64], but got 64-bit", numpy.zeros((4, 64)))
            fails("expected f32 [4, 64], but got", numpy.zeros((4, 64), numpy.int32))
            fails("32-bit elements of DLPack type 2, [64, 4]", numpy.zeros((64, 4), numpy.float32))
            fails("expected a contiguous tensor", numpy.zeros((64, 4), numpy.float32).T)
            fails("on the CPU or on ROCm, but got DLPack device type 2", OnAnotherDevice())


if __name__ == "__main__":
    unittest.main(verbosity=2)
