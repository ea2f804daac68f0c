"""hone predict by the kernels' code, and hone collect machine."""

import shutil
import sqlite3
import subprocess
import unittest

from cli_case import HONE, ROOT, WithWorker, own_environment
from programs import SOFTMAX
from test_reference import documented_keys

ENOUGH = 25  # kernels of a machine; kLeastKernels of src/cost/run_time_model.h is 20


class PredictTest(WithWorker):
    def test_kernels_of_loops_count_with_every_step(self):
        found = self.json("predict", ROOT / "examples" / "lstm_scan.mlir", "--before-compiling")
        self.assertEqual(found["unknown_loops"], 0)
        self.assertGreater(max(kernel["runs"] for kernel in found["kernels"]), 10)
        total = sum(kernel["runs"] * kernel["predicted_ns"] for kernel in found["kernels"])
        self.assertAlmostEqual(found["predicted_warm_ns"] / total, 1)

    def test_what_exceeds_the_caches_is_cold(self):
        program = """HloModule sum
ENTRY main {{
  a = f32[{n}] parameter(0)
  b = f32[{n}] parameter(1)
  e = f32[{n}] exponential(a)
  ROOT s = f32[{n}] add(e, b)
}}"""
        shares = []
        for n in (1 << 10, 1 << 29):  # 8 KiB and 4 GiB: less than any first-level and more than any last-level cache
            (self.dir / "sum.hlo").write_text(program.format(n=n))
            found = self.json("predict", "sum.hlo", "--before-compiling")
            shares.append(found["cold_share"])
            (kernel,) = found["kernels"]
            cold = kernel["predicted_ns"] + shares[-1] * (kernel["predicted_cold_ns"] - kernel["predicted_ns"])
            self.assertAlmostEqual(found["predicted_ns"] / cold, 1)
        self.assertEqual(shares, [0, 1])

    def test_before_compiling_the_code_is_not_seen(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        after, before = self.json("predict", "p.hlo"), self.json("predict", "p.hlo", "--before-compiling")
        self.assertIn("see the code", after["model"])
        self.assertNotIn("see the code", before["model"])
        self.assertTrue(any(kernel["code_seen"] for kernel in after["kernels"]))
        self.assertFalse(any(kernel["code_seen"] for kernel in before["kernels"]))
        self.assertNotEqual(after["predicted_ns"], before["predicted_ns"])
        own = self.dir / "models" / "fusion"
        shutil.copytree(ROOT / "data" / "models" / "fusion", own)
        self.assertNotIn("see the code", self.json("predict", "p.hlo", "--models", own.parent)["model"])
        # With more threads the code is another one, which the trees do not know; a package says with how many it runs.
        self.assertNotIn("see the code", self.json("predict", "p.hlo", "--threads", "2")["model"])
        self.hone("tune", "p.hlo", "--threads", "2", "--budget", "1s", "--db", self.db, "-o", "p.hone", "--quiet")
        self.assertNotIn("see the code", self.json("predict", "p.hone")["model"])

    def test_weights_that_do_not_see_code_are_left_out_with_a_warning(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        broken = self.dir / "models" / "code" / "seed-0.safetensors"
        broken.parent.mkdir(parents=True)
        broken.write_bytes((ROOT / "data" / "models" / "fusion" / "seed-0.safetensors").read_bytes())
        done = self.hone("predict", "p.hlo", "--models", self.dir / "models", "--json")
        self.assertIn("predicting without the kernels' code", done.stderr.decode())
        self.assertIn(b'"code_seen":false', done.stdout)
        self.assertNotIn(b'"code_seen":true', done.stdout)


class MachineTest(WithWorker):
    def test_a_machine_measures_kernels_once_and_goes_on(self):
        first = self.json("collect", "machine", "--kernels", "2")
        self.assertLessEqual(set(first), documented_keys()["hone collect machine"])
        self.assertTrue(first["complete"])
        self.assertEqual((first["known"], first["measured"], first["failed"]), (0, 2, 0))
        self.assertTrue((self.dir / "data" / "hone" / "machine.db").is_file())
        self.assertEqual(first["before_compiling"]["error"], 0)  # too few
        second = self.json("collect", "machine", "--kernels", "3")
        self.assertEqual((second["known"], second["measured"]), (2, 1))
        text = self.hone("collect", "machine", "--kernels", "3", "--quiet").stdout.decode()
        self.assertIn("3 of 3 kernels measured, 0 now; 0 failed", text)
        self.hone("collect", "machine", "--kernels", "-1", code=2)
        self.hone("collect", "machine", "--max-isa", "avx9", code=2)

    def test_predictions_follow_a_machine_that_is_slower(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        report = self.json("collect", "machine", "--kernels", str(ENOUGH))
        self.assertEqual(report["measured"], ENOUGH)
        self.assertGreater(report["before_compiling"]["error"], 0)
        self.assertGreater(report["by_code"]["error"], 0)
        orders = {"before": ("--before-compiling",), "after": ()}
        plain = {name: self.json("predict", "p.hlo", *options) for name, options in orders.items()}
        with sqlite3.connect(self.dir / "data" / "hone" / "machine.db") as database:
            database.execute("UPDATE records SET baseline_ns = 5 * baseline_ns, candidate_ns = 5 * candidate_ns")
        for name, options in orders.items():
            slow = self.json("predict", "p.hlo", *options)
            self.assertIn("corrected for this machine", slow["model"])
            self.assertGreater(slow["predicted_ns"], 3 * plain[name]["predicted_ns"])
        # Measured with one thread and all instructions: they say nothing about others.
        for other in (("--threads", "2"), ("--max-isa", "sse4.2")):
            self.assertNotIn("corrected", self.json("predict", "p.hlo", *other)["model"])

    def test_a_home_that_cannot_be_read_is_as_none(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        file = self.dir / "file"
        file.write_text("")
        environment = dict(own_environment(self.dir), XDG_DATA_HOME=str(file / "below"))
        done = subprocess.run([HONE, "predict", "p.hlo", "--json"], cwd=self.dir, env=environment, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"corrected", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
