"""Task graphs of TpuGraphs' files (bench/go/tpu_graph.py) against those that hone place makes of the same programs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build")) / "hone"
sys.path.insert(0, str(ROOT / "bench" / "go"))
import tpu_graph  # noqa: E402

# Both parameters in one tuple, a batched dot, a dot whose left side is given last, and a called sum.
PROGRAM = """HloModule products
sum { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
ENTRY main {
  both = (f32[6,20,8], f32[6,8,12]) parameter(0)
  a = f32[6,20,8] get-tuple-element(both), index=0
  b = f32[6,8,12] get-tuple-element(both), index=1
  w = f32[20,30] parameter(1)
  p = f32[6,20,12] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  q = f32[30,6,12] dot(w, p), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  e = f32[30,6,12] exponential(q)
  zero = f32[] constant(0)
  ROOT s = f32[30,6] reduce(e, zero), dimensions={2}, to_apply=sum
}
"""


def run(*words):
    subprocess.run([HONE, *map(str, words), "-q"], check=True, capture_output=True, timeout=120)


class Axes(unittest.TestCase):
    def test_contracted_axes_are_those_that_the_result_has_not(self):
        self.assertEqual(tpu_graph.contracted([5, 7], [7, 11], [5, 11]), 7)
        self.assertEqual(tpu_graph.contracted([7, 11], [5, 7], [5, 11]), 7)  # right side first
        self.assertEqual(tpu_graph.contracted([4, 5, 7], [4, 7, 11], [4, 5, 11]), 7)
        self.assertEqual(tpu_graph.contracted([3, 5, 7], [3, 5, 11], [7, 11]), 15)
        # A batch that is not in front on either side, sizes that repeat.
        self.assertEqual(tpu_graph.contracted([32, 128, 16, 64], [32, 16, 128, 128], [32, 16, 64, 128]), 128)


@unittest.skipIf(numpy is None, "needs NumPy")
class Graphs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        (folder / "p.hlo").write_text(PROGRAM)
        run("tpugraphs", "export", folder / "p.hlo", "-o", folder / "p.npz")
        tpu_graph.write(folder / "p.npz", folder / "p.json", "products")
        run("place", folder / "p.hlo", "--devices", "cpu1", "--strategy", "single", "--graph", folder / "placed.json")
        cls.folder = folder
        cls.graph = json.loads((folder / "p.json").read_text())
        cls.placed = json.loads((folder / "placed.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def ops(self, kind):
        return [op for op in self.graph["ops"] if op["kind"] == kind]

    def test_products_count_as_in_hone_place(self):
        work = [sorted(op["flops"] for op in g["ops"] if op["kind"] == "matrix") for g in (self.graph, self.placed)]
        self.assertEqual(work[0], [2 * 6 * 20 * 12 * 8, 2 * 30 * 6 * 12 * 20])
        self.assertEqual(work[0], work[1])

    def test_elements_of_a_tuple_parameter_are_inputs(self):
        sizes = sorted(op["output_bytes"] for op in self.ops("input"))
        self.assertEqual(sizes, sorted(4.0 * n for n in (1, 6 * 8 * 12, 20 * 30, 6 * 20 * 8)))

    def test_called_computations_are_no_operations(self):
        self.assertEqual([op["opcode"] for op in self.graph["ops"] if op["kind"] != "input"],
                         ["dot", "dot", "exponential", "reduce"])  # fmt: skip
        self.assertEqual([op["opcode"] for op in self.graph["ops"] if op.get("is_output")], ["reduce"])

    def test_hone_place_reads_the_graph(self):
        run("place", self.folder / "p.json", "--devices", "gpu2-nvlink", "--strategy", "heft")


if __name__ == "__main__":
    unittest.main()
