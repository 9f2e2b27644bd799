"""The floor of hbm_floor.py on a case of two rows by hand."""
import json
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hbm_floor  # noqa: E402


def put_case(folder):
    """Rows at positions 1 and 9 choose the experts 0 and 3, and 3 and 2: three routed ones."""
    tensors = {"positions": [1, 9], "topk_ids": [0, 3, 3, 2]}
    header, data = {"__metadata__": {"index_topk": "4", "rms_norm_eps": "1e-05"}}, b""
    for name, values in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}i", *values)
        header[name] = {"dtype": "I32", "shape": [len(values)], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path = pathlib.Path(folder) / "case.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def operand(role, shape, size, read=None):
    return {"role": role, "shape": shape, "bytes": size, "read_bytes": read,
            "read_bytes_by_data": read is None}


# Eight routed experts and the shared one.
OPERANDS = {"w_gate_up": operand("weight", [9, 4, 8], 9 * 16),
            "w_gate_up_scale": operand("weight", [9, 4, 1], 9 * 4),
            "w_down": operand("weight", [9, 8, 2], 9 * 8),
            "w_down_scale": operand("weight", [9, 8, 1], 9 * 8),
            "w_o": operand("weight", [10, 10], 200, 200),
            "x": operand("input", [2, 8], 32, 32),
            "cache_kv": operand("cache", [100, 6], 1200),
            "cache_index": operand("cache", [100, 5], 500)}


def rank_that_read(experts):
    one = {"w_gate_up": 16, "w_gate_up_scale": 4, "w_down": 8, "w_down_scale": 8}
    return {"memory": [{"name": name, "bytes_read": experts * size} for name, size in one.items()]}


class FloorTest(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            self.positions, self.routed, self.dims = hbm_floor.read_case(put_case(folder))
        self.experts = hbm_floor.expert_bytes(OPERANDS, self.routed)

    def test_case(self):
        self.assertEqual((self.positions, self.routed, self.dims),
                         ((1, 9), {0, 2, 3}, {"index_topk": 4}))

    def test_floor(self):
        """Three routed experts and the shared one; 2 and 4 latents; 2 and 10 index keys."""
        floor = hbm_floor.floor_of(OPERANDS, self.positions, self.experts, self.dims)
        self.assertEqual(floor, {"attention, router and norm weights": 200, "experts": 4 * 36,
                                 "latents": 6 * 12, "index keys": 12 * 5, "other operands": 32})

    def test_experts_are_those_of_the_case(self):
        hbm_floor.check_experts(rank_that_read(4), self.experts)
        for experts in (3, 5, 8):
            with self.assertRaisesRegex(SystemExit, "w_gate_up: expected 64 bytes to be read"):
                hbm_floor.check_experts(rank_that_read(experts), self.experts)


if __name__ == "__main__":
    unittest.main()
