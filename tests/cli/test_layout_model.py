"""`hone train layout` and `hone eval layout` from outside: files in, weights and tables out, resuming, Ctrl-C, errors.

Runs build/hone (or that of $HONE_BUILD_DIR). Needs only the standard library.
"""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build"))
HONE = BUILD / "hone"

SMALL = ["--hidden", "16", "--steps", "30", "--validate-every", "10", "--configs", "16", "--train-folds", "2"]
SMALL += ["--folds", "4", "--split", "configs", "--hold-out", "0.25"]


def npy(code, shape, values):
    """One array as NumPy saves it; code is a struct letter and a NumPy type."""
    letter, kind = code
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head = head.ljust((10 + len(head) + 1 + 63) // 64 * 64 - 11) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(head))
        + head.encode()
        + struct.pack(f"<{len(values)}{letter}", *values)
    )


F32, U8, I64, F64 = ("f", "<f4"), ("B", "|u1"), ("q", "<i8"), ("d", "<f8")


def arrays(nodes=9, configs=80, seed=1):
    """A chain in which every third node is configurable; the cost of layouts is a sum over nodes."""
    rng = random.Random(seed)
    ids = list(range(0, nodes, 3))
    features = [float(rng.randrange(10)) if 2 <= i % 140 < 40 else 0.0 for i in range(nodes * 140)]
    axes, runtimes = [], []
    for _ in range(configs):
        total = 1000
        for k in range(len(ids)):
            choice = rng.randrange(3)
            axes += ([-1, -1] if choice == 0 else [choice - 1, 2 - choice]) + [-1] * 16
            total += choice * 50 * (k + 1)
        runtimes.append(total)
    return {
        "node_feat": (F32, (nodes, 140), features),
        "node_opcode": (U8, (nodes,), [34 if i % 2 == 0 else 75 for i in range(nodes)]),
        "edge_index": (I64, (nodes - 1, 2), [v for i in range(1, nodes) for v in (i, i - 1)]),
        "node_config_feat": (F32, (configs, len(ids), 18), axes),
        "node_config_ids": (I64, (len(ids),), ids),
        "node_splits": (I64, (2,), [0, nodes]),
        "config_runtime": (I64, (configs,), runtimes),
    }


