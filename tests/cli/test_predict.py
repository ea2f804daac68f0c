"""hone predict by the kernels' code, and hone collect machine.

The shipped trees that see code are held to kernels of validation programs, which no training saw: compiled here for
AVX2, and measured on an AMD EPYC.
"""

import json
import lzma
import sqlite3
import statistics
import unittest
import zlib
from pathlib import Path

from cli_case import ROOT, WithWorker
from programs import SOFTMAX
from test_reference import documented_keys

KERNELS = ROOT / "tests" / "cli" / "validation_kernels.db.xz"
HOST = "AMD EPYC, 2 cores, at most avx2"
CODE = ROOT / "data" / "models" / "code"
MOST = 10  # kernels, of 10 us and more: a worker starts for each
ENOUGH = 25  # kernels of a machine; kLeastKernels of src/cost/run_time_model.h is 20


def has_avx2():
    return " avx2 " in Path("/proc/cpuinfo").read_text()


class PredictTest(WithWorker):
    def measured_kernels(self):
        """(fingerprint, HLO, ns), spread over the programs."""
        file = self.dir / "kernels.db"
        file.write_bytes(lzma.decompress(KERNELS.read_bytes()))
        with sqlite3.connect(file) as database:
            rows = database.execute(
                "SELECT k.fingerprint, k.hlo, AVG(r.baseline_ns) FROM kernels k"
                " JOIN records r ON r.kernel = k.fingerprint"
                " WHERE r.host = ? AND r.status = 'ok' AND k.kind = 'fusion' GROUP BY k.fingerprint"
                " HAVING AVG(r.baseline_ns) > 10000 ORDER BY k.fingerprint",
                (HOST,),
            ).fetchall()
        self.assertGreater(len(rows), MOST)
        every = len(rows) // MOST
        return [(name, zlib.decompress(hlo[8:]).decode(), ns) for name, hlo, ns in rows[::every][:MOST]]

    @unittest.skipUnless(has_avx2(), "NOT TESTED, missing: a CPU with AVX2")
    def test_the_code_makes_predictions_of_unseen_programs_better(self):
        errors = {"code": [], "analytical": []}
        for number, (_, hlo, ns) in enumerate(self.measured_kernels()):
            file = self.dir / f"kernel{number}.hlo"
            file.write_text(hlo)
            done = self.hone("predict", file, "--max-isa", "avx2", "--json", code=None)
            if done.returncode != 0:  # XLA does not take each of its own fusions for a program
                continue
            seen = json.loads(done.stdout)
            self.assertEqual(len(seen["kernels"]), 1, hlo)
            self.assertTrue(seen["kernels"][0]["code_seen"], hlo)
            errors["code"].append(abs(seen["predicted_ns"] / ns - 1))
            plain = self.json("predict", file, "--max-isa", "avx2", "--analytical", "default")
            self.assertFalse(plain["kernels"][0]["code_seen"])
            errors["analytical"].append(abs(plain["predicted_ns"] / ns - 1))
        self.assertGreater(len(errors["code"]), MOST / 2)
        code, analytical = (statistics.fmean(errors[name]) for name in ("code", "analytical"))
        self.assertLess(code, 0.35, errors)
        self.assertLess(code, 0.7 * analytical, errors)

    def test_before_compiling_the_code_is_not_seen(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        after, before = self.json("predict", "p.hlo"), self.json("predict", "p.hlo", "--before-compiling")
        self.assertIn("see the code", after["model"])
        self.assertNotIn("see the code", before["model"])
        self.assertTrue(any(kernel["code_seen"] for kernel in after["kernels"]))
        self.assertFalse(any(kernel["code_seen"] for kernel in before["kernels"]))
        self.assertNotEqual(after["predicted_ns"], before["predicted_ns"])
        # With more threads the code is another one, which the trees do not know.
        self.assertNotIn("see the code", self.json("predict", "p.hlo", "--threads", "2")["model"])

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
    def test_a_machine_measures_some_kernels_and_goes_on(self):
        first = self.json("collect", "machine", "--budget", "3s", code=1)
        self.assertLessEqual(set(first), documented_keys()["hone collect machine"])
        self.assertFalse(first["complete"])
        self.assertGreater(first["measured"], 0)
        self.assertEqual(first["failed"], 0)
        self.assertTrue((self.dir / "data" / "hone" / "machine.db").is_file())
        second = self.json("collect", "machine", "--budget", "3s", code=None)
        self.assertGreaterEqual(second["known"], first["measured"])
        self.assertGreater(second["known"] + second["measured"], first["measured"])
        self.assertEqual(second["kernels"], first["kernels"])

    def test_predictions_follow_a_machine_that_is_slower(self):
        (self.dir / "p.hlo").write_text(SOFTMAX)
        known = 0
        for _ in range(10):
            report = self.json("collect", "machine", "--budget", "3s", code=None)
            known = report["known"] + report["measured"]
            if known >= ENOUGH:
                break
        self.assertGreaterEqual(known, ENOUGH)
        plain = self.json("predict", "p.hlo", "--before-compiling")
        with sqlite3.connect(self.dir / "data" / "hone" / "machine.db") as database:
            database.execute("UPDATE records SET baseline_ns = 5 * baseline_ns, candidate_ns = 5 * candidate_ns")
        slow = self.json("predict", "p.hlo", "--before-compiling")
        self.assertIn("corrected for this machine", slow["model"])
        self.assertGreater(slow["predicted_ns"], 3 * plain["predicted_ns"])
        # Measured with one thread and all instructions: they say nothing about others.
        for other in (("--threads", "2"), ("--max-isa", "sse4.2")):
            self.assertNotIn("corrected", self.json("predict", "p.hlo", "--before-compiling", *other)["model"])


if __name__ == "__main__":
    unittest.main()
