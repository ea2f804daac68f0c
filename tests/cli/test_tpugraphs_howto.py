"""The commands of docs/howto/tpugraphs.md run as they are written, with small budgets, on a program and small files of
the data set's form; export, import and export again give one file, bit for bit."""

import csv
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from test_tpugraphs import HONE, PROGRAM, ROOT, arrays, npy

PAGE = ROOT / "docs" / "howto" / "tpugraphs.md"
# A wide softmax beside a dot, so that there are both layouts and tiled kernels.
WIDE = """HloModule wide
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY main {
  a = f32[64,128] parameter(0)
  b = f32[128,96] parameter(1)
  d = f32[64,96] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,96] exponential(d)
  zero = f32[] constant(0)
  r = f32[64] reduce(e, zero), dimensions={1}, to_apply=add
  w = f32[64,96] broadcast(r), dimensions={0}
  ROOT q = f32[64,96] divide(e, w)
}
"""


def commands():
    """The lines of the page's bash blocks, measuring little."""
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    text = "".join(blocks).replace("--configurations 100", "--configurations 6").replace("--budget 10m", "--budget 0")
    return [line.split("  #")[0].strip() for line in text.splitlines() if line.strip()]


def write_npz(path, files):
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for key, content in files.items():
            archive.writestr(key + ".npy", content)


@unittest.skipUnless(HONE.exists(), f"{HONE} is missing, build it first")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="hone-tpugraphs-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin" / "hone").symlink_to(HONE)
        (cls.folder / "my_program.mlir").write_text(WIDE)  # hone tells formats by content
        for collection in ("random", "default"):
            write_npz(cls.folder / "npz" / "layout" / "xla" / collection / "test" / "small.npz", arrays())
        cls.outputs = {}
        for line in commands():
            environment = {"PATH": f"{cls.folder / 'bin'}:/usr/bin:/bin", "HOME": str(cls.folder)}
            done = subprocess.run(
                ["bash", "-c", line], cwd=cls.folder, env=environment, capture_output=True, text=True, timeout=600
            )
            cls.outputs[line] = done
            if done.returncode:
                break

    def test_every_command_succeeds(self):
        self.assertGreaterEqual(len(commands()), 10)
        for line in commands():
            self.assertIn(line, self.outputs, "an earlier command failed")
            self.assertEqual(self.outputs[line].returncode, 0, f"{line}\n{self.outputs[line].stderr}")

    def arrays_of(self, path):
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def shape(self, content):
        return eval(re.search(rb"'shape': (\([^)]*\))", content)[1])

    def test_layouts_are_exported(self):
        found = self.arrays_of(self.folder / "my_program.npz")
        order = "node_feat node_opcode edge_index node_config_feat node_config_ids config_runtime node_splits"
        self.assertEqual(list(found), [f"{name}.npy" for name in order.split()])
        configurations, nodes, width = self.shape(found["node_config_feat.npy"])
        self.assertGreaterEqual(configurations, 2)
        self.assertGreaterEqual(nodes, 1)
        self.assertEqual(width, 18)
        self.assertEqual(self.shape(found["config_runtime.npy"]), (configurations,))
        self.assertEqual(self.shape(found["node_splits.npy"])[0], 1)

    def test_tiles_are_exported(self):
        files = sorted((self.folder / "tiles").iterdir())
        self.assertTrue(files)
        for path in files:
            found = self.arrays_of(path)
            order = "node_feat node_opcode edge_index config_feat config_runtime config_runtime_normalizers"
            self.assertEqual(list(found), [f"{name}.npy" for name in order.split()])
            self.assertGreaterEqual(self.shape(found["config_feat.npy"])[0], 2)
            self.assertEqual(self.shape(found["config_feat.npy"])[1], 24)

    def test_a_round_trip_changes_no_bit(self):
        original = (self.folder / "my_program.npz").read_bytes()
        self.assertEqual((self.folder / "graphs" / "my_program.npz").read_bytes(), original)
        self.assertEqual((self.folder / "again.npz").read_bytes(), original)
        for path in (self.folder / "tiles").iterdir():
            self.assertEqual((self.folder / "graphs" / path.name).read_bytes(), path.read_bytes())

    def test_the_answer_has_every_row(self):
        with open(self.folder / "submission.csv", newline="") as file:
            rows = {row["ID"]: row["TopConfigs"] for row in csv.DictReader(file)}
        self.assertEqual(set(rows), {"layout:xla:default:small", "layout:xla:random:small"})
        self.assertEqual({frozenset(value.split(";")) for value in rows.values()}, {frozenset("01")})
        with open(self.folder / "right.csv", newline="") as file:
            (right,) = csv.DictReader(file)
        self.assertEqual(right["ID"], "layout:mine:my_program")

    def test_faults_of_an_answer(self):
        data = self.folder / "npz" / "layout"
        good = ["ID,TopConfigs", "layout:xla:random:small,1;0", "layout:xla:default:small,0;1"]
        cases = [
            ([good[0], good[1]], "the row of 'layout:xla:default:small' is missing", ""),
            ([*good, "layout:nlp:random:small,1;0"], "no graph file has the ID 'layout:nlp:random:small'", "line 4"),
            ([*good, good[1]], "'layout:xla:random:small' occurs twice", "line 4"),
            ([*good[:2], "layout:xla:default:small,0;2"], "configuration 2 is out of range", "line 3"),
            ([*good[:2], "layout:xla:default:small,0;0"], "configuration 0 occurs twice", "line 3"),
            ([*good[:2], "layout:xla:default:small,0"], "layouts need all of them", "line 3"),
            ([*good[1:]], "the first line is not", "line 1"),
        ]
        answer = self.folder / "answer.csv"
        for lines, words, where in [(good, None, None), *cases]:
            with self.subTest(words):
                answer.write_text("\n".join(lines) + "\n")
                done = subprocess.run(
                    [HONE, "tpugraphs", "check", answer, data], capture_output=True, text=True, timeout=60
                )
                self.assertEqual(done.returncode, 0 if words is None else 2, done.stderr)
                if words is None:
                    self.assertIn("2 rows", done.stdout)
                    continue
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertIn(where, done.stderr)

    def test_tiles_need_a_model_of_tiles(self):
        tile = {
            name: content for name, content in arrays().items() if name.startswith(("node_feat", "node_op", "edge"))
        }
        tile["config_feat"] = npy("<f4", (2, 24), [0.0] * 48)
        tile["config_runtime"] = tile["config_runtime_normalizers"] = npy("<i8", (2,), [3, 4])
        shutil.rmtree(self.folder / "more", ignore_errors=True)
        write_npz(self.folder / "more" / "tile" / "xla" / "test" / "kernel.npz", tile)
        out = self.folder / "none.csv"
        command = [HONE, "tpugraphs", "rank", self.folder / "more", "-o", out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no model ranks the tile collection", done.stderr)
        self.assertIn("kernel.npz", done.stderr)
        self.assertFalse(out.exists())

    def test_tiles_are_measured_before_they_are_exported(self):
        program = self.folder / "two.hlo"
        program.write_text(PROGRAM)
        command = [HONE, "tpugraphs", "export", program, "--collection", "tile", "-o", self.folder / "x"]
        for more, words in (
            ([], "measured before"),
            (["--db", self.folder / "mine.db"], "no kernel of 'two' with two"),
        ):
            done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