def write_npz(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (code, shape, values) in content.items():
            archive.writestr(name + ".npy", npy(code, shape, values))


def tensors(content):
    """The bytes behind a safetensors file's header."""
    (length,) = struct.unpack("<Q", content[:8])
    return content[8 + length :]


class LayoutModel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        self.data = self.dir / "chain.npz"
        write_npz(self.data, arrays())
        self.out = self.dir / "ranker.safetensors"

    def hone(self, *words):
        return subprocess.run([str(HONE), *map(str, words)], capture_output=True, text=True, timeout=300)

    def train(self, *words):
        done = self.hone("train", "layout", self.data, *SMALL, "--json", "-q", "-o", self.out, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_train_and_eval(self):
        weights = []
        for model in ("tgraph", "tgraph-code", "sage", "linear", "frequent"):
            for seed in (1, 2):
                self.out = self.dir / f"{model}-{seed}.safetensors"
                result = self.train("--model", model, "--seed", seed)
                self.assertEqual(result["model"], model)
                self.assertEqual(result["split"], "configs")
                weights += ["--model-file", self.out]
        done = self.hone("eval", "layout", self.data, *weights, "--json", "--augment", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = json.loads(done.stdout)
        self.assertEqual(table["held_out"], "configs")
        self.assertEqual(len(table["models"]), 5)
        for cell in table["graphs"][0]["models"].values():
            self.assertEqual(cell["seeds"], 2)
            self.assertLessEqual(abs(cell["kendall_tau"]), 1)
            self.assertLessEqual(cell["slowdown_top100"], cell["slowdown_top1"])
        text = self.hone("eval", "layout", self.data, *weights).stdout
        self.assertIn("held-out configurations of programs that were trained on", text)
        self.assertIn("Kendall's tau", text)
        everything = self.hone("eval", "layout", self.data, *weights[:2], "--part", "all", "--json")
        self.assertEqual(json.loads(everything.stdout)["held_out"], "nothing")

    def test_equal_seeds_give_equal_weights_and_resume_too(self):
        self.train("--seed", 5)
        first = self.out.read_bytes()
        checkpoint = self.dir / "run.checkpoint"
        words = ["train", "layout", self.data, *SMALL, "--seed", 5, "--checkpoint", checkpoint, "--checkpoint-every", 7]
        words += ["--resume", "-o", self.out, "-q"]
        self.out.unlink()
        process = subprocess.Popen([str(HONE), *map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3000):
            if checkpoint.exists() or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        self.assertTrue(self.out.exists())  # the weights so far are kept
        done = self.hone(*words)
        self.assertEqual(done.returncode, 0, done.stderr)

        self.assertEqual(tensors(self.out.read_bytes()), tensors(first))

    def test_a_cache_gives_the_same(self):
        self.train()
        plain = self.out.read_bytes()
        cache = self.dir / "cache"
        for _ in range(2):
            self.train("--cache", cache)
        self.assertEqual(len(list(cache.iterdir())), 1)
        self.assertEqual(tensors(plain), tensors(self.out.read_bytes()))

    def test_tiles_and_programs_held_out_by_name(self):
        folder = self.dir / "tiles"
        folder.mkdir()
        rng = random.Random(3)
        for kernel in range(6):
            base = {
                k: v for k, v in arrays(nodes=4, seed=kernel).items() if k.startswith(("node_feat", "node_op", "edge"))
            }
            sides = [2 ** rng.randrange(6) for _ in range(30)]
            tiles = [float(v) for side in sides for v in [side] + [0] * 23]
            content = {
                **base,
                "config_feat": (F32, (30, 24), tiles),
                "config_runtime": (I64, (30,), [1000 + 10 * abs(side - 8) for side in sides]),
                "config_runtime_normalizers": (I64, (30,), [1000] * 30),
            }
            write_npz(folder / f"kernel{kernel}.npz", content)
        split = self.dir / "split.txt"
        split.write_text("# which\ntrain\tkernel0\ntest\tkernel4\ntest\tkernel5\n")
        words = ["train", "layout", folder, "--split", split, "--folds", 2, "--train-folds", 1, "--hidden", 16]
        words += ["--steps", 30, "--validate-every", 10, "--json", "-q", "-o", self.out]
        done = self.hone(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        judged = json.loads(self.hone("eval", "layout", folder, "--model-file", self.out, "--json").stdout)
        self.assertEqual([g["graph"] for g in judged["graphs"]], ["kernel4", "kernel5"])
        self.assertEqual(judged["held_out"], "graphs")
        self.assertLessEqual(judged["mean"]["tgraph"]["tile_score"], 1)
        self.refused("eval", "layout", self.data, "--model-file", self.out, "--part", "all")  # layouts, not tiles
        self.refused(*words[:2], folder, "-o", self.out, "--model", "frequent", "--split", "configs")
        self.refused(*words, "--hold-out", 0.2)
        split.write_text("train\tkernel0\n")
        self.refused(*words)

    def refused(self, *words, code=2):
        done = self.hone(*words, "--json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        error = json.loads(done.stdout)["error"]
        self.assertNotIn("\n", error["message"])
        return error

    def test_bad_files(self):
        bad = self.dir / "bad.npz"
        cases = {}
        for name in arrays():
            cases[f"no {name}"] = ({k: v for k, v in arrays().items() if k != name}, name)
        base = arrays()
        cases["opcode"] = ({**base, "node_opcode": (U8, (9,), [200] * 9)}, "node_opcode")
        cases["edge"] = ({**base, "edge_index": (I64, (1, 2), [0, 9])}, "edge_index")
        cases["id"] = ({**base, "node_config_ids": (I64, (3,), [0, 3, 9])}, "node_config_ids")
        cases["nan"] = ({**base, "config_runtime": (F64, (80,), [float("nan")] * 80)}, "config_runtime")
        cases["width"] = ({**base, "node_feat": (F32, (9, 139), [0.0] * 9 * 139)}, "node_feat")
        for case, (content, array) in cases.items():
            with self.subTest(case):
                write_npz(bad, content)
                error = self.refused("train", "layout", bad, "-o", self.out, *SMALL)
                self.assertIn("bad.npz", error["where"])
                self.assertIn(array, error["where"])
                self.assertFalse(self.out.exists())
        content = self.data.read_bytes()
        for size in (0, 30, len(content) // 2, len(content) - 3):
            bad.write_bytes(content[:size])
            self.assertIn("bad.npz", self.refused("train", "layout", bad, "-o", self.out, *SMALL)["where"])

    def test_bad_options(self):
        self.refused("train", "layout", self.data, "-o", self.out, "--model", "nothing")
        self.refused("train", "layout", self.data, "-o", self.out, "--hidden", 12)
        self.refused("train", "layout", self.data, "-o", self.out, "--split", "graphs")  # one program only
        self.refused("train", "layout", self.dir / "missing.npz", "-o", self.out)
        self.refused("train", "layout", self.data, "-o", self.out, "--resume")
        self.refused("eval", "layout", self.data, "--model-file", self.data)


if __name__ == "__main__":
    unittest.main()
