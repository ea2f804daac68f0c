"""hone tpugraphs and hone collect layout from outside: files of the data set in and out, bad input.

Runs build/hone (or that of $HONE_BUILD_DIR). Needs only the standard library; reads ../shared/corpus (or $HONE_CORPUS)
if it exists.
"""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"
CORPUS = pathlib.Path(os.environ.get("HONE_CORPUS", ROOT / "../shared/corpus"))
PROTOS = CORPUS / "google-research-datasets+tpu_graphs/tpu_graphs/process_data/tensorflow_ops/testdata"
ARRAYS = CORPUS / "timxor+predict_ai_model_runtime_kaggle/data/npz"

PROGRAM = """HloModule two_dots
ENTRY main {
  a = f32[48,64] parameter(0)
  b = f32[64,32] parameter(1)
  c = f32[32,40] parameter(2)
  d = f32[48,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[48,32] tanh(d)
  ROOT e = f32[48,40] dot(t, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def hone(*arguments):
    done = subprocess.run([HONE, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def npy(kind, shape, values):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    code = {"<f4": "f", "<f8": "d", "<i8": "q", "|u1": "B"}[kind]
    data = struct.pack(f"<{len(values)}{code}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def arrays():
    """A layout graph of three nodes with two configurations."""
    return {
        "node_feat": npy("<f4", (3, 140), [0.0] * 420),
        "node_opcode": npy("|u1", (3,), [63, 63, 34]),
        "edge_index": npy("<i8", (2, 2), [2, 0, 2, 1]),
        "node_splits": npy("<i8", (2,), [0, 3]),
        "node_config_ids": npy("<i8", (1,), [2]),
        "node_config_feat": npy("<f4", (2, 1, 18), [-1.0] * 18 + [1.0, 0.0] + [-1.0] * 16),
        "config_runtime": npy("<i8", (2,), [1500, 2500]),
    }


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, files, name="small.npz"):
        path = self.folder / name
        with zipfile.ZipFile(path, "w") as archive:
            for key, content in files.items():
                archive.writestr(key + ".npy", content)
        return path

    def json(self, *arguments):
        code, out, err = hone(*arguments, "--json", "-q")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def error(self, *arguments):
        code, out, err = hone(*arguments, "--json", "-q")
        self.assertEqual(code, 2, err)
        self.assertEqual(len(err.strip().splitlines()), 1, err)
        return json.loads(out)["error"]


class Inspect(Folder):
    def test_graph(self):
        seen = self.json("tpugraphs", "inspect", self.write(arrays()))
        self.assertEqual(seen["collection"], "layout")
        self.assertEqual((seen["nodes"], seen["edges"], seen["configurations"]), (3, 2, 2))
        self.assertEqual(seen["opcodes"], {"dot": 1, "parameter": 2})
        self.assertEqual(seen["runtime_ns"]["least"], 1500)
        code, out, _ = hone("tpugraphs", "inspect", self.write(arrays()))
        self.assertEqual(code, 0)
        self.assertIn("3 nodes", out)

    def test_bad_files(self):
        spoiled = [
            ("node_feat", None, "missing"),
            ("node_feat", npy("<f4", (3, 70), [0.0] * 210), "[3, 70]"),
            ("node_opcode", npy("|u1", (3,), [63, 250, 34]), "unknown opcode id 250"),
            ("node_opcode", npy("<f4", (3,), [63.0, 63.0, 34.0]), "f32"),
            ("node_config_ids", npy("<i8", (1,), [3]), "there are 3 nodes"),
            ("config_runtime", npy("<f8", (2,), [1.0, float("nan")]), "not a number"),
            ("config_runtime", npy("<i8", (1,), [1]), "[1]"),
        ]
        for name, content, why in spoiled:
            with self.subTest(name=name, why=why):
                files = arrays()
                del files[name]
                if content is not None:
                    files[name] = content
                path = self.write(files, "spoiled.npz")
                for command in (("inspect", path), ("import", path, "-o", self.folder / "out")):
                    error = self.error("tpugraphs", *command)
                    self.assertIn(why, error["message"])
                    self.assertIn("spoiled.npz", error["where"])
                    self.assertIn(name, error["where"])
                self.assertFalse((self.folder / "out").exists())

    def test_truncated(self):
        path = self.write(arrays())
        content = path.read_bytes()
        for size in (0, 3, 30, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:size])
            self.error("tpugraphs", "inspect", path)
        self.error("tpugraphs", "inspect", self.folder / "none.npz")
        other = self.folder / "other.pb"
        other.write_bytes(b"no tuning data at all")
        for command in (("inspect", other), ("import", other, "-o", self.folder / "out")):
            self.assertIn("other.pb", self.error("tpugraphs", *command)["where"])
        self.assertFalse((self.folder / "out").exists())

    def test_answer(self):
        answer = self.folder / "answer.csv"
        answer.write_text("ID,TopConfigs\nlayout:xla:random:small,1;0\n")
        self.write(arrays())
        seen = self.json("tpugraphs", "inspect", answer, "--data", self.folder)
        self.assertEqual((seen["rows"], seen["rows_checked"]), (1, 1))
        answer.write_text("ID,TopConfigs\nlayout:xla:random:small,1;2\n")
        error = self.error("tpugraphs", "inspect", answer, "--data", self.folder)
        self.assertIn("configuration 2 is out of range", error["message"])
        self.assertIn("line 2", error["where"])


class ImportAndExport(Folder):
    def test_import(self):
        out = self.folder / "out"
        seen = self.json("tpugraphs", "import", self.write(arrays()), "-o", out)
        self.assertEqual([graph["name"] for graph in seen["graphs"]], ["small"])
        again = self.json("tpugraphs", "inspect", out / "small.npz")
        self.assertEqual(again["configurations"], 2)

    def test_right_answer(self):
        answer = self.folder / "answer.csv"
        self.json("tpugraphs", "export", self.write(arrays()), "-o", answer, "--collection", "layout:xla:random")
        self.assertEqual(answer.read_text(), "ID,TopConfigs\nlayout:xla:random:small,0;1\n")

    def test_outputs_that_cannot_be(self):
        path = self.write(arrays())
        self.assertIn(".npz or .csv", self.error("tpugraphs", "export", path, "-o", self.folder / "x.txt")["message"])

    @unittest.skipUnless(PROTOS.exists() and ARRAYS.exists(), "no corpus")
    def test_tuning_file(self):
        out = self.folder / "unet.npz"
        seen = self.json("tpugraphs", "export", PROTOS / "module_tuning_data_layout.pb", "-o", out)
        self.assertEqual((seen["nodes"], seen["configurations"]), (3163, 112))
        # Imported, since some public arrays are saved column-major.
        self.json("tpugraphs", "import", ARRAYS / "layout/xla/default/valid/unet_3d.4x4.bf16.npz", "-o", self.folder)
        with zipfile.ZipFile(out) as a, zipfile.ZipFile(self.folder / "unet_3d.4x4.bf16.npz") as b:
            for name in ("node_feat", "node_opcode", "edge_index", "node_splits", "node_config_ids"):
                self.assertEqual(a.read(name + ".npy"), b.read(name + ".npy"), name)
        self.error("tpugraphs", "export", PROTOS / "op_tuning_data.pb", "-o", out)
        tiles = self.json("tpugraphs", "import", PROTOS / "op_tuning_data.pb", "-o", self.folder / "tiles")
        self.assertEqual(len(tiles["graphs"]), 15)

    def test_program(self):
        program = self.folder / "two.hlo"
        program.write_text(PROGRAM)
        seen = self.json("tpugraphs", "export", program, "-o", self.folder / "two.npz")
        self.assertEqual(seen["configurable_nodes"], 2)
        self.assertEqual(seen["configurations"], 0)
        with zipfile.ZipFile(self.folder / "two.npz") as arrays:  # as the data set has it
            self.assertIn(b"'shape': (1, 2)", arrays.read("node_splits.npy"))


class CollectLayouts(Folder):
    def test_measures_and_goes_on(self):
        program = self.folder / "two.hlo"
        program.write_text(PROGRAM)
        run = (
            "collect",
            "layout",
            program,
            "--db",
            self.folder / "l.db",
            "--output",
            self.folder / "out",
            "--budget",
            "0",
        )
        first = self.json(*run, "--configurations", "4")
        self.assertEqual(first["measured"], 4)
        self.assertEqual(first["failed"], 0)
        self.assertTrue(first["complete"])
        again = self.json(*run, "--configurations", "6")
        self.assertEqual((again["known"], again["measured"]), (4, 2))
        seen = self.json("tpugraphs", "inspect", self.folder / "out" / "two.npz")
        self.assertEqual(seen["configurations"], 1 + again["ok"] + first["ok"])
        self.assertEqual(seen["configurable_nodes"], 2)
        machine = json.loads((self.folder / "out" / "machine.json").read_text())
        self.assertEqual(machine["threads"], 1)
        self.assertGreater(machine["speed"]["flops"], 0)
        one = ("tpugraphs", "export", program, "-o", self.folder / "one.npz", "--db", self.folder / "l.db")
        self.assertEqual(self.json(*one, "--stage", "layout")["configurations"], seen["configurations"])
        self.error(*one)

    def test_tune_decides_layouts_alone(self):
        program = self.folder / "two.hlo"
        program.write_text(PROGRAM)
        run = ("tune", program, "--decide", "layout", "--db", self.folder / "l.db", "-o", self.folder / "two.hone")
        report = self.json(*run, "--budget", "20s")
        self.assertTrue(report["verified"])
        self.assertGreaterEqual(report["speedup"], 1)
        self.assertLessEqual(set(report["decisions"]), {"layout"})
        self.error(*run, "--budget", "3s", "--exhaustive")
        self.error(*run, "--layout-model", self.folder / "none.safetensors")
        self.error("tune", program, "--layout-model", self.folder / "none.safetensors", "-o", self.folder / "x.hone")

    def test_bad_input(self):
        self.error("collect", "layout", self.folder / "none.hlo", "--db", self.folder / "l.db")
        self.error("collect", "layout", "--db", self.folder / "l.db")


if __name__ == "__main__":
    unittest.main()
