"""hone doctor from outside: keys of --json, exit codes, and the checks if something is missing.

No test requires the check of timing to pass, since it depends on what else runs on the machine.
"""

import json
import shutil
import subprocess
import unittest

from cli_case import HONE, WithWorker, own_environment
from test_reference import documented_keys

KEYS_OF_CHECK = {"name", "status", "detail", "hint"}
NAMES = ["cores", "memory", "instruction set", "speed of a core", "worker", "seams", "XLA wheel", "oneDNN", "JAX"]
NAMES += ["timing", "linear algebra", "sandbox", "learning library", "models", "known gains", "own kernels"]
NAMES += ["database", "cache"]


class DoctorTest(WithWorker):
    begins_with_cache = False  # which the doctor does not make either

    def run_doctor(self, *arguments, program=HONE):
        return subprocess.run(
            [str(program), "doctor", *map(str, arguments)],
            cwd=self.dir,
            env=own_environment(self.dir),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def doctor(self, *arguments, **options):
        """The object of --json and its checks by name; the exit code says whether one of them failed."""
        done = self.run_doctor(*arguments, "--json", **options)
        found = json.loads(done.stdout)
        self.assertLessEqual(set(found), documented_keys()["hone doctor"])
        for check in found["checks"]:
            self.assertEqual(set(check), KEYS_OF_CHECK)
            self.assertIn(check["status"], ("ok", "warning", "failed"))
            self.assertTrue(check["detail"], check)
            self.assertEqual(check["status"] == "ok", check["hint"] == "", check)
        failed = any(check["status"] == "failed" for check in found["checks"])
        self.assertEqual(found["ok"], not failed)
        self.assertEqual(done.returncode, int(failed), done.stderr)
        return found, {check["name"]: check for check in found["checks"]}

    def test_every_check_is_made(self):
        before = sorted(self.dir.iterdir())
        found, checks = self.doctor()
        self.assertEqual(list(checks), NAMES)
        of_the_machine = {"timing", "cores", "memory", "instruction set", "sandbox", "known gains", "oneDNN", "JAX"}
        for name in set(NAMES) - of_the_machine:
            self.assertEqual(checks[name]["status"], "ok", checks[name])
        self.assertEqual(found["hone_version"], json.loads(self.hone("--version", "--json").stdout)["version"])
        self.assertIn(found["xla_version"], checks["XLA wheel"]["detail"])
        hello = self.json("worker")
        for key in ("xla_version", "cpu", "isa"):
            self.assertEqual(found[key], hello[key])
        self.assertGreater(found["speed"]["flops"], 0)
        self.assertIn(found["isa"], found["machine_class"])
        self.assertLessEqual(1, found["physical_cores"])
        self.assertLessEqual(found["physical_cores"], found["logical_cores"])
        self.assertLessEqual(found["available_bytes"], found["memory_bytes"])
        low, high = found["ratio_interval"]
        self.assertLessEqual(low, found["ratio"])
        self.assertLessEqual(found["ratio"], high)
        self.assertEqual(sorted(self.dir.iterdir()), before)  # nor was the database's folder created

    def test_text_has_a_line_for_each_check(self):
        done = self.run_doctor()
        self.assertIn(done.returncode, (0, 1))
        for name in NAMES:
            self.assertRegex(done.stdout, rf"(?m)^  (ok|warning|failed) +{name} ")

    def test_what_cannot_be_read_or_written_fails_and_is_named(self):
        weights = self.dir / "models" / "tile" / "seed-0.safetensors"
        weights.parent.mkdir(parents=True)
        weights.write_text("no weights")
        text = (self.dir / "dot.hlo").read_text()
        found, checks = self.doctor("--models", self.dir / "models", "--db", "dot.hlo")
        self.assertFalse(found["ok"])
        self.assertEqual(checks["models"]["status"], "failed")
        self.assertIn(str(weights), checks["models"]["detail"])
        self.assertEqual(checks["database"]["status"], "failed")
        self.assertIn("dot.hlo", checks["database"]["detail"])
        self.assertEqual((self.dir / "dot.hlo").read_text(), text)

    def test_a_program_without_its_worker_says_so(self):
        alone = self.dir / "hone"
        shutil.copy(HONE, alone)
        found, checks = self.doctor("--db", self.db, program=alone)
        self.assertEqual(checks["worker"]["status"], "failed")
        self.assertEqual(checks["learning library"]["status"], "warning")
        self.assertIn("make train-tools", checks["learning library"]["hint"])
        self.assertEqual(checks["database"]["status"], "ok")
        self.assertIsNone(found["xla_version"])
        self.assertIsNone(found["ratio"])
        self.assertFalse(self.db.exists())

    def test_bad_input_is_one_line_and_code_2(self):
        for arguments in (
            ("--models", "missing"),
            ("--models", "dot.hlo"),
            ("--db",),
            ("--no-such-option",),
            ("dot.hlo",),
        ):
            with self.subTest(arguments):
                done = self.run_doctor(*arguments)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
