"""The fuzzer's own judgement, on programs that misbehave in known ways."""

import random
import tempfile
import unittest
from pathlib import Path

import fuzz_inputs
import mutations

GOOD = """echo '{"error":{"message":"no program","where":"","hint":""}}'; exit 2"""


class JudgementTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.hone = Path(folder.name, "hone")

    def fault(self, script: str) -> str:
        self.hone.write_text(f"#!/bin/sh\n{script}\n")
        self.hone.chmod(0o755)
        return fuzz_inputs.run_case(self.hone, "random_bytes", b"x", "inspect").fault

    def test_civil_answers_pass(self):
        self.assertEqual(self.fault(GOOD), "")
        self.assertEqual(self.fault("echo 'error: not a program' >&2; exit 2"), "")
        self.assertEqual(self.fault("echo '{\"instructions\": 3}'"), "")

    def test_signals_are_faults(self):
        self.assertEqual(self.fault("kill -SEGV $$"), "ended by signal 11")

    def test_other_exit_codes_are_faults(self):
        self.assertEqual(self.fault("echo 'odd' >&2; exit 134"), "exit code 134")

    def test_silence_and_chatter_are_faults(self):
        self.assertIn("0 lines", self.fault("exit 2"))
        self.assertIn("2 lines", self.fault("echo 'a\nb' >&2; exit 2"))
        self.assertIn("not a JSON error", self.fault("echo oops; exit 2"))
        self.assertIn("without a JSON result", self.fault("echo fine"))

    def test_files_left_behind_are_faults(self):
        self.assertEqual(self.fault("touch core; " + GOOD), "left behind: core")
        self.assertEqual(self.fault("touch $TMPDIR/dump; " + GOOD), "left behind: dump")


class MutationsTest(unittest.TestCase):
    def setUp(self):
        self.seeds = sorted((fuzz_inputs.ROOT / "examples").glob("*.mlir"))

    def make(self, seed: int, count: int = 60) -> list:
        return list(mutations.make(self.seeds, count, random.Random(seed)))

    def test_same_seed_same_inputs(self):
        self.assertEqual(self.make(3), self.make(3))
        self.assertNotEqual(self.make(3), self.make(4))

    def test_every_kind_appears(self):
        self.assertEqual({kind for kind, _ in self.make(0)}, set(mutations.KINDS))

    def test_mutations_change_the_program(self):
        originals = {path.read_bytes() for path in self.seeds}
        unchanged = [kind for kind, data in self.make(1, 200) if data in originals]
        self.assertLess(len(unchanged), 10, unchanged)


if __name__ == "__main__":
    unittest.main()
